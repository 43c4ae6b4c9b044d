/** What is wrong with what a hook gave back, if anything is: types do not hold everybody. */

import type { AgentState, Verdict } from '../middleware.ts'
import { isMessage } from '../run/history.ts'

type Unchecked<Data> = Data extends unknown ? { readonly [Key in keyof Data]?: unknown } : never

export function stateProblem(state: Unchecked<AgentState>): string | undefined {
  return isHistory(state.messages) ? undefined : 'the state must have a list of messages'
}

export function verdictProblem(verdict: Unchecked<Verdict>): string | undefined {
  if (verdict.accept === true) {
    const { message } = verdict as { readonly message?: unknown }
    const isAnswer = message === undefined || (isMessage(message) && message.role === 'assistant')
    return isAnswer ? undefined : 'an accepted message must be an assistant message'
  }
  if (verdict.accept !== false) return "the verdict must be { accept: true } or { accept: false, feedback: '…' }"
  const { feedback = '' } = verdict as { readonly feedback?: unknown }
  return typeof feedback === 'string' || isHistory(feedback)
    ? undefined
    : 'feedback must be a text or a list of messages'
}

function isHistory(value: unknown): boolean {
  return Array.isArray(value) && value.every(isMessage)
}
