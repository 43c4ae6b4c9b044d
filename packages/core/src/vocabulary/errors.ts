/**
 * What ends a run wherever it is thrown: {@link AgentError}, and one small class per thing a caller may catch. Those of models,
 * checkpoints and tools have files of their own.
 */

import { extentOf, jsonText, LONGEST } from './json-text.ts'
import type { Message, Usage, UserMessage } from './message.ts'
import { notSaid, shapeHint } from './message-shape.ts'

export interface Cause {
  readonly cause?: unknown
}

/** What a schema says of a value; `path` has dots, and is empty for the whole. */
export interface Issue {
  readonly path: string
  readonly message: string
}

/** What is known when a run has ended with an error. */
export interface RunEnd {
  readonly messages: readonly Message[]
  readonly usage: Usage
  readonly abandoned?: readonly string[]
}

/** The base of all errors that end a run. */
export class AgentError extends Error {
  override readonly name: string = 'AgentError'
  // Private, so that no log of the error shows what was said.
  #end: RunEnd | undefined

  /**
   * The history when the run ended, with every call answered, and at its end the messages that were sent to the run and that no step
   * had read. Store it: it is a valid input of the next run.
   */
  get messages(): readonly Message[] | undefined {
    return this.#end?.messages
  }

  /** What the run had used by then. */
  get usage(): Usage | undefined {
    return this.#end?.usage
  }

  /** Ids of calls that went on when the run no longer waited for them. */
  get abandoned(): readonly string[] | undefined {
    return this.#end?.abandoned
  }

  /** Of the run that ended with this error: called by core. */
  endRun(end: RunEnd): void {
    this.#end = end
  }

  /** An error is JSON in an event: its name, message and own data, without stack, cause and what was said. */
  toJSON(): object {
    return { ...Object.fromEntries(Object.entries(this)), message: this.message }
  }
}

/** An option cannot work; the error names it. If a hook or wrap has set it, this is the cause of a {@link MiddlewareError}. */
export class ConfigError extends AgentError {
  override readonly name = 'ConfigError'
  readonly option: string

  constructor(option: string, problem: string) {
    super(`${option}: ${problem}`)
    this.option = option
  }
}

/**
 * The input of a run is empty or is no list of messages; or what was sent to a run is no message; or it was sent after the run had
 * ended.
 */
export class InputError extends AgentError {
  override readonly name = 'InputError'
  /** What was given: the input of a run, or a message to one at work. */
  readonly given: 'input' | 'message'
  readonly problem: 'empty' | 'malformed' | 'run-ended'
  /** Of the first member that is no message, where a list was given. */
  declare readonly index?: number
  // Private, so that no log of the error shows what was said.
  readonly #notTaken: readonly UserMessage[]

  /** `wrong`: what stands in the place of a message. */
  constructor(
    given: InputError['given'],
    problem: InputError['problem'],
    index?: number,
    wrong?: unknown,
    options: Cause & { readonly notTaken?: readonly UserMessage[] } = {},
  ) {
    super(inputProblem(given, problem, index, wrong) + shapeHint(wrong), options)
    this.given = given
    this.problem = problem
    this.#notTaken = options.notTaken ?? []
    if (index !== undefined) this.index = index
  }

  /** If the run had ended: the messages for which `send` returned true and which the run did not take. */
  get notTaken(): readonly UserMessage[] {
    return this.#notTaken
  }
}

/** A history in which a call lacks its result, or a result its call. */
export class HistoryError extends AgentError {
  override readonly name = 'HistoryError'
  readonly callIds: readonly string[]

  constructor(callIds: readonly string[]) {
    super(`calls and results do not pair up in the history: ${callIds.join(', ')}`)
    this.callIds = callIds
  }
}

/** Another step would be needed, and the limit is reached. */
export class MaxStepsError extends AgentError {
  override readonly name = 'MaxStepsError'
  readonly maxSteps: number
  /**
   * What the final-answer gate said last, if it rejected an answer in the last step. `cause` is an {@link OutputError}
   * if the answer did not fit the output schema.
   */
  declare readonly feedback?: string

  constructor(maxSteps: number, feedback?: string, options?: Cause) {
    super(`no final answer within ${maxSteps} ${maxSteps === 1 ? 'step' : 'steps'}`, options)
    this.maxSteps = maxSteps
    if (feedback !== undefined) this.feedback = feedback
  }
}

/** The answer does not fit the agent's output schema, and no further one may be asked for. */
export class OutputError extends AgentError {
  override readonly name = 'OutputError'
  readonly issues: readonly Issue[]

