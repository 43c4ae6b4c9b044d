/** An error on its span: the span has failed, and the exception is recorded once in a trace. */

import { type Span, SpanStatusCode } from '@opentelemetry/api'
import { AgentError, MaxStepsError, messageOf, TimeoutError } from '../errors.ts'
import { ToolBusyError, ToolTimeoutError } from '../tool-errors.ts'
import { set } from './attributes.ts'
import { textToRecord } from './content.ts'
import { classOf } from './error-type.ts'
import type { CaptureContent } from './options.ts'
import { OTHER } from './semconv.ts'
import type { OpenSpan } from './spans.ts'
import { memberOf, nameOf, textOf } from './thrown.ts'
import { timeOfDay } from './time-of-day.ts'
import { untroubled } from './untroubled.ts'

/** The trace in which an error was recorded last: one object may be thrown in many. */
const recorded = new WeakMap<object, string>()

/**
 * Marks the span as failed. The exception is recorded once in a trace, where it happened. Its message holds user data: it is
 * recorded with the content. `at`: when it happened, in `performance.now()`.
 */
export function setError(
  { span, epoch }: OpenSpan,
  error: unknown,
  capture: CaptureContent,
  type: string = classOf(error),
  at: number = performance.now(),
): void {
  if (!span.isRecording()) return
  const message = textToRecord(capture, 'exception.message', messageOf(error))
  setFailed(span, type, message ?? ownWords(error))
  const { traceId } = span.spanContext()
  if (!(error instanceof Error) || wasRecorded(error, traceId)) return
  recorded.set(error, traceId)
  const name = nameOf(error) ?? OTHER
  const frames = framesOf(error)
  const stack = message ? `${name}: ${message}\n${frames}` : frames
  untroubled(() => span.recordException({ name, message: message ?? '', stack }, timeOfDay(epoch, at)))
}

/** Without an exception. */
export function setFailed(span: Span, type: string, message?: string): void {
  set(span, () => ({ 'error.type': type }))
  untroubled(() => span.setStatus({ code: SpanStatusCode.ERROR, ...(message !== undefined && { message }) }))
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
