/** The text of the table about loops of other libraries, for the console, the report and the page. */

import { forbiddenOf } from '../judge.ts'
import type { TriedLoops } from './try-loops.ts'

export const LOOPS_TITLE = 'Loops of other libraries, cut at every event'

export const LOOP_HEADS: readonly string[] = [
  'cuts',
  'repeated',
  'taken',
  'forbidden',
  'early',
  'doubled',
  'changed',
  'mixed',
  'orphans',
]

/** A figure, and whether it is one that should be 0 and is not. */
export interface LoopFigure {
  readonly text: string
  readonly isBad: boolean
}

export interface LoopRow {
  readonly title: string
  readonly figures: readonly LoopFigure[]
}

export function loopRows({ loops }: TriedLoops): readonly LoopRow[] {
  return loops.flatMap((tried) => {
    if ('problem' in tried) return []
    const { cuts, ended, taken, executions, doubled, changed, mixed, orphans } = tried.cell
    const good = [cuts, ended].map((count) => figure(count, false))
    const early = figure(executions.early, false)
    const [first, second, ...rest] = [taken, forbiddenOf(executions), doubled, changed, mixed, orphans].map((count) =>
      figure(count, count > 0),
    )
    return first && second ? [{ title: tried.title, figures: [...good, first, second, early, ...rest] }] : []
  })
}

/** Loops with our additions that do what they must not. */
export function brokenLoops(tried: TriedLoops): readonly string[] {
  return loopRows(tried).flatMap(({ title, figures }) =>
    /eager\(\)|resilient\(\)/.test(title) && figures.some(({ isBad }) => isBad) ? [title] : [],
  )
}

export function loopNotes({ versions, loops }: TriedLoops): readonly string[] {
  return [
    `A response with two calls of a tool that only reads (look) and one of a tool that sends something (send) breaks off, on three wires: after each of its events by a reset and by a quiet end, after each text and call by an error that the provider reports in the stream. The response to the repeated request says the same, or something else. ${versions.join(', ')}.`,
    'repeated: runs that asked again and ended with the answer; the other runs failed, but for those taken: they went on as if the broken response were whole.',
    'forbidden: executions that the calls of the repeated response do not explain; of a read only a second one with the same arguments, or one with arguments that no call had. early: executions that began before the request was repeated.',
    'In repeated runs: doubled: characters that a reader got again although the repeated response says the same. changed: runs of which something else is kept than without a fault, if it says the same. mixed: runs with text of the broken response after that of the repeated one. orphans: parts of a block that is not open or has no end, and calls without a result.',
    'streamRetries is the AI SDK’s own option, for errors that a provider reports: it says that text which was shown stays. LibreChat’s agents run with early tools, which are an option, and with a second model as fallback, which is another one.',
    ...loops.flatMap((tried) => ('problem' in tried ? [`${tried.title}: not tried: ${tried.problem}`] : [])),
  ]
}

function figure(count: number, isBad: boolean): LoopFigure {
  return { text: count.toLocaleString('en'), isBad }
}
