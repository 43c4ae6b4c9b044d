/** One small class per thing a caller may catch. An {@link AgentError} ends the run wherever it is thrown. */

import type { DiscardCause } from './events.ts'
import type { AssistantMessage, Message, Usage } from './message.ts'

interface Cause {
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

  /** The history when the run ended, every call answered (A24). */
  get messages(): readonly Message[] | undefined {
    return this.#end?.messages
  }

  /** What the run had used by then (A24). */
  get usage(): Usage | undefined {
    return this.#end?.usage
  }

  /** Ids of calls that went on when the run no longer waited for them (K12). */
  get abandoned(): readonly string[] | undefined {
    return this.#end?.abandoned
  }

  /** Of the run that ended with this error: called by core. */
  endRun(end: RunEnd): void {
    this.#end = end
  }

  /** An error is JSON in an event: its name, message and own data, without stack, cause and what was said (B2). */
  toJSON(): object {
    return { ...Object.fromEntries(Object.entries(this)), message: this.message }
  }
}

/** An option or a set-up that cannot work; it names the option (A2, A3). */
export class ConfigError extends AgentError {
  override readonly name = 'ConfigError'
  readonly option: string

  constructor(option: string, problem: string) {
    super(`${option}: ${problem}`)
    this.option = option
  }
}

/** The input of a run is empty or no list of messages (A5). */
export class InputError extends AgentError {
  override readonly name = 'InputError'
}

/** A history in which a call lacks its result, or a result its call (A15). */
export class HistoryError extends AgentError {
  override readonly name = 'HistoryError'
  readonly callIds: readonly string[]

  constructor(callIds: readonly string[]) {
    super(`calls and results do not pair up in the history: ${callIds.join(', ')}`)
    this.callIds = callIds
  }
}

/** Another step would be needed, and the limit is reached (A9). */
export class MaxStepsError extends AgentError {
  override readonly name = 'MaxStepsError'
  readonly maxSteps: number
  /**
   * What the final-answer gate said last, if it rejected an answer in the last step (E4). `cause` is an {@link OutputError}
   * if the answer did not fit the output schema.
   */
  declare readonly feedback?: string

  constructor(maxSteps: number, feedback?: string, options?: Cause) {
    super(`no final answer within ${maxSteps} ${maxSteps === 1 ? 'step' : 'steps'}`, options)
    this.maxSteps = maxSteps
    if (feedback !== undefined) this.feedback = feedback
  }
}

/** The answer does not fit the agent's output schema, and no further one may be asked for (M14, O13). */
export class OutputError extends AgentError {
  override readonly name = 'OutputError'
  readonly issues: readonly Issue[]

  constructor(issues: readonly Issue[]) {
    super(`the answer does not fit the output schema: ${inWords(issues)}`)
    this.issues = issues
  }
}

/** The run was aborted, or its reader left (B10, K1). `cause` is the signal's reason. */
export class RunAbortedError extends AgentError {
  override readonly name = 'AbortError'

  constructor(reason: unknown) {
    super('the run was aborted', { cause: reason })
  }
}

/**
 * Ends the run with a checkpoint instead of an error: the run's result says so. It passes retries, fallbacks and time limits like
 * every {@link AgentError} (L2).
 */
export class RunStop extends AgentError {
  override readonly name: string = 'RunStop'
}

/** The run was cancelled: what comes up through wraps and calls when it stops (K4, K5). */
export class RunCancelled extends RunStop {
  override readonly name = 'RunCancelled'

  constructor() {
    super('the run was cancelled')
  }
}

/** An answer to a question that the run has not asked, or has had answered (L5). */
export class UnknownInterruptError extends AgentError {
  override readonly name = 'UnknownInterruptError'
  readonly ids: readonly string[]

  constructor(ids: readonly string[]) {
    super(`no interrupt of this run waits for an answer under ${ids.join(', ')}`)
    this.ids = ids
  }
}

/** A hook or wrap threw, or broke its contract (C9, C16, C17). */
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

/** A model call, or the run, took longer than it may (N11). */
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