  constructor(issues: readonly Issue[]) {
    super(`the answer does not fit the output schema: ${inWords(issues)}`)
    this.issues = issues
  }
}

/** The run was aborted, or its reader left. `cause` is the signal's reason. */
export class RunAbortedError extends AgentError {
  override readonly name = 'AbortError'

  constructor(reason: unknown) {
    super('the run was aborted', { cause: reason })
  }
}

/**
 * Ends the run with a checkpoint instead of an error: the run's result says so. It passes retries, fallbacks and time limits like
 * every {@link AgentError}.
 */
export class RunStop extends AgentError {
  override readonly name: string = 'RunStop'
}

/** The run was cancelled: what comes up through wraps and calls when it stops. */
export class RunCancelled extends RunStop {
  override readonly name = 'RunCancelled'

  constructor() {
    super('the run was cancelled')
  }
}

/** An answer to a question that the run has not asked, or has had answered. */
export class UnknownInterruptError extends AgentError {
  override readonly name = 'UnknownInterruptError'
  readonly ids: readonly string[]

  constructor(ids: readonly string[]) {
    super(`no interrupt of this run waits for an answer under ${ids.join(', ')}`)
    this.ids = ids
  }
}

/** An answer does not have the form that its asker wants. Nothing has run, and the question stays open. */
export class AnswerError extends AgentError {
  override readonly name = 'AnswerError'
  /** Of the interrupt. */
  readonly id: string
  readonly issues: readonly Issue[]

  /** `asker`: in words. */
  constructor(id: string, asker: string, issues: readonly Issue[], options?: Cause) {
    super(`${asker} does not accept the answer to ${id}: ${inWords(issues)}`, options)
    this.id = id
    this.issues = issues
  }
}

/** A hook or wrap threw, or broke its contract: it handed on or returned something that cannot work. */
export class MiddlewareError extends AgentError {
  override readonly name = 'MiddlewareError'
  readonly middleware: string
  readonly hook: string

  constructor(middleware: string, hook: string, problem: string, options?: Cause) {
    super(`middleware ${middleware}, ${hook}: ${problem}`, options)
    this.middleware = middleware
    this.hook = hook
  }
}

/** A model call, or the run, took longer than it may. */
export class TimeoutError extends AgentError {
  override readonly name = 'TimeoutError'
  /** The run's, that of a model call as a whole, or that of its silence. */
  readonly limit: 'run' | 'model' | 'idle'
  /** Milliseconds. */
  readonly timeout: number
  /** Whether another try may help: a model call's may, the run's time is over for good. */
  readonly retryable: boolean

  constructor(limit: TimeoutError['limit'], timeout: number) {
    super(limit === 'idle' ? `the model said nothing for ${timeout} ms` : `the ${limit} took longer than ${timeout} ms`)
    this.limit = limit
    this.timeout = timeout
    this.retryable = limit !== 'run'
  }
}

const UNKNOWN = 'unknown error'

/**
 * The message of whatever was thrown: a thing that is no Error, or has a hostile `message`, does no harm. Of an Error without one
 * those of its `errors`, such as Node's sockets throw, or its code, or its name.
 */
export function messageOf(thrown: unknown): string {
  try {
    if (thrown instanceof Error) return String(thrown.message) || substitute(thrown)
    if (typeof thrown === 'string') return thrown
    const extent = extentOf(thrown)
    return extent.characters > LONGEST ? UNKNOWN : (jsonText(thrown, extent) ?? typeof thrown)
  } catch {
    return UNKNOWN
  }
}

function substitute(error: Error): string {
  const within = error instanceof AggregateError ? error.errors.map(messageOf).join('; ') : ''
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  return within || code || String(error.name)
}

function inputProblem(
  given: InputError['given'],
  problem: InputError['problem'],
  index: number | undefined,
  wrong: unknown,
): string {
  if (problem === 'run-ended') return 'the run had already ended: it did not take the messages in `notTaken`'
  if (given === 'message') {
    const why = problem === 'empty' ? 'this is empty' : notSaid(wrong)
    return `what is sent to a run is a text or a user message; ${why}`
  }
  if (problem === 'empty') return 'the input is empty'
  if (index === undefined) return 'the input is neither a text nor a list of messages'
  return `the input is no list of messages: what stands at index ${index} is none`
}

export function inWords(issues: readonly Issue[]): string {
  return issues.map(({ path, message }) => (path ? `${path}: ${message}` : message)).join('; ')
}
