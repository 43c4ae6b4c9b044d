/** The adapter for Anthropic's models, through the Messages API. */

import type Anthropic from '@anthropic-ai/sdk'
import {
  type AssistantMessage,
  ConfigError,
  checkOptions,
  type Flow,
  type Model,
  type ModelEvent,
  type ModelRequest,
} from '@meanwhile/core'
import { shownValue } from '@meanwhile/core/calls'
import { ADAPTER_OPTIONS, checkAdapter } from './adapter-checks.ts'
import { answer } from './answer.ts'
import type { Asked, RequestOptions } from './client-chunks.ts'
import { targetOf } from './families.ts'
import { MAX_TOKENS, messagesRequest } from './messages-request.ts'
import { isLastEvent, isSilentEvent, messagesReader } from './messages-stream.ts'
import { isEnforceable } from './output-schema.ts'
import { withSecondTry } from './second-try.ts'
import { serverOf } from './server.ts'
import { keepBodies } from './status-errors.ts'
import { withWireKeys } from './wire-keys.ts'

export { messagesWire } from './messages-wire.ts'

/** The options of `anthropic`. */
export interface AnthropicOptions {
  /** The client of the official library, created by you: it has the key, the base URL, headers and timeouts. */
  readonly client: AnthropicClient
  /** The name of the model in requests. */
  readonly model: string
  /** The wire requires a limit. This one applies if `settings.maxTokens` is not set. Default 16,384. */
  readonly maxTokens?: number
  /**
   * The provider, by its `gen_ai.provider.name`: `anthropic` by default, `aws.bedrock` … Also the key of this model's
   * `providerOptions` and provider metadata.
   */
  readonly provider?: string
  /**
   * How long a stream that has begun may be silent, in milliseconds, before it ends with the retryable `ModelError`
   * `idle_timeout`. Comments, pings and empty deltas do not count. Until the stream begins, the client's own timeout
   * applies. Default 300,000, because models may reason for minutes without output; `Infinity` for no limit.
   */
  readonly idleTimeout?: number
  /**
   * Whether the model supports structured output. Default: known values for Claude, and `false` with any other
   * `provider`. If it is `false`, or the model cannot enforce the schema, an agent's `output` is returned through a
   * call.
   */
  readonly structuredOutput?: boolean
}

/**
 * The part of the official client that is used: an `Anthropic`, or one of the clients for Bedrock, Vertex and Foundry. The
 * blocks of a body are frozen, because the requests of a run share them: your own wrapper of a client changes a copy.
 */
export interface AnthropicClient {
  /** The address of the API, for spans. */
  readonly baseURL: string
  /** Sends requests. */
  readonly messages: {
    create(
      body: Anthropic.MessageCreateParamsStreaming,
      options?: RequestOptions,
    ): Asked<Anthropic.RawMessageStreamEvent>
  }
}

/**
 * Returns a model that is called through Anthropic's official client.
 *
 * @throws {ConfigError} An option is missing or invalid.
 */
export function anthropic(options: AnthropicOptions): Model {
  checkAdapter(options, 'messages.create', 'new Anthropic()')
  checkOptions('anthropic', options, { ...ADAPTER_OPTIONS, maxTokens: '' })
  const { client, model, maxTokens = MAX_TOKENS, provider = 'anthropic', idleTimeout } = options
  if (!Number.isInteger(maxTokens) || maxTokens < 1)
    throw new ConfigError('maxTokens', `must be a positive integer, not ${shownValue(maxTokens)}`)
  keepBodies(client)
  const server = serverOf(client.baseURL)
  const target = targetOf('anthropic', { provider, id: model, server })
  const { structuredOutput = provider === 'anthropic' && !target.family.hasNoFormat } = options
  return withSecondTry({
    provider,
    id: model,
    server,
    structuredOutput: ({ schema }) => structuredOutput && isEnforceable(schema),
    stream: (request) => withWireKeys(target, request, send),
  })

  function send(request: ModelRequest): Flow<ModelEvent, AssistantMessage> {
    return answer(request, {
      open: (options) => client.messages.create(messagesRequest(target, maxTokens, request), options),
      read: messagesReader(provider, request),
      isSilent: isSilentEvent,
      isLast: isLastEvent,
      idleTimeout,
    })
  }
}
