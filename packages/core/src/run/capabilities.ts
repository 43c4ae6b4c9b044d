/** What stands beside the centre of an agent, as far as the centre knows it. `agent.ts` registers it all, and every run has it. */

import type { Output } from '../agent-config.ts'
import type { OutputError } from '../errors.ts'
import type { AssistantMessage, ToolCall, ToolMessage } from '../message.ts'
import type { Model, ModelRequest } from '../model.ts'

export interface Capabilities {
  readonly output: OutputCapability
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
