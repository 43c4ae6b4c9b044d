/** A sentence with the names between backticks as code. */

import { visible } from './visible.ts'

export function Ticked({ sentence }: { readonly sentence: string }) {
  return (
    <>{sentence.split('`').map((part, index) => (index % 2 === 1 ? <code key={index}>{visible(part)}</code> : part))}</>
  )
}
