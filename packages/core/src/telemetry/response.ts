/** What a response said of itself, and what it used, on a span. */

import type { Span } from '@opentelemetry/api'
import type { AssistantMessage, Usage } from '../message.ts'
import { set } from './attributes.ts'

/** Of a whole response, or of what had come of one. */
export function setResponse(span: Span, { response, finishReason, usage = {} }: AssistantMessage): void {
  set(span, () => ({
    'gen_ai.response.id': response?.id,
    'gen_ai.response.model': response?.model,
    'gen_ai.response.finish_reasons': [response?.finishReason ?? finishReason],
  }))
  setUsage(span, usage)
}

export function setUsage(span: Span, usage: Usage): void {
  set(span, () => ({
    'gen_ai.usage.input_tokens': usage.inputTokens,
    'gen_ai.usage.output_tokens': usage.outputTokens,
    'gen_ai.usage.cache_read.input_tokens': usage.cacheReadTokens,
    'gen_ai.usage.cache_creation.input_tokens': usage.cacheWriteTokens,
    'gen_ai.usage.reasoning.output_tokens': usage.reasoningTokens,
  }))
}
