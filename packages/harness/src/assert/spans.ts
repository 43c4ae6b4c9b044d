/** What spans must be: without content, overlapping or not, children, linked. */

import { HarnessError } from '../errors.ts'
import { endOf, idOf, parentOf, type SpanLike, startOf, traceOf } from '../span-tree.ts'

/** A span is not what it should be. */
export class SpanError extends HarnessError {
  override readonly name = 'SpanError'
}

/** The one span of that name. Throws a {@link SpanError} that says which spans there are if there is none, or more than one. */
export function spanNamed<Span extends SpanLike>(spans: readonly Span[], name: string): Span {
  const [found, ...more] = spans.filter((span) => span.name === name)
  if (found && more.length === 0) return found
  const many = found ? `${more.length + 1} spans are` : 'no span is'
  throw new SpanError(`${many} named ${name}; there are: ${spans.map((span) => span.name).join(', ') || 'none'}`)
}

/** Attributes that hold what users, models and tools said. */
const CONTENT: readonly string[] = [
  'gen_ai.system_instructions',
  'gen_ai.input.messages',
  'gen_ai.output.messages',
  'gen_ai.tool.definitions',
  'gen_ai.tool.call.arguments',
  'gen_ai.tool.call.result',
  'exception.message',
]

/** No span or event has an attribute that is for content, and none of these texts stands anywhere in one. */
export function assertNoContent(spans: readonly SpanLike[], texts: readonly string[] = []): void {
  for (const { name, attributes, status, events = [], links = [] } of spans) {
    const all = [attributes, ...[...events, ...links].map((each) => each.attributes ?? {})]
    const attribute = CONTENT.find((content) => all.some((some) => some[content] !== undefined))
    if (attribute !== undefined) throw new SpanError(`span ${name} has the attribute ${attribute}`)
    const said = JSON.stringify([name, status, all, events.map((event) => event.name)])
    const text = texts.find((content) => said.includes(escaped(content)))
    if (text !== undefined) throw new SpanError(`span ${name} holds the text ${JSON.stringify(text)}: ${said}`)
  }
}

/** None of these texts stands anywhere in what was posted: in no span, no metric, and nothing that goes with them. */
export function assertNotSent(
  requests: readonly { readonly path: string; readonly body: string }[],
  texts: readonly string[],
): void {
  for (const { path, body } of requests) {
    for (const text of texts) {
      const at = body.indexOf(escaped(text))
      if (at < 0) continue
      const around = body.slice(Math.max(0, at - AROUND), at + text.length + AROUND)
      throw new SpanError(`what was sent to ${path} holds the text ${JSON.stringify(text)}: …${around}…`)
    }
  }
}

const AROUND = 100

/** As it stands in JSON. */
function escaped(text: string): string {
  return JSON.stringify(text).slice(1, -1)
}

/** Both were open at the same time. */
export function assertOverlap(a: SpanLike, b: SpanLike): void {
  const [first, second, gap] = apart(a, b)
  if (gap >= 0) throw new SpanError(`span ${second.name} started ${gap} ms after ${first.name} had ended`)
}

/** They were open one after the other, or the one began when the other ended. */
export function assertNoOverlap(a: SpanLike, b: SpanLike): void {
  const [first, second, gap] = apart(a, b)
  if (gap < 0) throw new SpanError(`spans ${first.name} and ${second.name} were both open for ${-gap} ms`)
}

/** The one that started first, the other, and the milliseconds between them: below 0 if both were open then. */
function apart(a: SpanLike, b: SpanLike): readonly [first: SpanLike, second: SpanLike, gap: number] {
  const [first, second] = startOf(a) <= startOf(b) ? [a, b] : [b, a]
  const firstEnd = endOf(a) <= endOf(b) ? endOf(a) : endOf(b)
  return [first, second, Number(startOf(second) - firstEnd) / 1e6]
}

/** The one is a child of the other, in the same trace. */
export function assertChildOf(child: SpanLike, parent: SpanLike): void {
  const actual = parentOf(child)
  if (actual === idOf(parent) && traceOf(child) === traceOf(parent)) return
  const instead = actual === undefined ? 'it is a root' : `its parent is ${actual}, in trace ${traceOf(child)}`
  throw new SpanError(
    `span ${child.name} is no child of ${parent.name} (${idOf(parent)}, in trace ${traceOf(parent)}): ${instead}`,
  )
}

/** The one has a link to the other. */
export function assertLinked(from: SpanLike, to: SpanLike): void {
  const links = (from.links ?? []).map((link) => ('context' in link ? link.context.spanId : link.spanId))
  if (links.includes(idOf(to))) return
  throw new SpanError(`span ${from.name} has no link to ${to.name} (${idOf(to)}), but to ${links.join(', ') || 'none'}`)
}
