/** How a span begins and ends. Parents are given, never taken from what happens to be active. */

import {
  type Context,
  INVALID_SPAN_CONTEXT,
  type Link,
  ProxyTracerProvider,
  type Span,
  type SpanContext,
  type SpanKind,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import type { Instruments } from './instruments.ts'
import type { Attributes, CaptureContent, TelemetryOptions } from './options.ts'
import { SCOPE, VERSION } from './semconv.ts'
import { epochNow, timeOfDay } from './time-of-day.ts'
import { untroubled } from './untroubled.ts'

export interface OpenSpan {
  readonly span: Span
  /** The context in which the span is active: what runs in it nests under the span. */
  readonly context: Context
  /** When it began, in `performance.now()`. */
  readonly started: number
  /** As {@link Tracing.epoch}. */
  readonly epoch: number
}

export interface StartedSpan<Came> extends OpenSpan {
  /** It is over, and this came of it. */
  end(came: Came): void
}

/** What the spans and metrics of one run have in common, or those of a tool without one. */
export interface Scope {
  readonly tracing: Tracing | undefined
  readonly instruments: Instruments | undefined
  readonly agent: string | undefined
  readonly options: TelemetryOptions | undefined
  /** What may be captured now. */
  readonly capture: () => CaptureContent
  /** What hooks, wraps and tools add to spans: by call id; to the run's own under `undefined`. */
  readonly annotations: Map<string | undefined, Attributes>
  /** How often each model was asked, by its id. */
  readonly models: Map<string, number>
  /** Spans of hooks and wraps that have not come out. */
  readonly lasting: Set<OpenSpan>
  /** Spans of wraps that answered a call themselves, by call, until its fate is known; with when they did, in `performance.now()`. */
  readonly answers: Map<object, (readonly [open: OpenSpan, ended: number])[]>
}

/** What spans are made with. */
export interface Tracing {
  readonly tracer: Tracer
  /** By {@link epochNow}: the same for all of them. */
  readonly epoch: number
}

/** `undefined` without an SDK, asked when a run begins: one that comes later serves the next. */
export function tracingOf(options: TelemetryOptions | undefined): Tracing | undefined {
  let tracer: Tracer | undefined
  untroubled(() => {
    const provider = options?.tracerProvider ?? trace.getTracerProvider()
    const scope = [SCOPE, VERSION] as const
    // The one there is before an SDK says whether there is one behind it by now.
    tracer =
      provider instanceof ProxyTracerProvider ? provider.getDelegateTracer(...scope) : provider.getTracer(...scope)
  })
  return tracer && { tracer, epoch: epochNow() }
}

interface Beginning {
  readonly name: string
  readonly kind: SpanKind
  /** What samplers decide on. An SDK checks and copies these twice as often as those it gets later: so they are few. */
  readonly attributes: Attributes
  readonly links?: Link[]
}

const SILENT = trace.wrapSpanContext(INVALID_SPAN_CONTEXT)

/** Without an SDK nothing is described, and what is done runs in its parent's context. */
export function startSpan<Came>(
  { tracing }: Scope,
  parent: Context,
  describe: () => Beginning,
  end: (came: Came) => void,
): StartedSpan<Came> {
  const started = performance.now()
  if (!tracing) return { span: SILENT, context: parent, started, epoch: 0, end }
  const { tracer, epoch } = tracing
  const { name, ...options } = describe()
  let span = SILENT
  untroubled(() => {
    const made = tracer.startSpan(name, { links: [], ...options, startTime: timeOfDay(epoch, started) }, parent)
    // One that cannot be asked these is none: they are asked where nothing guards them.
    made.isRecording()
    made.spanContext()
    span = made
  })
  return { span, context: trace.setSpan(parent, span), started, epoch, end }
}

export function link(span: Span, to: SpanContext): void {
  untroubled(() => span.addLink({ context: to }))
}

/** `at`: in `performance.now()`. */
export function endSpan({ span, epoch }: OpenSpan, at: number = performance.now()): void {
  untroubled(() => span.end(timeOfDay(epoch, at)))
}
