/** The adapter for OpenAI's models, and for all hosts that are compatible with one of OpenAI's two wires. */

import {
  type AssistantMessage,
  ConfigError,
  checkOptions,
  type Flow,
  type Model,
  type ModelEvent,
  type ModelRequest,
} from '@meanwhile/core'
import type OpenAI from 'openai'
import { ADAPTER_OPTIONS, checkAdapter } from './adapter-checks.ts'
import { answer } from './answer.ts'
import { chatRequest } from './chat-request.ts'
import { chatReader, isSilentChunk } from './chat-stream.ts'
import type { Asked, RequestOptions } from './client-chunks.ts'
import { isLikeOpenAI, targetOf } from './families.ts'
import { responsesRequest } from './responses-request.ts'
import { isLastEvent, isSilentEvent, responsesReader } from './responses-stream.ts'
import { withSecondTry } from './second-try.ts'
import { serverOf } from './server.ts'
import { keepBodies } from './status-errors.ts'
import { refuseChat } from './wrong-api.ts'

export { chatWire } from './chat-wire.ts'
export { responsesWire } from './responses-wire.ts'

/** The options of `openai`. */
export interface OpenAIOptions {
  /** The client of the official library, created by you: it has the key, the base URL, headers and timeouts. */
  readonly client: OpenAIClient
  /** The name of the model in requests. */
  readonly model: string
  /** Default `responses`. Most other hosts support only Chat Completions (`chat`). */
  readonly api?: 'responses' | 'chat'
  /**
   * The provider, by its `gen_ai.provider.name`: `openai` by default, `azure.ai.openai`, `deepseek` … Also the key of
   * this model's `providerOptions` and provider metadata.
   */
  readonly provider?: string
  /**
   * How long a stream that has begun may be silent, in milliseconds, before it ends with the retryable `ModelError`
   * `idle_timeout`. Comments, pings and empty deltas do not count. Until the stream begins, the client's own timeout
   * applies. Default 300,000, because models may reason for minutes without output; `Infinity` for no limit.
   */
  readonly idleTimeout?: number
  /**
   * Whether the model accepts a JSON Schema as its response format. Default: known values for OpenAI's own models, and
   * `false` with any other `provider`, or at the address of another known host. If it is `false`, an agent's `output`
   * is returned through a call.
   */
  readonly structuredOutput?: boolean
}

/**
 * The part of the official client that is used: an `OpenAI` or `AzureOpenAI` of any version 6 or 7. The messages of a body are
 * frozen, because the requests of a run share them: your own wrapper of a client changes a copy.
 */
export interface OpenAIClient {
  /** The address of the API, for spans. */
  readonly baseURL: string
  /** Sends requests of Chat Completions. */
  readonly chat: {
    readonly completions: {
      create(
        body: OpenAI.ChatCompletionCreateParamsStreaming,
        options?: RequestOptions,
      ): Asked<OpenAI.ChatCompletionChunk>
    }
  }
  /** Sends requests of the Responses API. */
  readonly responses: {
    create(
      body: OpenAI.Responses.ResponseCreateParamsStreaming,
      options?: RequestOptions,
    ): Asked<OpenAI.Responses.ResponseStreamEvent>
  }
}

/**
 * Returns a model that is called through OpenAI's official client.
 *
 * @throws {ConfigError} An option is missing or invalid.
 */
export function openai(options: OpenAIOptions): Model {
  const api = options?.api ?? 'responses'
  if (api !== 'responses' && api !== 'chat')
    throw new ConfigError('api', `must be 'responses' or 'chat', not ${String(api)}`)
  checkAdapter(options, api === 'chat' ? 'chat.completions.create' : 'responses.create', 'new OpenAI()')
  checkOptions('openai', options, { ...ADAPTER_OPTIONS, api: '' })
  const { client, model, provider = 'openai', idleTimeout } = options
  keepBodies(client)
  const server = serverOf(client.baseURL)
  const target = targetOf(`openai-${api}`, { provider, id: model, server })
  const { structuredOutput = isLikeOpenAI(target) && !target.family.hasNoFormat } = options
  return withSecondTry({
    provider,
    id: model,
    server,
    structuredOutput: () => structuredOutput,
    stream: api === 'chat' ? streamChat : streamResponses,
  })

  function streamChat(request: ModelRequest): Flow<ModelEvent, AssistantMessage> {
    return answer(request, {
      open: (options) => client.chat.completions.create(chatRequest(target, request), options),
      read: chatReader(provider, request),
      isSilent: isSilentChunk,
      idleTimeout,
    })
  }

  function streamResponses(request: ModelRequest): Flow<ModelEvent, AssistantMessage> {
    return answer(request, {
      open: (options) => client.responses.create(responsesRequest(target, request), options),
      read: refuseChat(responsesReader(provider, request)),
      isSilent: isSilentEvent,
      isLast: isLastEvent,
      idleTimeout,
    })
  }
}
