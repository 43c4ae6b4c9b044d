/** OpenAI's models, and those of every host that speaks one of OpenAI's two wires. */

import type { AssistantMessage, Flow, Model, ModelEvent, ModelRequest } from '@meanwhile/core'
import { assemble } from '@meanwhile/core'
import type OpenAI from 'openai'
import { chatRequest } from './chat-request.ts'
import { chatReader } from './chat-stream.ts'
import { chunks, type RequestOptions } from './chunks.ts'
import { explain } from './explain.ts'
import { responsesRequest } from './responses-request.ts'
import { responsesReader } from './responses-stream.ts'
import { serverOf } from './server.ts'

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
}

/** The part of the official client that is used: an `OpenAI`, an `AzureOpenAI`, of any 6.x or 7.x. */
export interface OpenAIClient {
  readonly baseURL: string
  readonly chat: {
    readonly completions: {
      create(
        body: OpenAI.ChatCompletionCreateParamsStreaming,
        options?: RequestOptions,
      ): PromiseLike<AsyncIterable<OpenAI.ChatCompletionChunk>>
    }
  }
  readonly responses: {
    create(
      body: OpenAI.Responses.ResponseCreateParamsStreaming,
      options?: RequestOptions,
    ): PromiseLike<AsyncIterable<OpenAI.Responses.ResponseStreamEvent>>
  }
}

/** A model that is asked through OpenAI's official client. */
export function openai({ client, model, api = 'responses', provider = 'openai' }: OpenAIOptions): Model {
  return {
    provider,
    id: model,
    server: serverOf(client.baseURL),
    stream: api === 'chat' ? streamChat : streamResponses,
  }

  function streamChat(request: ModelRequest): Flow<ModelEvent, AssistantMessage> {
    const answer = chunks(request, (options) =>
      client.chat.completions.create(chatRequest(model, provider, request), options),
    )
    return assemble(request, answer, chatReader(provider), explain)
  }

  function streamResponses(request: ModelRequest): Flow<ModelEvent, AssistantMessage> {
    const answer = chunks(request, (options) =>
      client.responses.create(responsesRequest(model, provider, request), options),
    )
    return assemble(request, answer, responsesReader(provider), explain)
  }
}
