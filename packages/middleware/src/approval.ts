/** The answers to the questions of `approve()`. */

import { ConfigError, type Json, type ToolSchema } from '@meanwhile/core'
import { isRecord } from '@meanwhile/core/calls'
import { schemaOf } from './schema-of.ts'

/**
 * The answer to a question of `approve`. `agent.resume` takes a `Record<string, Approval>` by the ids of the
 * questions.
 */
export type Approval =
  /** `by`: who has decided, for the event about it. */
  | { readonly decision: 'allow'; readonly by?: string }
  /** The model reads the reason. */
  | { readonly decision: 'deny'; readonly reason?: string; readonly by?: string }
  /** The call runs with this input instead, if it matches the tool's schema. */
  | { readonly decision: 'edit'; readonly input: Json; readonly by?: string }

export const DECISIONS: readonly Approval['decision'][] = ['allow', 'deny', 'edit']

const FORMS = {
  allow: "{ decision: 'allow' }",
  deny: "{ decision: 'deny', reason?: '…' }",
  edit: "{ decision: 'edit', input: … }",
}

export function isApproval(answer: unknown, decisions: readonly unknown[]): answer is Approval {
  if (!isRecord(answer)) return false
  const { decision, reason, by } = answer
  if (!decisions.includes(decision) || (by !== undefined && typeof by !== 'string')) return false
  if (decision === 'edit') return 'input' in answer
  return decision === 'allow' || (decision === 'deny' && (reason === undefined || typeof reason === 'string'))
}

/** The same as JSON Schema, for user interfaces. */
const JSON_FORMS = {
  allow: jsonForm('allow', {}),
  deny: jsonForm('deny', { reason: { type: 'string' } }),
  edit: jsonForm('edit', { input: {} }, ['input']),
}

function jsonForm(decision: Approval['decision'], properties: object, required: readonly string[] = []) {
  return {
    type: 'object',
    properties: { decision: { const: decision }, ...properties, by: { type: 'string' } },
    required: ['decision', ...required],
  }
}

/** Checks answers in a resume. User interfaces get it as JSON Schema. */
export function answerSchema(decisions: readonly Approval['decision'][]): ToolSchema<Approval> {
  const forms = new Intl.ListFormat('en-GB', { type: 'disjunction' }).format(decisions.map((one) => FORMS[one]))
  const isAnswer = (answer: unknown): answer is Approval => isApproval(answer, decisions)
  const anyOf = decisions.map((one) => JSON_FORMS[one])
  return {
    '~standard': { ...schemaOf(isAnswer, `must be ${forms}`)['~standard'], jsonSchema: { input: () => ({ anyOf }) } },
  }
}

/** @throws {ConfigError} It is not a list of decisions, or is empty. */
export function checkDecisions(decisions: readonly unknown[]): void {
  const isKnown = (decision: unknown) => DECISIONS.some((one) => one === decision)
  if (!Array.isArray(decisions) || decisions.length === 0 || !decisions.every(isKnown))
    throw new ConfigError('decisions', 'must be a list of allow, deny and edit, with at least one of them')
}
