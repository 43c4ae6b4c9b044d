/** Tells what has run inside a call without a result, whose run was stopped. */

import { effectOf } from '../machine/call.ts'
import type { CallEntry } from '../state/call-entry.ts'
import { changesNothing } from '../vocabulary/effect.ts'
import { jsonText } from '../vocabulary/json-text.ts'
import { callsOf, type Message, type ToolCall, type ToolMessage } from '../vocabulary/message.ts'
import type { Checkpoint, SavedCall } from '../vocabulary/saved-run.ts'
import { errorMessage, MOST_SHOWN, shortened } from './no-result-message.ts'

/** A call of a run that was stopped. */
export interface StoppedCall {
  /** Its id in the outermost run: `outer/inner` if it is a call of an agent inside a call. */
  readonly id: string
  /** The call; without an input if this is an earlier execution of the call around it. */
  readonly call: ToolCall
  readonly message?: ToolMessage | undefined
  /** Whether it may have changed something, and no model has read its result. */
  readonly isUnknown?: boolean | undefined
  /** Earlier executions of the call, and the calls that its tool, its wraps and agents inside it have made. If it has a result, only lost ones. */
  readonly inside: readonly StoppedCall[]
}

/**
 * The calls of a run, the latest last. Background calls come with the result of their work.
 *
 * @param outer - The history of the run around it, with which its own may begin.
 * @param place - The id of the call around it, followed by a slash.
 */
export function stoppedCalls(
  { messages, calls, interrupts }: Pick<Checkpoint, 'messages' | 'calls' | 'interrupts'>,
  outer: readonly Message[] = [],
  place = '',
): readonly StoppedCall[] {
  const before = new Set(outer)
  const begin = messages.findIndex((one, at) => one !== outer[at] && JSON.stringify(one) !== JSON.stringify(outer[at]))
  // A request follows a history that the run was given. Otherwise the two only begin alike.
  const own = messages.slice(messages[begin]?.role === 'user' ? begin : 0).filter((one) => !before.has(one))
  const results = new Map(own.flatMap((message) => (message.role === 'tool' ? [[message.callId, message]] : [])))
  const asking = new Set(interrupts.flatMap(({ address }) => address.map((part) => 'callId' in part && part.callId)))
  const made = new Map<string | undefined, SavedCall[]>(calls.map(({ maker }) => [maker, []]))
  for (const saved of calls) made.get(saved.maker)?.push(saved)
  const stopped = (saved: SavedCall): StoppedCall => {
    const { key, call, effect, fate, isWork } = saved
    const id = place + saved.id
    const message = isWork ? saved.message : (results.get(saved.id) ?? saved.message)
    const isUnknown = effect && !changesNothing(effect) && (message ? fate !== 'committed' : !asking.has(saved.id))
    const inside = insideOf({ ...saved, id }, (made.get(key) ?? []).map(stopped), messages)
    return { id, call, message, isUnknown, inside: message ? inside.filter(({ isUnknown }) => isUnknown) : inside }
  }
  const said = own.flatMap(callsOf)
  const ofHistory = said.map((call) => ({ id: place + call.id, call, message: results.get(call.id), inside: [] }))
  // The work of a background call comes last, and takes the place of the call.
  const known = (made.get(undefined) ?? []).map(stopped)
  return [...new Map<string, StoppedCall>([...ofHistory, ...known].map((one) => [one.id, one])).values()]
}

/** What has run inside a call of this process. */
export function stoppedInside(entry: CallEntry, messages: readonly Message[]): readonly StoppedCall[] {
  const { id, call, state, cancelled } = entry
  const children = entry.children.flatMap((child): StoppedCall[] => {
    if (child.discarded && child.discarded !== 'run_aborted') return []
    const message = child.state.course === 'result' ? child.message : undefined
    const effect = effectOf(child.state, true)
    const isUnknown = !message && effect && !changesNothing(effect)
    return [
      { id: child.id, call: child.call, message, isUnknown, inside: message ? [] : stoppedInside(child, messages) },
    ]
  })
  // What the tool of a cancelled call still returns is dropped.
  const outcomes = cancelled ? [] : entry.outcomes.save(state.knownOutcomes)
  return insideOf({ id, call, outcomes, runs: entry.outcomes.saveRuns() }, children, messages)
}

function insideOf(
  { id, call, outcomes, runs }: Pick<SavedCall, 'id' | 'call' | 'outcomes' | 'runs'>,
  children: readonly StoppedCall[],
  messages: readonly Message[],
): readonly StoppedCall[] {
  const had = outcomes.map((one) => {
    const message = 'message' in one ? one.message : errorMessage(call, one.error)
    return { id, call: { ...call, input: undefined }, message, inside: [] }
  })
  return [...had, ...children, ...runs.flatMap(({ checkpoint }) => stoppedCalls(checkpoint, messages, `${id}/`))]
}

/** These calls and those inside them, each with its level. */
export function withInner(calls: readonly StoppedCall[], level = 0): (StoppedCall & { readonly level: number })[] {
  return calls.flatMap((one) => [{ ...one, level }, ...withInner(one.inside, level + 1)])
}

/** The most calls that one text tells. */
const MOST_CALLS = 100

/** The fewest characters of an input, and of a result. */
const FEWEST_SHOWN = 60

/** What a model reads of a result, in which a text cannot contain the files. */
function shownResult({ content }: ToolMessage): string {
  return content.map((part) => (part.type === 'text' ? part.text : `(a file of type ${part.mediaType})`)).join('')
}

/**
 * What a result adds about the calls inside its own call: nothing if none of them has run. It is text, because no message of the model requests these
 * calls, and a provider refuses a result without its call.
 */
export function insideText(inside: readonly StoppedCall[]): string {
  const calls = withInner(inside)
  if (!calls.some(({ message, isUnknown }) => message || isUnknown)) return ''
  const most = Math.max(FEWEST_SHOWN, Math.floor(MOST_SHOWN / calls.length))
  const lines = calls.slice(0, MOST_CALLS).map(({ level, call, message, isUnknown }) => {
    const input = call.input === undefined ? '' : ` ${shortened(jsonText(call.input) ?? '', most)}`
    const how = message ? (message.isError ? 'failed' : 'returned') : 'has no result'
    const rest = message ? `: ${shortened(shownResult(message), most)}` : isUnknown ? ': it may have happened.' : '.'
    return `\n${'  '.repeat(level)}- ${call.name}${input} ${how}${rest}`
  })
  const left = calls.length - lines.length
  return `\nInside this call:${lines.join('')}${left > 0 ? `\n- and ${left} more calls` : ''}`
}
