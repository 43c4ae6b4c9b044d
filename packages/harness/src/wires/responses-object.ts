/** The `response` object in the lifecycle events of OpenAI Responses. */

import type { Usage } from '@meanwhile/core'
import { CREATED } from './openai.ts'
import type { ResponseSeed } from './wire.ts'

/** The response before its first token. */
export function responseObject({ number, request }: ResponseSeed): { readonly [key: string]: unknown } {
  return {
    id: `resp_${number}`,
    object: 'response',
    created_at: CREATED,
    status: 'in_progress',
    background: false,
    error: null,
    incomplete_details: null,
    instructions: request.instructions ?? null,
    max_output_tokens: request.max_output_tokens ?? null,
    max_tool_calls: null,
    model: request.model ?? null,
    output: [],
    parallel_tool_calls: request.parallel_tool_calls ?? true,
    previous_response_id: request.previous_response_id ?? null,
    reasoning: request.reasoning ?? { effort: null, summary: null },
    service_tier: 'default',
    store: request.store ?? true,
    temperature: request.temperature ?? 1,
    text: request.text ?? { format: { type: 'text' }, verbosity: 'medium' },
    tool_choice: request.tool_choice ?? 'auto',
    tools: request.tools ?? [],
    top_logprobs: 0,
    top_p: request.top_p ?? 1,
    truncation: 'disabled',
    usage: null,
    user: null,
    metadata: request.metadata ?? {},
  }
}

/** `null` if there is nothing to report. */
export function responseUsage(usage: Usage): object | null {
  if (Object.keys(usage).length === 0) return null
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens } = usage
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: cacheReadTokens, cache_write_tokens: cacheWriteTokens },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens },
    total_tokens: inputTokens === undefined || outputTokens === undefined ? undefined : inputTokens + outputTokens,
  }
}
