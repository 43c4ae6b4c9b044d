/** What became of what a span stands for, and the word for an error: the `error.type` of its span, and of what is measured. There are few, and none is a provider's (P13). */

import { AgentError, RunAbortedError, RunStop, TimeoutError } from '../errors.ts'
import { Interrupt } from '../interrupt/interrupt.ts'
import { ModelError } from '../model-errors.ts'
import {
  ToolCancelledError,
  ToolDiscardedError,
  ToolInputError,
  ToolTimeoutError,
  UnknownToolError,
} from '../tool-errors.ts'
import { OTHER } from './semconv.ts'
import { isOfClass, nameOf } from './thrown.ts'

/** Codes of a `ModelError` that are ours, in core or in an adapter: any other is its provider's. */
const MODEL_CODES: ReadonlySet<string> = new Set([
  'connection',
  'finish_reason_error',
  'idle_timeout',
  'invalid_call_id',
  'invalid_chunk',
  'stream_restarted',
  'stream_truncated',
  'unsupported_call',
])

/** What platforms name errors that they throw as `DOMException`. */
const PLATFORM_NAMES: ReadonlySet<string> = new Set(['AbortError', 'TimeoutError'])

/** The `error.type` of what was thrown, if that is an error: what was done on purpose is none, as an abort or a discard. */
export function failureOf(error: unknown, type: (error: unknown) => string = classOf): string | undefined {
  return error === undefined || isOnPurpose(error) ? undefined : type(error)
}

/** Of a model attempt or a tool: an HTTP status, a word of ours, or a class. */
export function typeOf(error: unknown): string {
  if (error instanceof ModelError) return typeOfModelError(error)
  if (error instanceof ToolInputError) return 'invalid_input'
  if (error instanceof UnknownToolError) return 'unknown_tool'
  return error instanceof TimeoutError || error instanceof ToolTimeoutError ? 'timeout' : classOf(error)
}

/** Of a run or a middleware. */
export function classOf(error: unknown): string {
  if (!(error instanceof Error)) return OTHER
  const name = nameOf(error)
  if (name === undefined) return OTHER
  // Minified, our classes have other names.
  return error instanceof AgentError || PLATFORM_NAMES.has(name) || isOfClass(error, name) ? name : OTHER
}

function typeOfModelError(error: ModelError): string {
  const { status, code } = error
  if (status !== undefined) return isStatus(status) ? String(status) : OTHER
  // What a provider has said without a word for it is of no class.
  if (code === 'unknown') return error.data === undefined ? classOf(error.cause ?? error) : OTHER
  return MODEL_CODES.has(code) ? code : OTHER
}

function isStatus(status: number): boolean {
  return Number.isInteger(status) && status >= 100 && status <= 599
}

export type Outcome = 'completed' | 'failed' | 'interrupted' | 'cancelled' | 'committed' | 'discarded' | 'abandoned'

/** The run's or an attempt's outcome, from what it threw. */
export function outcomeOf(error: unknown): Outcome {
  if (error === undefined) return 'completed'
  if (error instanceof Interrupt) return 'interrupted'
  return isOnPurpose(error) ? 'cancelled' : 'failed'
}

/** It is no failure: an abort, a stop, a discard. */
function isOnPurpose(error: unknown): boolean {
  return [RunAbortedError, RunStop, ToolDiscardedError, ToolCancelledError].some((kind) => error instanceof kind)
}
