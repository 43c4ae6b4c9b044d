/** Decides whether the result of a call is the answer of the run. */

import { unheard } from '../flow/unheard.ts'
import type { RunState } from '../state/run.ts'
import { messageOf } from '../vocabulary/errors.ts'
import type { ToolMessage } from '../vocabulary/message.ts'

/** Whether the result of a call is the answer of the run: the tool is defined with `returnDirect`, and the call did not fail. */
export function isDirect(run: RunState, { callId, isError, output }: ToolMessage): boolean {
  const entry = run.calls.get(callId)
  const direct = entry?.tool?.returnDirect
  if (isError || direct === undefined) return false
  if (typeof direct === 'boolean') return direct
  try {
    const done = entry?.done
    const word: unknown = unheard(direct(done && 'output' in done ? done.output : output))
    if (word instanceof Promise) throw new TypeError('its returnDirect returned a promise, not true or false')
    return Boolean(word)
  } catch (error) {
    const message = `${entry?.call.name}: ${messageOf(error)}`
    run.events.warn({ code: 'return-direct-failed', message, source: 'core' })
    return false
  }
}
