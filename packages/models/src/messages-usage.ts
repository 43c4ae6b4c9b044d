/** Tokens, as Anthropic's Messages API counts them. */

import type Anthropic from '@anthropic-ai/sdk'
import type { Usage } from '@meanwhile/core'
import { defined } from './defined.ts'

/** What is read of a usage; `iterations` are the beta's. */
export type Counts = Partial<Anthropic.MessageDeltaUsage> & { readonly iterations?: readonly Iteration[] | null }

type Tokens = Pick<Counts, 'input_tokens' | 'cache_read_input_tokens' | 'cache_creation_input_tokens' | 'output_tokens'>

/** One sampling of those that made the answer. */
interface Iteration extends Tokens {
  readonly type: string
  readonly model?: string | null
}

/** All that the answer took. The wire counts cached input apart; the vocabulary counts it in. */
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
 * What the figures of the response do not hold: they are those of the model that answered, all its iterations together, without
 * compactions, advisors, and models that declined before it. These have a name of their own, once another one has answered.
 */
function leftOut(iterations: readonly Iteration[]): readonly Iteration[] {
  const answered = iterations.find(({ type }) => type === 'fallback_message')?.model
  return iterations.filter(({ type, model }) => {
    if (type === 'message') return !!answered && !!model && model !== answered
    return type === 'compaction' || type === 'advisor_message'
  })
}

/** Of figures that nobody reported there is none. */
function sum(all: readonly Tokens[], name: keyof Tokens): number | undefined {
  const figures = all.map((tokens) => tokens[name]).filter((figure) => typeof figure === 'number')
  return figures.length > 0 ? figures.reduce((total, figure) => total + figure, 0) : undefined
}
