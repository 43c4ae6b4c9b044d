/** A whole span tree, as text. */

import { diffArrays } from 'diff'
import { type SpanLike, type SpanTreeOptions, spanOutline } from '../span-tree.ts'
import { SpanError } from './spans.ts'

/**
 * The spans are this tree: an outline with one span a line, two spaces a level, children in the order in which they started, and
 * the attributes asked for behind the name, as `spanOutline` writes them. Empty lines round it and an indent before all of it do
 * not matter. Throws a {@link SpanError} that shows both, line by line.
 *
 * @example
 * assertSpanTree(spans, `
 *   invoke_agent trip_planner
 *     chat mock-1
 *     execute_tool get_weather
 * `)
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
  throw new SpanError(`the spans are another tree (- expected, + there is):\n${lines.join('\n')}`)
}

function outdented(text: string): string[] {
  const lines = text.split('\n').map((line) => line.trimEnd())
  const full = lines.filter((line) => line !== '')
  const indent = Math.min(...full.map((line) => line.length - line.trimStart().length))
  return full.map((line) => line.slice(indent))
}
