/** Converts token counts of all versions of the AI SDK's specification. */

import type { Usage } from '@meanwhile/core'
import type { DetailedUsage, TotalUsage } from './ai-sdk-model.ts'
import { defined } from './defined.ts'

export function usageOf(usage: TotalUsage | DetailedUsage): Usage {
  if (isDetailed(usage)) {
    return defined({
      inputTokens: usage.inputTokens.total,
      outputTokens: usage.outputTokens.total,
      cacheReadTokens: usage.inputTokens.cacheRead,
      cacheWriteTokens: usage.inputTokens.cacheWrite,
      reasoningTokens: usage.outputTokens.reasoning,
    })
  }
  return defined({
    inputTokens: usage.inputTokens,
    outputTokens: usage.outputTokens,
    cacheReadTokens: usage.cachedInputTokens,
    reasoningTokens: usage.reasoningTokens,
  })
}

function isDetailed(usage: TotalUsage | DetailedUsage): usage is DetailedUsage {
  return typeof usage.inputTokens === 'object'
}
