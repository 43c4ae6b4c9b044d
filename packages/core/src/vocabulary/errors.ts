/** The errors that end a run: {@link AgentError} and one small class for each case that a caller may catch. Others stand next to what they are about. */

import { BrandedError } from './brand.ts'
import { extentOf, jsonText, LONGEST } from './json-text.ts'
import type { Message, Usage, UserMessage } from './message.ts'
import { shapeHint, whyNotUserMessage } from './message-shape.ts'

/** What is wrong with a value. `path` is dotted, and empty for the whole value. */
export interface Issue {
  /** Where the value is wrong: names and indexes separated by dots; empty for the whole value. */
  readonly path: string
  /** What is wrong. */
  readonly message: string
}

/** The state of a run that has ended with an error. */
export interface RunEnd {
  readonly messages: readonly Message[]
  readonly usage: Usage
  readonly abandoned?: readonly string[]
}

/** The base class of all errors that end a run, no matter where they are thrown. */
export class AgentError extends BrandedError {
  static override readonly brand: string = 'AgentError'
  /** Whether the end is final: a resume of the stored run rejects with an `AgentError` of this name, message and data. Default: it goes on. */
  declare readonly final?: boolean
  // Private: a log of the error must not contain messages.
  #end: RunEnd | undefined

  /**
   * The history at the end of the run. Every call in it has a result. Messages that were sent to the run and that no step has read come last. Store
   * it: it is a valid input of the next run.
   */
  get messages(): readonly Message[] | undefined {
    return this.#end?.messages
  }

  /** The tokens that the run had used. */
  get usage(): Usage | undefined {
    return this.#end?.usage
  }

  /** Ids of calls that were still running when the run stopped waiting for them. */
  get abandoned(): readonly string[] | undefined {
    return this.#end?.abandoned
  }

  /** Called by core with the state of the run that ended with this error. */
  endRun(end: RunEnd): void {
    this.#end = end
  }

  /** The JSON of an error in an event: its name, message and own data, without stack, cause and message contents. */
  toJSON(): object {
    return Object.assign({}, this, { message: this.message })
  }
}

/** An option is invalid; `option` is its name. If a hook or wrap has set it, this error is the `cause` of a {@link MiddlewareError}. */
export class ConfigError extends AgentError {
  static override readonly brand: string = 'ConfigError'
  /** The name of the option, such as `budget.halfLifeMs`. */
  declare readonly option: string

  constructor(option: string, problem: string) {
    super(`${option}: ${problem}`)
    this.option = option
  }
}

/** The input of a run, or a message sent to a running one, is invalid; or the message was sent after the run had ended. */
export class InputError extends AgentError {
  static override readonly brand: string = 'InputError'
  /** What was invalid: the input of a run, or a message sent to a running one. */
  declare readonly given: 'input' | 'message'
  /** What was wrong. `run-ended`: it was sent after the end of the run. */
  declare readonly problem: 'empty' | 'malformed' | 'run-ended'
  /** If a list was given: the index of the first element that is not a message. */
  declare readonly index?: number
  // Private: a log of the error must not contain messages.
  readonly #notTaken: readonly UserMessage[]

  /** `wrong`: the value found instead of a message. */
  constructor(
    given: InputError['given'],
    problem: InputError['problem'],
    index?: number,
    wrong?: unknown,
    options: ErrorOptions & { readonly notTaken?: readonly UserMessage[] } = {},
  ) {
    const fault = options.cause ? 'cannot be written as JSON' : 'is not a message'
    const why = options.cause ? `this ${fault}` : whyNotUserMessage(wrong)
    super(inputProblem(given, problem, index, given === 'input' ? fault : why) + shapeHint(wrong), options)
    this.given = given
    this.problem = problem
    this.#notTaken = options.notTaken ?? []
    if (index !== undefined) this.index = index
  }

  /** If the run had ended: the messages for which `send` returned true and that the run did not read. */
  get notTaken(): readonly UserMessage[] {
    return this.#notTaken
  }
}

/** In the history, a call has no result directly after its message, or a result has no call directly before it. */
export class HistoryError extends AgentError {
  static override readonly brand: string = 'HistoryError'
  /** The ids of these calls and results. */
  declare readonly callIds: readonly string[]

  constructor(callIds: readonly string[], place: string) {
    super(`the history is wrong at ${place}: ${callIds.join(', ')}. Use resume(), close() or patchToolCalls()`)
    this.callIds = callIds
  }
}

/** The run needs another step, but has reached `maxSteps`. */
export class MaxStepsError extends AgentError {
  static override readonly brand: string = 'MaxStepsError'
  /** The maximum number of steps. */
  declare readonly maxSteps: number
  /** Why the answer of the last step was rejected, if it was. `cause` is an {@link OutputError} if the answer did not match the output schema. */
  declare readonly feedback?: string

  constructor(maxSteps: number, feedback?: string, options?: ErrorOptions) {
    super(`no final answer within ${maxSteps} ${maxSteps === 1 ? 'step' : 'steps'}`, options)
    this.maxSteps = maxSteps
    if (feedback !== undefined) this.feedback = feedback
  }
}

/** The answer does not match the agent's output schema, and the model cannot be asked for another one. */
export class OutputError extends AgentError {
  static override readonly brand: string = 'OutputError'
  /** What is wrong with the answer. */
  declare readonly issues: readonly Issue[]

  constructor(issues: readonly Issue[]) {
    super(`the answer does not match the output schema: ${inWords(issues)}`)
    this.issues = issues
  }
}

