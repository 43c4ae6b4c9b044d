/**
 * The types of the AI SDK's language model specification, versions 2 to 4, as far as they are used. Models are matched
 * by shape; no package of the AI SDK is imported.
 */

import type { ProviderMetadata } from '@meanwhile/core'

/** A language model of the AI SDK 5, 6 or 7, of any provider, with or without the AI SDK's middleware. */
export type AiSdkModel = Specified<V2> | Specified<V3> | Specified<V4>

/** A model that implements one version. */
export interface Specified<V extends Version> {
  readonly specificationVersion: V['name']
  readonly provider: string
  readonly modelId: string
  readonly supportedUrls: PromiseLike<SupportedUrls> | SupportedUrls
  doStream(options: CallOptions<V>): PromiseLike<{ readonly stream: ReadableStream<StreamPart> }>
}

/** The URLs that a model's provider can read itself: patterns by media type; `*` matches any type. */
export type SupportedUrls = Readonly<Record<string, readonly RegExp[]>>

/** The types of the request that differ between versions. */
export interface Version {
  readonly name: 'v2' | 'v3' | 'v4'
  readonly file: object
  readonly resultFile: object
  readonly custom: object
}

export interface V2 extends Version {
  readonly name: 'v2'
  readonly file: FileContent<string | URL>
  readonly resultFile: { type: 'media'; data: string; mediaType: string }
  readonly custom: never
}

export interface V3 extends Version {
  readonly name: 'v3'
  readonly file: FileContent<string | URL>
  readonly resultFile: Optioned &
    (
      | { type: 'image-data'; data: string; mediaType: string }
      | { type: 'file-data'; data: string; mediaType: string; filename?: string }
      | { type: 'image-url' | 'file-url'; url: string }
    )
  readonly custom: never
}

export interface V4 extends Version {
  readonly name: 'v4'
  readonly file: FileContent<{ type: 'data'; data: string } | { type: 'url'; url: URL }>
  readonly resultFile: V4['file']
  readonly custom: Optioned & { type: 'custom'; kind: `${string}.${string}` }
}

export interface FileContent<Data> extends Optioned {
  type: 'file'
  data: Data
  mediaType: string
  filename?: string
}

export interface CallOptions<V extends Version> extends Optioned {
  prompt: PromptMessage<V>[]
  tools?: { type: 'function'; name: string; description: string; inputSchema: object }[]
  toolChoice?: { type: 'auto' | 'none' | 'required' } | { type: 'tool'; toolName: string }
  responseFormat?: { type: 'json'; schema: object; name: string }
  maxOutputTokens?: number
  temperature?: number
  topP?: number
  topK?: number
  frequencyPenalty?: number
  presencePenalty?: number
  stopSequences?: string[]
  seed?: number
  abortSignal?: AbortSignal
  includeRawChunks?: boolean
}

export type PromptMessage<V extends Version> =
  | { role: 'system'; content: string }
  | { role: 'user'; content: (TextContent | V['file'])[] }
  | (Optioned & { role: 'assistant'; content: AssistantContent<V>[] })
  | { role: 'tool'; content: ResultContent<V>[] }

export type AssistantContent<V extends Version> =
  | TextContent
  | (Optioned & { type: 'reasoning'; text: string })
  | (Optioned & { type: 'tool-call'; toolCallId: string; toolName: string; input: unknown; providerExecuted?: boolean })
  | ResultContent<V>
  | V['file']
  | V['custom']

export interface TextContent extends Optioned {
  type: 'text'
  text: string
}

export interface ResultContent<V extends Version> extends Optioned {
  type: 'tool-result'
  toolCallId: string
  toolName: string
  output:
    | { type: 'text' | 'error-text'; value: string }
    | { type: 'json' | 'error-json'; value: JsonValue }
    | { type: 'content'; value: (TextContent | V['resultFile'])[] }
}

interface Optioned {
  providerOptions?: Record<string, Record<string, JsonValue>>
}

export type JsonValue = null | string | number | boolean | JsonValue[] | { [key: string]: JsonValue }

/** The parts that are read from a stream. Some providers send parts of another version, or omit required members. */
export type StreamPart =
  | SpokenPart
  | InputStart
  | InputPiece
  | CallPart
  | ResultPart
  | FilePiece
  | FinishPart
  | CustomPart
  | { readonly type: 'response-metadata'; readonly id?: string | undefined; readonly modelId?: string | undefined }
  | { readonly type: 'error'; readonly error: unknown }
  | StreamStart
  | { readonly type: 'raw'; readonly rawValue?: unknown }
  | { readonly type: 'tool-approval-request' | 'reasoning-file' | 'source' | 'ping' }

interface Marked {
  readonly providerMetadata?: ProviderMetadata | undefined
}

export interface StreamStart {
  readonly type: 'stream-start'
  readonly warnings: readonly { readonly type: string; readonly message?: string }[]
}

export interface SpokenPart extends Marked {
  readonly type: `${'text' | 'reasoning'}-${'start' | 'delta' | 'end'}`
  readonly id: string
  readonly delta?: string
}

export interface InputStart extends Marked {
  readonly type: 'tool-input-start'
  readonly id: string
  readonly toolName: string
  readonly inputEncoding?: 'json' | 'text'
  readonly providerExecuted?: boolean | undefined
}

export interface InputPiece extends Marked {
  readonly type: 'tool-input-delta' | 'tool-input-end'
  readonly id: string
  readonly delta?: string
}

export interface CallPart extends Marked {
  readonly type: 'tool-call'
  readonly toolCallId: string
  readonly toolName: string
  readonly input: unknown
  readonly providerExecuted?: boolean | undefined
}

export interface ResultPart extends Marked {
  readonly type: 'tool-result'
  readonly toolCallId: string
  readonly toolName: string
  readonly result: unknown
  readonly isError?: boolean | undefined
}

export interface FilePiece extends Marked {
  readonly type: 'file'
  readonly mediaType: string
  readonly data:
    | string
    | Uint8Array
    | { readonly type: 'data'; readonly data: string | Uint8Array }
    | { readonly type: 'url'; readonly url: URL }
}

/** Version 4. */
export interface CustomPart extends Marked {
  readonly type: 'custom'
  readonly kind: `${string}.${string}`
}

export interface FinishPart extends Marked {
  readonly type: 'finish'
  readonly finishReason: string | { readonly unified: string; readonly raw: string | undefined }
  readonly usage: TotalUsage | DetailedUsage
}

/** Version 2. */
export interface TotalUsage {
  readonly inputTokens: number | undefined
  readonly outputTokens: number | undefined
  readonly cachedInputTokens?: number | undefined
  readonly reasoningTokens?: number | undefined
}

/** Versions 3 and 4. */
export interface DetailedUsage {
  readonly inputTokens: {
    readonly total: number | undefined
    readonly cacheRead: number | undefined
    readonly cacheWrite: number | undefined
  }
  readonly outputTokens: { readonly total: number | undefined; readonly reasoning: number | undefined }
}
