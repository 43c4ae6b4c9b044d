/**
 * Describes an error on its span: whether it is a failure, its `error.type`, and the exception, which is recorded once in a trace. The set
 * of `error.type` values is small, on spans and on metrics, and contains no texts from providers.
 */

import { SpanStatusCode } from '@opentelemetry/api'
import { hasClass } from '../vocabulary/brand.ts'
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

/** The codes of a `ModelError` that core and adapters define. Any other code comes from a provider. */
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

/** The names of errors that platforms throw as `DOMException`. */
const PLATFORM_NAMES: ReadonlySet<string> = new Set(['AbortError', 'TimeoutError'])

/** The `error.type` of what was thrown, if that is a failure. Intended ends, such as an abort or a discard, are not. */
export function failureOf(error: unknown, type: (error: unknown) => string = classOf): string | undefined {
  return error === undefined || isOnPurpose(error) ? undefined : type(error)
}

/** The type of an error of a model attempt or a tool: an HTTP status, one of our own words, or a class. */
export function typeOf(error: unknown): string {
  if (error instanceof ModelError) return typeOfModelError(error)
  if (error instanceof ToolInputError) return 'invalid_input'
  if (error instanceof UnknownToolError) return 'unknown_tool'
  return error instanceof TimeoutError || error instanceof ToolTimeoutError ? 'timeout' : classOf(error)
}

/** The type of an error of a run or a middleware. */
export function classOf(error: unknown): string {
  if (!(error instanceof Error)) return OTHER
  const name = nameOf(error)
  if (name === undefined) return OTHER
  // Our own classes have other names when they are minified.
  return error instanceof AgentError || PLATFORM_NAMES.has(name) || isOfClass(error, name) ? name : OTHER
}

/** Longer names of classes were not made by a bundler. */
const LONGEST_MINIFIED = 3

/** For each class that a bundler has renamed, the name of the first error. So there is one for each class, whatever names code sets. */
const renamed = new WeakMap<object, string>()

function typeOfModelError(error: ModelError): string {
  const { status, code } = error
  if (status !== undefined) return /^[1-5]\d\d$/.test(`${status}`) ? `${status}` : OTHER
  // An error that a provider sent without a code has no class.
  if (code === 'unknown') return error.data === undefined ? classOf(error.cause ?? error) : OTHER
  return MODEL_CODES.has(code) ? code : OTHER
}

export type Outcome = 'completed' | 'failed' | 'interrupted' | 'cancelled' | 'committed' | 'discarded' | 'abandoned'

/** The outcome of a run or an attempt, from what it threw. */
export function outcomeOf(error: unknown): Outcome {
  if (error === undefined) return 'completed'
  if (error instanceof Interrupt) return 'interrupted'
  return isOnPurpose(error) ? 'cancelled' : 'failed'
}

/** Whether this is an intended end: an abort, a stop, a discard. */
function isOnPurpose(error: unknown): boolean {
  return [RunAbortedError, RunStop, ToolDiscardedError, ToolCancelledError].some((kind) => error instanceof kind)
}

/** The trace in which an error was last recorded. One object may be thrown in several. */
const recorded = new WeakMap<object, string>()

/**
 * Marks the span as failed, with this `type`; without an error there is no exception. An exception is recorded once in a trace, where it
 * happened. Its message contains user data, so it is recorded only together with content. `at`: when it happened, in `performance.now()`.
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

/** Our own texts with numbers. They contain no name of a tool, because the model may have made it up. */
function ownWords(error: unknown): string | undefined {
  if (error instanceof ToolTimeoutError) return `the tool took longer than ${error.timeout} ms`
  if (error instanceof ToolBusyError)
    return `the tool is already running ${error.limit} ${error.limit === 1 ? 'call' : 'calls'}, its maximum`
  return error instanceof MaxStepsError || error instanceof TimeoutError ? messageOf(error) : undefined
}

/** Whether this error was recorded, or the error from which it was made: our own error may be made from another one. */
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

/** Its name, if that may be the name of a class. Code may set any name, and reading it may throw. */
function nameOf(error: Error): string | undefined {
  const name = textOf(error, 'name')
  return /^[A-Za-z_$][\w$.]{0,63}$/.test(name) ? name : undefined
}

/** Whether this is the name of the error's class, or of a class that it extends, and not a text from elsewhere. */
function isOfClass(error: Error, name: string): boolean {
  try {
    return hasClass(error, name, 'name') || isOfRenamed(Object.getPrototypeOf(error).constructor, name)
  } catch {
    return false
  }
}

/** Whether a bundler has renamed this class, and its errors have the name that it had before. */
function isOfRenamed(own: { readonly name: string }, name: string): boolean {
  if (own.name.length > LONGEST_MINIFIED || !/^[A-Z]\w*[a-z]/.test(name)) return false
  if (!renamed.has(own)) renamed.set(own, name)
  return renamed.get(own) === name
}

/** `''` if the member is not a text. */
function textOf(error: Error, member: 'name' | 'stack'): string {
  const value = memberOf(error, member)
  return typeof value === 'string' ? value : ''
}

/** `undefined` if reading the member throws. */
function memberOf(error: Error, member: 'name' | 'stack' | 'cause'): unknown {
  try {
    return error[member]
  } catch {
    return undefined
  }
}
