/** The notes below the figures of drop-ins. */

import { CPU_ROUNDS, CPU_RUNS } from './cpu.ts'
import { LIBRARY_TITLES } from './loops.ts'
import type { DropIns } from './measure-drop-ins.ts'
import { OWN_TIME_LIMIT } from './rows.ts'

export function dropInNotes({ libraries, rows, ownTimes, cpu }: DropIns): readonly string[] {
  const versions = libraries.flatMap(({ name, version }) =>
    version === undefined ? [] : [`${LIBRARY_TITLES[name]} ${version}`],
  )
  return [
    `Measured with ${new Intl.ListFormat('en').format(versions)}, each in a separate process. Every tool is declared read.`,
    'resilient(): the plain loop is streamText as it is, and in the place of eager() there is resilient([model]).',
    "won back: the share of the plain loop's time beyond its bound that the eager loop saves.",
    'first tool: from the last argument byte of the first call, written by the server, to the start of its tool, plain → eager.',
    ...(rows.some(({ plain }) => plain === null)
      ? ['A loop that does not stream by itself is measured with alwaysStream only, because the server only streams.']
      : []),
    ...(ownTimes.some(({ isSlow }) => isSlow)
      ? [
          `* takes more than ${OWN_TIME_LIMIT} × the bound with tools of 0 ms: that is the loop’s own time, which no drop-in can save.`,
        ]
      : []),
    cpu.length > 0
      ? `CPU: user time of a new process that makes ${CPU_RUNS} runs as fast as it goes, with tools of 0 ms; medians of ${CPU_ROUNDS}. The processes take turns, run by run. There are two of each loop. itself: the second plain process over the first; eager: the eager loop over the plain one.`
      : `CPU time is measured from ${CPU_ROUNDS} runs on.`,
  ]
}

/** The reasons why something was not measured. */
export function problemsOf({ libraries, cpuFailed }: DropIns): readonly string[] {
  return [
    ...libraries.flatMap(({ name, problem }) =>
      problem === undefined ? [] : [`${LIBRARY_TITLES[name]}: not measured: ${problem}`],
    ),
    ...cpuFailed.map((text) => `CPU time of ${text}`),
  ]
}