/** Codes of core's own; an adapter passes on its provider's (`rate_limit_exceeded`, `overloaded_error` …). */
export type ModelErrorCode = 'stream_truncated' | 'finish_reason_error' | 'connection' | 'unknown' | (string & {})

export interface ModelErrorData extends Cause {
  readonly code: ModelErrorCode
  /** HTTP status, or the one an error inside a stream stands for. */
  readonly status?: number
  /** Whether the same request may succeed when it is made again. */
  readonly retryable: boolean
  /** Milliseconds to wait before that, where the provider says so. */
  readonly retryAfter?: number
  /** What had come of the response. It is content: {@link AgentError.toJSON} leaves it out. */
  readonly partial?: AssistantMessage
}

/** A model call that did not come to its end (A19). */
export class ModelError extends AgentError {
  override readonly name = 'ModelError'
  readonly code: ModelErrorCode
  readonly retryable: boolean
  declare readonly status?: number
  declare readonly retryAfter?: number
  /** What had come of the response. Not enumerable: it is content. */
  declare readonly partial?: AssistantMessage

  constructor(message: string, data: ModelErrorData) {
    super(message, 'cause' in data ? { cause: data.cause } : undefined)
    this.code = data.code
    this.retryable = data.retryable
    if (data.status !== undefined) this.status = data.status
    if (data.retryAfter !== undefined) this.retryAfter = data.retryAfter
    if (data.partial !== undefined) Object.defineProperty(this, 'partial', { value: data.partial })
  }
}

/** All tries of a model call failed (J11). `cause` is the last error. */
export class RetriesExhaustedError extends AgentError {
  override readonly name = 'RetriesExhaustedError'
  readonly attempts: number
  readonly errors: readonly unknown[]

  constructor(errors: readonly unknown[]) {
    super(`the model call failed ${errors.length} times, at last: ${messageOf(errors.at(-1))}`, {
      cause: errors.at(-1),
    })
    this.attempts = errors.length
    this.errors = errors
  }
}

/** What is stored has another revision than the one to be saved over: somebody else has saved (L14, L19). */
export class CheckpointConflictError extends AgentError {
  override readonly name = 'CheckpointConflictError'
  readonly id: string
  /** The revision to be saved over; 0: nothing. */
  readonly expected: number
  /** The revision there was; absent if there was nothing. */
  declare readonly found?: number

  constructor(id: string, expected: number, found?: number) {
    const asked = expected === 0 ? 'nothing' : `revision ${expected}`
    const stored = found === undefined ? 'nothing is' : `revision ${found} is`
    super(`checkpoint ${JSON.stringify(id)}: ${asked} was to be saved over, but ${stored} stored`)
    this.id = id
    this.expected = expected
    if (found !== undefined) this.found = found
  }
}

/** What is stored under an id is damaged. It stays as it is (L18). */
export class CheckpointCorruptError extends AgentError {
  override readonly name = 'CheckpointCorruptError'
  readonly id: string

  constructor(id: string, problem: string, options?: Cause) {
    super(`checkpoint ${JSON.stringify(id)}: ${problem}`, options)
    this.id = id
  }
}

/** A checkpoint could not be read or written, which says nothing of the checkpoint (L16). `cause` is what the store threw. */
export class CheckpointStoreError extends AgentError {
  override readonly name = 'CheckpointStoreError'

  constructor(problem: string, options?: Cause) {
    super(`checkpoint store: ${problem}`, options)
  }
}

/** There is no checkpoint under this id. */
export class CheckpointMissingError extends AgentError {
  override readonly name = 'CheckpointMissingError'
  readonly id: string

  constructor(id: string) {
    super(`checkpoint ${JSON.stringify(id)}: nothing is stored under it`)
    this.id = id
  }
}

/** A checkpoint of a newer format than this version reads (L18). */
export class CheckpointVersionError extends AgentError {
  override readonly name = 'CheckpointVersionError'
  readonly found: unknown
  /** The newest format that can be read. */
  readonly supported: number

  constructor(found: unknown, supported: number) {
    super(`the checkpoint has format ${JSON.stringify(found)}, and the newest that can be read is ${supported}`)
    this.found = found
    this.supported = supported
  }
}

