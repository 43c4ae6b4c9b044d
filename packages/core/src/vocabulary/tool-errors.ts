/** The errors of one call. They do not end the run. */

import { type Issue, inWords } from './errors.ts'

/** Why a call that had started early was discarded. */
export type DiscardCause = 'arguments_changed' | 'call_withdrawn' | 'stream_error' | 'stream_truncated' | 'run_aborted'

/** The input of a call does not match the schema of its tool. The model reads this as an error result. */
export class ToolInputError extends Error {
  override readonly name = 'ToolInputError'
  /** The name of the tool. */
  readonly tool: string
  /** What is wrong with the input. */
  readonly issues: readonly Issue[]

  constructor(tool: string, issues: readonly Issue[]) {
    super(`invalid input for ${tool}: ${inWords(issues)}`)
    this.tool = tool
    this.issues = issues
  }
}

/** A call names a tool that does not exist. The model reads this as an error result. */
export class UnknownToolError extends Error {
  override readonly name = 'UnknownToolError'
  /** The name in the call; empty if it has none. */
  readonly tool: string

  constructor(tool: string, available: readonly string[]) {
    const known = available.length > 0 ? `Available tools: ${available.join(', ')}.` : 'There are no tools.'
    super(tool ? `There is no tool named "${tool}". ${known}` : `The call names no tool. ${known}`)
    this.tool = tool
  }
}

/** A call that had started early was discarded: its model call failed, or its response did not request the call. */
export class ToolDiscardedError extends Error {
  override readonly name = 'ToolDiscardedError'
  /** The id of the call. */
  readonly callId: string
  /** Why it was discarded. */
  readonly reason: DiscardCause

  constructor(callId: string, reason: DiscardCause) {
    super(`call ${callId} was discarded: ${reason}`)
    this.callId = callId
    this.reason = reason
  }
}

/** A call was cancelled by `cancelTool`. */
export class ToolCancelledError extends Error {
  override readonly name = 'ToolCancelledError'
  /** The id of the call. */
  readonly callId: string

  constructor(callId: string) {
    super(`call ${callId} was cancelled`)
    this.callId = callId
  }
}

/** A call exceeded the `timeout` of its tool. The model reads this as an error result. */
export class ToolTimeoutError extends Error {
  override readonly name = 'ToolTimeoutError'
  /** The name of the tool. */
  readonly tool: string
  /** The limit in milliseconds. */
  readonly timeout: number
  /** Whether the tool's function had been called. If not, nothing has happened. */
  readonly started: boolean

  constructor(tool: string, timeout: number, started = true) {
    super(
      started
        ? `${tool} was cut off after its time limit of ${timeout} ms; its effect may have happened`
        : `Not run: ${tool} had not started when its time limit of ${timeout} ms ended.`,
    )
    this.tool = tool
    this.timeout = timeout
    this.started = started
  }
}

/** A tool has run, but its output cannot be converted to what a model reads. The model reads this as an error result. */
export class ToolOutputError extends Error {
  override readonly name = 'ToolOutputError'
  /** The name of the tool. */
  readonly tool: string

  constructor(tool: string, problem: string, options?: ErrorOptions) {
    super(`${tool} has run, but ${problem}`, options)
    this.tool = tool
  }
}

/** The tool already executes its maximum number of calls, and has `whenFull: 'fail'`. The model reads this as an error result. */
export class ToolBusyError extends Error {
  override readonly name = 'ToolBusyError'
  /** The name of the tool. */
  readonly tool: string
  /** The maximum number of calls that execute at the same time. */
  readonly limit: number

  constructor(tool: string, limit: number) {
    super(`Not run: ${tool} is already running ${limit} ${limit === 1 ? 'call' : 'calls'}, its maximum.`)
    this.tool = tool
    this.limit = limit
  }
}

/**
 * A call would wait forever (a deadlock): it waits for another call, for its resource key or its result, and that call ends only after this one. The
 * call does not run, and the model reads this as an error result. `run.callTool` throws it to a tool that asks for a call in such a circle.
 */
export class ToolCircleError extends Error {
  override readonly name = 'ToolCircleError'
  /** The name of the tool. */
  readonly tool: string
  /** The id of the call that it would wait for. */
  readonly callId: string

  constructor(tool: string, callId: string) {
    super(`Not run: ${tool} waits for call ${callId}, which ends only after this call.`)
    this.tool = tool
    this.callId = callId
  }
}

/** The run has not made a call with this id. */
export class UnknownCallError extends Error {
  override readonly name = 'UnknownCallError'
  /** The id of the call. */
  readonly callId: string

  constructor(callId: string) {
    super(`there is no call ${callId}`)
    this.callId = callId
  }
}

/** The tool of the call has `cancelable: false`. */
export class NotCancelableError extends Error {
  override readonly name = 'NotCancelableError'
  /** The id of the call. */
  readonly callId: string
  /** The name of the tool. */
  readonly tool: string

  constructor(callId: string, tool: string) {
    super(`call ${callId} cannot be cancelled: ${tool} is not cancelable`)
    this.callId = callId
    this.tool = tool
  }
}

/** Whether this error is the outcome of a call. If a wrap throws such an error, the wrap is not at fault. */
export function isCallOutcome(error: unknown): boolean {
  return ERRORS_OF_CALLS.some((kind) => error instanceof kind)
}

const ERRORS_OF_CALLS = [
  ToolInputError,
  UnknownToolError,
  ToolDiscardedError,
  ToolCancelledError,
  ToolTimeoutError,
  ToolOutputError,
  ToolBusyError,
]
