/** OpenAI's models, and those of every host that speaks one of OpenAI's two wires. */

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
import { responsesRequest } from './responses-request.ts'
import { isLastEvent, isSilentEvent, responsesReader } from './responses-stream.ts'
import { serverOf } from './server.ts'

export { chatWire } from './chat-wire.ts'
export { responsesWire } from './responses-wire.ts'

export interface OpenAIOptions {
  /** Made by you with the official library: it has the keys, the base URL, headers and time limits. */
  readonly client: OpenAIClient
  readonly model: string
  /** Responses by default; most other hosts speak Chat Completions alone. */
  readonly api?: 'responses' | 'chat'
  /**
   * Who answers, as `gen_ai.provider.name` has it: `openai` by default, `azure.ai.openai`, `deepseek` … It is also the key under
   * which `providerOptions` and provider metadata belong to this model.
   */
  readonly provider?: string
  /**
   * How long a stream that has begun may say nothing, in ms, before it is ended with the retryable `ModelError` `idle_timeout`:
   * comments, pings and empty deltas are nothing. Until it begins the client's own time limit holds. Default 300,000, because models
   * may reason unseen for minutes; `Infinity` for none.
   */
  readonly idleTimeout?: number
  /**
   * Whether the model takes a JSON Schema as its response format. Default: what is known of OpenAI's own models, and `false` with any
   * other `provider`. Where it does not, an agent's `output` comes through a call.
   */
  readonly structuredOutput?: boolean
}

/** OpenAI's models that take no JSON Schema as their response format. */
const NO_SCHEMA = /^(gpt-3|gpt-4(-|$)|gpt-4o-2024-05-13|chatgpt|o1-(mini|preview))/

/** The part of the official client that is used: an `OpenAI`, an `AzureOpenAI`, of any 6.x or 7.x. */
export interface OpenAIClient {
  readonly baseURL: string
  readonly chat: {
    readonly completions: {
      create(
        body: OpenAI.ChatCompletionCreateParamsStreaming,
        options?: RequestOptions,
      ): Asked<OpenAI.ChatCompletionChunk>
    }
  }
  readonly responses: {
    create(
      body: OpenAI.Responses.ResponseCreateParamsStreaming,
      options?: RequestOptions,
    ): Asked<OpenAI.Responses.ResponseStreamEvent>
  }
}

/**
 * A model that is asked through OpenAI's official client.
 *
 * @throws {ConfigError} An option is missing, or cannot work.
 */
export function openai(options: OpenAIOptions): Model {
  const api = options?.api ?? 'responses'
  if (api !== 'responses' && api !== 'chat')
    throw new ConfigError('api', `must be 'responses' or 'chat', not ${String(api)}`)
  checkAdapter(options, api === 'chat' ? 'chat.completions.create' : 'responses.create', 'new OpenAI()')
  checkOptions('openai', options, { ...ADAPTER_OPTIONS, api: '' })
  const { client, model, provider = 'openai', idleTimeout } = options
  const { structuredOutput = /^(openai|azure)/.test(provider) && !NO_SCHEMA.test(model) } = options
  return {
    provider,
    id: model,
    server: serverOf(client.baseURL),
    structuredOutput: () => structuredOutput,
    stream: api === 'chat' ? streamChat : streamResponses,
  }

  function streamChat(request: ModelRequest): Flow<ModelEvent, AssistantMessage> {
    return answer(request, {
      open: (options) => client.chat.completions.create(chatRequest(model, provider, request), options),
      read: chatReader(provider, request),
      isSilent: isSilentChunk,
      idleTimeout,
    })
  }

  function streamResponses(request: ModelRequest): Flow<ModelEvent, AssistantMessage> {
    return answer(request, {
      open: (options) => client.responses.create(responsesRequest(model, provider, request), options),
      read: responsesReader(provider, request),
      isSilent: isSilentEvent,
      isLast: isLastEvent,
      idleTimeout,
    })
  }
}
