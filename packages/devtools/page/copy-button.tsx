import { useState } from 'preact/hooks'

export function CopyButton({ text }: { readonly text: string }) {
  const [copied, setCopied] = useState(false)
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(text)
    setCopied(true)
  }
  return (
    <button type="button" class="copy" onClick={() => void copy()}>
      {copied ? 'Copied' : 'Copy'}
    </button>
  )
}
