/** Checks answers before a run continues with them. */

import type { StandardSchemaV1 } from '@standard-schema/spec'
import { agentRunBy } from '../state/call-effect.ts'
import { findTool } from '../vocabulary/aliases.ts'
import { described, type Validated, validated } from '../vocabulary/checked-input.ts'
import { AnswerError, messageOf } from '../vocabulary/errors.ts'
import type { Address, Answers, PendingInterrupt } from '../vocabulary/interrupt.ts'
import { misfits } from '../vocabulary/json-schema.ts'
import type { Middleware } from '../vocabulary/middleware.ts'
import type { Tool } from '../vocabulary/tool.ts'
import { type JsonSchema, jsonSchemaIn } from '../vocabulary/tool-schema.ts'

/** The tools and middleware that ask questions. An agent has these members. */
export interface Askers {
  /** The middleware that may ask. */
  readonly middleware?: readonly Middleware[]
  /** The tools that may ask. */
  readonly tools?: readonly Tool[]
}

/**
 * Checks answers without resuming the run: `await checkAnswers(checkpoint.interrupts, answers, agent)`. `agent.resume` does the same checks. An
 * answer is checked against the schema of the tool or middleware that asked. If `askers` does not contain it, the answer is checked against the JSON
 * Schema of its question. Answers without a question are ignored.
 *
 * @throws {AnswerError} An answer does not fit the JSON Schema of its question, or the schema of its tool or middleware.
 */
export async function checkAnswers(
  questions: readonly PendingInterrupt[],
  answers: Answers,
  askers: Askers,
): Promise<void> {
  for (const { id, address, answerSchema } of questions) {
    if (!(id in answers)) continue
    const schema = schemaAt(address, askers)
    // The schema is more precise than the JSON Schema, and has better messages.
    const { issues, cause }: Validated = schema ? await validated(schema, answers[id], messageOf) : {}
    const wrong = issues?.map(described) ?? (answerSchema ? misfits(answerSchema, answers[id]) : [])
    if (wrong.length > 0) throw new AnswerError(id, nameOf(address), wrong, { cause }, answerSchema)
  }
}

/** Returns the JSON Schema for answers to questions from this address, if its tool or middleware declares one for all its questions. */
export function answerSchemaAt(address: Address, askers: Askers): JsonSchema | undefined {
  const schema = schemaAt(address, askers)
  return schema && jsonSchemaIn(schema)
}

/** The name of the tool or middleware that has asked, and the innermost call that it asks about. It may no longer exist. */
function nameOf(address: Address): string {
  const last = address.at(-1)
  const call = address.findLast((part) => 'tool' in part)
  if (last && 'middleware' in last)
    return `middleware ${last.middleware}${call ? `, asking in call ${call.callId} of ${call.tool},` : ''}`
  return call ? `tool ${call.tool} in call ${call.callId}` : 'the agent'
}

/**
 * The schema for answers of the tool or middleware at an address, if it declares one. Returns `undefined` inside an agent that a tool creates only
 * when it is called: that agent checks its answers itself.
 */
function schemaAt(address: Address, { middleware, tools }: Askers): StandardSchemaV1 | undefined {
  const inner = address.findIndex((part, index) => index > 0 && 'agent' in part)
  const last = address[inner < 0 ? address.length - 1 : inner - 1]
  if (last && 'middleware' in last) return middleware?.find(({ name }) => name === last.middleware)?.answer
  const tool = last && 'tool' in last ? findTool(tools ?? [], last.tool) : undefined
  if (!tool) return undefined
  if (inner < 0) return tool.execute ? tool.answer : tool.output
  const agent = agentRunBy(tool)
  return agent && schemaAt(address.slice(inner), { middleware: agent.middleware, tools: agent.setup.tools })
}
