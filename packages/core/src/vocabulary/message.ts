/** Defines the messages between user, model and tools. They are plain, readonly JSON; in a history they are deep-frozen. */

/** A value that JSON can represent. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

/** Opaque data of providers, by provider name. Each provider gets its own data back unchanged. */
export type ProviderMetadata = Readonly<Record<string, unknown>>

/** A message of a history. */
export type Message = UserMessage | AssistantMessage | ToolMessage

/** A message of the user, or one that a middleware added in the user's role. */
export interface UserMessage {
  readonly role: 'user'
  /** The text, or the parts in order. */
  readonly content: string | readonly ContentPart[]
  /** The name of the middleware that added the message, or `core`. Absent if the user wrote it. */
  readonly origin?: string
}

/** A response of the model. */
export interface AssistantMessage {
  readonly role: 'assistant'
  /** Its text, reasoning and calls, in the order in which they began. */
  readonly content: readonly AssistantPart[]
  /** Why the model stopped. */
  readonly finishReason: FinishReason
  /** The run was cancelled while the model wrote this message. It contains the text until then and the complete calls. */
  readonly cutOff?: true
  /** The token counts that the provider reported for this response; absent if it reported none. */
  readonly usage?: Usage
  /** What the provider reported about the response: id, model, its own finish reason. */
  readonly response?: ResponseInfo
}

/** The result of a tool call, as the model reads it. */
export interface ToolMessage {
  readonly role: 'tool'
  /** The id of the call. */
  readonly callId: string
  /** The name of the tool, as the model wrote it. */
  readonly name: string
  /** What the model reads. */
  readonly content: readonly ContentPart[]
  /**
   * What the tool returned, for your own code; the model reads `content`. Present only if it is JSON, nested at most 512 levels deep, and within the
   * agent's `outputLimits`.
   */
  readonly output?: unknown
  /** Whether the call failed. Absent if it did not. */
  readonly isError?: boolean
}

/** A part of a user or tool message. */
export type ContentPart = TextPart | FilePart

/** A part of a model's message. Parts are in the order in which they began. */
export type AssistantPart = TextPart | ReasoningPart | ToolCall

/** A piece of text. */
export interface TextPart {
  readonly type: 'text'
  /** The text. It may be empty. */
  readonly text: string
  /** Data of the provider, such as signatures, that it gets back unchanged. */
  readonly providerMetadata?: ProviderMetadata
}

/** A piece of the model's reasoning. */
export interface ReasoningPart {
  readonly type: 'reasoning'
  /** The reasoning, or its summary if the provider sends only that. It may be empty. */
  readonly text: string
  /** Data of the provider, such as signatures, that it gets back unchanged. */
  readonly providerMetadata?: ProviderMetadata
}

/** An image, a document, a sound: `data` is its bytes as base64, or a URL that the provider can read. */
export interface FilePart {
  readonly type: 'file'
  /** IANA media type, such as `image/png`. */
  readonly mediaType: string
  /** The bytes as base64, or the URL. */
  readonly data: string | { readonly url: string }
  /** The name of the file, for providers that accept one. */
  readonly filename?: string
  /** Data of the provider, that it gets back unchanged. */
  readonly providerMetadata?: ProviderMetadata
}

/** A call of a tool, as a part of the model's message. */
export interface ToolCall {
  readonly type: 'tool-call'
  /** Unique in a run, including the history that the run began with. */
  readonly id: string
  /** The name as the model wrote it, cut after 200 characters; `''` if the model never named the tool. */
  readonly name: string
  /** The parsed arguments. If {@link inputError} is set, it is their text instead, or `''` if the text exceeded the limit. */
  readonly input: unknown
  /** Why the arguments are unusable: they did not parse, or exceeded a limit. Such a call never runs. */
  readonly inputError?: string
  /** The result of a call that the provider itself ran, such as a web search. Core does not run such a call, and it needs no tool message. */
  readonly providerResult?: unknown
  /** Data of the provider, such as signatures, that it gets back unchanged. */
  readonly providerMetadata?: ProviderMetadata
}

/** Why a model stopped. Calls run only after `stop` and `tool-calls`. `other` is any reason that none of these names. */
export type FinishReason = 'stop' | 'tool-calls' | 'length' | 'content-filter' | 'error' | 'other'

/** Token counts. A count that was not reported is absent, not 0. */
export interface Usage {
  /** Tokens that the model read, including those of the cache. */
  readonly inputTokens?: number
  /** Tokens that the model wrote, including its reasoning. */
  readonly outputTokens?: number
  /** Tokens read from the provider's cache. */
  readonly cacheReadTokens?: number
  /** Tokens written to the provider's cache. */
  readonly cacheWriteTokens?: number
  /** Tokens written while reasoning. */
  readonly reasoningTokens?: number
}

/** What the provider reported about a response. */
export interface ResponseInfo {
  /** The provider's id of the response. */
  readonly id?: string
  /** The name of the model that answered. It may be more exact than the name in the request. */
  readonly model?: string
  /** The finish reason in the provider's own words. */
  readonly finishReason?: string
}

/** Returns the joined text parts of a message. */
export function textOf(message: Message): string {
  if (typeof message.content === 'string') return message.content
  let text = ''
  for (const part of message.content) if (part.type === 'text') text += part.text
  return text
}

/** Returns the calls of a response in call order, without those that the provider ran. Other messages have none. */
export function callsOf({ role, content }: Message): ToolCall[] {
  if (role !== 'assistant') return []
  return content.filter((part) => part.type === 'tool-call' && part.providerResult === undefined) as ToolCall[]
}

/** Whether the calls of a response with this finish reason may run. */
export function allowsCalls(reason: FinishReason): boolean {
  return reason === 'stop' || reason === 'tool-calls'
}
