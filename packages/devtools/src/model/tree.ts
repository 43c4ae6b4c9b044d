/** How spans are inside each other. */

import { isImpossible, type Span } from '../span.ts'
import { type Kind, kindOf } from './kinds.ts'

export interface SpanTree {
  /** In order of their start, without those whose times are impossible. */
  readonly spans: readonly Span[]
  readonly impossible: readonly Span[]
  kind(span: Span): Kind
  /** The nearest run or tool that this span is inside. */
  above(span: Span): Span | undefined
  /** The nearest run that this span is inside, also if a tool is between them. */
  run(span: Span): Span | undefined
  /** The step that this span is inside, if it is nearer than a run or a tool. */
  step(span: Span): Span | undefined
  /** The topmost span above this one: itself, if nothing is above it. */
  top(span: Span): Span
}

export const keyOf = ({ traceId, spanId }: { readonly traceId: string; readonly spanId: string }): string =>
  `${traceId}-${spanId}`

/** The same for any order of the spans. */
export function spanTree(all: readonly Span[]): SpanTree {
  const spans = all.filter((span) => !isImpossible(span)).sort(inOrder)
  const kinds = new Map(spans.map((span) => [span, kindOf(span)]))
  const kind = (span: Span): Kind => kinds.get(span) ?? 'other'
  const parents = parentsOf(spans)

  const above = climb(parents, (span) => kind(span) === 'run' || kind(span) === 'tool')
  const stepOrAbove = climb(parents, (span) => kind(span) !== 'other' && kind(span) !== 'response')
  const top = climb(parents, (span) => !parents.has(span))
  return {
    spans,
    impossible: all.filter(isImpossible),
    kind,
    above,
    run: climb(parents, (span) => kind(span) === 'run'),
    step: (span) => {
      const found = stepOrAbove(span)
      return found && kind(found) === 'step' ? found : undefined
    },
    top: (span) => top(span) ?? span,
  }
}

function inOrder(a: Span, b: Span): number {
  return a.start - b.start || (a.spanId < b.spanId ? -1 : a.spanId > b.spanId ? 1 : 0)
}

/** The parents that are here. Of parents that go in a circle one is left out. */
function parentsOf(spans: readonly Span[]): ReadonlyMap<Span, Span> {
  const byKey = new Map(spans.map((span) => [keyOf(span), span]))
  const parents = new Map<Span, Span>()
  for (const span of spans) {
    const parent = span.parentId && byKey.get(keyOf({ traceId: span.traceId, spanId: span.parentId }))
    if (parent) parents.set(span, parent)
  }
  const cleared = new Set<Span>()
  for (const span of spans) {
    const way = new Set<Span>()
    for (let at: Span | undefined = span; at && !cleared.has(at); at = parents.get(at)) {
      way.add(at)
      const next = parents.get(at)
      if (next && way.has(next)) parents.delete(at)
    }
    for (const one of way) cleared.add(one)
  }
  return parents
}

/** Finds the nearest span above another one for which `is` holds. Each answer is kept, so that all spans together take linear time. */
function climb(parents: ReadonlyMap<Span, Span>, is: (span: Span) => boolean): (span: Span) => Span | undefined {
  const answers = new Map<Span, Span | undefined>()
  return (span) => {
    const way: Span[] = []
    let at: Span | undefined = span
    while (at && !answers.has(at)) {
      way.push(at)
      const parent = parents.get(at)
      if (parent && is(parent)) {
        answers.set(at, parent)
        break
      }
      at = parent
    }
    const answer = at && answers.get(at)
    for (const one of way) answers.set(one, answer)
    return answer
  }
}
