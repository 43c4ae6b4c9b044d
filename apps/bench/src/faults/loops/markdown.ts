/** Loops of other libraries under faults, as the table of docs/resilient.md. */

import { LOOP_HEADS, loopNotes, loopRows } from './summary.ts'
import type { TriedLoops } from './try-loops.ts'

export function loopsMarkdown(tried: TriedLoops): string {
  const rows = loopRows(tried).map(({ title, figures }) => [`\`${title}\``, ...figures.map(({ text }) => text)])
  const heads = ['loop', ...LOOP_HEADS]
  const lines = [heads, heads.map((_, at) => (at === 0 ? '---' : '--:')), ...rows]
  return `${lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n')}\n\n${loopNotes(tried)
    .map((note) => `- ${note}\n`)
    .join('')}`
}
