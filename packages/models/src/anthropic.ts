/** Anthropic's models, through the Messages API. */

import type Anthropic from '@anthropic-ai/sdk'
import { ConfigError, checkOptions, type Model } from '@meanwhile/core'
import { ADAPTER_OPTIONS, checkAdapter } from './adapter-checks.ts'
import { answer } from './answer.ts'
import type { Asked, RequestOptions } from './client-chunks.ts'
import { messagesRequest } from './messages-request.ts'
import { isLastEvent, isSilentEvent, messagesReader } from './messages-stream.ts'
import { strictSchema } from './output-schema.ts'
import { serverOf } from './server.ts'

export { messagesWire } from './messages-wire.ts'

export interface AnthropicOptions {
  /** Made by you with the official library: it has the key, the base URL, headers and time limits. */
  readonly client: AnthropicClient
  readonly model: string
  /** The wire demands a limit: this one holds where `settings.maxTokens` says nothing. Default 16,384. */
  readonly maxTokens?: number
  /**
   * Who answers, as `gen_ai.provider.name` has it: `anthropic` by default, `aws.bedrock` … It is also the key under which
   * `providerOptions` and provider metadata belong to this model.
   */
  readonly provider?: string
  /**
   * How long a stream that has begun may say nothing, in ms, before it is ended with the retryable `ModelError` `idle_timeout`:
   * comments, pings and empty deltas are nothing. Until it begins the client's own time limit holds. Default 300,000, because models
   * may reason unseen for minutes; `Infinity` for none.
   */
  readonly idleTimeout?: number
  /**
   * Whether the model takes structured output. Default: what is known of Claude, and `false` with any other `provider`. Where it does
   * not, or cannot take the schema, an agent's `output` comes through a call.
   */
  readonly structuredOutput?: boolean
}

/** Models that have no structured output: those before 4.5. */
const NO_SCHEMA = /claude-(instant|[23]|(opus|sonnet)-4(-[01]|-20|$))/

/** What the API takes of a schema, beyond its keywords. */
const MOST_OPTIONAL = 24

/** The part of the official client that is used: an `Anthropic`, or its sisters for Bedrock, Vertex and Foundry. */
export interface AnthropicClient {
  readonly baseURL: string
  readonly messages: {
    create(
      body: Anthropic.MessageCreateParamsStreaming,
      options?: RequestOptions,
    ): Asked<Anthropic.RawMessageStreamEvent>
  }
}

/**
 * A model that is asked through Anthropic's official client.
 *
 * @throws {ConfigError} An option is missing, or cannot work.
 */
export function anthropic(options: AnthropicOptions): Model {
  checkAdapter(options, 'messages.create', 'new Anthropic()')
  checkOptions('anthropic', options, { ...ADAPTER_OPTIONS, maxTokens: '' })
  const { client, model, maxTokens = 16_384, provider = 'anthropic', idleTimeout } = options
  const { structuredOutput = provider === 'anthropic' && !NO_SCHEMA.test(model) } = options
  if (!Number.isInteger(maxTokens) || maxTokens < 1)
    throw new ConfigError('maxTokens', `must be a positive integer, not ${String(maxTokens)}`)
  return {
    provider,
    id: model,
    server: serverOf(client.baseURL),
    structuredOutput({ schema }) {
      const strict = structuredOutput ? strictSchema(schema) : undefined
      return strict !== undefined && !strict.refers && strict.optional <= MOST_OPTIONAL
    },
    stream: (request) =>
      answer(request, {
        open: (options) => client.messages.create(messagesRequest(model, provider, maxTokens, request), options),
        read: messagesReader(provider),
        isSilent: isSilentEvent,
        isLast: isLastEvent,
        idleTimeout,
      }),
  }
}
