/** What a run tells its reader. Every event is JSON, if what is emitted as `custom` is (B2). */

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
  /** Of an event from a run inside a call: the calls that lead to it, outermost first (M4). */
  readonly path?: readonly PathPart[]
}

/** A call of an agent as a tool. */
export interface PathPart {
  /** The tool's name. */
  readonly agent: string
  readonly callId: string
}

/**
 * What a call emits before its model call has stood is `provisional`; exactly one `tool-committed` or `tool-discarded`
 * follows, and `tool-end` comes after the former alone (B8).
 */
export type AgentEventBody =
  /** `resumed`: it goes on from a checkpoint. */
  | { readonly type: 'run-start'; readonly resumed?: true }
  | { readonly type: 'run-end'; readonly result: AgentResult; readonly dropped?: number }
  | { readonly type: 'step-start' }
  /** `attempt`: the model attempt that stood; deltas of others are to be dropped by a reader (B9). */
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
  /** The call begins, and may have to wait for its turn. `rerun`: it was cut off by the end of a process, and is made again (L20). */
  | {
      readonly type: 'tool-start'
      readonly callId: string
      readonly call: ToolCall
      readonly provisional?: true
      readonly rerun?: true
    }
  | ToolProgress
  /** `startedAs`: the id of the call's earlier events, if the attempt that stood gave it another (O4). */
  | { readonly type: 'tool-committed'; readonly callId: string; readonly startedAs?: string }
  | { readonly type: 'tool-discarded'; readonly callId: string; readonly cause: DiscardCause }
  | { readonly type: 'tool-end'; readonly callId: string; readonly message: ToolMessage }
  /** The work behind a background call, whose `tool-end` came long before. Of work that goes on beyond its run `result.background` tells. */
  | { readonly type: 'background-end'; readonly callId: string; readonly message: ToolMessage }
  /** `middleware`: whose `beforeFinalAnswer` rejected it, or `output`, the agent's schema (M14). */
  | { readonly type: 'answer-rejected'; readonly middleware: string; readonly feedback: string | readonly Message[] }
  | ({ readonly type: 'warning' } & Warning)
  | CustomEvent

/** `next` says what follows: another attempt of the same model, one of another, or none (J8). */
export interface AttemptFailed {
  readonly type: 'attempt-failed'
  readonly error: unknown
  readonly next: 'retry' | 'fallback' | 'none'
  readonly waitMs?: number
}

/** `timestamp`: milliseconds since the epoch. `cancelable`: whether the tool lets `cancelTool` abort the call. */
export interface ToolProgress extends Progress {
  readonly type: 'tool-progress'
  readonly callId: string
  readonly name: string
  readonly timestamp: number
  readonly cancelable: boolean
  readonly provisional?: true
}

/**
 * An event of the user's own: `source` is the middleware or tool it came from (D6). `data` is what was emitted, as it is: whoever sends
 * events elsewhere keeps it JSON.
 */
export interface CustomEvent {
  readonly type: 'custom'
  readonly name: string
  readonly data: unknown
  readonly source: string
  readonly callId?: string
  readonly provisional?: true
}
