/** Describes a kind of span as a table: its name, its initial attributes, and those at its end. */

import { type Attributes, type Context, context } from '@opentelemetry/api'
import type { CaptureContent } from '../vocabulary/span-content.ts'
import { record } from './content.ts'
import { setError } from './error.ts'
import type { Instruments } from './instruments.ts'
import type { Contents } from './message-json.ts'
import type { SemanticAttributes } from './semconv.ts'
import { endSpan, type OpenSpan, type Scope, type SpanStart, setAttributes, startSpan } from './spans.ts'
import { untroubled } from './untroubled.ts'

/** The data of a span. These functions are called only for a span that is recorded. */
interface Said {
  /** Attributes from users and other packages, with their own names. */
  annotations?(): Attributes
  attributes?(): SemanticAttributes
  contents?(): Contents
}

/** A span at its beginning. */
export interface SpanTable<Came> extends Said {
  /** The attributes on which samplers decide. They are few, because an SDK copies them twice as often as later ones. Absent: there is no span yet. */
  readonly start?: (() => SpanStart) | undefined
  /** Called when the span has begun. */
  begun?(open: StartedSpan<Came>): void
  /** The data at the end of the span; `undefined` if it ends later, with {@link finish}. */
  end(came: Came, open: StartedSpan<Came>): Ending | undefined
}

export interface Ending extends Said {
  /** Its `error.type`, if it has failed. */
  readonly failure: string | undefined
  /** The error, if it has failed. */
  readonly error: unknown
  /** In `performance.now()`. Default: now. */
  readonly at?: number
  measure?(instruments: Instruments, seconds: number): void
}

export interface StartedSpan<Came> extends OpenSpan {
  /** Ends the span with this outcome. */
  end(came: Came): void
}

export function begin<Came>(scope: Scope, parent: Context, table: SpanTable<Came>): StartedSpan<Came> {
  const open: StartedSpan<Came> = {
    ...startSpan(scope, parent, table.start),
    end(came) {
      const ending = untroubled(() => table.end(came, open))
      if (ending) finish(open, scope, ending)
    },
  }
  table.begun?.(open)
  say(open, open.capture, table)
  return open
}

/** Stands for a span without an SDK: nothing is described, and nothing is measured. */
export function unobserved(scope: Scope, parent: Context): StartedSpan<unknown> {
  return { ...startSpan(scope, parent, undefined), end: () => undefined }
}

/** Ends a span in its own context, so that exemplars of its measurements refer to it. */
export function finish(
  open: OpenSpan,
  { capture, instruments }: Scope,
  ending: Ending,
  capturing: CaptureContent = capture(),
): void {
  context.with(open.context, untroubled, undefined, () => {
    const { failure, error, at = performance.now() } = ending
    say(open, capturing, ending)
    if (failure) setError(open, error, capturing, failure, at)
    endSpan(open, at)
    if (instruments) ending.measure?.(instruments, (at - open.started) / 1000)
  })
}

function say({ span }: OpenSpan, capture: CaptureContent, { annotations, attributes, contents }: Said): void {
  if (annotations) setAttributes(span, annotations)
  if (attributes) setAttributes(span, attributes)
  if (contents) record(span, capture, contents)
}
