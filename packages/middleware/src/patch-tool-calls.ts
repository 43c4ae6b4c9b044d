/** Repairs a history in which calls and results do not pair up. */

import { ConfigError, callsOf, checkOptions, type Message, type Middleware, type ToolCall } from '@meanwhile/core'
import { errorMessage } from '@meanwhile/core/calls'

export interface PatchToolCallsOptions {
  /** What the model reads in the place of a result that is missing. */
  readonly text?: string
}

/** It claims no cause: nobody knows whether the call was made. */
export const DEFAULT_TEXT = 'The result of this call is not available.'

/**
 * Makes a history that was given to a run usable: a call without result gets one error result, right behind its message and the
 * results there are; results
 * without call and second results go. What is repaired stays so, in the result's messages, too. A sound history is left
 * as it is.
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

/** The history with every call paired; nothing if it is so already. */
function repaired(messages: readonly Message[], text: string): readonly Message[] | undefined {
  const kept = withoutStrays(messages)
  const answered = new Set(kept.flatMap((message) => (message.role === 'tool' ? [message.callId] : [])))
  const whole: Message[] = []
  /** What is missing of the message whose results are being read, in call order. */
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

/** Without the results that answer no open call before them. */
function withoutStrays(messages: readonly Message[]): readonly Message[] {
  const open = new Set<string>()
  return messages.filter((message) => {
    if (message.role === 'assistant') for (const { id } of callsOf(message)) open.add(id)
    return message.role !== 'tool' || open.delete(message.callId)
  })
}
