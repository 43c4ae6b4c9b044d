/** What a run tells its reader. Every event is JSON, if what is emitted as `custom` is. */

import type { PendingInterrupt } from './interrupt.ts'
import type { Message, ToolCall, ToolMessage } from './message.ts'
import type { ModelEvent } from './model.ts'
import type { AgentResult } from './result.ts'
import type { DiscardCause } from './tool-errors.ts'
import type { Progress } from './tool-status.ts'
import type { Warning } from './warning.ts'

export type { DiscardCause } from './tool-errors.ts'

export type AgentEvent = Stamp & AgentEventBody

interface Stamp {
  readonly runId: string
  /** From 1; on every event inside a step. */
  readonly step?: number
  /** Of an event from a run inside a call: the calls that lead to it, outermost first. */
  readonly path?: readonly PathPart[]
}

/** A call of an agent as a tool. */
export interface PathPart {
  /** The tool's name. */
  readonly agent: string
  readonly callId: string
}

/** What each event of a call has. */
interface OfCall {
  readonly callId: string
  /** The tool's own name, if the model has called it by an alias. */
  readonly toolName: string
}

/**
 * What a call emits before its model call has stood is `provisional`. Then exactly one `tool-committed` or `tool-discarded` follows, and
 * `tool-end` comes only after `tool-committed`.
 *
 * What a run begins with (its input, or the history of its checkpoint) and its `message` and `history-replaced` events give the
 * `messages` of its result, or of the error that ended it.
 */
export type AgentEventBody =
  /** `resumed`: it goes on from a checkpoint. */
  | { readonly type: 'run-start'; readonly resumed?: true }
  | { readonly type: 'run-end'; readonly result: AgentResult; readonly dropped?: number }
  /** `resumed`: the run goes on in the middle of this step, and an earlier run has told of its start. */
  | { readonly type: 'step-start'; readonly resumed?: true }
  /** The message was appended to the history. */
  | { readonly type: 'message'; readonly message: Message }
  /** A hook has rewritten the history, which is `messages` now. */
  | { readonly type: 'history-replaced'; readonly messages: readonly Message[] }
  /** `attempt`: the model attempt that stood; deltas of others are to be dropped by a reader. */
  | { readonly type: 'step-end'; readonly attempt?: number; readonly messages: readonly Message[] }
  | {
      readonly type: 'attempt-start'
      readonly attempt: number
      readonly model: { readonly provider: string; readonly id: string }
    }
  | (AttemptFailed & { readonly attempt: number })
  /** The run was cancelled while this attempt was at work: what was shown of it is in the result's `messages`. */
  | { readonly type: 'attempt-cancelled'; readonly attempt: number }
  | (ModelEvent & { readonly attempt: number })
  /** The call begins, and may have to wait for an approval or for its turn. `rerun`: the end of a process cut it off, and it is made again. */
  | (OfCall & {
      readonly type: 'tool-start'
      readonly call: ToolCall
      readonly provisional?: true
      readonly rerun?: true
    })
  /** The tool's function is called. `attempt`: how often it has been called for this call, from 1. */
  | (OfCall & { readonly type: 'tool-entered'; readonly attempt: number; readonly provisional?: true })
  | ToolProgress
  /** The call has its result, and its model call has not stood yet: the result is in `tool-end`, if it does. */
  | (OfCall & { readonly type: 'tool-settled'; readonly provisional: true })
  /** `startedAs`: the id of the call's earlier events, if the attempt that stood gave it another. */
  | (OfCall & { readonly type: 'tool-committed'; readonly startedAs?: string })
  | (OfCall & { readonly type: 'tool-discarded'; readonly cause: DiscardCause })
  | (OfCall & { readonly type: 'tool-end'; readonly message: ToolMessage })
  /** The work behind a background call, whose `tool-end` came long before. Of work that goes on beyond its run `result.background` tells. */
  | (OfCall & { readonly type: 'background-end'; readonly message: ToolMessage })
  /**
   * Somebody outside of the run is asked, and the run will stop. Calls that are at work go on until they settle. With `callId` and
   * `toolName` if a call asks, its wraps, or the run of an agent inside it.
   */
  | ({ readonly type: 'question' } & PendingInterrupt & Partial<OfCall>)
  /** `middleware`: whose `beforeFinalAnswer` rejected it, or `output`, the agent's schema. */
  | { readonly type: 'answer-rejected'; readonly middleware: string; readonly feedback: string | readonly Message[] }
  | ({ readonly type: 'warning' } & Warning)
  | CustomEvent

/** `next` says what follows: another attempt of the same model, one of another, or none. */
export interface AttemptFailed {
  readonly type: 'attempt-failed'
  readonly error: unknown
  readonly next: 'retry' | 'fallback' | 'none'
  readonly waitMs?: number
}

/** `timestamp`: milliseconds since the epoch. `cancelable`: whether the tool lets `cancelTool` abort the call. */
export interface ToolProgress extends Progress, OfCall {
  readonly type: 'tool-progress'
  readonly timestamp: number
  readonly cancelable: boolean
  readonly provisional?: true
}

/**
 * An event of the user's own: `source` is the middleware or tool it came from. `data` is what was emitted, as it is: whoever sends
 * events elsewhere keeps it JSON.
 */
export interface CustomEvent extends Partial<OfCall> {
  readonly type: 'custom'
  readonly name: string
  readonly data: unknown
  readonly source: string
  readonly provisional?: true
}
