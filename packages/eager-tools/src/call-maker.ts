/**
 * The interface for starting the calls of a response: implemented for an agent's run and for a step of another
 * library's loop.
 */

import type { Effect, Model, ResourceKeys, Run, Tool, ToolCall } from '@meanwhile/core'
import type { Evidence } from './policy.ts'

export type NamedModel = Pick<Model, 'provider' | 'id'>

export interface CallMaker extends Pick<Run, 'warn'> {
  readonly tools: readonly Tool[]
  /** The model that wrote the calls. */
  readonly model: NamedModel
  /** How many calls may run at once. */
  readonly toolConcurrency: number
  /** Whether no model call may follow after this step. */
  readonly isLastStep: boolean
  /** A call of this tool has begun, and its input is not known yet: the tool may warm up. */
  warm(callId: string, tool: string): void
  /** Sets whether the arguments of a call are complete. Complete arguments may turn out to continue. */
  certain(callId: string, isCertain: boolean): void
  /** Why the policy, the effect or the schema does not allow a start on this evidence; `undefined` if they do. */
  deferral(call: ToolCall, start: Pick<EarlyStart, 'tool' | 'effect' | 'evidence' | 'input'>): string | undefined
  /** Whether calls of this tool have wasted too much to start early. */
  isSpent(tool: string): boolean
  start(call: ToolCall, start: EarlyStart): void
  /** Records why a call did not start early, when the stream has ended. `behind`: the call that it waited for. */
  waited(callId: string, reason: string, behind: string | undefined): void
}

export interface EarlyStart {
  readonly tool: Tool
  readonly effect: Effect
  readonly keys: ResourceKeys
  readonly evidence: Evidence
  /** The input as the tool's schema returned it. */
  readonly input: unknown
  /** Whether the breaker prevented a start on earlier evidence. */
  readonly isLate?: boolean
  /** For a call that starts with the members its tool needs: the whole call, once it is known. */
  readonly rest?: Promise<ToolCall>
}
