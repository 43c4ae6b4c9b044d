/** Records message content on spans, if the user has switched that on. */

import type { Span } from '@opentelemetry/api'
import type { CaptureContent } from '../vocabulary/span-content.ts'
import { boundedJson, boundedList, boundedText } from './bounded-json.ts'
import { type Contents, LIST_FORMS } from './message-json.ts'
import type { SemanticAttributes } from './semconv.ts'
import { logged, untroubled } from './untroubled.ts'

/** Combines what an inner and an outer run may record: what the outer run masks is masked in the inner one, too. */
export function through(inner: CaptureContent, outer: CaptureContent | undefined): CaptureContent {
  if (typeof outer !== 'function' || inner === false) return inner
  return (attribute, value) => {
    const left = inner === true ? value : inner(attribute, value)
    return left === undefined ? left : outer(attribute, left)
  }
}

/** Puts content on a span, as JSON, because an SDK drops objects. Nothing is built that would not be recorded. */
export function record(span: Span, capture: CaptureContent, contents: () => Contents): void {
  if (!capture || !span.isRecording()) return
  for (const [attribute, build] of Object.entries(contents())) {
    const form = LIST_FORMS.get(attribute)
    const json = captured(capture, attribute, build, (value) =>
      form && Array.isArray(value) ? boundedList(value, form) : boundedJson(value),
    )
    if (json !== undefined) untroubled(() => span.setAttribute(attribute, json))
  }
}

/** The text to record, if it may be recorded. */
export function textToRecord(
  capture: CaptureContent,
  attribute: keyof SemanticAttributes,
  text: string,
): string | undefined {
  const write = (value: unknown) => (typeof value === 'string' ? boundedText(value) : undefined)
  return captured(capture, attribute, () => text, write)
}

/** The content to record. Telemetry never throws into a run, and content that could not be masked is not recorded. */
function captured(
  capture: CaptureContent,
  attribute: string,
  build: () => unknown,
  write: (value: unknown) => string | undefined,
): string | undefined {
  if (!capture) return undefined
  try {
    const value = build()
    if (value === undefined) return undefined
    const chosen = capture === true ? value : capture(attribute, value)
    if (!(chosen instanceof Promise)) return write(chosen)
    chosen.catch(() => undefined)
    throw new TypeError('captureContent must give what to record at once, not a promise')
  } catch (error) {
    logged(`${attribute} could not be captured`, error)
    return undefined
  }
}
