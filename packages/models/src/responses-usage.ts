/** Converts the token counts of OpenAI's Responses API. */

import type { Usage } from '@meanwhile/core'
import type OpenAI from 'openai'
import { defined } from './defined.ts'

export function usageOf(usage: OpenAI.Responses.ResponseUsage): Usage {
  return defined({
    inputTokens: usage.input_tokens,
    outputTokens: usage.output_tokens,
    cacheReadTokens: usage.input_tokens_details?.cached_tokens,
    cacheWriteTokens: usage.input_tokens_details?.cache_write_tokens,
    reasoningTokens: usage.output_tokens_details?.reasoning_tokens,
  })
}