/**
 * A checkpoint that is not this agent's, lacks the tool of an open call, or holds a value that no longer fits its schema
 * (L18, D4).
 */
export class CheckpointMismatchError extends AgentError {
  override readonly name = 'CheckpointMismatchError'
  readonly id: string

  constructor(id: string, problem: string) {
    super(`checkpoint ${JSON.stringify(id)}: ${problem}`)
    this.id = id
  }
}

/** The input of one call does not fit its tool. It concerns that call alone: the model reads it as an error result (A13). */
export class ToolInputError extends Error {
  override readonly name = 'ToolInputError'
  readonly tool: string
  readonly issues: readonly Issue[]

  constructor(tool: string, issues: readonly Issue[]) {
    super(`invalid input for ${tool}: ${inWords(issues)}`)
    this.tool = tool
    this.issues = issues
  }
}

/** A call names a tool there is not (M8). It concerns that call alone. */
export class UnknownToolError extends Error {
  override readonly name = 'UnknownToolError'
  readonly tool: string

  constructor(tool: string, available: readonly string[]) {
    const known = available.length > 0 ? `Available tools: ${available.join(', ')}.` : 'There are no tools.'
    super(tool ? `There is no tool named "${tool}". ${known}` : `The call names no tool. ${known}`)
    this.tool = tool
  }
}

/** A call that had started early was let go of, as its model call did not stand or did not ask for it in the end. */
export class ToolDiscardedError extends Error {
  override readonly name = 'ToolDiscardedError'
  readonly callId: string
  readonly reason: DiscardCause

  constructor(callId: string, reason: DiscardCause) {
    super(`call ${callId} was discarded: ${reason}`)
    this.callId = callId
    this.reason = reason
  }
}

/** A call was cancelled, alone (I4, I13). */
export class ToolCancelledError extends Error {
  override readonly name = 'ToolCancelledError'
  readonly callId: string

  constructor(callId: string) {
    super(`call ${callId} was cancelled`)
    this.callId = callId
  }
}

/** A tool's function was at work when its time was over (I10). It concerns that call alone. */
export class ToolTimeoutError extends Error {
  override readonly name = 'ToolTimeoutError'
  readonly tool: string
  /** Milliseconds. */
  readonly timeout: number

  constructor(tool: string, timeout: number) {
    super(`${tool} was cut off after its limit of ${timeout} ms; its effect may have happened`)
    this.tool = tool
    this.timeout = timeout
  }
}

/** A tool executes as many calls as it may, and does not let others wait (I8). It concerns that call alone. */
export class ToolBusyError extends Error {
  override readonly name = 'ToolBusyError'
  readonly tool: string
  readonly limit: number

  constructor(tool: string, limit: number) {
    super(`Not run: ${tool} is busy with ${limit} ${limit === 1 ? 'call' : 'calls'}, as many as it allows at once.`)
    this.tool = tool
    this.limit = limit
  }
}

/** A run has made no call of this id (I4). */
export class UnknownCallError extends Error {
  override readonly name = 'UnknownCallError'
  readonly callId: string

  constructor(callId: string) {
    super(`there is no call ${callId}`)
    this.callId = callId
  }
}

/** The call's tool is declared with `cancelable: false` (I5). */
export class NotCancelableError extends Error {
  override readonly name = 'NotCancelableError'
  readonly callId: string
  readonly tool: string

  constructor(callId: string, tool: string) {
    super(`call ${callId} cannot be cancelled: ${tool} is not cancelable`)
    this.callId = callId
    this.tool = tool
  }
}

/** The message of whatever was thrown: a thing that is no Error, or has a hostile `message`, does no harm. */
export function messageOf(thrown: unknown): string {
  try {
    if (thrown instanceof Error) return String(thrown.message)
    return typeof thrown === 'string' ? thrown : (JSON.stringify(thrown) ?? typeof thrown)
  } catch {
    return 'unknown error'
  }
}

function inWords(issues: readonly Issue[]): string {
  return issues.map(({ path, message }) => (path ? `${path}: ${message}` : message)).join('; ')
}
