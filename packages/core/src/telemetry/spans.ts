/** Spans of OpenTelemetry, and what they are made with. Parents are given, never taken from what happens to be active. */

import {
  type Attributes,
  type Context,
  type HrTime,
  INVALID_SPAN_CONTEXT,
  ProxyTracerProvider,
  type Span,
  type SpanContext,
  type SpanOptions,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import type { CaptureContent } from '../vocabulary/span-content.ts'
import type { TelemetryOptions } from '../vocabulary/telemetry-options.ts'
import type { Instruments } from './instruments.ts'
import { SCOPE, VERSION } from './semconv.ts'
import { untroubled } from './untroubled.ts'

export interface OpenSpan {
  readonly span: Span
  /** The context in which the span is active: what runs in it nests under the span. */
  readonly context: Context
  /** When it began, in `performance.now()`. */
  readonly started: number
  /** As {@link Tracing.epoch}. */
  readonly epoch: number
  /** What it might hold when it began. */
  readonly capture: CaptureContent
}

/** What the spans and metrics of one run have in common, or those of a tool without one. */
export interface Scope {
  readonly tracing: Tracing | undefined
  readonly instruments: Instruments | undefined
  readonly agent: string | undefined
  readonly options: TelemetryOptions | undefined
  /** What `telemetry.attributes`, as a function, gave for this run. */
  readonly own: Attributes
  /** What may be captured now. */
  readonly capture: () => CaptureContent
  /** What hooks, wraps and tools add to spans: by call id; to the run's own under `undefined`. */
  readonly annotations: Map<string | undefined, Attributes>
  /** How often each model was asked, by its id. */
  readonly models: Map<string, number>
  /** Spans of hooks and wraps that have not come out. */
  readonly lasting: Set<OpenSpan>
  /** What ends the spans of wraps that answered a call themselves, by call: its fate is to be known. */
  readonly answers: Map<object, AnswerEnds[]>
}

export type AnswerEnds = (outcome?: string, reason?: string) => void

/** What spans are made with. */
export interface Tracing {
  readonly tracer: Tracer
  /** By {@link epochNow}: the same for all of them. */
  readonly epoch: number
}

/** `undefined` without an SDK, asked when a run begins: one that comes later serves the next. */
export function tracingOf(options: TelemetryOptions | undefined): Tracing | undefined {
  const tracer = untroubled(() => {
    const provider = options?.tracerProvider ?? trace.getTracerProvider()
    const scope = [SCOPE, VERSION] as const
    // The one there is before an SDK says whether there is one behind it by now.
    return provider instanceof ProxyTracerProvider ? provider.getDelegateTracer(...scope) : provider.getTracer(...scope)
  })
  return tracer && { tracer, epoch: epochNow() }
}

const SILENT = trace.wrapSpanContext(INVALID_SPAN_CONTEXT)

/** Without an SDK nothing is described, and what is done runs in its parent's context. */
export function startSpan(
  { tracing, capture }: Scope,
  parent: Context,
  describe: () => SpanOptions & { readonly name: string },
): OpenSpan {
  const open = { started: performance.now(), epoch: 0, capture: capture() }
  if (!tracing) return { ...open, span: SILENT, context: parent }
  const { tracer, epoch } = tracing
  const span =
    untroubled(() => {
      const { name, ...options } = describe()
      const made = tracer.startSpan(name, { ...options, startTime: timeOfDay(epoch, open.started) }, parent)
      // One that cannot be asked these is none: they are asked where nothing guards them.
      made.isRecording()
      made.spanContext()
      return made
    }) ?? SILENT
  return { ...open, epoch, span, context: trace.setSpan(parent, span) }
}

/** Built only for a span that records them. */
export function setAttributes(span: Span, attributes: () => Attributes): void {
  if (span.isRecording()) untroubled(() => span.setAttributes(attributes()))
}

export function link(span: Span, to: SpanContext): void {
  untroubled(() => span.addLink({ context: to }))
}

/** `at`: in `performance.now()`. */
export function endSpan({ span, epoch }: OpenSpan, at: number = performance.now()): void {
  untroubled(() => span.end(timeOfDay(epoch, at)))
}

let latest = 0

/**
 * Whole milliseconds from the epoch to the zero of `performance.now()`. The same for every run, so that those that follow each
 * other stand in their order, until the clocks have come apart.
 */
export function epochNow(): number {
  const now = Math.round(Date.now() - performance.now())
  // Of the one clock only whole milliseconds are known.
  if (Math.abs(now - latest) > 1) latest = now
  return latest
}

/**
 * The time of day, as fine as `performance.now()`: an SDK that asks for it itself gets whole milliseconds, in which spans that follow
 * each other would stand in any order. In two parts, as one number of milliseconds is no finer than a quarter of a microsecond.
 * `at`: in `performance.now()`.
 */
export function timeOfDay(epoch: number, at: number): HrTime {
  const whole = Math.floor(at)
  return [Math.floor((epoch + whole) / 1000), ((epoch + whole) % 1000) * 1e6 + Math.floor((at - whole) * 1e6)]
}
