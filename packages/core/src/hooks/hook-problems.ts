/** What is wrong with what a hook gave back, or a wrap hands on, if anything is: types do not hold everybody. */

import { isRecord } from '../json.ts'
import type { Message, ToolCall } from '../message.ts'
import { hasParts, shapeHint } from '../message-shape.ts'
import type { AgentState, Verdict } from '../middleware.ts'
import type { ModelRequest } from '../model.ts'
import { isMessage } from '../run/history.ts'

type Unchecked<Data> = Data extends unknown ? { readonly [Key in keyof Data]?: unknown } : never

export function stateProblem(state: Unchecked<AgentState>): string | undefined {
  return isHistory(state.messages) ? undefined : `the state must have a list of messages${partsHint(state.messages)}`
}

export function verdictProblem(verdict: Unchecked<Verdict>): string | undefined {
  if (verdict.accept === true) {
    const { message } = verdict as { readonly message?: unknown }
    const isAnswer = message === undefined || (isHistory([message]) && (message as Message).role === 'assistant')
    return isAnswer ? undefined : 'an accepted message must be an assistant message'
  }
  if (verdict.accept !== false) return "the verdict must be { accept: true } or { accept: false, feedback: '…' }"
  const { feedback = '' } = verdict as { readonly feedback?: unknown }
  return typeof feedback === 'string' || isHistory(feedback)
    ? undefined
    : `feedback must be a text or a list of messages${partsHint(feedback)}`
}

export function isHistory(value: unknown): boolean {
  return Array.isArray(value) && value.every((one) => isMessage(one) && hasParts(one))
}

/** The request that a wrap hands on, as a frozen copy. Throws `TypeError` if no model could be asked with it. */
export function checkedRequest(request: ModelRequest): ModelRequest {
  const given: unknown = request
  if (!isRecord(given)) throw new TypeError('the request is none')
  const wrong = Object.entries(REQUEST).find(([member, fits]) => !fits(given[member]))
  if (wrong) throw new TypeError(`the request's ${wrong[0]} is missing, or is none${partsHint(given[wrong[0]])}`)
  return Object.freeze({ ...request })
}

const REQUEST: { readonly [Member in keyof Required<ModelRequest>]: (value: unknown) => boolean } = {
  model: (value) => hasMethod(value, 'stream'),
  instructions: (value) => typeof value === 'string',
  messages: isHistory,
  tools: (value) => Array.isArray(value) && value.every((one) => isRecord(one) && typeof one.name === 'string'),
  toolNames: (value) => value === undefined || hasMethod(value, 'has'),
  toolChoice: (value) => typeof (isRecord(value) ? value.tool : value) === 'string',
  output: (value) => value === undefined || isRecord(value),
  settings: isRecord,
  inputLimits: isRecord,
  takenIds: (value) => hasMethod(value, 'has'),
  clientRetries: (value) => value === undefined || typeof value === 'number',
  signal: (value) => hasMethod(value, 'addEventListener'),
}

function hasMethod(value: unknown, name: string): boolean {
  return isRecord(value) && typeof value[name] === 'function'
}

/** The call that a wrap hands on, as a frozen copy: it may have another input, and is the one that was `given` (A14). Throws `TypeError`. */
export function checkedCall(call: ToolCall, { type, id, name }: ToolCall): ToolCall {
  if (!isRecord(call) || !('input' in call)) throw new TypeError('the call is none')
  return Object.freeze({ ...call, type, id, name })
}

/** Of the first whose parts are none. */
function partsHint(value: unknown): string {
  const messages: readonly unknown[] = Array.isArray(value) ? value : []
  return shapeHint(messages.find((one) => isMessage(one) && !hasParts(one)))
}
