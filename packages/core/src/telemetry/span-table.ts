/** A kind of span as a table: what it is called, what it has from its start, and what it gets at its end. */

import { type Attributes, type Context, context, type SpanOptions } from '@opentelemetry/api'
import type { CaptureContent } from '../vocabulary/span-content.ts'
import { record } from './content.ts'
import { setError } from './error.ts'
import type { Instruments } from './instruments.ts'
import type { Contents } from './message-json.ts'
import type { SemanticAttributes } from './semconv.ts'
import { endSpan, type OpenSpan, type Scope, setAttributes, startSpan } from './spans.ts'
import { untroubled } from './untroubled.ts'

/** What is said of a span. Called only for a span that records it. */
interface Said {
  /** By others, under names of their own. */
  annotations?(): Attributes
  attributes?(): SemanticAttributes
  contents?(): Contents
}

/** As it begins. */
export interface SpanTable<Came> extends Said {
  /** What samplers decide on. An SDK checks and copies these attributes twice as often as those it gets later: so they are few. */
  start(): SpanOptions & { readonly name: string }
  /** What it gets now that it is over, and this came of it; `undefined` if it ends later, by {@link finish}. */
  end(came: Came, open: OpenSpan): Ending | undefined
}

export interface Ending extends Said {
  /** Its `error.type`, if it has failed. */
  readonly failure: string | undefined
  /** What it failed with. */
  readonly error: unknown
  /** In `performance.now()`. Default: now. */
  readonly at?: number
  measure?(instruments: Instruments, seconds: number): void
}

export interface StartedSpan<Came> extends OpenSpan {
  /** It is over, and this came of it. */
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
  say(open, open.capture, table)
  return open
}

/** In the context of the span: what is measured of it belongs to it, as an exemplar says. */
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
