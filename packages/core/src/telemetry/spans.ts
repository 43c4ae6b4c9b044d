/** OpenTelemetry spans and what is needed to make them. Parents are always passed, never taken from the active context. */

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
import { COPY } from '../vocabulary/brand.ts'
import type { CaptureContent } from '../vocabulary/span-content.ts'
import type { MiddlewareSpans, TelemetryOptions } from '../vocabulary/telemetry-options.ts'
import type { Instruments } from './instruments.ts'
import { SCOPE, type SemanticAttributes } from './semconv.ts'
import { untroubled } from './untroubled.ts'

export interface OpenSpan {
  readonly span: Span
  /** The context in which the span is active: spans that begin in it are children of the span. */
  readonly context: Context
  /** When it began, in `performance.now()`. */
  readonly started: number
  /** See {@link Tracing.epoch}. */
  readonly epoch: number
  /** What it was allowed to capture when it began. */
  readonly capture: CaptureContent
}

/** What the spans and metrics of one run, or of a tool without a run, share. */
export interface Scope {
  readonly tracing: Tracing | undefined
  readonly instruments: Instruments | undefined
  readonly agent: string | undefined
  readonly options: TelemetryOptions | undefined
  /** Which hooks and wraps have spans. */
  readonly middleware: MiddlewareSpans
  /** A resumed run has the conversation of its checkpoint, unless its caller named one. */
  conversationId: string | undefined
  /** The attributes that `telemetry.attributes`, as a function, returned for this run. */
  readonly own: Attributes
  /** What may be captured now. */
  readonly capture: () => CaptureContent
  /** Attributes that hooks, wraps and tools add to spans, by call id; `undefined` for the span of the run. */
  readonly annotations: Map<string | undefined, Attributes>
  /** How often each model was called, by its id. */
  readonly models: Map<string, number>
  /** The span of the run, once it has begun. */
  run: OpenSpan | undefined
  /** The spans of hooks and wraps that have not ended. */
  readonly lasting: Set<OpenSpan & { end(came: object): void }>
  /** Functions that end the spans of wraps that answered a call themselves, by call, once its fate is known. */
  readonly answers: Map<object, AnswerEnds[]>
}

export type AnswerEnds = (outcome?: string, reason?: string) => void

export type SpanStart = SpanOptions & { readonly name: string }

/** What is needed to make spans. */
export interface Tracing {
  readonly tracer: Tracer
  /** See {@link epochNow}. The same for all of them. */
  readonly epoch: number
}

/** `undefined` without an SDK. Called when a run begins, so an SDK that is registered later serves the next run. */
export function tracingOf(options: TelemetryOptions | undefined): Tracing | undefined {
  const tracer = untroubled(() => {
    const provider = options?.tracerProvider ?? trace.getTracerProvider()
    const scope = [SCOPE, COPY.version] as const
    // The provider that exists before an SDK shows whether there is an SDK by now.
    return provider instanceof ProxyTracerProvider ? provider.getDelegateTracer(...scope) : provider.getTracer(...scope)
  })
  return tracer && { tracer, epoch: epochNow() }
}

const SILENT = trace.wrapSpanContext(INVALID_SPAN_CONTEXT)

/** Starts a span. Without an SDK nothing is described. Work without a span runs in its parent's context. `started`: in `performance.now()`. */
export function startSpan(
  { tracing, capture }: Scope,
  parent: Context,
  describe: (() => SpanStart) | undefined,
  started: number = performance.now(),
): OpenSpan {
  const open = { started, epoch: 0, capture: capture() }
  if (!tracing || !describe) return { ...open, span: SILENT, context: parent }
  const { tracer, epoch } = tracing
  const span =
    untroubled(() => {
      const { name, ...options } = describe()
      const made = tracer.startSpan(name, { ...options, startTime: timeOfDay(epoch, open.started) }, parent)
      // A span on which these methods fail is not used, because later calls of them are not guarded.
      made.isRecording()
      made.spanContext()
      return made
    }) ?? SILENT
  return { ...open, epoch, span, context: trace.setSpan(parent, span) }
}

/** The attributes are built only for a span that is recorded. */
export function setAttributes(span: Span, attributes: () => Attributes): void {
  if (span.isRecording()) untroubled(() => span.setAttributes(attributes()))
}

/** Sets attributes that become known while the span is open. */
export function note({ span }: OpenSpan, attributes: SemanticAttributes): void {
  setAttributes(span, () => attributes)
}

export function link(span: Span, to: SpanContext): void {
  untroubled(() => span.addLink({ context: to }))
}

/** The conversation, for the spans of a run, its model calls and its tool calls. */
export function conversationOf({ conversationId }: Scope): SemanticAttributes {
  return { 'gen_ai.conversation.id': conversationId }
}

/** `at`: in `performance.now()`. */
export function endSpan({ span, epoch }: OpenSpan, at: number = performance.now()): void {
  untroubled(() => span.end(timeOfDay(epoch, at)))
}

let latest = 0

/**
 * Whole milliseconds from the epoch to the zero of `performance.now()`. The value is the same for every run, so that consecutive runs are
 * in order, until the two clocks have drifted apart.
 */
export function epochNow(): number {
  const now = Math.round(Date.now() - performance.now())
  // One of the clocks only has whole milliseconds.
  if (Math.abs(now - latest) > 1) latest = now
  return latest
}

/**
 * The time of day with the precision of `performance.now()`. An SDK that reads the time itself has whole milliseconds, in which the order
 * of consecutive spans would be lost. The value has two parts, because one number of milliseconds is not more precise than a quarter of a
 * microsecond. `at`: in `performance.now()`.
 */
export function timeOfDay(epoch: number, at: number): HrTime {
  const whole = Math.floor(at)
  return [Math.floor((epoch + whole) / 1000), ((epoch + whole) % 1000) * 1e6 + Math.floor((at - whole) * 1e6)]
}
