/** Defines the events of a run. Every event is JSON if the `data` of `custom` events is. */

import type { PendingInterrupt } from './interrupt.ts'
import type { Message, ToolCall, ToolMessage } from './message.ts'
import type { ModelEvent } from './model.ts'
import type { AgentResult } from './result.ts'
import type { DiscardCause } from './tool-errors.ts'
import type { Progress } from './tool-status.ts'
import type { Warning } from './warning.ts'

export type { DiscardCause } from './tool-errors.ts'

/** An event of a run. The page about events has a table of all types. */
export type AgentEvent = Stamp & AgentEventBody

interface Stamp {
  readonly runId: string
  /** The number of the step, from 1. On every event inside a step. */
  readonly step?: number
  /** On an event of a run inside a call: the calls that contain it, outermost first. */
  readonly path?: readonly PathPart[]
}

/** One element of a `path`: a call that runs an agent. */
export interface PathPart {
  /** The name of the tool. */
  readonly agent: string
  /** The id of the call. */
  readonly callId: string
  /** If the tools or wraps of other calls make the call: the ids of those calls, outermost first. */
  readonly makers?: readonly string[]
}

/** The members that each event of a call has. */
export interface OfCall extends Pick<PathPart, 'makers'> {
  /** The id of the call. */
  readonly callId: string
  /** The tool's own name, even if the model used an alias. */
  readonly toolName: string
}

/**
 * Events of a call are `provisional` until its model call has succeeded. Then exactly one `tool-committed` or `tool-discarded` follows, and
 * `tool-end` only comes after `tool-committed`.
 *
 * To get the `messages` of the result, or of the error that ended the run, apply the `message` and `history-replaced` events to the messages that the
 * run began with: its input, or the history of its checkpoint.
 */
export type AgentEventBody =
  /** The first event. `resumed`: the run continues from a checkpoint. */
  | { readonly type: 'run-start'; readonly resumed?: true }
  | { readonly type: 'run-end'; readonly result: AgentResult; readonly dropped?: number }
  /** `resumed`: the run continues in the middle of this step. An earlier run has already emitted the start of the step. */
  | { readonly type: 'step-start'; readonly resumed?: true }
  /** The message was appended to the history. */
  | { readonly type: 'message'; readonly message: Message }
  /** A hook has replaced the history with `messages`. */
  | { readonly type: 'history-replaced'; readonly messages: readonly Message[] }
  /** `messages`: what the step has added. `attempt`: the attempt that succeeded; readers drop the deltas of the others. */
  | { readonly type: 'step-end'; readonly attempt?: number; readonly messages: readonly Message[] }
  | {
      readonly type: 'attempt-start'
      readonly attempt: number
      readonly model: { readonly provider: string; readonly id: string }
    }
  | (AttemptFailed & { readonly attempt: number })
  /** The run was cancelled during this attempt. The text shown so far is in the `messages` of the result. */
  | { readonly type: 'attempt-cancelled'; readonly attempt: number }
  | (ModelEvent & { readonly attempt: number })
  /** The call starts; it may wait for an approval or for its turn. `rerun`: the end of a process interrupted the call, and it runs again. */
  | (OfCall & {
      readonly type: 'tool-start'
      readonly call: ToolCall
      readonly provisional?: true
      readonly rerun?: true
    })
  /** The tool's function is called. `attempt`: the number of this execution of the call, from 1. */
  | (OfCall & { readonly type: 'tool-entered'; readonly attempt: number; readonly provisional?: true })
  | ToolProgress
  /** The call has a result, which does not count yet, because its model call has not succeeded. If it does, `tool-end` follows. */
  | (OfCall & { readonly type: 'tool-settled'; readonly message: ToolMessage; readonly provisional: true })
  /** The call counts. `startedAs`: the id of the call's earlier events, if the attempt that succeeded gave it another id. */
  | (OfCall & { readonly type: 'tool-committed'; readonly startedAs?: string })
  | (OfCall & { readonly type: 'tool-discarded'; readonly cause: DiscardCause })
  | (OfCall & { readonly type: 'tool-end'; readonly message: ToolMessage })
  /** The work of a background call has ended, long after its `tool-end`. Work that continues after the run is in `result.background`. */
  | (OfCall & { readonly type: 'background-end'; readonly message: ToolMessage })
  /**
   * The run asks a question and will stop; running calls continue until they settle. `callId` and `toolName` are set if the question comes from a
   * call, from its wraps, or from an agent inside it.
   */
  | ({ readonly type: 'question' } & PendingInterrupt & Partial<Omit<OfCall, 'makers'>>)
  /** An answer was rejected. `middleware`: the middleware whose `beforeFinalAnswer` rejected it, or `output` for the agent's schema. */
  | { readonly type: 'answer-rejected'; readonly middleware: string; readonly feedback: string | readonly Message[] }
  | ({ readonly type: 'warning' } & Warning)
  | CustomEvent

/** An attempt of a model call has failed. `next`: another attempt of the same model follows, one of another model, or none. */
export interface AttemptFailed {
  readonly type: 'attempt-failed'
  /** What the model call threw. As JSON it has no message contents. */
  readonly error: unknown
  /** What follows. */
  readonly next: 'retry' | 'fallback' | 'none'
  /** How long the next attempt waits, in milliseconds. */
  readonly waitMs?: number
}

/** Progress that a tool has reported. `timestamp`: milliseconds since the epoch. `cancelable`: whether `cancelTool` may abort the call. */
export interface ToolProgress extends Progress, OfCall {
  readonly type: 'tool-progress'
  /** Milliseconds since the epoch. */
  readonly timestamp: number
  /** Whether `cancelTool` may abort the call. */
  readonly cancelable: boolean
  /** The model call that requested this call has not succeeded yet. */
  readonly provisional?: true
}

/** An event of a middleware or tool; `source` is its name. `data` is passed on unchanged. If you send events to another process, keep it JSON. */
export interface CustomEvent extends Partial<OfCall> {
  readonly type: 'custom'
  /** The name that was given to `emit`. */
  readonly name: string
  /** The data that was given to `emit`, unchanged. */
  readonly data: unknown
  /** The name of the tool or middleware. */
  readonly source: string
  /** The event belongs to a call whose model call has not succeeded yet. */
  readonly provisional?: true
}
