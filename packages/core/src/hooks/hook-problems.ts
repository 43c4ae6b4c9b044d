/** What is wrong with what a hook gave back, if anything is: types do not hold everybody. */

import type { Message } from '../message.ts'
import { hasParts, shapeHint } from '../message-shape.ts'
import type { AgentState, Verdict } from '../middleware.ts'
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

function isHistory(value: unknown): boolean {
  return Array.isArray(value) && value.every((one) => isMessage(one) && hasParts(one))
}

/** Of the first whose parts are none. */
function partsHint(value: unknown): string {
  const messages: readonly unknown[] = Array.isArray(value) ? value : []
  return shapeHint(messages.find((one) => isMessage(one) && !hasParts(one)))
}
