/** The middleware `patchToolCalls()`: repairs a history in which calls and results do not match. */

import { ConfigError, callsOf, checkOptions, type Message, type Middleware, type ToolCall } from '@meanwhile/core'
import { errorMessage } from '@meanwhile/core/calls'

/** The options of `patchToolCalls`. */
export interface PatchToolCallsOptions {
  /** The text that the model reads in place of a missing result. */
  readonly text?: string
}

/** States no cause, because it is unknown whether the call was made. */
export const DEFAULT_TEXT = 'The result of this call is not available.'

/**
 * Repairs the history that a run starts with: a call without a result gets one error result after its message and the
 * existing results; results without a call, and second results, are removed. The repair is kept, also in the result's
 * messages. A valid history is unchanged.
 */
export function patchToolCalls(options: PatchToolCallsOptions = {}): Middleware {
  checkOptions('patchToolCalls', options, { text: '' })
  const { text = DEFAULT_TEXT } = options
  if (typeof text !== 'string' || text === '') throw new ConfigError('text', 'must be a text')
  return {
    name: 'patch-tool-calls',
    beforeModel(state) {
      const messages = repaired(state.messages, text)
      return messages && { ...state, messages }
    },
  }
}

/** The history with every call paired; `undefined` if it needs no repair. */
function repaired(messages: readonly Message[], text: string): readonly Message[] | undefined {
  const kept = withoutStrays(messages)
  const answered = new Set(kept.flatMap((message) => (message.role === 'tool' ? [message.callId] : [])))
  const whole: Message[] = []
  /** The open calls of the message whose results are being read, in call order. */
  let missing: readonly ToolCall[] = []
  const patch = () => {
    whole.push(...missing.map((call) => errorMessage(call, text)))
    missing = []
  }
  for (const message of kept) {
    if (message.role !== 'tool') patch()
    whole.push(message)
    if (message.role === 'assistant') missing = callsOf(message).filter(({ id }) => !answered.has(id))
  }
  patch()
  return whole.length === kept.length && kept.length === messages.length ? undefined : whole
}

/** Removes results that match no open call before them. */
function withoutStrays(messages: readonly Message[]): readonly Message[] {
  const open = new Set<string>()
  return messages.filter((message) => {
    if (message.role === 'assistant') for (const { id } of callsOf(message)) open.add(id)
    return message.role !== 'tool' || open.delete(message.callId)
  })
}
