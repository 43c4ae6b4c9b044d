/** All that differs between a tool that is executed in a run and one that is executed alone. */

import type { Awaitable } from '../flow/flow.ts'
import type { Judgement } from '../machine/call.ts'
import type { Actor } from '../state/actor.ts'
import type { Given } from '../state/capabilities.ts'
import type { UserContext } from '../state/user-context.ts'
import type { Telemetry } from '../telemetry/around.ts'
import type { Json, Message, ToolCall } from '../vocabulary/message.ts'
import type { Invocation } from '../vocabulary/saved-run.ts'
import type { Run, Tool } from '../vocabulary/tool.ts'

export interface Host<Result> {
  readonly telemetry: Telemetry
  /** How long a function that was aborted is waited for, in milliseconds. */
  readonly grace: number
  /** In milliseconds, for this tool. */
  readonly timeout: number | undefined
  /** Of the run, or the one that a tool alone was given. */
  readonly userContext: UserContext
  /** The history with which the model was asked. */
  readonly messages: readonly Message[]
  /** Aborts when nothing new may start. */
  readonly halted?: AbortSignal | undefined
  /**
   * Gives what an execution that does this waits for before it waits for its turn, if it waits: until its call, or a call that
   * its run works for, is committed. Rejects when one of the signals aborts.
   */
  waitForCommit?(does: Judgement, signals: readonly AbortSignal[]): Promise<void> | undefined
  /** What the call has been answered. */
  answers?(): readonly Json[]
  /** What went wrong beside the call. */
  warn?(message: string): void
  /** Resolves when it is known, whatever comes, that the call may have happened. Absent where nothing is kept. */
  readonly save?: (() => Promise<void>) | undefined
  /** What an execution came to in a run before this one, given or thrown: it is not made again. */
  known?(invocation: Invocation): (() => Result) | undefined
  /** What it came to in this one, unless its call was aborted. */
  came?(invocation: Invocation, outcome: { readonly result: Result } | { readonly error: unknown }): void
  /** The function is called, for the n-th time. */
  entered?(attempt: number): void
  /** What the function threw. */
  threw?(error: unknown, invocation: Invocation): void
  /** The run as the function sees it; alone there is none. */
  viewOf?(actor: Actor): Run
  /** What comes of an output. */
  resultOf(call: ToolCall, tool: Tool, output: unknown): Result
  /** What the function is given of a whole input, checked. */
  givenOf(tool: Tool, checked: unknown): Given
  /** What comes of a call to a tool there is not. */
  unknown(call: ToolCall): Awaitable<Result>
}
