/** Counts how often spans are ended. */

import { SpanError } from './spans.ts'

/** The members of an open span that are used. */
interface OpenSpan {
  readonly name?: string
  end(...time: readonly unknown[]): void
}

/** A span processor, for `spanProcessors` of a tracer provider. */
export interface SpanWatch {
  onStart(span: OpenSpan): void
  onEnd(): void
  forceFlush(): Promise<void>
  shutdown(): Promise<void>
  /** @throws {SpanError} Some spans were not ended, or more than once; the error names them. */
  assertEndedOnce(): void
}

/** Counts how often each span is ended. Exporters show neither a span that is never ended nor a second end. */
export function watchSpans(): SpanWatch {
  const ends = new Map<OpenSpan, number>()
  return {
    onStart(span) {
      ends.set(span, 0)
      const end = span.end.bind(span)
      span.end = (...time) => {
        ends.set(span, (ends.get(span) ?? 0) + 1)
        end(...time)
      }
    },
    onEnd() {},
    async forceFlush() {},
    async shutdown() {},
    assertEndedOnce() {
      const wrong = [...ends].filter(([, times]) => times !== 1)
      if (wrong.length === 0) return
      const list = wrong.map(([{ name }, times]) => `${name ?? 'a span'} ${times === 0 ? 'never' : `${times} times`}`)
      throw new SpanError(`these of ${ends.size} spans were not ended exactly once: ${list.join(', ')}`)
    },
  }
}
