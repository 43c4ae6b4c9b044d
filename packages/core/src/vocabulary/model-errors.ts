/** The errors of a model call. Each of them ends the run, unless a wrap makes the call again. */

import { AgentError, messageOf } from './errors.ts'
import type { AssistantMessage, Json } from './message.ts'

/** The codes that core sets. An adapter also passes on the codes of its provider (`rate_limit_exceeded`, `overloaded_error` …). */
export type ModelErrorCode =
  | 'stream_truncated'
  | 'finish_reason_error'
  | 'invalid_call_id'
  | 'connection'
  | 'unknown'
  | (string & {})

/** The members of a `ModelError`. */
export interface ModelErrorData extends ErrorOptions {
  /** The code of the error. */
  readonly code: ModelErrorCode
  /** The HTTP status, or the equivalent status of an error inside a stream. */
  readonly status?: number
  /** Whether a retry of the same request may succeed. */
  readonly retryable: boolean
  /** How long to wait before a retry, in milliseconds, if the provider requests it. */
  readonly retryAfter?: number
  /** The part of the response that was received. It is message content, so {@link AgentError.toJSON} omits it. */
  readonly partial?: AssistantMessage
  /** The provider's error: the body of its response, or the error in its stream. {@link AgentError.toJSON} omits it: it may repeat a message. */
  readonly data?: unknown
}

/** A model call failed. The message has at most 500 characters. */
export class ModelError extends AgentError {
  static override readonly brand: string = 'ModelError'
  /** The code that core or the provider gave to the error. */
  declare readonly code: ModelErrorCode
  /** Whether a retry of the same request may succeed. */
  declare readonly retryable: boolean
  /** The HTTP status, or the equivalent status of an error inside a stream. */
  declare readonly status?: number
  /** How long to wait before a retry, in milliseconds, if the provider requests it. */
  declare readonly retryAfter?: number
  /** The part of the response that was received. Not enumerable, because it is message content. */
  declare readonly partial?: AssistantMessage
  /**
   * The provider's error: the body of its response, or the error in its stream. Parsed if it is JSON, otherwise its text; if it is longer than 64
   * KiB, the beginning of the text. Not enumerable, because it may repeat message content.
   */
  declare readonly data?: Json

  constructor(message: string, data: ModelErrorData) {
    super(
      message.length > MESSAGE ? `${wellFormed(message.slice(0, MESSAGE - 1))}…` : message,
      'cause' in data ? { cause: data.cause } : undefined,
    )
    this.code = data.code
    this.retryable = data.retryable
    if (data.status !== undefined) this.status = data.status
    if (data.retryAfter !== undefined) this.retryAfter = data.retryAfter
    if (data.partial !== undefined) Object.defineProperty(this, 'partial', { value: data.partial })
    const said = data.data === undefined ? undefined : boundedJson(data.data)
    if (said !== undefined) Object.defineProperty(this, 'data', { value: said })
  }
}

/** In characters. */
const MESSAGE = 500

/** In bytes. */
const DATA = 64 * 1024

/** Returns a copy; `undefined` if JSON cannot represent the value. */
function boundedJson(value: unknown): Json | undefined {
  try {
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    const bytes = new Uint8Array(DATA)
    const { read, written } = new TextEncoder().encodeInto(text, bytes)
    if (read < text.length) return new TextDecoder().decode(bytes.subarray(0, written))
    return typeof value === 'string' ? value : JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Returns the text without half of a surrogate pair at its end. */
function wellFormed(text: string): string {
  return text.replace(/[\uD800-\uDBFF]$/, '')
}

/** All retries of a model call failed. `cause` is the last error. */
export class RetriesExhaustedError extends AgentError {
  static override readonly brand: string = 'RetriesExhaustedError'
  /** The number of attempts. */
  declare readonly attempts: number
  /** What each attempt threw, in order. */
  declare readonly errors: readonly unknown[]

  constructor(errors: readonly unknown[]) {
    super(`the model call failed ${errors.length} times; the last error: ${messageOf(errors.at(-1))}`, {
      cause: errors.at(-1),
    })
    this.attempts = errors.length
    this.errors = errors
  }
}
