/** Defines the interface to a model: it takes a request, yields events, and returns one message. */

import type { Flow } from '../flow/flow.ts'
import type { AssistantMessage, Json, Message, ToolCall } from './message.ts'
import type { JsonSchema } from './tool-schema.ts'

/**
 * A language model. It has one method; a provider that cannot stream yields once.
 *
 * `stream` sends nothing before its flow is read, ends its request when the flow is closed or the signal aborts, and throws a `ModelError` if the
 * response is incomplete. Core treats a response as failed if a call in it has no id, or two calls have the same id.
 */
export interface Model {
  /** The provider for spans (`gen_ai.provider.name`): a well-known value if there is one, such as `openai` or `anthropic`. */
  readonly provider: string
  /** The name of the model, as the provider knows it. */
  readonly id: string
  /** The server that requests go to, if the adapter knows it. For spans. */
  readonly server?: { readonly address: string; readonly port?: number }
  /** Whether the model runs in this process, without a server. Its spans are then internal spans, not client spans. Default `false`. */
  readonly inProcess?: boolean
  /** Whether the model supports this output format natively. If not, the model returns the output as the input of a tool of that name. */
  structuredOutput?(output: OutputFormat): boolean
  stream(request: ModelRequest): Flow<ModelEvent, AssistantMessage>
}

/** A request to a model. */
export interface ModelRequest {
  /** The model that receives the request. A wrap may replace it. */
  readonly model: Model
  /** The system prompt, verbatim. An empty string means none. */
  readonly instructions: string
  /** The history. */
  readonly messages: readonly Message[]
  /** The tools that the model may call. */
  readonly tools: readonly ToolDefinition[]
  /**
   * All names that calls of this run may have, including aliases and tools that are not in this request. Code that reads a wire which truncates names
   * needs them; adapters do not send them. Default: the names of `tools`.
   */
  readonly toolNames?: ReadonlySet<string>
  /** Whether the model may, must or must not call a tool. */
  readonly toolChoice: ToolChoice
  /** The format of the final answer, if the agent has an `output` schema and the model supports it (`structuredOutput`). */
  readonly output?: OutputFormat
  /** Settings of the model. Each adapter passes on those that its wire has. */
  readonly settings: ModelSettings
  /** Whether adapters replace a user's file that their wire does not take by a sentence. If not, they throw a `ConfigError`. `fallbackModel` sets it. */
  readonly omitsFiles?: boolean
  /** Limits on the arguments of each call of the response. */
  readonly inputLimits: InputLimits
  /** The call ids that this run has used. A new call must have another id. */
  readonly takenIds: ReadonlySet<string>
  /** How often the vendor's client may retry by itself. Default: the client's own setting. `retryModel` sets 0. */
  readonly clientRetries?: number
  /** Aborts this request. Each request gets its own signal, so a listener that stays on it does not leak. */
  readonly signal: AbortSignal
}

/** A tool as it is described to the model. */
export interface ToolDefinition {
  /** The name that the model calls. */
  readonly name: string
  /** What the tool does. */
  readonly description: string
  /** The JSON Schema of the input. */
  readonly inputSchema: JsonSchema
  /**
   * The members of the input that a call needs to start. If empty, a call may start as soon as its name is known. Adapters do not send it; the
   * assembler uses it. Absent if no call of this run may start with a part of its input.
   */
  readonly needs?: readonly string[]
}

/** The format of the final answer. */
export interface OutputFormat {
  /** The name of the format. Also the name of the tool that returns the output if the model has no structured output. */
  readonly name: string
  /** JSON Schema (draft 2020-12) of an object. */
  readonly schema: { readonly [key: string]: Json }
}

/** `auto`: the model may call tools. `none`: it must not. `required`: it must call at least one. `{ tool }`: it must call this one. */
export type ToolChoice = 'auto' | 'none' | 'required' | { readonly tool: string }

/** Settings that most providers accept. Each adapter passes on those that its wire has. */
export interface ModelSettings {
  /** The maximum number of tokens of a response. */
  readonly maxTokens?: number
  /** How random the response is; the range depends on the provider. */
  readonly temperature?: number
  /** Nucleus sampling: only the most likely tokens, up to this probability, from 0 to 1. */
  readonly topP?: number
  /** Only this many of the most likely tokens. */
  readonly topK?: number
  /** Makes tokens less likely the more often they have occurred. */
  readonly frequencyPenalty?: number
  /** Makes tokens less likely that have occurred. */
  readonly presencePenalty?: number
  /** The response ends before one of these texts. */
  readonly stopSequences?: readonly string[]
  /** For responses that can be repeated, as far as the provider supports that. */
  readonly seed?: number
  /** Whether a response may have more than one call. */
  readonly parallelToolCalls?: boolean
  /** Additional members of the request's body, by provider name, sent unchanged. */
  readonly providerOptions?: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}

/** Limits on the arguments of one call. A call that exceeds one gets an error result and does not run. */
export interface InputLimits {
  /** The length in UTF-16 code units. Default 4 Mi, at most 64 Mi. */
  readonly characters: number
  /** The levels of nesting. Default and maximum 512: clients and stores cannot write deeper values. */
  readonly depth: number
}

/** The limits of an agent without `inputLimits`. */
export const DEFAULT_INPUT_LIMITS: InputLimits = { characters: 4 * 1024 * 1024, depth: 512 }

/**
 * The events of a response. The events of one call come in this order: `tool-input-start`, `tool-input-delta` …, `tool-input-closed` (optional),
 * `tool-call`. If the request lists `needs` for the tool, one `tool-input-ready` comes before `tool-input-closed`.
 */
export type ModelEvent =
  | { readonly type: 'text-delta' | 'reasoning-delta'; readonly delta: string }
  | { readonly type: 'tool-input-start'; readonly id: string; readonly name: string }
  | { readonly type: 'tool-input-delta'; readonly id: string; readonly delta: string }
  /**
   * The members that the tool needs to start are complete: `input` contains only these. If the tool needs none, this comes with the name. The
   * provider may still change them.
   */
  | {
      readonly type: 'tool-input-ready'
      readonly id: string
      readonly name: string
      readonly input: Readonly<Record<string, unknown>>
    }
  /** The root object of the arguments is closed and parses, is not `{}`, and the name is known. The provider may still change it. */
  | { readonly type: 'tool-input-closed'; readonly call: ToolCall }
  /** Sealed: the call will not change. */
  | { readonly type: 'tool-call'; readonly call: ToolCall }
