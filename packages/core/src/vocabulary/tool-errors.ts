/** The errors of one call. They do not end the run. */

import { BrandedError } from './brand.ts'
import { type Issue, inWords } from './errors.ts'

/** Why a call that had started early was discarded. */
export type DiscardCause = 'arguments_changed' | 'call_withdrawn' | 'stream_error' | 'stream_truncated' | 'run_aborted'

/** The base class of the errors that replace the result of a tool. */
export class ToolError extends BrandedError {
  static override readonly brand: string = 'ToolError'
  /** The name of the tool. */
  declare readonly tool: string

  constructor(tool: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.tool = tool
  }
}

/** The input of a call does not match the schema of its tool. The model reads this as an error result. */
export class ToolInputError extends ToolError {
  static override readonly brand: string = 'ToolInputError'
  /** What is wrong with the input. */
  declare readonly issues: readonly Issue[]

  constructor(tool: string, issues: readonly Issue[]) {
    super(tool, `invalid input for ${tool}: ${inWords(issues)}`)
    this.issues = issues
  }
}

/** A call names a tool that does not exist. The model reads this as an error result. */
export class UnknownToolError extends ToolError {
  static override readonly brand: string = 'UnknownToolError'

  constructor(tool: string, available: readonly string[]) {
    const known = available.length > 0 ? `Available tools: ${available.join(', ')}.` : 'There are no tools.'
    super(tool, tool ? `There is no tool named "${tool}". ${known}` : `The call names no tool. ${known}`)
  }
}

/** A call that had started early was discarded: its model call failed, or its response did not request the call. */
export class ToolDiscardedError extends BrandedError {
  static override readonly brand: string = 'ToolDiscardedError'
  /** The id of the call. */
  declare readonly callId: string
  /** Why it was discarded. */
  declare readonly reason: DiscardCause

  constructor(callId: string, reason: DiscardCause) {
    super(`call ${callId} was discarded: ${reason}`)
    this.callId = callId
    this.reason = reason
  }
}

/** A call was cancelled by `cancelTool`. */
export class ToolCancelledError extends BrandedError {
  static override readonly brand: string = 'ToolCancelledError'
  /** The id of the call. */
  declare readonly callId: string

  constructor(callId: string) {
    super(`call ${callId} was cancelled`)
    this.callId = callId
  }
}

/** A call exceeded the `timeout` of its tool. The model reads this as an error result. */
export class ToolTimeoutError extends ToolError {
  static override readonly brand: string = 'ToolTimeoutError'
  /** The limit in milliseconds. */
  declare readonly timeout: number
  /** Whether the tool's function had been called. If not, nothing has happened. */
  declare readonly started: boolean

  constructor(tool: string, timeout: number, started = true) {
    super(
      tool,
      started
        ? `${tool} was cut off after its time limit of ${timeout} ms; its effect may have happened`
        : `Not run: ${tool} had not started when its time limit of ${timeout} ms ended.`,
    )
    this.timeout = timeout
    this.started = started
  }
}

/** A tool has run, but its output cannot be converted to what a model reads. The model reads this as an error result. */
export class ToolOutputError extends ToolError {
  static override readonly brand: string = 'ToolOutputError'

  constructor(tool: string, problem: string, options?: ErrorOptions) {
    super(tool, `${tool} has run, but ${problem}`, options)
  }
}

/** A tool throws it if its call may have acted or not: the id of the call is in `result.unknown`, and `retryTool` never repeats the call. */
export class OutcomeUnknownError extends ToolError {
  static override readonly brand: string = 'OutcomeUnknownError'
  readonly mayHaveHappened = true

  constructor(tool: string, why: string, options?: ErrorOptions) {
    super(tool, `The result of ${tool} is unknown: ${why}. It may have happened.`, options)
  }
}

/** The tool already executes its maximum number of calls, and has `whenFull: 'fail'`. The model reads this as an error result. */
export class ToolBusyError extends ToolError {
  static override readonly brand: string = 'ToolBusyError'
  /** The maximum number of calls that execute at the same time. */
  declare readonly limit: number

  constructor(tool: string, limit: number) {
    super(tool, `Not run: ${tool} is already running ${limit} ${limit === 1 ? 'call' : 'calls'}, its maximum.`)
    this.limit = limit
  }
}

/**
 * A call would wait forever (a deadlock): it waits for another call, for its resource key or its result, and that call ends only after this one. The
 * call does not run, and the model reads this as an error result. `run.callTool` throws it to a tool that asks for a call in such a circle.
 */
export class ToolCircleError extends ToolError {
  static override readonly brand: string = 'ToolCircleError'
  /** The id of the call that it would wait for. */
  declare readonly callId: string

  constructor(tool: string, callId: string) {
    super(tool, `Not run: ${tool} waits for call ${callId}, which ends only after this call.`)
    this.callId = callId
  }
}

/** The run has not made a call with this id. */
export class UnknownCallError extends BrandedError {
  static override readonly brand: string = 'UnknownCallError'
  /** The id of the call. */
  declare readonly callId: string

  constructor(callId: string) {
    super(`there is no call ${callId}`)
    this.callId = callId
  }
}

/** The tool of the call has `cancelable: false`. */
export class NotCancelableError extends BrandedError {
  static override readonly brand: string = 'NotCancelableError'
  /** The id of the call. */
  declare readonly callId: string
  /** The name of the tool. */
  declare readonly tool: string

  constructor(callId: string, tool: string) {
    super(`call ${callId} cannot be cancelled: ${tool} is not cancelable`)
    this.callId = callId
    this.tool = tool
  }
}
