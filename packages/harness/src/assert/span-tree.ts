/** Compares a whole span tree with an expected outline. */

import { diffArrays } from 'diff'
import { type SpanLike, type SpanTreeOptions, spanOutline } from '../span-tree.ts'
import { SpanError } from './spans.ts'

/**
 * Asserts that the spans form this tree: an outline with one span per line, two spaces per level, children in the order
 * in which they started, and the selected attributes after the name, as `spanOutline` writes them. Empty lines around
 * it and a common indent are ignored.
 *
 * @throws {SpanError} They differ; the message shows both line by line.
 * @example
 * ```ts
 * assertSpanTree(spans, `
 *   invoke_agent trip_planner
 *     chat mock-1
 *     execute_tool get_weather
 * `)
 * ```
 */
export function assertSpanTree(spans: readonly SpanLike[], expected: string, options: SpanTreeOptions = {}): void {
  const wanted = outdented(expected)
  const outline = spanOutline(spans, options)
  if (outline === wanted.join('\n')) return
  const changes = diffArrays(wanted, outline === '' ? [] : outline.split('\n'))
  const lines = changes.flatMap(({ added, removed, value }) => {
    const mark = added ? '+' : removed ? '-' : ' '
    return value.map((line) => `${mark} ${line}`)
  })
  throw new SpanError(`the span tree differs (- expected, + actual):\n${lines.join('\n')}`)
}

function outdented(text: string): string[] {
  const lines = text.split('\n').map((line) => line.trimEnd())
  const full = lines.filter((line) => line !== '')
  const indent = Math.min(...full.map((line) => line.length - line.trimStart().length))
  return full.map((line) => line.slice(indent))
}
