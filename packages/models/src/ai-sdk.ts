/** The models of the AI SDK, and with them all of its providers. */

import type { Model, ModelRequest } from '@meanwhile/core'
import { assemble, ConfigError, checkOptions } from '@meanwhile/core'
import { sealsCalls } from '@meanwhile/core/calls'
import { checkIdleTimeout } from './adapter-checks.ts'
import { withChatCalls } from './ai-sdk-chat-calls.ts'
import { v2, v3, v4 } from './ai-sdk-content.ts'
import { explainAiSdk, refused } from './ai-sdk-errors.ts'
import { keeper } from './ai-sdk-kept.ts'
import type { AiSdkModel, StreamPart } from './ai-sdk-model.ts'
import { parts } from './ai-sdk-parts.ts'
import { providerName } from './ai-sdk-provider.ts'
import { callOptions } from './ai-sdk-request.ts'
import { partReader } from './ai-sdk-stream.ts'
import { checkUrls } from './ai-sdk-urls.ts'
import { IDLE_TIMEOUT } from './idle-limit.ts'
import { isRecord } from './is-record.ts'
import { jsonSchemaFormat } from './output-schema.ts'
import { filesAfterResults } from './result-files.ts'

export type { AiSdkModel } from './ai-sdk-model.ts'

export interface AiSdkOptions {
  /**
   * How long a stream that has begun may say nothing, in ms, before it is ended with the retryable `ModelError` `idle_timeout`:
   * parts that bring nothing are nothing. Default 300,000, because models may reason unseen for minutes; `Infinity` for none.
   */
  readonly idleTimeout?: number
  /**
   * Whether the model takes a JSON Schema as its response format beside tools. The AI SDK does not tell, so by default OpenAI's are
   * asked so, for schemas that they can be held to. Where it is not, an agent's `output` comes through a call.
   */
  readonly structuredOutput?: boolean
}

/** The providers that send `response-metadata` only when a response begins. Others may send it for any chunk (qC40). */
const BEGINNING = /\.(responses|messages)$/

/**
 * A model that is asked through the AI SDK: `aiSdk(mistral('mistral-large-latest'))`. Any provider of AI SDK 5, 6 or 7 will
 * do; no package of the AI SDK is imported here.
 *
 * `provider` is the name `gen_ai.provider.name` has for it. `providerOptions` of the settings go to the AI SDK's provider as
 * they are: their names and members are the AI SDK's. `clientRetries` has no meaning: below its own loop the AI SDK tries once.
 *
 * @throws {ConfigError} It is no model of these versions: a name alone, as the AI SDK's gateway takes it, is none.
 */
export function aiSdk(model: AiSdkModel, options: AiSdkOptions = {}): Model {
  checkOptions('aiSdk', options, { idleTimeout: 'timeout', structuredOutput: '' })
  const { idleTimeout = IDLE_TIMEOUT, structuredOutput } = options
  checkIdleTimeout(idleTimeout)
  if (!isRecord(model) || typeof model.doStream !== 'function' || typeof model.provider !== 'string')
    throw new ConfigError('model', 'must be a language model of the AI SDK 5, 6 or 7, as its providers make them')
  const kept = keeper(model.provider)
  // The names of that wire's providers end so. Files in results they would write as JSON text.
  const onChat = model.provider.endsWith('.chat')
  // A wrapper makes a plain object, and may change the calls: then the chunks do not count.
  const hasChunks = onChat && Object.getPrototypeOf(model) !== Object.prototype
  const stated = { seals: sealsCalls(model.provider), begins: BEGINNING.test(model.provider) }
  return {
    provider: providerName(model.provider),
    id: model.modelId,
    structuredOutput: (output) =>
      structuredOutput ?? (/^(openai|azure)/.test(model.provider) && jsonSchemaFormat(output).strict),
    stream(request) {
      const messages = onChat ? filesAfterResults(request.messages) : request.messages
      const answer = parts({ ...request, messages }, ask, idleTimeout)
      const read = partReader(kept, stated)
      return assemble(request, answer, hasChunks ? withChatCalls(read, request) : read, explainAiSdk)
    },
  }

  async function ask(request: ModelRequest): Promise<ReadableStream<StreamPart>> {
    checkUrls(request.messages, await model.supportedUrls)
    try {
      return (await start(request)).stream
    } catch (thrown) {
      throw refused(thrown) ?? thrown
    }
  }

  function start(request: ModelRequest): ReturnType<AiSdkModel['doStream']> {
    const chunks = hasChunks && { includeRawChunks: true }
    switch (model.specificationVersion) {
      case 'v2':
        return model.doStream({ ...callOptions(request, model.provider, kept, v2), ...chunks })
      case 'v3':
        return model.doStream({ ...callOptions(request, model.provider, kept, v3), ...chunks })
      case 'v4':
        return model.doStream({ ...callOptions(request, model.provider, kept, v4), ...chunks })
    }
  }
}
