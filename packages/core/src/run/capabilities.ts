/** What stands beside the centre of an agent, as far as the centre knows it. `agent.ts` registers it all, and every run has it. */

import type { Output } from '../agent-config.ts'
import type { ConfigError, OutputError } from '../errors.ts'
import type { AssistantMessage, ToolCall, ToolMessage, UserMessage } from '../message.ts'
import type { ToolFlow } from '../middleware.ts'
import type { Model, ModelRequest } from '../model.ts'
import type { BackgroundHandle } from '../result.ts'
import type { SavedWork } from '../saved-run.ts'
import type { Tool } from '../tool.ts'

export interface Capabilities<Run, Call> {
  readonly background: BackgroundCapability<Run, Call>
  readonly output: OutputCapability
}

/** Tools that work in the background. */
export interface BackgroundCapability<Run, Call> {
  /** The background work of a run: none yet. */
  worksOf(run: Run): BackgroundWorks<Call>
  /** The tools of an agent, and those that it has because some of them are these. Throws {@link ConfigError} if a name is taken. */
  withOwnTools(tools: readonly Tool[]): readonly Tool[]
}

/** The background work of a run. Each work is that of a call, and has a call of its own with the same id. */
export interface BackgroundWorks<Call> {
  /** The innermost of `wrapToolCall`: it begins the work, and answers with where to ask for the result. */
  start(entry: Call, tool: Tool, call: ToolCall): ToolFlow
  /** The work of a call of this id: of several the latest. */
  get(callId: string): Call | undefined
  /** The work of this call. */
  of(entry: Call): Call | undefined
  /** The result of a call, if there is one; the model has read it then. */
  read(callId: string): ToolMessage | undefined
  /** Whether there are results the model has not read. */
  readonly hasNews: boolean
  /** The results the model has not read, as messages of their own: their calls were answered when they began. */
  deliver(): UserMessage[]
  /** Throws what stops the run if an agent that works in the background asks: the run stops at its next safe point. */
  stopIfAsked(): void
  /** Whether its run has to stop some of it. */
  readonly isOpen: boolean
  /** Those whose result is not there yet. */
  openEntries(): readonly Call[]
  /** An answer is offered: resolves when nothing it has to wait for is at work. Throws if the run is to stop before that. */
  beforeEnd(): Promise<void>
  /** The run is to stop: nobody waits for work any more. */
  wake(): void
  /** The run has its answer: open work that its tool detaches goes on, and what the model has not read is the caller's. */
  handOver(): BackgroundHandle[]
  /** Whether this is work of a call that goes on beyond its run. */
  hasHandedOver(entry: Call): boolean
  abort(reason: unknown): void
  /** Resolves when nothing that the run has to do with is at work. */
  idle(): Promise<void>
  /** `isLast`: what has not begun will not begin any more. */
  save(isLast: boolean): SavedWork[]
  /** As a checkpoint has it: nothing is at work yet. Gives the work that is not over. */
  restore(saved: readonly SavedWork[]): readonly Call[]
  /** Work of a checkpoint goes on, unless it has come to an end since. */
  goOn(entry: Call): void
}

/** The `output` schema of an agent. */
export interface OutputCapability {
  /** The request as its model is asked. */
  asked(request: ModelRequest): ModelRequest
  /** The results of a step in call order: of the calls that were `made`, and of those that give the output. */
  results(calls: readonly ToolCall[], made: readonly ToolMessage[]): ToolMessage[]
  /** The output that an answer gives, or why it does not fit. Without a schema it gives none. */
  check(run: OutputOwner, answer: AssistantMessage | ToolMessage): Promise<CheckedOutput>
}

/** A run, as far as its output concerns it. */
export interface OutputOwner {
  readonly config: { readonly output: Output | undefined }
  readonly setup: { readonly model: Model }
}

export interface CheckedOutput {
  readonly value?: unknown
  /** With what the model reads of it. */
  readonly misfit?: { readonly error: OutputError; readonly feedback: string }
}
