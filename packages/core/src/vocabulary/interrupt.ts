/** A question to somebody outside of the run: the run ends with a checkpoint, and a resume brings the answer. */

import { ConfigError, messageOf, RunStop } from './errors.ts'
import { freeze } from './history.ts'
import { asJson } from './json.ts'
import type { Json } from './message.ts'
import { type JsonSchema, jsonSchemaOf, type ToolSchema } from './tool-schema.ts'

/** What a tool or middleware throws to ask. Made by {@link interrupt}. */
export class Interrupt extends RunStop {
  override readonly name = 'Interrupt'
  // Private, so that no log of the error shows what was said.
  readonly #payload: Json
  /** What an answer must be; absent if it may be anything. */
  readonly answerSchema: JsonSchema | undefined

  constructor(payload: Json, answerSchema?: JsonSchema) {
    super(
      'an answer is asked for: `agent.resume` brings it to a run; a tool alone, or in the background, can have none',
    )
    this.#payload = payload
    this.answerSchema = answerSchema
  }

  get payload(): Json {
    return this.#payload
  }
}

export interface InterruptOptions {
  /**
   * What an answer must be. A resume with another one rejects with `AnswerError` before anything runs, and the question stays open. Default: what
   * the tool or middleware that asks has as its `answer`, and for a tool without `execute` its `output`.
   */
  readonly answer?: ToolSchema
}

/**
 * Asks, in a tool, hook or wrap: it throws, and the run ends with `status: 'interrupted'`. `throw interrupt({ question: 'Really?' })`
 * shows whoever reads it that nothing comes after; without `throw` it is the same. What asks starts from its top when the run is
 * resumed, and finds its answers in `context.answers` or `run.answers`: so ask before you act. A `catch` round it that does
 * not throw on swallows the question.
 *
 * @throws {ConfigError} The payload is no JSON, or the schema of the answer does not give its JSON Schema: nobody can be asked that, and
 *   the run ends with this error.
 */
export function interrupt(payload: unknown = null, { answer }: InterruptOptions = {}): never {
  throw new Interrupt(checked(payload), answer && jsonSchemaOf(answer, 'interrupt.answer'))
}

/** A copy, which is the run's: whoever asks may go on with its own. */
function checked(payload: unknown): Json {
  try {
    return freeze(structuredClone(asJson(payload, 'payload')))
  } catch (error) {
    throw new ConfigError('interrupt', messageOf(error))
  }
}

/** A part of the path from the outermost agent to who asks. */
export type AddressPart =
  | { readonly agent: string | null }
  | { readonly tool: string; readonly callId: string }
  | { readonly middleware: string; readonly hook: string }

export type Address = readonly AddressPart[]

/** A question that waits for its answer. */
export interface PendingInterrupt<Payload extends Json = Json> {
  /** Follows from run, address and how often that address has asked: the same in every process. */
  readonly id: string
  readonly address: Address
  readonly payload: Payload
  /** What an answer must be; absent if neither the question nor its asker says so as JSON Schema. */
  readonly answerSchema?: JsonSchema
}

export interface Asked {
  /** To what the asker does now: a hook that has finished begins anew. */
  readonly answers: readonly Json[]
  /** Questions answered before that. */
  readonly past: number
}

/** As a checkpoint has it: by the address's canonical text. */
export type SavedQuestions = { readonly [address: string]: Asked }

export type Answers = Readonly<Record<string, Json>>
