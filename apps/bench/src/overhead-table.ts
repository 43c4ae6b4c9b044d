/** Core's own cost beside what it may cost at the most. */

import { styleText } from 'node:util'
import { precise } from './format.ts'

export interface Figures {
  readonly runsPerSecond: number
  /** Runs per second with 1,000 at once, as a part of those one after another. */
  readonly atOnce: number
  readonly heldKiB: number
  readonly growthMb: number
  readonly bundleKb: number
  /** The same of `createAgent` and `tool` alone. */
  readonly agentKb: number
  readonly importMs: number
  /** As a part of the time to import `ai`, the AI SDK. */
  readonly importOfAi: number
}

interface Bar {
  readonly figure: keyof Figures
  readonly title: string
  readonly unit: string
  readonly limit: number
  /** Whether more is better. */
  readonly atLeast?: true
}

const BARS: readonly Bar[] = [
  { figure: 'runsPerSecond', title: 'runs one after another', unit: '/s', limit: 1_000, atLeast: true },
  { figure: 'atOnce', title: '1,000 runs at once, of that', unit: '', limit: 0.8, atLeast: true },
  { figure: 'heldKiB', title: 'heap per run, 10,000 held open', unit: 'KiB', limit: 40 },
  { figure: 'growthMb', title: 'heap growth after 10,000 runs', unit: 'MB', limit: 5 },
  { figure: 'bundleKb', title: 'core, bundled, minified, gzipped', unit: 'KB', limit: 25 },
  { figure: 'agentKb', title: 'of that createAgent and tool alone', unit: 'KB', limit: 25 },
  { figure: 'importMs', title: 'import of core', unit: 'ms', limit: 40 },
  { figure: 'importOfAi', title: 'of the import of the AI SDK', unit: '', limit: 0.52 },
]

/** The titles of the bars that were missed. */
export function missed(figures: Figures): readonly string[] {
  return BARS.filter((bar) => !isMet(bar, figures)).map(({ title }) => title)
}

export function overheadTable(figures: Figures): string {
  const heading = styleText('bold', 'Overhead of core')
  const shape = styleText('dim', '2 steps, 1 tool, 50 deltas, in process, no OpenTelemetry SDK')
  const lines = BARS.map((bar) => {
    const value = precise(figures[bar.figure]).padStart(8)
    const limit = `${bar.atLeast ? '≥' : '≤'} ${precise(bar.limit)}`
    const mark = isMet(bar, figures) ? styleText('green', '✓') : styleText('red', '✗')
    return `   ${bar.title.padEnd(34)}${value} ${bar.unit.padEnd(4)}${styleText('dim', limit.padEnd(9))}${mark}`
  })
  return `\n${heading}\n   ${shape}\n${lines.join('\n')}\n`
}

function isMet({ figure, limit, atLeast }: Bar, figures: Figures): boolean {
  return atLeast ? figures[figure] >= limit : figures[figure] <= limit
}
