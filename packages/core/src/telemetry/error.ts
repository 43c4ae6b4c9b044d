/**
 * An error on its span: whether it is a failure, the word for it, and the exception, which is recorded once in a trace. The words are
 * the `error.type` of spans and of what is measured. There are few, and none is a provider's.
 */

import { SpanStatusCode } from '@opentelemetry/api'
import { AgentError, MaxStepsError, messageOf, RunAbortedError, RunStop, TimeoutError } from '../vocabulary/errors.ts'
import { Interrupt } from '../vocabulary/interrupt.ts'
import { ModelError } from '../vocabulary/model-errors.ts'
import type { CaptureContent } from '../vocabulary/span-content.ts'
import {
  ToolBusyError,
  ToolCancelledError,
  ToolDiscardedError,
  ToolInputError,
  ToolTimeoutError,
  UnknownToolError,
} from '../vocabulary/tool-errors.ts'
import { textToRecord } from './content.ts'
import { OTHER, type SemanticAttributes } from './semconv.ts'
import { type OpenSpan, setAttributes, timeOfDay } from './spans.ts'
import { untroubled } from './untroubled.ts'

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

/** The trace in which an error was recorded last: one object may be thrown in many. */
const recorded = new WeakMap<object, string>()

/**
 * Marks the span as failed, of the `type`; without an error there is no exception. It is recorded once in a trace, where it happened. Its
 * message holds user data: it is recorded with the content. `at`: when it happened, in `performance.now()`.
 */
export function setError(
  { span, epoch }: OpenSpan,
  error: unknown,
  capture: CaptureContent,
  type: string,
  at: number,
): void {
  if (!span.isRecording()) return
  const message = error === undefined ? error : textToRecord(capture, 'exception.message', messageOf(error))
  const shown = message ?? ownWords(error)
  setAttributes(span, () => ({ 'error.type': type }) satisfies SemanticAttributes)
  untroubled(() => span.setStatus({ code: SpanStatusCode.ERROR, ...(shown !== undefined && { message: shown }) }))
  const { traceId } = span.spanContext()
  if (!(error instanceof Error) || wasRecorded(error, traceId)) return
  recorded.set(error, traceId)
  const name = nameOf(error) ?? OTHER
  const frames = framesOf(error)
  const stack = message ? `${name}: ${message}\n${frames}` : frames
  untroubled(() => span.recordException({ name, message: message ?? '', stack }, timeOfDay(epoch, at)))
}

/** Words of ours and numbers. No name of a tool: the model may have made it up. */
function ownWords(error: unknown): string | undefined {
  if (error instanceof ToolTimeoutError) return `the tool took longer than ${error.timeout} ms`
  if (error instanceof ToolBusyError) return `the tool is busy with ${error.limit}, as many as it allows at once`
  return error instanceof MaxStepsError || error instanceof TimeoutError ? messageOf(error) : undefined
}

/** It, or what it stands for: an error of ours may be made of another's. */
function wasRecorded(error: Error, traceId: string): boolean {
  const passed = new Set<unknown>()
  for (let one: unknown = error; one instanceof Error && !passed.has(one); one = memberOf(one, 'cause')) {
    if (recorded.get(one) === traceId) return true
    if (!(one instanceof AgentError)) return false
    passed.add(one)
  }
  return false
}

function framesOf(error: Error): string {
  return textOf(error, 'stack')
    .replace(messageOf(error), '')
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .join('\n')
}

/** Its name, if that may be the name of a class: whoever throws may name it as they like, and it may throw when it is looked at. */
function nameOf(error: Error): string | undefined {
  const name = textOf(error, 'name')
  return /^[A-Za-z_$][\w$.]{0,63}$/.test(name) ? name : undefined
}

/** Whether that is the name of the error's class, or of one that this extends: no word that came from elsewhere. */
function isOfClass(error: Error, name: string): boolean {
  try {
    let one: unknown = Object.getPrototypeOf(error)
    while (one instanceof Object && one.constructor.name !== name) one = Object.getPrototypeOf(one)
    return one instanceof Object
  } catch {
    return false
  }
}

/** `''` if it is no text. */
function textOf(error: Error, member: 'name' | 'stack'): string {
  const value = memberOf(error, member)
  return typeof value === 'string' ? value : ''
}

/** Nothing if to look at it throws. */
function memberOf(error: Error, member: 'name' | 'stack' | 'cause'): unknown {
  try {
    return error[member]
  } catch {
    return undefined
  }
}
