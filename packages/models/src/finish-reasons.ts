/** Translates the words for the end of a response: of OpenAI, Anthropic, Gemini, and hosts that pass on other words. */

import type { FinishReason } from '@meanwhile/core'

/**
 * Returns the finish reason for a word of any provider, on any wire; `other` for an unknown word. Case and separators do
 * not count, and neither does a prefix: Gemini's compatible API sends `function_call_filter: REASON` (qG4), and some
 * gateways send `FinishReason.REASON`.
 */
export function finishReasonOf(word: string | null | undefined): FinishReason {
  const said = word ?? ''
  const start = Math.max(said.lastIndexOf(':'), said.lastIndexOf('.')) + 1
  return REASONS.get(plainWord(said.slice(start))) ?? 'other'
}

const ALL = ['stop', 'tool-calls', 'length', 'content-filter', 'error'] as const

const WORDS: Readonly<Record<(typeof ALL)[number], readonly string[]>> = {
  stop: ['stop', 'end_turn', 'stop_sequence', 'eos', 'eos_token', 'complete', 'completed', 'normal'],
  'tool-calls': ['tool_calls', 'tool_call', 'tool_use', 'function_call', 'function_calls', 'requires_action'],
  length: [
    'length',
    'max_tokens',
    'max_output_tokens',
    'max_prompt_tokens',
    'max_completion_tokens',
    'max_new_tokens',
    'max_length',
    'token_limit',
    'model_length',
    'context_length_exceeded',
    'context_window_exceeded',
    'model_context_window_exceeded',
  ],
  'content-filter': [
    'content_filter',
    'content_filtered',
    'guardrail_intervened',
    'refusal',
    'sensitive',
    'safety',
    'recitation',
    'blocklist',
    'prohibited_content',
    'spii',
    'model_armor',
    'image_safety',
    'image_recitation',
    'image_prohibited_content',
    'error_toxic',
  ],
  error: [
    'error',
    'failed',
    'cancelled',
    'abort',
    'aborted',
    'timeout',
    'network_error',
    'insufficient_system_resource',
    'malformed_function_call',
    'malformed_response',
    'malformed_model_output',
    'malformed_tool_use',
    'unexpected_tool_call',
    'too_many_tool_calls',
    'missing_thought_signature',
  ],
}

const REASONS: ReadonlyMap<string, FinishReason> = new Map(
  ALL.flatMap((reason) => WORDS[reason].map((word) => [plainWord(word), reason] as const)),
)

/** The word without what providers write differently: case and separators. */
export function plainWord(word: string): string {
  return word.toLowerCase().replaceAll(/[\W_]/g, '')
}
