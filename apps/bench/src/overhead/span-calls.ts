/** Records a run's calls to an SDK, and repeats them without the run: the cost of the SDK by itself. */

import {
  type Context,
  context,
  type HrTime,
  type Span,
  type Tracer,
  type TracerProvider,
  trace,
} from '@opentelemetry/api'

/** Spans that were started again, and their contexts, in the order of the first time. */
interface Again {
  readonly tracer: Tracer
  readonly spans: Span[]
  readonly contexts: Context[]
}

type Call = (again: Again) => void

export class SpanCalls {
  readonly #calls: Call[] = []
  readonly #numbers = new Map<Span | undefined, number>()

  /** Records all calls, and passes nothing on. */
  readonly provider: TracerProvider = {
    getTracer: () => ({ startSpan: this.#start, startActiveSpan: nobody }),
  }

  /** Repeats all of it, with current times, under the active context. */
  repeat(tracer: Tracer): void {
    const again: Again = { tracer, spans: [], contexts: [] }
    for (const call of this.#calls) call(again)
  }

  readonly #start: Tracer['startSpan'] = (name, options, parent) => {
    const number = this.#numbers.size
    const above = this.#numbers.get(trace.getSpan(parent ?? context.active()))
    this.#calls.push(({ tracer, spans, contexts }) => {
      const within = (above === undefined ? undefined : contexts[above]) ?? context.active()
      const span = tracer.startSpan(name, { ...options, startTime: timeOfDay() }, within)
      spans.push(span)
      contexts.push(trace.setSpan(within, span))
    })
    const span = this.#span(number)
    this.#numbers.set(span, number)
    return span
  }

  #span(number: number): Span {
    const hear = (call: (span: Span) => void): Span => {
      this.#calls.push(({ spans }) => {
        const again = spans[number]
        if (again) call(again)
      })
      return span
    }
    const id = (number + 1).toString(16)
    const span: Span = {
      spanContext: () => ({ traceId: id.padStart(32, '0'), spanId: id.padStart(16, '0'), traceFlags: 1 }),
      isRecording: () => true,
      setAttribute: (...given) => hear((span) => span.setAttribute(...given)),
      setAttributes: (...given) => hear((span) => span.setAttributes(...given)),
      addEvent: (...given) => hear((span) => span.addEvent(...given)),
      addLink: (...given) => hear((span) => span.addLink(...given)),
      addLinks: (...given) => hear((span) => span.addLinks(...given)),
      setStatus: (...given) => hear((span) => span.setStatus(...given)),
      updateName: (...given) => hear((span) => span.updateName(...given)),
      recordException: (...given) => void hear((span) => span.recordException(...given)),
      end: () => void hear((span) => span.end(timeOfDay())),
    }
    return span
  }
}

/** In the form in which core passes it. */
function timeOfDay(): HrTime {
  const now = performance.timeOrigin + performance.now()
  return [Math.floor(now / 1000), Math.floor((now % 1000) * 1e6)]
}

function nobody(): never {
  throw new Error('core does not start spans this way')
}
