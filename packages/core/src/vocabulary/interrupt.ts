/** Questions to somebody outside the run, such as a human: the run ends with a checkpoint, and a resume brings the answer. */

import { ConfigError, messageOf, RunStop } from './errors.ts'
import { freeze } from './history.ts'
import { copiedJson } from './json.ts'
import type { Json } from './message.ts'
import { type JsonSchema, jsonSchemaOf, type ToolSchema } from './tool-schema.ts'

/** The error that a tool or middleware throws to ask a question. Use {@link interrupt} to throw it. */
export class Interrupt extends RunStop {
  static override readonly brand: string = 'Interrupt'
  // Private: a log of the error must not contain messages.
  readonly #payload: Json
  /** The JSON Schema of the answer; absent if any answer is allowed. */
  declare readonly answerSchema: JsonSchema | undefined

  constructor(payload: Json, answerSchema?: JsonSchema) {
    super('an answer is required: `agent.resume` gives it to a run; a stand-alone or background tool cannot get one')
    this.#payload = payload
    this.answerSchema = answerSchema
  }

  get payload(): Json {
    return this.#payload
  }
}

/** The options of `interrupt`. */
export interface InterruptOptions {
  /**
   * The schema of the answer. If an answer does not match, the resume rejects with `AnswerError` before anything runs, and the question stays open.
   * Default: the `answer` schema of the tool or middleware that asks, or the `output` schema of a tool without `execute`.
   */
  readonly answer?: ToolSchema
}

/**
 * Asks a question from a tool, hook or wrap: it throws, and the run ends with `status: 'interrupted'`. Write `throw interrupt({ question: 'Really?'
 * })` to show readers that the function ends here; without `throw` it does the same.
 *
 * When the run is resumed, the tool or middleware that asked runs again from the beginning and finds the answers in `context.answers` or
 * `run.answers`. So ask before you act. If you catch errors around it, throw this one again; otherwise the question is lost.
 *
 * @throws {ConfigError} The payload is not JSON, or the schema of the answer has no JSON Schema. The run ends with this error, as it does if the
 * payload is over the `outputLimits` of the agent.
 */
export function interrupt(payload: unknown = null, { answer }: InterruptOptions = {}): never {
  throw new Interrupt(checked(payload), answer && jsonSchemaOf(answer, 'interrupt.answer'))
}

/** Returns a frozen copy: the caller may change its own object afterwards. */
function checked(payload: unknown): Json {
  try {
    return freeze(copiedJson(payload, 'payload'))
  } catch (error) {
    throw new ConfigError('interrupt', messageOf(error))
  }
}

/** A part of the path from the outermost agent to the tool or middleware that asks. */
export type AddressPart =
  | { readonly agent: string | null }
  | { readonly tool: string; readonly callId: string }
  | { readonly middleware: string; readonly hook: string }

/** The path from the outermost agent to the tool or middleware that asks. */
export type Address = readonly AddressPart[]

/** A question that has no answer yet. */
export interface PendingInterrupt<Payload extends Json = Json> {
  /**
   * Letters, digits and underscores. It contains the id of the run, the address, the number of questions from that address and a random part, so no
   * other question has it, and an answer to a question that was not stored is refused. The checkpoint contains it: in every process that
   * continues the checkpoint, the question has the same id.
   */
  readonly id: string
  /** The tool or middleware that asks. */
  readonly address: Address
  /** The id of the run that asks, if it is that of an agent inside a call. */
  readonly innerRun?: string
  /** The question, as it was given to `interrupt`. */
  readonly payload: Payload
  /** The JSON Schema of the answer; absent if neither the question nor the tool or middleware that asks has one. */
  readonly answerSchema?: JsonSchema
}

/** The answers to the questions of a run, by id of the interrupt. */
export type Answers = Readonly<Record<string, Json>>
