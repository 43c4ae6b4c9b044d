/** Content of a trace: only ever text, cut if it is long. */

import { useState } from 'preact/hooks'
import { count } from '../../src/geometry/words.ts'
import { visible } from '../visible.ts'

const MOST = { text: 4_000, json: 2_000 }

export function Text({ text }: { readonly text: string }) {
  const [shown, more] = useCut(text, MOST.text)
  return (
    <>
      <p class="text">{visible(shown)}</p>
      {more}
    </>
  )
}

/** A value in one line; opened, it has its lines. */
export function Json({
  value,
  open,
  result = false,
}: {
  readonly value: unknown
  readonly open: boolean
  readonly result?: boolean
}) {
  const whole = typeof value === 'string' ? value : (JSON.stringify(value, null, open ? 2 : 0) ?? '')
  const [shown, more] = useCut(whole, MOST.json)
  return (
    <>
      <pre class={['json', open && 'open', result && 'result'].filter(Boolean).join(' ')}>{visible(shown)}</pre>
      {open && more}
    </>
  )
}

function useCut(whole: string, most: number) {
  const [isWhole, setWhole] = useState(false)
  if (whole.length <= most || isWhole) return [whole, null] as const
  const button = (
    <button type="button" class="more" onClick={() => setWhole(true)}>
      Show all {count(whole.length)} characters
    </button>
  )
  return [`${whole.slice(0, most)}…`, button] as const
}
