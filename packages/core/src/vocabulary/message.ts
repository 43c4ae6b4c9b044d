/** What is said between user, model and tools: plain, readonly JSON, deep-frozen once it stands in a history. */

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

/** Opaque data of one provider, by provider name. It goes back to that provider untouched. */
export type ProviderMetadata = Readonly<Record<string, unknown>>

export type Message = UserMessage | AssistantMessage | ToolMessage

export interface UserMessage {
  readonly role: 'user'
  readonly content: string | readonly ContentPart[]
  /** Set on messages that core or a middleware added on its own: the name of who added it. */
  readonly origin?: string
}

export interface AssistantMessage {
  readonly role: 'assistant'
  readonly content: readonly AssistantPart[]
  readonly finishReason: FinishReason
  /** The run was cancelled while the model gave this message: it has the text so far, and the calls that were complete. */
  readonly cutOff?: true
  /** What the provider counted for this response; absent when it reported nothing. */
  readonly usage?: Usage
  /** The response as its provider named it: set where the wire tells. */
  readonly response?: ResponseInfo
}

export interface ToolMessage {
  readonly role: 'tool'
  readonly callId: string
  readonly name: string
  readonly content: readonly ContentPart[]
  /**
   * What the tool returned, if it is JSON, nested no deeper than 512 levels and within the agent's `outputLimits`: for the caller; the
   * model reads `content`.
   */
  readonly output?: unknown
  readonly isError?: boolean
}

/** A part of what a user or a tool says. */
export type ContentPart = TextPart | FilePart

/** A part of what a model says, in the order in which the parts began. */
export type AssistantPart = TextPart | ReasoningPart | ToolCall

export interface TextPart {
  readonly type: 'text'
  readonly text: string
  readonly providerMetadata?: ProviderMetadata
}

export interface ReasoningPart {
  readonly type: 'reasoning'
  readonly text: string
  readonly providerMetadata?: ProviderMetadata
}

/** An image, a document, a sound: its bytes as base64, or a URL the provider can read. */
export interface FilePart {
  readonly type: 'file'
  /** IANA media type, such as `image/png`. */
  readonly mediaType: string
  readonly data: string | { readonly url: string }
  readonly filename?: string
  readonly providerMetadata?: ProviderMetadata
}

export interface ToolCall {
  readonly type: 'tool-call'
  /** Unique within a run, its input history included. */
  readonly id: string
  /** As the model wrote it, at most 200 characters of it; `''` if it never named the tool. */
  readonly name: string
  /** The parsed arguments. If {@link inputError} is set: their text as it came, or `''` if it was over the character limit. */
  readonly input: unknown
  /** Why the arguments cannot be used: they did not parse, or were over a limit. Such a call is never run. */
  readonly inputError?: string
  /** The result, where the provider ran the call itself: we never run it, and it needs no tool message. */
  readonly providerResult?: unknown
  readonly providerMetadata?: ProviderMetadata
}

/** Why a model stopped. Calls may run after `stop` and `tool-calls` alone; a reason nobody mapped is `other`. */
export type FinishReason = 'stop' | 'tool-calls' | 'length' | 'content-filter' | 'error' | 'other'

/** Tokens. A figure nobody reported is absent, not 0. */
export interface Usage {
  readonly inputTokens?: number
  readonly outputTokens?: number
  readonly cacheReadTokens?: number
  readonly cacheWriteTokens?: number
  readonly reasoningTokens?: number
}

export interface ResponseInfo {
  readonly id?: string
  readonly model?: string
  /** The provider's own word for the finish reason. */
  readonly finishReason?: string
}

/** The text of a message: its text parts, joined. */
export function textOf(message: Message): string {
  if (typeof message.content === 'string') return message.content
  let text = ''
  for (const part of message.content) if (part.type === 'text') text += part.text
  return text
}

/** The calls of a response that are ours to run, in call order. */
export function callsOf(message: AssistantMessage): ToolCall[] {
  return message.content.filter((part) => part.type === 'tool-call' && part.providerResult === undefined) as ToolCall[]
}

/** Whether a response that ended so may be acted on: whether its calls may run (an allow-list). */
export function allowsCalls(reason: FinishReason): boolean {
  return reason === 'stop' || reason === 'tool-calls'
}

/**
 * The message with a finish reason that fits it: without calls of ours it is an answer, which has stopped, whatever the response it was made
 * of had ended with. The provider's word for that goes as well.
 */
export function withFittingReason(message: AssistantMessage): AssistantMessage {
  if (message.finishReason !== 'tool-calls' || callsOf(message).length > 0) return message
  const { response, ...rest } = message
  if (!response) return { ...rest, finishReason: 'stop' }
  const { finishReason: _, ...info } = response
  return { ...rest, finishReason: 'stop', response: info }
}

const FIGURES = ['inputTokens', 'outputTokens', 'cacheReadTokens', 'cacheWriteTokens', 'reasoningTokens'] as const

/** The sum of two usages, frozen; figures neither has stay absent. */
export function addUsage(a: Usage, b: Usage | undefined): Usage {
  if (!b) return a
  const sum: { -readonly [K in keyof Usage]: Usage[K] } = { ...a }
  for (const figure of FIGURES) if (b[figure] !== undefined) sum[figure] = (a[figure] ?? 0) + b[figure]
  return Object.freeze(sum)
}
