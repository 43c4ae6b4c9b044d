/** What a response said of itself, and what it used, on a span. */

import type { Span } from '@opentelemetry/api'
import type { AssistantMessage, Usage } from '../message.ts'
import { set } from './attributes.ts'
import * as names from './semconv.ts'

/** Of a whole response, or of what had come of one. */
export function setResponse(span: Span, { response, finishReason, usage = {} }: AssistantMessage): void {
  set(span, () => ({
    [names.RESPONSE_ID]: response?.id,
    [names.RESPONSE_MODEL]: response?.model,
    [names.FINISH_REASONS]: [response?.finishReason ?? finishReason],
  }))
  setUsage(span, usage)
}

export function setUsage(span: Span, usage: Usage): void {
  set(span, () => ({
    [names.INPUT_TOKENS]: usage.inputTokens,
    [names.OUTPUT_TOKENS]: usage.outputTokens,
    [names.CACHE_READ_TOKENS]: usage.cacheReadTokens,
    [names.CACHE_CREATION_TOKENS]: usage.cacheWriteTokens,
    [names.REASONING_TOKENS]: usage.reasoningTokens,
  }))
}
