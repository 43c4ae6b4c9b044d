/** Who makes the calls of a response: the run of an agent, or a step of somebody else's loop. */

import type { Effect, Model, ResourceKeys, Run, Tool, ToolCall } from '@meanwhile/core'
import type { Evidence } from './policy.ts'

export type NamedModel = Pick<Model, 'provider' | 'id'>

export interface CallMaker extends Pick<Run, 'warn'> {
  readonly tools: readonly Tool[]
  /** The model that is asked. */
  readonly model: NamedModel
  /** How many calls may run at once. */
  readonly toolConcurrency: number
  /** After this step no model call may follow. */
  readonly isLastStep: boolean
  /** A call of this tool has begun, and nothing of its input is known: the tool may warm up. */
  warm(callId: string, tool: string): void
  /** The arguments of a call are complete, or are not after all. */
  certain(callId: string, isCertain: boolean): void
  /** What the policy and the effect say against a start on this evidence. */
  deferral(call: ToolCall, start: Pick<EarlyStart, 'tool' | 'effect' | 'evidence'>): string | undefined
  /** Whether calls of this tool have wasted too much to start early. */
  isSpent(tool: string): boolean
  start(call: ToolCall, start: EarlyStart): void
  /** The stream is over, and the call has not started early, because of this. */
  waited(callId: string, reason: string): void
}

export interface EarlyStart {
  readonly tool: Tool
  readonly effect: Effect
  readonly keys: ResourceKeys
  readonly evidence: Evidence
  /** As the tool's schema gives it back. */
  readonly input: unknown
  /** The breaker has kept it from a start on softer evidence. */
  readonly isLate?: boolean
  /** Of a call that starts with the members its tool needs: the whole call, as soon as it is known. */
  readonly rest?: Promise<ToolCall>
}
