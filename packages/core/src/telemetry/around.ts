/**
 * The only entry to telemetry: core reports what it does and the outcome as plain data. Spans, attributes, captured content and metrics are
 * made from that behind this interface.
 */

import { type Context, context, isSpanContextValid, ROOT_CONTEXT, type SpanContext, trace } from '@opentelemetry/api'
import type { Flow } from '../flow/flow.ts'
import type { Attributes, CaptureContent } from '../vocabulary/span-content.ts'
import type { TelemetryOptions } from '../vocabulary/telemetry-options.ts'
import { type CallFacts, countReused, endCallSpans } from './call-spans.ts'
import { record, through } from './content.ts'
import { instrumentsOf } from './instruments.ts'
import { contentsOfRequest } from './message-json.ts'
import { OwnPart } from './middleware-span.ts'
import { captureOf } from './options.ts'
import { begin, type SpanTable, type StartedSpan, unobserved } from './span-table.ts'
import { conversationOf, link, note, type OpenSpan, type Scope, setAttributes, tracingOf } from './spans.ts'
import { type End, type FlowWork, traced, type Work } from './traced.ts'

export { attemptSpan } from './attempt-span.ts'
export { type CallFacts, type ExecutionFacts, executionSpan } from './call-spans.ts'
export { middlewareSpan } from './middleware-span.ts'
export { type Counts, runSpan } from './run-span.ts'
export { GUARD } from './semconv.ts'
export { endSpan, note, type OpenSpan, startSpan } from './spans.ts'

/** A kind of work that core reports: its span, from what is known when the work begins. */
type SpanOf<Facts, Came> = (facts: Facts, scope: Scope) => SpanTable<Came>

/** The context that is active in the code that starts a run or a tool. */
export function activeContext(): Context {
  return context.active()
}

/** The span that is active in this context, for a resume that links to it. */
export function traceIn(place: Context): Trace | undefined {
  const { traceId = '', spanId = '', traceFlags = 0 } = trace.getSpanContext(place) ?? {}
  const found = { traceId, spanId, traceFlags }
  return isSpanContextValid(found) ? found : undefined
}

/** Runs work in the root context, below the span of another process if there is one. */
export function inTrace<Result>(span: Trace | undefined, work: () => Result): Result {
  return context.with(span ? trace.setSpanContext(ROOT_CONTEXT, { ...span, isRemote: true }) : ROOT_CONTEXT, work)
}

/** Sets the effect of an execution on its span, once it is known. */
export const noteEffect = (open: OpenSpan, effect: string): void => note(open, { 'meanwhile.tool.effect': effect })

/** Sets on the span of a model attempt how long its first event took. Returns that, in seconds. */
export function noteFirstChunk(open: OpenSpan): number {
  const seconds = (performance.now() - open.started) / 1000
  note(open, { 'gen_ai.response.time_to_first_chunk': seconds })
  return seconds
}

function fixed(options: TelemetryOptions | undefined): () => CaptureContent {
  const capture = captureOf(options?.captureContent)
  return () => capture
}

type Trace = Pick<SpanContext, 'traceId' | 'spanId' | 'traceFlags'>

/** What is known of a run when its telemetry is created. */
interface OfRun {
  /** The agent's name. */
  readonly agent?: string | undefined
  /** What the run may capture now, which replaces the option. */
  readonly capture?: () => CaptureContent
  /** The telemetry of the run for which this one works. */
  readonly outer?: Telemetry | undefined
  readonly conversationId?: string | undefined
}

/** The telemetry of one run, or of a tool that is called without a run. */
export class Telemetry {
  /** What its spans have in common. Not private: the telemetry of a run in another copy of core reads it. */
  readonly scope: Scope

  constructor(options: TelemetryOptions | undefined, { agent, capture = fixed(options), outer, ...given }: OfRun = {}) {
    const above = outer?.scope
    this.scope = {
      tracing: tracingOf(options),
      instruments: instrumentsOf(options),
      agent,
      options,
      middleware: options?.middleware ?? above?.middleware ?? 'all',
      conversationId: given.conversationId ?? above?.conversationId,
      own: {},
      capture: () => through(capture(), above?.capture()),
      annotations: new Map(),
      models: new Map(),
      run: undefined,
      lasting: new Set(),
      answers: new Map(),
    }
  }

