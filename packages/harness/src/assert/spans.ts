/** What spans must be: ended, without content, overlapping, linked. */

import { HarnessError } from '../errors.ts'
import { endOf, idOf, type SpanLike, startOf } from '../span-tree.ts'

/** A span is not what it should be. */
export class SpanError extends HarnessError {
  override readonly name = 'SpanError'
}

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

/** Attributes that hold what users, models and tools said. */
const CONTENT: readonly string[] = [
  'gen_ai.system_instructions',
  'gen_ai.input.messages',
  'gen_ai.output.messages',
  'gen_ai.tool.definitions',
  'gen_ai.tool.call.arguments',
  'gen_ai.tool.call.result',
]

/** No span has an attribute that is for content, and none of these texts stands anywhere in one. */
export function assertNoContent(spans: readonly SpanLike[], texts: readonly string[] = []): void {
  for (const { name, attributes, status, events = [] } of spans) {
    const attribute = CONTENT.find((content) => attributes[content] !== undefined)
    if (attribute !== undefined) throw new SpanError(`span ${name} has the attribute ${attribute}`)
    const said = JSON.stringify([name, attributes, status, events])
    const text = texts.find((content) => said.includes(JSON.stringify(content).slice(1, -1)))
    if (text !== undefined) throw new SpanError(`span ${name} holds the text ${JSON.stringify(text)}: ${said}`)
  }
}

/** Both were open at the same time: it was not one after the other. */
export function assertOverlap(a: SpanLike, b: SpanLike): void {
  if (startOf(a) < endOf(b) && startOf(b) < endOf(a)) return
  const [first, second] = startOf(a) <= startOf(b) ? [a, b] : [b, a]
  const gap = Number(startOf(second) - endOf(first)) / 1e6
  throw new SpanError(`span ${second.name} started ${gap} ms after ${first.name} had ended`)
}

/** The one has a link to the other. */
export function assertLinked(from: SpanLike, to: SpanLike): void {
  const links = (from.links ?? []).map((link) => ('context' in link ? link.context.spanId : link.spanId))
  if (links.includes(idOf(to))) return
  throw new SpanError(`span ${from.name} has no link to ${to.name} (${idOf(to)}), but to ${links.join(', ') || 'none'}`)
}
