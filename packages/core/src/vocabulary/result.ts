/** Defines the result of a run. Its `status` determines which of the other members exist. */

import type { CancelMode } from './cancel.ts'
import type { AgentError } from './errors.ts'
import type { PendingInterrupt } from './interrupt.ts'
import type { Message, ToolMessage, Usage } from './message.ts'
import type { Checkpoint, SavedResult } from './saved-run.ts'
import type { Warning } from './warning.ts'

/** The result of a run that did not fail. `status` is `completed`, `interrupted` or `cancelled`. A completed run of an agent with `output` has one. */
export type AgentResult<Output = unknown> =
  | (CompletedResult<Output> & { readonly output: Output })
  | InterruptedResult
  | CancelledResult

/** The run has its final answer. */
export interface CompletedResult<Output = unknown>
  extends ResultBase,
    SavedResult,
    Without<'interrupts' | 'settled' | 'cancelled' | 'checkpoint'> {
  /** The value that the agent's `output` schema returned; absent without such a schema. */
  readonly output?: Output
  /** Background work that is still running, or whose result the model has not read. */
  readonly background?: readonly BackgroundHandle[]
}

/** The run asks a question. `agent.resume` continues it with the answers. */
export interface InterruptedResult extends ResultBase, Stopped {
  readonly status: 'interrupted'
  /** The open questions, in call order. */
  readonly interrupts: readonly PendingInterrupt[]
  /** Results of calls of the current step, in call order. They enter the history when all calls of the step have one. */
  readonly settled: readonly ToolMessage[]
  readonly cancelled?: never
}

/** `run.cancel` has stopped the run. `agent.resume` continues it. */
export interface CancelledResult extends ResultBase, Stopped {
  readonly status: 'cancelled'
  /** The mode of the cancel, and whether its time limit changed the mode to `now`. */
  readonly cancelled: { readonly at: CancelMode; readonly escalated?: true }
  /** The questions that were open when the run was cancelled. */
  readonly interrupts?: readonly PendingInterrupt[]
  readonly settled?: never
}

/** The members that every result has. A middleware whose `wrapAgent` adds a member declares it here. */
export interface ResultBase {
  /** The text of the answer; empty unless the run has completed. */
  readonly text: string
  /**
   * The whole history, beginning with the input. Append a user message to use it as the input of a next run; the open calls of an interrupted run
   * have no results yet. If the run was cancelled while the model was writing, the last message has `cutOff`.
   */
  readonly messages: readonly Message[]
  /** The number of steps, including those before a resume. */
  readonly steps: number
  /** All tokens that the run has used. The value that a `wrapAgent` returns is ignored. */
  readonly usage: Usage
  /** All warnings of the run. The value that a `wrapAgent` returns is ignored. */
  readonly warnings: readonly Warning[]
  /** The reason if the checkpoint could not be stored. */
  readonly checkpointError?: AgentError
  /**
   * Ids of calls that were still running when the run stopped waiting for them. For a call of an agent inside a call, the id of the outer call comes
   * first: `outer/inner`.
   */
  readonly abandoned?: readonly string[]
  /** Ids, in the same form, of calls that may have happened and do not run again: they began before a resume, or threw `OutcomeUnknownError`. */
  readonly unknown?: readonly string[]
}

interface Stopped extends Without<'stopReason' | 'message' | 'output' | 'finishReason' | 'background'> {
  /** The checkpoint for `agent.resume`. */
  readonly checkpoint: Checkpoint
}

/** Members that are always absent, but may be read. */
type Without<Names extends string> = { readonly [Name in Names]?: never }

/** Background work that continues after the run, or whose result the model has not read. */
export interface BackgroundHandle {
  /** The id of the call. */
  readonly callId: string
  /** The name of the tool. */
  readonly name: string
  /** Never rejects: a failure is a message with `isError`. */
  readonly result: Promise<ToolMessage>
}
