/** What a run comes to: its `status` says which of the other members there are. */

import type { CancelMode } from './cancel.ts'
import type { AgentError } from './errors.ts'
import type { PendingInterrupt } from './interrupt.ts'
import type { Message, ToolMessage, Usage } from './message.ts'
import type { Checkpoint, SavedResult } from './saved-run.ts'
import type { Warning } from './warning.ts'

export type AgentResult<Output = unknown> = CompletedResult<Output> | InterruptedResult | CancelledResult

/** An answer stands. */
export interface CompletedResult<Output = unknown>
  extends ResultBase,
    SavedResult,
    Without<'interrupts' | 'settled' | 'cancelled' | 'checkpoint'> {
  /** The answer as the agent's `output` schema gives it back; absent without one. */
  readonly output?: Output
  /** Background work that went on, and what of it the model has not read. */
  readonly background?: readonly BackgroundHandle[]
}

/** Somebody is asked. `agent.resume` goes on with the answers. */
export interface InterruptedResult extends ResultBase, Stopped {
  readonly status: 'interrupted'
  /** What waits for an answer, in call order. */
  readonly interrupts: readonly PendingInterrupt[]
  /** Results of calls of the step at work, in call order. They enter the history when all calls of the step have one. */
  readonly settled: readonly ToolMessage[]
  readonly cancelled?: never
}

/** `run.cancel` has stopped it. `agent.resume` goes on from there. */
export interface CancelledResult extends ResultBase, Stopped {
  readonly status: 'cancelled'
  /** Where it was to stop, and whether a time limit made that `now`. */
  readonly cancelled: { readonly at: CancelMode; readonly escalated?: true }
  /** What waited for an answer when it was cancelled. */
  readonly interrupts?: readonly PendingInterrupt[]
  readonly settled?: never
}

/** What is there whatever it came to. A middleware whose `wrapAgent` adds a member declares it here. */
export interface ResultBase {
  /** That of the answer; empty unless the run has completed. */
  readonly text: string
  /**
   * The whole history, the input first. With a further user message it is the input of a next run; but an interrupted run's
   * open calls have no results yet. That of a cancelled run ends with what the model was saying at the time, if anything: a message with `cutOff`.
   */
  readonly messages: readonly Message[]
  readonly steps: number
  /** All that the run has used, and warned of: what a `wrapAgent` says of either is left out. */
  readonly usage: Usage
  readonly warnings: readonly Warning[]
  /** Why the checkpoint could not be stored. */
  readonly checkpointError?: AgentError
  /**
   * Ids of calls that went on when the run no longer waited for them. Those of an agent that a call runs have that call's id in
   * front: `outer/inner`.
   */
  readonly abandoned?: readonly string[]
  /**
   * Ids of calls that had been started before a resume: they may have happened, and were not made again. Those of an agent that a
   * call runs have that call's id in front: `outer/inner`.
   */
  readonly unknown?: readonly string[]
}

interface Stopped extends Without<'stopReason' | 'message' | 'output' | 'finishReason' | 'background'> {
  /** For `agent.resume`. */
  readonly checkpoint: Checkpoint
}

/** May be asked for, and is not there. */
type Without<Names extends string> = { readonly [Name in Names]?: never }

/** Work that a run has handed to its caller, or whose result it could not tell the model any more. */
export interface BackgroundHandle {
  readonly callId: string
  /** The tool's. */
  readonly name: string
  /** Never rejects: what fails is a message with `isError`. */
  readonly result: Promise<ToolMessage>
}
