/** Recognizes that a request was too long for its model. */

import { ModelError } from '@meanwhile/core'

/** The codes of providers. */
const CODES: ReadonlySet<string> = new Set([
  'context_length_exceeded',
  'context_window_exceeded',
  'exceed_context_size_error',
  'model_context_window_exceeded',
  'request_too_large',
])

/**
 * The words of providers without a code: OpenAI and its compatible hosts, Anthropic, Bedrock, Gemini, Mistral, Moonshot,
 * xAI, llama.cpp. An output limit that does not fit into the rest of the context counts, too.
 */
const WORDS: readonly RegExp[] = [
  /\bcontext[ _](length|window|size|limit)\b/i,
  /\b(prompt|input|request|messages?)\b[^.]{0,80}\btoo (long|large)\b/i,
  /\bexceed(s|ed)?\b[^.]{0,80}\b(tokens?|context|prompt length)\b/i,
  /\bmaximum (context|prompt|input)\b/i,
  /\breduce the length of the (messages|prompt|input)\b/i,
  /\btoo many (input )?tokens\b/i,
]

/**
 * The statuses of a request that is too long; an error inside a response has none. With other statuses, such as 403 for
 * the quota of a plan, the same words mean something else.
 */
const STATUSES: ReadonlySet<number | undefined> = new Set([undefined, 400, 413, 422])

/** Whether a model call failed because the request, or its output limit, does not fit into the model's context. */
export function isContextOverflow(error: unknown): boolean {
  for (let cause = error, depth = 0; cause instanceof Error && depth < MAX_CAUSES; cause = cause.cause, depth++) {
    if (!(cause instanceof ModelError)) continue
    const { retryable, status, code, message } = cause
    // A rate limit has similar words, and waiting helps.
    if (retryable || status === 429) return false
    if (CODES.has(code)) return true
    return STATUSES.has(status) && WORDS.some((words) => words.test(message))
  }
  return false
}

/** Causes may be circular. */
const MAX_CAUSES = 5
