/** The table of core's own cost, with its limits. */

import { styleText } from 'node:util'
import { precise } from '../format.ts'

export interface Figures {
  readonly runsPerSecond: number
  /** Runs per second with 1,000 at once, as a ratio to runs one after another. */
  readonly atOnce: number
  /** The same for loops that read a bare generator, without core. */
  readonly bareAtOnce: number
  readonly heldKiB: number
  readonly growthMb: number
  readonly bundleKb: number
  /** The same for only `createAgent` and `tool`. */
  readonly agentKb: number
  readonly importMs: number
  /** As a ratio to the time to import `ai`, the AI SDK. */
  readonly importOfAi: number
  readonly spansPerRun: number
  /** Microseconds of CPU of a run with this many spans, without an SDK. */
  readonly without: Spread
  /** Microseconds of CPU, like all that follow: what an SDK adds to the same run, per span. */
  readonly spanUs: Spread
  /** The part of it that the same SDK calls cost without core. */
  readonly sdkSpanUs: Spread
  readonly untracedSpanUs: Spread
  readonly deltaUs: Spread
  readonly untracedDeltaUs: Spread
}

/** Many measurements: half of them are between low and high. */
export interface Spread {
  readonly median: number
  readonly low: number
  readonly high: number
}

interface Line {
  readonly figure: Exclude<keyof Figures, 'spansPerRun' | 'without'>
  readonly title: string
  readonly unit: string
  /** Absent: it belongs to the row above it, and does not measure core. */
  readonly limit?: number
  /** Whether the limit is a minimum. */
  readonly atLeast?: true
}

const CORE: readonly Line[] = [
  { figure: 'runsPerSecond', title: 'runs one after another', unit: '/s', limit: 1_000, atLeast: true },
  { figure: 'atOnce', title: '1,000 at once, as part of that rate', unit: '', limit: 0.8, atLeast: true },
  { figure: 'bareAtOnce', title: 'the same of 50 bare yields', unit: '' },
  { figure: 'heldKiB', title: 'heap per run, 10,000 held open', unit: 'KiB', limit: 40 },
  { figure: 'growthMb', title: 'heap growth after 10,000 runs', unit: 'MB', limit: 5 },
  { figure: 'bundleKb', title: 'core, bundled, minified, gzipped', unit: 'kB', limit: 25 },
  { figure: 'agentKb', title: 'only createAgent and tool', unit: 'kB', limit: 25 },
  { figure: 'importMs', title: 'import of core', unit: 'ms', limit: 40 },
  { figure: 'importOfAi', title: 'as part of the import of `ai`', unit: '', limit: 0.52 },
]

const SPANS: readonly Line[] = [
  { figure: 'untracedSpanUs', title: 'per span, no SDK', unit: 'µs', limit: 1 },
  { figure: 'untracedDeltaUs', title: 'per delta and layer, no SDK', unit: 'µs', limit: 0.05 },
  { figure: 'spanUs', title: 'per span, batch processor', unit: 'µs', limit: 8 },
  { figure: 'sdkSpanUs', title: 'of that the SDK by itself', unit: 'µs' },
  { figure: 'deltaUs', title: 'per delta and layer, with an SDK', unit: 'µs', limit: 0.5 },
]

/** The titles of the limits that were missed. */
export function missed(figures: Figures): readonly string[] {
  return [...CORE, ...SPANS].filter((line) => !isMet(line, figures)).map(({ title }) => title)
}

export function overheadTable(figures: Figures): string {
  const { spansPerRun, without } = figures
  const run = `a run of ${spansPerRun} spans: ${precise(without.median)} (${precise(without.low)} to ${precise(without.high)}) µs without an SDK`
  return [
    ...block('Overhead of core', '2 steps, 1 tool, 50 deltas, in process, no OpenTelemetry SDK', CORE, figures),
    ...block('Overhead of spans, in CPU time', `${run}; medians, and where half of the rounds are`, SPANS, figures),
    styleText('dim', '   ✓ within the limit, ✗ not; a busy machine misses more of them'),
    '',
  ].join('\n')
}

function block(title: string, about: string, lines: readonly Line[], figures: Figures): readonly string[] {
  const written = lines.map((line) => {
    const figure = figures[line.figure]
    const value = precise(medianOf(figure)).padStart(8)
    const spread =
      typeof figure === 'number' ? '' : styleText('dim', `  ${precise(figure.low)} to ${precise(figure.high)}`)
    const title = line.limit === undefined ? `  ${line.title}` : line.title
    return `   ${title.padEnd(34)}${value} ${line.unit.padEnd(4)}${barOf(line, figures)}${spread}`.trimEnd()
  })
  return ['', styleText('bold', title), `   ${styleText('dim', about)}`, ...written, '']
}

function barOf(line: Line, figures: Figures): string {
  if (line.limit === undefined) return ' '.repeat(10)
  const limit = `${line.atLeast ? '≥' : '≤'} ${precise(line.limit)}`
  return `${styleText('dim', limit.padEnd(9))}${isMet(line, figures) ? styleText('green', '✓') : styleText('red', '✗')}`
}

/** A row without a limit is always met. */
function isMet({ figure, limit, atLeast }: Line, figures: Figures): boolean {
  if (limit === undefined) return true
  const value = medianOf(figures[figure])
  return atLeast ? value >= limit : value <= limit
}

function medianOf(figure: number | Spread): number {
  return typeof figure === 'number' ? figure : figure.median
}
