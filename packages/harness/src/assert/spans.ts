/** Assertions about spans: content, overlap, parents and links. */

import { HarnessError } from '../errors.ts'
import { endOf, idOf, parentOf, type SpanLike, startOf, traceOf } from '../span-tree.ts'

/** A span is not as expected. */
export class SpanError extends HarnessError {
  static override readonly brand: string = 'SpanError'
}

/**
 * Returns the only span with this name.
 *
 * @throws {SpanError} There is none, or more than one; the error lists all names.
 */
export function spanNamed<Span extends SpanLike>(spans: readonly Span[], name: string): Span {
  const [found, ...more] = spans.filter((span) => span.name === name)
  if (found && more.length === 0) return found
  const many = found ? `there are ${more.length + 1} spans` : 'there is no span'
  throw new SpanError(`${many} named ${name}; the spans are: ${spans.map((span) => span.name).join(', ') || 'none'}`)
}

/** Attributes that contain messages of users, models and tools. */
const CONTENT: readonly string[] = [
  'gen_ai.system_instructions',
  'gen_ai.input.messages',
  'gen_ai.output.messages',
  'gen_ai.tool.definitions',
  'gen_ai.tool.call.arguments',
  'gen_ai.tool.call.result',
  'exception.message',
]

/**
 * Asserts that no span or span event has a content attribute, and that none contains one of these texts.
 *
 * @throws {SpanError} One does.
 */
export function assertNoContent(spans: readonly SpanLike[], texts: readonly string[] = []): void {
  for (const { name, attributes, status, events = [], links = [] } of spans) {
    const all = [attributes, ...[...events, ...links].map((each) => each.attributes ?? {})]
    const attribute = CONTENT.find((content) => all.some((some) => some[content] !== undefined))
    if (attribute !== undefined) throw new SpanError(`span ${name} has the attribute ${attribute}`)
    const said = JSON.stringify([name, status, all, events.map((event) => event.name)])
    const text = texts.find((content) => said.includes(escaped(content)))
    if (text !== undefined) throw new SpanError(`span ${name} contains the text ${JSON.stringify(text)}: ${said}`)
  }
}

/**
 * Asserts that none of these texts was sent: in no span, no metric, and no other part of these requests.
 *
 * @throws {SpanError} One was sent.
 */
export function assertNotSent(
  requests: readonly { readonly path: string; readonly body: string }[],
  texts: readonly string[],
): void {
  for (const { path, body } of requests) {
    for (const text of texts) {
      const at = body.indexOf(escaped(text))
      if (at < 0) continue
      const around = body.slice(Math.max(0, at - AROUND), at + text.length + AROUND)
      throw new SpanError(`the request to ${path} contains the text ${JSON.stringify(text)}: …${around}…`)
    }
  }
}

const AROUND = 100

/** As it is written in JSON. */
function escaped(text: string): string {
  return JSON.stringify(text).slice(1, -1)
}

/**
 * Asserts that both spans were open at the same time.
 *
 * @throws {SpanError} They were not.
 */
export function assertOverlap(a: SpanLike, b: SpanLike): void {
  const [first, second, gap] = apart(a, b)
  if (gap >= 0) throw new SpanError(`span ${second.name} started ${gap} ms after ${first.name} had ended`)
}

/**
 * Asserts that the spans were open one after the other. One may start exactly when the other ends.
 *
 * @throws {SpanError} They overlap.
 */
export function assertNoOverlap(a: SpanLike, b: SpanLike): void {
  const [first, second, gap] = apart(a, b)
  if (gap < 0) throw new SpanError(`spans ${first.name} and ${second.name} were both open for ${-gap} ms`)
}

/** The span that started first, the other one, and the milliseconds between them; negative if they overlap. */
function apart(a: SpanLike, b: SpanLike): readonly [first: SpanLike, second: SpanLike, gap: number] {
  const [first, second] = startOf(a) <= startOf(b) ? [a, b] : [b, a]
  const firstEnd = endOf(a) <= endOf(b) ? endOf(a) : endOf(b)
  return [first, second, Number(startOf(second) - firstEnd) / 1e6]
}

/**
 * Asserts that one span is a child of the other, in the same trace.
 *
 * @throws {SpanError} It is not.
 */
export function assertChildOf(child: SpanLike, parent: SpanLike): void {
  const actual = parentOf(child)
  if (actual === idOf(parent) && traceOf(child) === traceOf(parent)) return
  const instead = actual === undefined ? 'it is a root span' : `its parent is ${actual}, in trace ${traceOf(child)}`
  throw new SpanError(
    `span ${child.name} is not a child of ${parent.name} (${idOf(parent)}, in trace ${traceOf(parent)}): ${instead}`,
  )
}

/**
 * Asserts that one span has a link to the other.
 *
 * @throws {SpanError} It has not.
 */
export function assertLinked(from: SpanLike, to: SpanLike): void {
  const links = (from.links ?? []).map((link) => ('context' in link ? link.context.spanId : link.spanId))
  if (links.includes(idOf(to))) return
  throw new SpanError(
    `span ${from.name} has no link to ${to.name} (${idOf(to)}); its links: ${links.join(', ') || 'none'}`,
  )
}
