/** The id of a call in its result: a call of a failed request may be used in place of one with another id. */

import { ToolMessage } from '@langchain/core/messages'
import { isObject } from './library.ts'

/** The id of the call that a result was made for. */
const madeFor = new WeakMap<object, string | undefined>()
/** The copy of a result for the id of the accepted call. */
const copies = new WeakMap<object, ToolMessage>()

/** A result was made for this call. */
export function made(output: unknown, id: string | undefined): void {
  if (isObject(output)) madeFor.set(output, id)
}

/**
 * Adapts the result of a call that was made with another id, in an attempt that failed. The same result gives the same
 * copy. `undefined`: it is unknown where the result contains the id.
 */
export function withId(output: unknown, id: string | undefined): { readonly output: unknown } | undefined {
  if (!isObject(output) || madeFor.get(output) === id) return { output }
  if (!ToolMessage.isInstance(output)) return undefined
  const copy =
    copies.get(output) ?? new ToolMessage({ ...output.lc_kwargs, content: output.content, tool_call_id: id ?? '' })
  copies.set(output, copy)
  return { output: copy }
}
