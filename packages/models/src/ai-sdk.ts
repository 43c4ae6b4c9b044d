/** The adapter for language models of the AI SDK, and so for all of its providers. */

import { assemble, sealsCalls } from '@meanwhile/assemble'
import {
  type AssistantMessage,
  ConfigError,
  checkOptions,
  type FilePart,
  type Flow,
  type Model,
  type ModelEvent,
  type ModelRequest,
} from '@meanwhile/core'
import { checkIdleTimeout } from './adapter-checks.ts'
import { withChunks } from './ai-sdk-chunks.ts'
import { v2, v3, v4 } from './ai-sdk-content.ts'
import { explainAiSdk, refusalIn } from './ai-sdk-errors.ts'
import { keeper } from './ai-sdk-kept.ts'
import type { AiSdkModel, StreamPart } from './ai-sdk-model.ts'
import { parts } from './ai-sdk-parts.ts'
import { providerName, wireOf, wireWord } from './ai-sdk-provider.ts'
import { callOptions } from './ai-sdk-request.ts'
import { partReader } from './ai-sdk-stream.ts'
import { isReadable } from './ai-sdk-urls.ts'
import { rawWireOf } from './ai-sdk-wires.ts'
import { isLikeOpenAI, targetOf } from './families.ts'
import { IDLE_TIMEOUT } from './idle-limit.ts'
import { isRecord } from './is-record.ts'
import { refuseMissingCalls } from './missing-calls.ts'
import { outgoing } from './outgoing.ts'
import { jsonSchemaFormat } from './output-schema.ts'
import { withSecondTry } from './second-try.ts'
import { replaceableTypes } from './sendable-files.ts'
import { withWireKeys } from './wire-keys.ts'

export type { AiSdkModel } from './ai-sdk-model.ts'

/** The options of `aiSdk`. */
export interface AiSdkOptions {
  /**
   * How long a stream that has begun may be silent, in milliseconds, before it ends with the retryable `ModelError`
   * `idle_timeout`. Parts without content do not count. Default 300,000, because models may reason for minutes without
   * output; `Infinity` for no limit.
   */
  readonly idleTimeout?: number
  /**
   * Whether the model accepts tools together with a JSON Schema as response format. The AI SDK does not provide this
   * information, so the default is `true` only for OpenAI's models with a schema that can be enforced. If it is
   * `false`, an agent's `output` is returned through a call.
   */
  readonly structuredOutput?: boolean
}

/**
 * The wires whose providers send `response-metadata` only when a response begins. Others may send it with any chunk
 * (qC40).
 */
const BEGINNING: ReadonlySet<string> = new Set(['responses', 'messages'])

/**
 * Returns a model that is called through the AI SDK: `aiSdk(mistral('mistral-large-latest'))`. Works with any provider
 * of AI SDK 5, 6 or 7; no package of the AI SDK is imported.
 *
 * The model's `provider` is its `gen_ai.provider.name`. `providerOptions` of the settings are passed to the AI SDK's
 * provider unchanged, so they use the AI SDK's names. `clientRetries` has no effect, because the AI SDK retries only in
 * its own loop.
 *
 * @throws {ConfigError} It is not a model of these versions. The name of a model, which the AI SDK accepts for its
 * gateway, is not enough.
 */
export function aiSdk(model: AiSdkModel, options: AiSdkOptions = {}): Model {
  checkOptions('aiSdk', options, { idleTimeout: 'timeout', structuredOutput: '' })
  const { idleTimeout = IDLE_TIMEOUT, structuredOutput } = options
  checkIdleTimeout(idleTimeout)
  if (!isRecord(model) || typeof model.doStream !== 'function' || typeof model.provider !== 'string')
    throw new ConfigError(
      'model',
      'must be a language model object of the AI SDK 5, 6 or 7, as its providers create it',
    )
  const kept = keeper(model.provider)
  const target = { ...targetOf(wireOf(model.provider), { provider: model.provider, id: model.modelId }), isAiSdk: true }
  // A wrapped model is a plain object and may change the calls, so the chunks cannot be used.
  const wire = Object.getPrototypeOf(model) === Object.prototype ? undefined : rawWireOf(model.provider)
  const stated = { seals: sealsCalls(model.provider), begins: BEGINNING.has(wireWord(model.provider)) }
  return withSecondTry({
    provider: providerName(model.provider),
    id: model.modelId,
    structuredOutput: (output) =>
      structuredOutput ?? (isLikeOpenAI(target) && !target.family.hasNoFormat && jsonSchemaFormat(output).strict),
    stream: (request) => withWireKeys(target, request, send),
  })

  function send(request: ModelRequest): Flow<ModelEvent, AssistantMessage> {
    const answer = parts(request, ask, idleTimeout, wire)
    const read = partReader(kept, stated, request)
    const readAll = refuseMissingCalls(wire ? withChunks(read, wire, request, kept) : read)
    return assemble(request, answer, readAll, explainAiSdk)
  }

  /** A package judges the files before it sends anything, so it is asked again without those that it refuses. */
  async function ask(given: ModelRequest): Promise<ReadableStream<StreamPart>> {
    const supported = await model.supportedUrls
    const readsUrl = (file: FilePart) => isReadable(file, supported)
    const refused = new Map<string, string>()
    const left = new Set(replaceableTypes(given.messages, { isLenient: given.omitsFiles }))
    for (;;) {
      try {
        return (await start(outgoing(given, target, { readsUrl, refused }))).stream
      } catch (thrown) {
        const refusal = refusalIn(thrown)
        if (refusal === undefined) throw thrown
        if (left.size === 0) throw new ConfigError('messages', refusal)
        const named = [...left].filter((type) => refusal.includes(type))
        for (const type of named.length > 0 ? named : left) {
          left.delete(type)
          refused.set(type, refusal)
        }
      }
    }
  }

  function start(request: ModelRequest): ReturnType<AiSdkModel['doStream']> {
    const chunks = wire && { includeRawChunks: true }
    switch (model.specificationVersion) {
      case 'v2':
        return model.doStream({ ...callOptions(request, target, kept, v2), ...chunks })
      case 'v3':
        return model.doStream({ ...callOptions(request, target, kept, v3), ...chunks })
      case 'v4':
        return model.doStream({ ...callOptions(request, target, kept, v4), ...chunks })
    }
  }
}
