/** Defines the interface that hides the difference between executing a tool in a run and without a run. */

import type { Awaitable } from '../flow/flow.ts'
import type { Judgement } from '../machine/call.ts'
import type { Actor } from '../state/actor.ts'
import type { UserContext } from '../state/user-context.ts'
import type { Telemetry } from '../telemetry/around.ts'
import type { Json, Message, ToolCall } from '../vocabulary/message.ts'
import type { Invocation } from '../vocabulary/saved-run.ts'
import type { Run, Tool } from '../vocabulary/tool.ts'

export interface Host<Result> {
  readonly telemetry: Telemetry
  /** How long to wait for an aborted function, in milliseconds. */
  readonly grace: number
  /** The time limit of this execution instead of the tool's own, in milliseconds. */
  readonly timeout?: number | undefined
  /** The context of the run or, without a run, the context that was passed for the tool. */
  readonly userContext: UserContext
  /** The history that the model received. */
  readonly messages: readonly Message[]
  /** Aborts when nothing new may start. */
  readonly halted?: AbortSignal | undefined
  /** Returns a promise if an execution must first wait for the commit of its call, or of a call outside its run. Rejects when a signal aborts. */
  waitForCommit?(does: Judgement, signals: readonly AbortSignal[]): Promise<void> | undefined
  /** The answers to the questions of the call. */
  answers?(): readonly Json[]
  /** Reports a problem that does not fail the call. */
  warn?(message: string): void
  /** Saves the run and resolves when the checkpoint records that the call may have happened. Absent if nothing is saved. */
  readonly save?: (() => Promise<void>) | undefined
  /** Returns a function that returns or throws the outcome of an execution from before the resume, which is not repeated. */
  known?(invocation: Invocation): (() => Result) | undefined
  /** Receives the outcome of an execution since the resume, unless its call was aborted. */
  came?(invocation: Invocation, came: { readonly result?: Result; readonly error?: unknown }): void
  /** Called when the function is called for the n-th time. */
  entered?(attempt: number): void
  /** Receives what the function threw. */
  threw?(error: unknown, invocation: Invocation): void
  /** The run as the function sees it. Absent without a run. */
  viewOf?(actor: Actor): Run
  /** Makes a result from an output. */
  resultOf(call: ToolCall, tool: Tool, output: unknown): Result
  /** Returns the result of a call to a tool that does not exist. */
  unknown(call: ToolCall): Awaitable<Result>
}
