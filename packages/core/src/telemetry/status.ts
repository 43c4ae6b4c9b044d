/** How a span ended: its outcome, and whether that is an error. */

import { type Span, SpanStatusCode } from '@opentelemetry/api'
import { AgentError, MaxStepsError, messageOf, RunAbortedError, RunStop, TimeoutError } from '../errors.ts'
import { Interrupt } from '../interrupt.ts'
import { ModelError } from '../model-errors.ts'
import {
  ToolBusyError,
  ToolCancelledError,
  ToolDiscardedError,
  ToolInputError,
  ToolTimeoutError,
  UnknownToolError,
} from '../tool-errors.ts'
import { set } from './attributes.ts'
import { type CaptureContent, textToRecord } from './content.ts'
import * as names from './semconv.ts'
import { untroubled } from './untroubled.ts'

export type Outcome = 'completed' | 'failed' | 'interrupted' | 'cancelled' | 'committed' | 'discarded' | 'abandoned'

/** The run's or an attempt's outcome, from what it threw. */
export function outcomeOf(error: unknown): Outcome {
  if (error === undefined) return 'completed'
  if (error instanceof Interrupt) return 'interrupted'
  return isOnPurpose(error) ? 'cancelled' : 'failed'
}

/** The `error.type` of what was thrown, if that is an error: what was done on purpose is none, as an abort or a discard. */
export function failureOf(error: unknown, type: (error: unknown) => string = classOf): string | undefined {
  return error === undefined || isOnPurpose(error) ? undefined : type(error)
}

function isOnPurpose(error: unknown): boolean {
  return [RunAbortedError, RunStop, ToolDiscardedError, ToolCancelledError].some((kind) => error instanceof kind)
}

/** Of a model attempt or a tool: a word of the conventions, or a class. Few distinct values, no content. */
export function typeOf(error: unknown): string {
  if (error instanceof ModelError) {
    if (error.status !== undefined) return String(error.status)
    return error.code === 'unknown' ? classOf(error.cause ?? error) : error.code
  }
  if (error instanceof ToolInputError) return 'invalid_input'
  if (error instanceof UnknownToolError) return 'unknown_tool'
  return error instanceof TimeoutError || error instanceof ToolTimeoutError ? 'timeout' : classOf(error)
}

/** Of a run or a middleware. */
function classOf(error: unknown): string {
  const name = error instanceof Error ? textOf(error, 'name') : ''
  // Whoever throws may name it as they like; a class has a name of this kind.
  return /^[A-Za-z_$][\w$.]{0,63}$/.test(name) ? name : names.OTHER
}

/** The trace in which an error was recorded last: one object may be thrown in many. */
const recorded = new WeakMap<object, string>()

/**
 * Marks the span as failed. The exception is recorded once in a trace, where it happened. Its message holds user data: it is
 * recorded with the content.
 */
export function setError(span: Span, error: unknown, capture: CaptureContent, type: string = classOf(error)): void {
  if (!span.isRecording()) return
  const message = textToRecord(capture, names.EXCEPTION_MESSAGE, messageOf(error))
  setFailed(span, type, message ?? ownWords(error))
  const { traceId } = span.spanContext()
  if (!(error instanceof Error) || wasRecorded(error, traceId)) return
  recorded.set(error, traceId)
  const name = classOf(error)
  const frames = framesOf(error)
  const stack = message ? `${name}: ${message}\n${frames}` : frames
  untroubled(() => span.recordException({ name, message: message ?? '', stack }))
}

/** Without an exception. */
export function setFailed(span: Span, type: string, message?: string): void {
  set(span, () => ({ [names.ERROR_TYPE]: type }))
  untroubled(() => span.setStatus({ code: SpanStatusCode.ERROR, ...(message !== undefined && { message }) }))
}

/** The messages of these are made of names and numbers. */
function ownWords(error: unknown): string | undefined {
  const isOurs = [MaxStepsError, TimeoutError, ToolTimeoutError, ToolBusyError].some((kind) => error instanceof kind)
  return isOurs ? messageOf(error) : undefined
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

function textOf(error: Error, member: 'name' | 'stack'): string {
  const value = memberOf(error, member)
  return typeof value === 'string' ? value : ''
}

/** Whatever is thrown may itself throw when it is looked at, or hold anything. */
function memberOf(error: Error, member: 'name' | 'stack' | 'cause'): unknown {
  try {
    return error[member]
  } catch {
    return undefined
  }
}