  /** Runs a flow inside its span: every step of it runs in the span's context. The span begins with the first step. */
  aroundFlow<Facts, Came, Event, Result>(
    span: SpanOf<Facts, Came>,
    parent: Context,
    work: FlowWork<NoInfer<Facts>, StartedSpan<NoInfer<Came>>, NoInfer<Came>, Event, Result>,
  ): Flow<Event, Result> {
    return traced(work, () => this.#begin(span, parent, work.begin()))
  }

  /** Runs an async function inside its span. */
  async around<Facts, Came, Result>(
    span: SpanOf<Facts, Came>,
    parent: Context,
    work: Work<NoInfer<Facts>, StartedSpan<NoInfer<Came>>, NoInfer<Came>, Result | Promise<Result>, Result>,
  ): Promise<Result> {
    const open = this.#begin(span, parent, work.begin())
    let end: End<Result> = {}
    try {
      const result = work.done(await this.inside(open.context, () => work.make(open)))
      end = { returned: { result } }
      return result
    } catch (thrown) {
      const error = work.failed(thrown)
      end = { thrown, error }
      throw error
    } finally {
      open.end(work.came(end))
    }
  }

  #begin<Facts, Came>(span: SpanOf<Facts, Came>, parent: Context, facts: Facts): StartedSpan<Came> {
    const { tracing, instruments } = this.scope
    if (!tracing && !instruments) return unobserved(this.scope, parent)
    return begin(this.scope, parent, span(facts, this.scope))
  }

  /** Runs work that has no span in this context. */
  inside<Result>(place: Context, work: () => Result): Result {
    return context.with(place, work)
  }

  /** Adds attributes from a hook, wrap or tool to the run's span, or to spans of a call that have not begun. */
  annotate(attributes: Attributes, callId?: string): void {
    const { annotations } = this.scope
    annotations.set(callId, { ...annotations.get(callId), ...attributes })
  }

  /** The call has no more executions. */
  forget(callId: string): void {
    this.scope.annotations.delete(callId)
  }

  /** The run's span, for a resume of the run. */
  get trace(): Trace | undefined {
    return this.scope.run && traceIn(this.scope.run.context)
  }

  get conversationId(): string | undefined {
    return this.scope.conversationId
  }

  /** The run continues one with this span and this conversation. */
  resumes(trace: Trace | undefined, conversationId: string | undefined): void {
    this.scope.conversationId ??= conversationId
    if (!this.scope.run) return
    setAttributes(this.scope.run.span, () => conversationOf(this.scope))
    if (trace) link(this.scope.run.span, { ...trace, isRemote: true })
  }

  /** Records the instructions and the input with which the run begins. */
  begins(task: Parameters<typeof contentsOfRequest>[0]): void {
    if (this.scope.run) record(this.scope.run.span, this.scope.capture(), () => contentsOfRequest(task))
  }

  /** A further model attempt, whose span is active in `asker`, requests a call. */
  joined({ executions }: CallFacts, asker: Context): void {
    const asking = trace.getSpanContext(asker)
    if (asking) for (const { open } of executions) link(open.span, asking)
  }

  /** A call was committed, discarded or abandoned. `compensated`: whether its undo succeeded, if there was one. */
  ended(call: CallFacts, compensated?: boolean): void {
    endCallSpans(this.scope, call, compensated)
  }

  /** A call has its result from a checkpoint. */
  reused(call: CallFacts): void {
    countReused(this.scope, call)
  }

  /** The run is over: ends the spans of hooks and wraps that never ended. */
  over(): void {
    for (const open of this.scope.lasting) open.end({})
  }

  /** Tracks what a wrap does by itself, if that decides whether the wrap has a span. */
  ownPart(): OwnPart | undefined {
    const { tracing, middleware } = this.scope
    return tracing && middleware === 'changed' ? new OwnPart() : undefined
  }
}
