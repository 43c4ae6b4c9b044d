/** The errors of one call: they concern only that call, and end no run. */

import { type Issue, inWords } from './errors.ts'

/** Why a call that had started early was discarded. */
export type DiscardCause = 'arguments_changed' | 'call_withdrawn' | 'stream_error' | 'stream_truncated' | 'run_aborted'

/** The input of one call does not fit its tool. It concerns that call alone: the model reads it as an error result. */
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

/** A call names a tool there is not. It concerns that call alone. */
export class UnknownToolError extends Error {
  override readonly name = 'UnknownToolError'
  readonly tool: string

  constructor(tool: string, available: readonly string[]) {
    const known = available.length > 0 ? `Available tools: ${available.join(', ')}.` : 'There are no tools.'
    super(tool ? `There is no tool named "${tool}". ${known}` : `The call names no tool. ${known}`)
    this.tool = tool
  }
}

/** A call that had started early was discarded: its model call did not stand, or did not ask for it in the end. */
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

/** A call was cancelled, alone. */
export class ToolCancelledError extends Error {
  override readonly name = 'ToolCancelledError'
  readonly callId: string

  constructor(callId: string) {
    super(`call ${callId} was cancelled`)
    this.callId = callId
  }
}

/** A call's time was over. It concerns that call alone. */
export class ToolTimeoutError extends Error {
  override readonly name = 'ToolTimeoutError'
  readonly tool: string
  /** Milliseconds. */
  readonly timeout: number
  /** Whether the tool's function had been entered: else nothing has happened. */
  readonly started: boolean

  constructor(tool: string, timeout: number, started = true) {
    super(
      started
        ? `${tool} was cut off after its limit of ${timeout} ms; its effect may have happened`
        : `Not run: ${tool} had not started when its limit of ${timeout} ms was over.`,
    )
    this.tool = tool
    this.timeout = timeout
    this.started = started
  }
}

/** A tool has run, but the model cannot read what came of it. It concerns that call alone. */
export class ToolOutputError extends Error {
  override readonly name = 'ToolOutputError'
  readonly tool: string

  constructor(tool: string, problem: string, options?: ErrorOptions) {
    super(`${tool} has run, but ${problem}`, options)
    this.tool = tool
  }
}

/** A tool executes as many calls as it may, and does not let others wait. It concerns that call alone. */
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

/**
 * A call that another call makes would wait for ever: it needs a resource key that a third call has, and that one waits, in turn, for a key
 * of the call that makes it. It concerns that call only, which is not run.
 */
export class ToolCircleError extends Error {
  override readonly name = 'ToolCircleError'
  readonly tool: string
  /** The id of the call that has the key. */
  readonly callId: string

  constructor(tool: string, callId: string) {
    super(
      `Not run: ${tool} needs a resource that call ${callId} uses, and that call waits for one that this call's maker uses.`,
    )
    this.tool = tool
    this.callId = callId
  }
}

/** A run has made no call of this id. */
export class UnknownCallError extends Error {
  override readonly name = 'UnknownCallError'
  readonly callId: string

  constructor(callId: string) {
    super(`there is no call ${callId}`)
    this.callId = callId
  }
}

/** The call's tool is declared with `cancelable: false`. */
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

/** Whether an error says what became of a call, whoever throws it: that is no fault of a wrap's. */
export function saysWhatBecame(error: unknown): boolean {
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
