/** Describes what is wrong with a value that a hook returns or a wrap passes on, because JavaScript callers have no types. */

import { inputProblem } from '../vocabulary/call-limits.ts'
import { isHistory, isMessage } from '../vocabulary/history.ts'
import { isRecord } from '../vocabulary/json.ts'
import { type AssistantMessage, callsOf, type Message, type ToolCall } from '../vocabulary/message.ts'
import { hasParts, isFinishReason, shapeHint } from '../vocabulary/message-shape.ts'
import type { AgentState, Verdict } from '../vocabulary/middleware.ts'
import type { ModelEvent, ModelRequest } from '../vocabulary/model.ts'
import { fits, type Is, isCall, isNumber, isText, listOf, optional, type Shape, wrongIn } from '../vocabulary/shape.ts'

type Unchecked<Data> = Data extends unknown ? { readonly [Key in keyof Data]?: unknown } : never

export function stateProblem(state: Unchecked<AgentState>): string | undefined {
  return isHistory(state.messages) ? undefined : `the state must have a list of messages${partsHint(state.messages)}`
}

/** Returns what is wrong with the calls in a state. Problems that were already in what the hook received (`given`) do not count. */
export function answerProblem(state: Unchecked<AgentState>, given: readonly Message[]): string | undefined {
  const problem = stateProblem(state)
  if (problem !== undefined) return problem
  const { messages } = state as AgentState
  if (messages.at(-1)?.role !== 'assistant') return 'the state must end with an assistant message'
  const before = sharedIds(given)
  const shared = sharedIds(messages).filter((id) => !before.includes(id))
  const own = sharedIds(messages.slice(-1))
  const [id] = shared
  if (id && !own.includes(id)) return usedProblem(id)
  return idProblem(shared) ?? inputsProblem(messages.slice(-1))
}

/** What is wrong with a call whose id an earlier step has used. */
export function usedProblem(id: string): string {
  return `call id ${id} was used by an earlier step`
}

/** Returns what is wrong with a message that a wrap made. Two calls in it must not have the same id. */
export function messageProblem(message: AssistantMessage): string | undefined {
  if (!isFinishReason(message.finishReason)) return 'the message has no valid finishReason'
  return idProblem(sharedIds([message])) ?? inputsProblem([message])
}

function inputsProblem(messages: readonly Message[]): string | undefined {
  const [problem] = messages.flatMap(callsOf).flatMap((call) => inputProblem(call) ?? [])
  return problem && `it has ${problem}`
}

function idProblem([id]: readonly string[]): string | undefined {
  if (id === undefined) return undefined
  return id === '' ? 'a call has an empty id' : `two calls have the id ${id}`
}

/** Returns ids that do not identify one call: those of several calls, and the empty one. */
function sharedIds(messages: readonly Message[]): string[] {
  const seen = new Set([''])
  return messages.flatMap(callsOf).flatMap(({ id }) => (seen.size === seen.add(id).size ? [id] : []))
}

export function verdictProblem(verdict: Unchecked<Verdict>): string | undefined {
  if (verdict.accept === true) {
    const { message } = verdict as { readonly message?: unknown }
    const isAnswer = message === undefined || (isHistory([message]) && (message as Message).role === 'assistant')
    return isAnswer ? undefined : 'an accepted message must be an assistant message'
  }
  if (verdict.accept !== false) return "the verdict must be { accept: true } or { accept: false, feedback: '…' }"
  const { feedback = '' } = verdict as { readonly feedback?: unknown }
  return isText(feedback) || isHistory(feedback)
    ? undefined
    : `feedback must be a text or a list of messages${partsHint(feedback)}`
}

/**
 * Returns a frozen copy of the request that a wrap passes on. Throws `TypeError` if no model could be called with it. The history of the request
 * that the wrap `received` has been checked.
 */
export function checkedRequest(request: ModelRequest, received?: ModelRequest): ModelRequest {
  const given: unknown = request
  if (!isRecord(given)) throw new TypeError('it is not a request')
  const wrong = wrongIn(received && given.messages === received.messages ? { ...given, messages: [] } : given, REQUEST)
  if (wrong) throw new TypeError(`the request has no valid ${wrong}${partsHint(given[wrong])}`)
  return Object.freeze({ ...request })
}

const REQUEST: Shape<Omit<ModelRequest, 'omitsFiles'>> = {
  model: withMethod('stream'),
  instructions: isText,
  messages: isHistory,
  tools: listOf((value) => fits(value, { name: isText })),
  toolNames: optional(withMethod('has')),
  toolChoice: (value) => isText(isRecord(value) ? value.tool : value),
  output: optional(isRecord),
  settings: isRecord,
  inputLimits: isRecord,
  takenIds: withMethod('has'),
  clientRetries: optional(isNumber),
  signal: withMethod('addEventListener'),
}

/** The required members of each type of event. */
export type EventShapes<Type extends string = string> = { readonly [Name in Type]: Members }

type Members = Readonly<Record<string, Is>>

/** The events of a model. */
const MODEL_EVENTS: EventShapes<ModelEvent['type']> = {
  'text-delta': { delta: isText },
  'reasoning-delta': { delta: isText },
  'tool-input-start': { id: isText, name: isText },
  'tool-input-delta': { id: isText, delta: isText },
  'tool-input-ready': { id: isText, name: isText, input: isRecord },
  'tool-input-closed': { call: isCall },
  'tool-call': { call: isCall },
}

export const CUSTOM_EVENT: EventShapes<'custom'> = { custom: { name: isText } }

export const WRAP_MODEL_EVENTS: EventShapes<ModelEvent['type'] | 'attempt-failed' | 'custom'> = {
  ...MODEL_EVENTS,
  'attempt-failed': { error: (value) => value !== undefined, next: isText },
  ...CUSTOM_EVENT,
}

/** The members of every event of a run. */
export const STAMP: Members = { runId: isText }

/** Returns what is wrong with a yielded event, if anything. Only the input of a call is examined as a whole, because each event is checked. */
export function eventProblem(event: unknown, shapes: EventShapes): string | undefined {
  if (!isRecord(event)) return 'something that is not an event'
  const { type = '' } = event
  const members = isText(type) && Object.hasOwn(shapes, type) ? shapes[type] : undefined
  if (!members)
    return type === '' ? 'an event without a type' : `an event of type ${String(type)}, which it may not yield`
  const wrong = wrongIn(event, members)
  if (wrong) return `an event of type ${String(type)} whose ${wrong} is missing or wrong`
  return members.call === isCall ? inputProblem(event.call as ToolCall) : undefined
}

/** The same for an event of a model. Most are text deltas, for which it skips the lookup. */
export function modelEventProblem(event: unknown): string | undefined {
  const isDelta = isRecord(event) && event.type === 'text-delta' && isText(event.delta)
  return isDelta ? undefined : eventProblem(event, MODEL_EVENTS)
}

function withMethod(name: string): Is {
  return (value) => isRecord(value) && typeof value[name] === 'function'
}

/** Returns a frozen copy of the call that a wrap passes on, with the id and name that it received. Throws `TypeError` if the call is invalid. */
export function checkedCall(call: ToolCall, { type, id, name }: ToolCall): ToolCall {
  if (!isRecord(call) || !('input' in call)) throw new TypeError('it is not a call with an input')
  return Object.freeze({ ...call, type, id, name })
}

/** Returns a hint for the first message with invalid parts. */
function partsHint(value: unknown): string {
  const messages: readonly unknown[] = Array.isArray(value) ? value : []
  return shapeHint(messages.find((one) => isMessage(one) && !hasParts(one)))
}
