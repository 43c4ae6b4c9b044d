/** Converts the token counts of Anthropic's Messages API. */

import type Anthropic from '@anthropic-ai/sdk'
import type { Usage } from '@meanwhile/core'
import { defined } from './defined.ts'

/** The members that are read from a usage; `iterations` belong to the beta. */
export type Counts = Partial<Anthropic.MessageDeltaUsage> & { readonly iterations?: readonly Iteration[] | null }

type Tokens = Pick<Counts, 'input_tokens' | 'cache_read_input_tokens' | 'cache_creation_input_tokens' | 'output_tokens'>

/** One of the samplings that produced the response. */
interface Iteration extends Tokens {
  readonly type: string
  readonly model?: string | null
}

/** All tokens that the response took. The wire counts cached input separately; core's usage includes it. */
export function usageOf(counts: Counts): Usage {
  const all = [counts, ...leftOut(counts.iterations ?? [])]
  const input = sum(all, 'input_tokens')
  const read = sum(all, 'cache_read_input_tokens')
  const written = sum(all, 'cache_creation_input_tokens')
  return defined({
    inputTokens: input === undefined ? undefined : input + (read ?? 0) + (written ?? 0),
    outputTokens: sum(all, 'output_tokens'),
    cacheReadTokens: read,
    cacheWriteTokens: written,
    reasoningTokens: counts.output_tokens_details?.thinking_tokens,
  })
}

/**
 * Returns the iterations that the response's own counts do not include: compactions, advisors, and models that refused.
 * (The counts only include the model that answered.) Models that refused can be recognized by their names once another
 * model has answered.
 */
function leftOut(iterations: readonly Iteration[]): readonly Iteration[] {
  const answered = iterations.find(({ type }) => type === 'fallback_message')?.model
  return iterations.filter(({ type, model }) => {
    if (type === 'message') return !!answered && !!model && model !== answered
    return type === 'compaction' || type === 'advisor_message'
  })
}

/** `undefined` if no count was reported. */
function sum(all: readonly Tokens[], name: keyof Tokens): number | undefined {
  const figures = all.map((tokens) => tokens[name]).filter((figure) => typeof figure === 'number')
  return figures.length > 0 ? figures.reduce((total, figure) => total + figure, 0) : undefined
}
