/** Decides how a page may answer an approval, and adds who answered. */

import { type Answers, type Json, UnknownInterruptError } from '@meanwhile/core'
import { isRecord } from '@meanwhile/core/calls'
import type { Present } from './present.ts'
import type { Question } from './turn/turn-update.ts'

/** A page has answered an approval with another input, and `edits` is not on. */
export class EditRefusedError extends Error {
  override readonly name = 'EditRefusedError'
  /** The id of the question. */
  readonly id: string

  constructor(id: string) {
    super(`the answer to ${id} changes the input of a call, and edits is not on`)
    this.id = id
  }
}

/** The question as a page may see it: it offers the decision `edit` only with `edits`. */
export function shownQuestion(question: Question, { edits = false }: Present): Question {
  const { kind, payload, answerSchema } = question
  if (edits || kind !== 'approval' || !isRecord(payload)) return question
  const { decisions } = payload
  const { anyOf } = answerSchema ?? {}
  const isOther = (form: unknown) => Object(Object(Object(form).properties).decision).const !== 'edit'
  return {
    ...question,
    ...(Array.isArray(decisions) && {
      payload: { ...(payload as Record<string, Json>), decisions: decisions.filter((decision) => decision !== 'edit') },
    }),
    ...(Array.isArray(anyOf) && { answerSchema: { ...answerSchema, anyOf: anyOf.filter(isOther) } }),
  }
}

/**
 * Returns the answers with `by`, who answered, in those to approvals. A page cannot name somebody else. `questions`: all that are open.
 *
 * @throws {UnknownInterruptError} An answer belongs to none of the questions. It may open before the thread gets the answer, which nobody has checked.
 * @throws {EditRefusedError} An answer changes the input of a call, and `edits` is false.
 */
export function answersBy(
  by: string | undefined,
  answers: Answers,
  questions: readonly Question[],
  edits: boolean,
): Answers {
  const open = new Set(questions.map(({ id }) => id))
  const unknown = Object.keys(answers).filter((id) => !open.has(id))
  if (unknown.length > 0) throw new UnknownInterruptError(unknown)
  const approvals = new Set(questions.flatMap(({ id, kind }) => (kind === 'approval' ? [id] : [])))
  const signed = Object.entries(answers).map(([id, answer]): [string, Json] => {
    if (!approvals.has(id) || !isRecord(answer)) return [id, answer]
    if (answer.decision === 'edit' && !edits) throw new EditRefusedError(id)
    const { by: _, ...given } = answer as Record<string, Json>
    return [id, { ...given, ...(by !== undefined && { by }) }]
  })
  return Object.fromEntries(signed)
}

/** @throws {TypeError} `by` returned anything else but a short text or undefined. */
export function checkedBy(by: unknown): string | undefined {
  if (by === undefined || (typeof by === 'string' && by !== '' && by.length <= 256)) return by
  throw new TypeError('by must return a text of 1 to 256 characters, or undefined')
}
