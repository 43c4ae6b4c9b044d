/** Converts the token counts of OpenAI's Responses API. */

import type { Usage } from '@meanwhile/core'
import { defined } from './defined.ts'
import { isRecord } from './is-record.ts'

export function usageOf(usage: unknown): Usage {
  return defined({
    inputTokens: countIn(usage, 'input_tokens'),
    outputTokens: countIn(usage, 'output_tokens'),
    cacheReadTokens: countIn(usage, 'input_tokens_details', 'cached_tokens'),
    cacheWriteTokens: countIn(usage, 'input_tokens_details', 'cache_write_tokens'),
    reasoningTokens: countIn(usage, 'output_tokens_details', 'reasoning_tokens'),
  })
}

function countIn(usage: unknown, ...path: readonly string[]): number | undefined {
  const value = path.reduce<unknown>((parent, name) => (isRecord(parent) ? parent[name] : undefined), usage)
  return typeof value === 'number' ? value : undefined
}
