/** Questions of a server to the user. */

import { interrupt, type Json, type Run, runLocal, type ToolSchema } from '@meanwhile/core'
import { asJson, isRecord } from '@meanwhile/core/calls'
import type { ElicitRequest, ElicitResult, InputRequests } from '@modelcontextprotocol/client'
import { jsonHash } from './definition.ts'
import { schemaOf, shownSchema } from './schema-of.ts'

/** A question of a server, for the option `questions`. */
export interface McpQuestion {
  /** The name of the server, as in the options. */
  readonly server: string
  /** The server's name of the tool whose call asks. */
  readonly tool: string
  /** What the server asks: a form, or an address that the user should open. */
  readonly request: ElicitRequest
}

/** What a run keeps between a question and its answer. The state of the server must not be in the question, which a page shows. */
interface Waiting {
  /** How many questions this call has asked. */
  readonly asked: number
  /** What the server wants to have back, with the answer. */
  readonly state?: string
  /** The call is made again, from its beginning: what the user was asked before, oldest first. */
  readonly again?: readonly QuestionKey[]
}

/** Stands for what a user sees of a question. */
export type QuestionKey = string

/** The most questions of a call. */
export const MOST_QUESTIONS = 10

type AllWaiting = Readonly<Record<string, Waiting>>

const isAllWaiting = (value: unknown): value is AllWaiting => isRecord(value) && Object.values(value).every(isWaiting)

const isText = (value: unknown): value is string => typeof value === 'string'

function isWaiting(value: unknown): value is Waiting {
  if (!isRecord(value)) return false
  const { asked, state = '', again = [] } = value
  return typeof asked === 'number' && isText(state) && Array.isArray(again) && again.every(isText)
}

const waiting = runLocal<AllWaiting>({
  key: 'mcp/waiting',
  schema: schemaOf(isAllWaiting, 'is not a list of questions'),
  initial: {},
})

export function waitingOf(run: Run | undefined, key: string): Waiting | undefined {
  return run && waiting(run).value[key]
}

export function forget(run: Run | undefined, key: string): void {
  if (!run || !waitingOf(run, key)) return
  const { [key]: _, ...others } = waiting(run).value
  waiting(run).value = others
}

/** A question that interrupts the run. */
export interface Asked extends Omit<Waiting, 'asked'> {
  readonly server: string
  readonly tool: string
  readonly callId: string
  /** The `idempotencyKey` of the call. */
  readonly key: string
  readonly requests: InputRequests
}

export function keyOf({ params }: ElicitRequest): QuestionKey {
  const { message, requestedSchema, url }: Readonly<Record<string, unknown>> = { ...params }
  return jsonHash([message, requestedSchema ?? null, url ?? null])
}

/** Interrupts the run with the question, when it is certain that the call counts. */
export async function ask(run: Run, { server, tool, callId, key, requests, ...kept }: Asked): Promise<never> {
  const { asked = 0 } = waitingOf(run, key) ?? {}
  const id = await run.stood(callId)
  waiting(run).value = { ...waiting(run).value, [key]: { ...kept, asked: asked + 1 } }
  const shown = Object.entries(requests).map(([name, { method, params }]) => [name, { method, params }])
  const payload = { mcp: server, tool, callId: id, requests: asJson(Object.fromEntries(shown), 'the question') }
  throw interrupt(payload, { answer: answerSchema(requests) })
}

/** The schema of the answer: a form has to be filled in as the server asks. */
function answerSchema(requests: InputRequests): ToolSchema {
  const shown = {
    type: 'object',
    properties: Object.fromEntries(Object.entries(requests).map(([name, request]) => [name, actionSchema(request)])),
    required: Object.keys(requests),
  }
  return shownSchema(shown, (value) => ({ value }))
}

function actionSchema({ params }: InputRequests[string]): object {
  const form = params && 'requestedSchema' in params ? params.requestedSchema : undefined
  const accepted = { action: { const: 'accept' }, ...(form && { content: form }) }
  return {
    anyOf: [
      { type: 'object', properties: accepted, required: Object.keys(accepted) },
      { type: 'object', properties: { action: { enum: ['decline', 'cancel'] } }, required: ['action'] },
    ],
  }
}

/** The answers of a resume, by name of the request. */
export function answersIn(answer: Json | undefined): Readonly<Record<string, ElicitResult>> {
  const answers = isRecord(answer) ? Object.entries(answer) : []
  return Object.fromEntries(answers.flatMap(([name, one]) => (isElicitResult(one) ? [[name, one]] : [])))
}

function isElicitResult(value: unknown): value is ElicitResult {
  return isRecord(value) && ['accept', 'decline', 'cancel'].some((action) => action === value.action)
}