/**
 * The context of a run is missing or does not match what its tools and middleware need. No model was called. If this is a resume, nothing has run,
 * and you can resume the same checkpoint with another context.
 */
export class ContextError extends AgentError {
  static override readonly brand: string = 'ContextError'
  /**
   * What does not match. Each path begins with the tool or middleware that needs the value: `tool orders.tenant`. An issue contains no value of the
   * context, unless the schema puts one into its message.
   */
  declare readonly issues: readonly Issue[]

  constructor(issues: readonly Issue[], options?: ErrorOptions) {
    super(`the context of the run does not match: ${inWords(issues)}`, options)
    this.issues = issues
  }
}

/** The run was aborted, or its reader stopped reading. `cause` is the signal's reason. */
export class RunAbortedError extends AgentError {
  static override readonly brand: string = 'RunAbortedError'
  override readonly name = 'AbortError'

  constructor(reason: unknown) {
    super('the run was aborted', { cause: reason })
  }
}

/** Ends the run with a checkpoint: the run has a result instead of an error. Retries, fallbacks and time limits pass it on. */
export class RunStop extends AgentError {
  static override readonly brand: string = 'RunStop'
}

/** The run was cancelled. Wraps and calls throw this while the run stops. */
export class RunCancelled extends RunStop {
  static override readonly brand: string = 'RunCancelled'

  constructor() {
    super('the run was cancelled')
  }
}

/** An answer belongs to a question that the run has not asked, or that already has an answer. */
export class UnknownInterruptError extends AgentError {
  static override readonly brand: string = 'UnknownInterruptError'
  /** The ids that have no open question. */
  declare readonly ids: readonly string[]

  /** `why`: why it has none, if that is known. */
  constructor(ids: readonly string[], why?: string) {
    super(`this run has no open interrupt with the id ${ids.join(', ')}${why ? `: ${why}` : ''}`)
    this.ids = ids
  }
}

/** An answer does not match the schema of its question. Nothing has run, and the question stays open. */
export class AnswerError extends AgentError {
  static override readonly brand: string = 'AnswerError'
  /** The id of the interrupt. */
  declare readonly id: string
  /** What is wrong with the answer. */
  declare readonly issues: readonly Issue[]
  /** The JSON Schema of the answer, if the question has one. */
  declare readonly answerSchema?: object

  /** `asker`: the tool or middleware that asks, and its call, for the message. */
  constructor(id: string, asker: string, issues: readonly Issue[], options?: ErrorOptions, answerSchema?: object) {
    super(`${asker} does not accept the answer to ${id}: ${inWords(issues)}`, options)
    this.id = id
    this.issues = issues
    if (answerSchema) this.answerSchema = answerSchema
  }
}

/** A hook or wrap threw, or passed on or returned an invalid value. */
export class MiddlewareError extends AgentError {
  static override readonly brand: string = 'MiddlewareError'
  /** The name of the middleware. */
  declare readonly middleware: string
  /** The name of the hook or wrap, such as `wrapModel`. */
  declare readonly hook: string

  constructor(middleware: string, hook: string, problem: string, options?: ErrorOptions) {
    super(`middleware ${middleware}, ${hook}: ${problem}`, options)
    this.middleware = middleware
    this.hook = hook
  }
}

/** A model call or the run exceeded its time limit. */
export class TimeoutError extends AgentError {
  static override readonly brand: string = 'TimeoutError'
  /** Which limit was exceeded: of the run, of a whole model call, or of the time without an event in a model call (`idle`). */
  declare readonly limit: 'run' | 'model' | 'idle'
  /** The limit in milliseconds. */
  declare readonly timeout: number
  /** Whether a retry may help: true for a model call, false for the run. */
  declare readonly retryable: boolean

  constructor(limit: TimeoutError['limit'], timeout: number) {
    super(limit === 'idle' ? `the model sent nothing for ${timeout} ms` : `the ${limit} took longer than ${timeout} ms`)
    this.limit = limit
    this.timeout = timeout
    this.retryable = limit !== 'run'
  }
}

/**
 * Returns the message of any thrown value. Never throws, even if the value is not an Error or its `message` throws. For an Error without a message it
 * returns the messages of its `errors`, or its code, or its name.
 */
export function messageOf(thrown: unknown): string {
  try {
    if (thrown instanceof Error) return String(thrown.message) || substitute(thrown)
    if (typeof thrown === 'string') return thrown
    const extent = extentOf(thrown)
    return extent.characters > LONGEST ? 'unknown error' : (jsonText(thrown, extent) ?? typeof thrown)
  } catch {
    return 'unknown error'
  }
}

function substitute(error: Error): string {
  const within = error instanceof AggregateError ? error.errors.map(messageOf).join('; ') : ''
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  return within || code || String(error.name)
}

function inputProblem(given: InputError['given'], problem: InputError['problem'], index = -1, why = ''): string {
  if (problem === 'run-ended') return 'the run had already ended: it did not read the messages in `notTaken`'
  if (given === 'message')
    return `a message to a run must be a text or a user message; ${problem === 'empty' ? 'this is empty' : why}`
  if (problem === 'empty') return 'the input is empty'
  if (index < 0) return 'the input must be a text or a list of messages, not { messages }'
  return `the input is not a list of messages: the element at index ${index} ${why}`
}

export function inWords(issues: readonly Issue[]): string {
  return issues.map(({ path, message }) => (path ? `${path}: ${message}` : message)).join('; ')
}
