/**
 * Writes the stream of OpenAI Chat Completions, as api.openai.com sends it, with the ids and fields of its host. Where a
 * host sends no reasoning, it has DeepSeek's field.
 */

import type { FinishReason, Usage } from '@meanwhile/core'
import { shapeOf } from '../rules/answers.ts'
import { CREATED, openaiError } from './openai.ts'
import { dataFrame } from './sse.ts'
import type { Encoder, ResponseSeed, Wire, WrittenBeat } from './wire.ts'

const FINISH_REASONS: Record<FinishReason, string> = {
  stop: 'stop',
  'tool-calls': 'tool_calls',
  length: 'length',
  'content-filter': 'content_filter',
  error: 'error',
  other: 'other',
}

const DONE = 'data: [DONE]\n\n'

/**
 * `POST /v1/chat/completions`. The usage chunk is sent only if the request asks for it
 * (`stream_options.include_usage`).
 */
export const chat: Wire = {
  name: 'openai-chat',
  path: '/v1/chat/completions',
  otherPaths: ['/v1beta/openai/chat/completions', '/chat/completions'],
  requestIdHeader: 'x-request-id',
  encoder: chatEncoder,
  errorBody: (failure) => ({ error: openaiError(failure) }),
  recordedFrame: (json) => `data: ${json}\n\n`,
  recordedEnd: [DONE],
}

function chatEncoder({ number, request, usage, host }: ResponseSeed): Encoder {
  const shape = shapeOf(host)
  const { include_usage } = (request.stream_options ?? {}) as { readonly include_usage?: unknown }
  const withUsage = include_usage === true
  const envelope = {
    id: `chatcmpl-${number}`,
    object: 'chat.completion.chunk',
    created: CREATED,
    model: request.model ?? null,
    service_tier: 'default',
    system_fingerprint: 'fp_harness',
  }
  let begun = false

  return { opening: [], encode }

  function encode(beat: WrittenBeat): string[] {
    const frames = begun || beat.type === 'fail' ? [] : [roleChunk(beat.type === 'text')]
    begun = true
    frames.push(...written(beat))
    return frames
  }

  function written(beat: WrittenBeat): string[] {
    switch (beat.type) {
      case 'text':
        return [chunk({ content: beat.delta })]
      case 'reasoning':
        return [chunk(shape.reasoning(beat.delta))]
      case 'call-start':
        return [
          callChunk(beat.index, {
            id: beat.id,
            type: 'function',
            function: { name: beat.name, arguments: '' },
            ...(beat.index === 0 && shape.call),
          }),
        ]
      case 'call-delta':
        return [callChunk(beat.index, { function: { arguments: beat.delta } })]
      case 'call-end':
        return []
      case 'fail':
        return [dataFrame({ error: openaiError(beat) })]
      case 'end':
        return [
          chunk({}, FINISH_REASONS[beat.finishReason]),
          ...(withUsage && Object.keys(usage).length > 0 ? [usageChunk()] : []),
          DONE,
        ]
    }
  }

  function roleChunk(text: boolean): string {
    return chunk({ role: 'assistant', content: text ? '' : null, refusal: null })
  }

  function callChunk(index: number, call: object): string {
    return chunk({ tool_calls: [{ index, ...call }] })
  }

  function chunk(delta: object, finishReason: string | null = null): string {
    const choices = [{ index: 0, delta, logprobs: null, finish_reason: finishReason }]
    return dataFrame(withUsage ? { ...envelope, choices, usage: null } : { ...envelope, choices })
  }

  function usageChunk(): string {
    return dataFrame({ ...envelope, choices: [], usage: chatUsage(usage) })
  }
}

function chatUsage({ inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens }: Usage): object {
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens === undefined || outputTokens === undefined ? undefined : inputTokens + outputTokens,
    prompt_tokens_details: { cached_tokens: cacheReadTokens, cache_write_tokens: cacheWriteTokens },
    completion_tokens_details: { reasoning_tokens: reasoningTokens },
  }
}
