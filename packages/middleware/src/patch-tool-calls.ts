/** The middleware `patchToolCalls()`: repairs a history in which calls and results do not match. */

import {
  ConfigError,
  callsOf,
  checkOptions,
  type Message,
  type Middleware,
  runLocal,
  type ToolMessage,
} from '@meanwhile/core'
import { branded, errorMessage } from '@meanwhile/core/calls'

/** The options of `patchToolCalls`. */
export interface PatchToolCallsOptions {
  /** The text that the model reads in place of a missing result. */
  readonly text?: string
}

/** States no cause, because it is unknown whether the call was made. */
export const DEFAULT_TEXT = 'The result of this call is not available.'

/**
 * Repairs the history that a run starts with: the results of a message's calls are moved directly after it, in front of
 * whatever stands between; a call without a result gets one error result after them; results without a call, and second
 * results, are removed. The repair is kept, also in the result's messages. A valid history is unchanged.
 */
export function patchToolCalls(options: PatchToolCallsOptions = {}): Middleware {
  checkOptions('patchToolCalls', options, { text: '' })
  const { text = DEFAULT_TEXT } = options
  if (typeof text !== 'string' || text === '') throw new ConfigError('text', 'must be a text')
  const lastOf = runLocal((): { whole: readonly Message[] } => ({ whole: [] }))
  return branded('middleware', {
    name: 'patch-tool-calls',
    beforeModel(state, run) {
      const last = lastOf(run)
      const { messages } = state
      // In a whole history each call has its result, so none of the later results belongs to it.
      const isLonger = last.whole.every((message, place) => message === messages[place])
      const known = isLonger ? last.whole : []
      const later = repaired(messages.slice(known.length), text)
      last.whole = later ? [...known, ...later] : messages
      return later && { ...state, messages: last.whole }
    },
  })
}

/** The history with the results of each call after it; `undefined` if it needs no repair. */
function repaired(messages: readonly Message[], text: string): readonly Message[] | undefined {
  const results = resultsByPlace(messages)
  const whole = messages.flatMap((message, place): Message[] => {
    if (message.role === 'tool') return []
    const found = results.get(place) ?? []
    const answered = new Set(found.map(({ callId }) => callId))
    const missing = message.role === 'assistant' ? callsOf(message).filter(({ id }) => !answered.has(id)) : []
    return [message, ...found, ...missing.map((call) => errorMessage(call, text))]
  })
  const isSame = whole.length === messages.length && whole.every((message, place) => message === messages[place])
  return isSame ? undefined : whole
}

/**
 * The results for the message at each place, in the order in which they are. Ids may repeat in every turn: a result
 * belongs to the last call before it that has its id and no result yet.
 */
function resultsByPlace(messages: readonly Message[]): ReadonlyMap<number, readonly ToolMessage[]> {
  /** The places of the calls without a result, by id. */
  const open = new Map<string, number[]>()
  const results = new Map<number, ToolMessage[]>()
  for (const [place, message] of messages.entries()) {
    if (message.role === 'assistant') for (const { id } of callsOf(message)) add(open, id, place)
    if (message.role !== 'tool') continue
    const called = open.get(message.callId)?.pop()
    if (called !== undefined) add(results, called, message)
  }
  return results
}

function add<Key, Value>(lists: Map<Key, Value[]>, key: Key, value: Value): void {
  const list = lists.get(key)
  if (list) list.push(value)
  else lists.set(key, [value])
}
