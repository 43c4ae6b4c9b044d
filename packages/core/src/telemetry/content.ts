/** Message content on spans: off, unless the user has switched it on. */

import { diag, type Span } from '@opentelemetry/api'
import { messageOf } from '../errors.ts'
import { boundedJson, boundedList, boundedText } from './bounded-json.ts'
import { LIST_FORMS } from './message-json.ts'
import type { SemanticAttributes } from './semconv.ts'
import { untroubled } from './untroubled.ts'

/**
 * Whether spans hold messages, arguments, results and error texts. A function is asked for each: it is given the attribute's
 * name and the value before it becomes JSON, and gives what to record instead, or `undefined` for nothing; if it throws,
 * nothing is recorded. An attribute holds at most some 64 KiB, a string in it 8 KiB; what is left out is so by whole messages,
 * parts and tools, in the form of the conventions.
 */
export type CaptureContent = boolean | ((attribute: string, value: unknown) => unknown)

/** Attributes, and what each is to hold; of `undefined` there is none. */
export type Contents = { readonly [Name in keyof SemanticAttributes]?: () => unknown }

const VARIABLE = 'OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT'

/** What the environment says, as OpenTelemetry's own instrumentations read it. We write no log events. */
const WORDS: { readonly [word: string]: boolean } = {
  true: true,
  span_only: true,
  span_and_event: true,
  false: false,
  no_content: false,
  event_only: false,
  '': false,
}

let toldOf = ''

/** What code says, else what the environment says. A word it does not know is off, and OpenTelemetry's log is told once. */
export function captureOf(option: CaptureContent | undefined): CaptureContent {
  if (option !== undefined) return option
  const word = globalThis.process?.env?.[VARIABLE] ?? ''
  const known = WORDS[word.toLowerCase()]
  if (known === undefined && word !== toldOf) {
    toldOf = word
    diag.warn(`meanwhile: ${VARIABLE} is ${word}, which is none of its values; no content is captured`)
  }
  return known ?? false
}

/** What an outer run leaves of what an inner one records: what it masks is masked there, too. */
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

/** A text as it may be recorded, if it may. */
export function textToRecord(
  capture: CaptureContent,
  attribute: keyof SemanticAttributes,
  text: string,
): string | undefined {
  return captured(
    capture,
    attribute,
    () => text,
    (value) => (typeof value === 'string' ? boundedText(value) : undefined),
  )
}

/** Telemetry never throws into a run, and what could not be masked is not recorded. */
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
    diag.error(`meanwhile: ${attribute} could not be captured`, messageOf(error))
    return undefined
  }
}
