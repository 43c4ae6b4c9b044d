/** How often spans are ended. */

import { SpanError } from './spans.ts'

/** What is watched of a span while it is open. */
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
  /** Throws a {@link SpanError} that names the spans which were not ended, or more than once. */
  assertEndedOnce(): void
}

/** Counts how often each span is ended: exporters show neither those that never are nor a second time. */
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
      throw new SpanError(`of ${ends.size} spans these were not ended once: ${list.join(', ')}`)
    },
  }
}
