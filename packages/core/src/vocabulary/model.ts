/** The seam to a model: a request in, a flow of events and one message out. */

import type { Flow } from '../flow/flow.ts'
import type { AssistantMessage, Json, Message, ToolCall } from './message.ts'
import type { JsonSchema } from './tool-schema.ts'

/**
 * A model that can be asked. There is one method: a provider that cannot stream yields once.
 *
 * `stream` requests nothing before its flow is pulled, ends its request when the flow is closed or the signal aborts, and throws
 * a `ModelError` when the response did not come to its end. A message in which a call has no id, or two calls have the same, counts as
 * failed, too.
 */
export interface Model {
  /** A well-known value of `gen_ai.provider.name` where there is one: `openai`, `anthropic` … */
  readonly provider: string
  readonly id: string
  /** Where requests go, if the adapter knows: for spans. */
  readonly server?: { readonly address: string; readonly port?: number }
  /** Whether it works in this process, and asks nobody: its spans are then no client's. Default `false`. */
  readonly inProcess?: boolean
  /** Whether it can be asked for this output natively. If not, core asks for it through a tool of the format's name. */
  structuredOutput?(output: OutputFormat): boolean
  stream(request: ModelRequest): Flow<ModelEvent, AssistantMessage>
}

export interface ModelRequest {
  /** The model that is asked. A wrap may name another one. */
  readonly model: Model
  /** Verbatim; empty means none. */
  readonly instructions: string
  readonly messages: readonly Message[]
  readonly tools: readonly ToolDefinition[]
  /**
   * All names that calls of this run may have, with aliases and tools that this request does not tell of. For the reader of a
   * wire that cuts names; no adapter sends it. If absent: the names of `tools`.
   */
  readonly toolNames?: ReadonlySet<string>
  readonly toolChoice: ToolChoice
  /**
   * What the final answer must be, if the agent has an `output` schema. It reaches models that say they take it
   * (`structuredOutput`) alone.
   */
  readonly output?: OutputFormat
  readonly settings: ModelSettings
  readonly inputLimits: InputLimits
  /** Call ids this run has used: a model gives none of them to a new call, and no two calls the same. */
  readonly takenIds: ReadonlySet<string>
  /** How often the vendor's client may retry by itself; its own default if absent. `retryModel` sets 0. */
  readonly clientRetries?: number
  /** Of this request alone, once it reaches the model: a listener left on it is no leak. */
  readonly signal: AbortSignal
}

/** A tool as the model is told of it. */
export interface ToolDefinition {
  readonly name: string
  readonly description: string
  /** Of the input. */
  readonly inputSchema: JsonSchema
  /**
   * The members of the input that its calls may start with; with none, they may start with the name. For the assembler: no adapter sends
   * it. Absent where nothing may start so in this run.
   */
  readonly needs?: readonly string[]
}

export interface OutputFormat {
  /** Of the format, and of the tool that gives the output where the model has no structured output. */
  readonly name: string
  /** JSON Schema (draft 2020-12) of an object. */
  readonly schema: { readonly [key: string]: Json }
}

export type ToolChoice = 'auto' | 'none' | 'required' | { readonly tool: string }

/** What providers commonly take; each adapter passes on what its wire has. */
export interface ModelSettings {
  readonly maxTokens?: number
  readonly temperature?: number
  readonly topP?: number
  readonly topK?: number
  readonly frequencyPenalty?: number
  readonly presencePenalty?: number
  readonly stopSequences?: readonly string[]
  readonly seed?: number
  readonly parallelToolCalls?: boolean
  /** Further members of the request's body, by provider name, put in as they are. */
  readonly providerOptions?: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}

/** Bounds for the arguments of one call: over them it gets an error result and is not run. */
export interface InputLimits {
  /** UTF-16 code units. Default 4 Mi, at most 64 Mi. */
  readonly characters: number
  /** Levels of nesting. Default 512, which is the most: deeper values no client and no store could write. */
  readonly depth: number
}

export const DEFAULT_INPUT_LIMITS: InputLimits = { characters: 4 * 1024 * 1024, depth: 512 }

/**
 * Of one call the order is `tool-input-start`, `tool-input-delta` …, `tool-input-closed` (or not), `tool-call`; before it closes,
 * one `tool-input-ready` if its tool has `needs` that the request tells of.
 */
export type ModelEvent =
  | { readonly type: 'text-delta' | 'reasoning-delta'; readonly delta: string }
  | { readonly type: 'tool-input-start'; readonly id: string; readonly name: string }
  | { readonly type: 'tool-input-delta'; readonly id: string; readonly delta: string }
  /**
   * The members that the call's tool needs to start are complete: `input` has only these. If it needs none, this comes with the name. The
   * provider may go on to change them.
   */
  | {
      readonly type: 'tool-input-ready'
      readonly id: string
      readonly name: string
      readonly input: Readonly<Record<string, unknown>>
    }
  /** Soft: the root object closed, parses, is not `{}`, and the name is known. The provider may still change its mind. */
  | { readonly type: 'tool-input-closed'; readonly call: ToolCall }
  /** Sealed: not one byte of it will change. */
  | { readonly type: 'tool-call'; readonly call: ToolCall }
