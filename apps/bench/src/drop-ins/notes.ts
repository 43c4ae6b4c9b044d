/** What a reader has to know of the figures of drop-ins. */

import { CPU_ROUNDS, CPU_RUNS } from './cpu.ts'
import { LIBRARY_TITLES } from './loops.ts'
import type { DropIns } from './measure-drop-ins.ts'
import { OWN_TIME_LIMIT } from './rows.ts'

export function dropInNotes({ libraries, rows, ownTimes, cpu }: DropIns): readonly string[] {
  const versions = libraries.flatMap(({ name, version }) =>
    version === undefined ? [] : [`${LIBRARY_TITLES[name]} ${version}`],
  )
  return [
    `Measured with ${new Intl.ListFormat('en').format(versions)}, each in a process of its own. Every tool is declared read.`,
    'won back: of the time that the loop as it is takes beyond its bound, the part that the eager loop does not take.',
    'first tool: the last argument byte of the first call written by the server → its tool entered, as it is → eager.',
    ...(rows.some(({ plain }) => plain === null)
      ? ['A loop that asks for no stream by itself is measured with alwaysStream only: the server only streams.']
      : []),
    ...(ownTimes.some(({ isSlow }) => isSlow)
      ? [
          `* takes more than ${OWN_TIME_LIMIT} × the bound with tools of 0 ms: that time is the loop’s own, and no drop-in wins it back.`,
        ]
      : []),
    cpu.length > 0
      ? `CPU: user time of a new process that makes ${CPU_RUNS} runs as fast as it goes, with tools of 0 ms; medians of ${CPU_ROUNDS}. itself: the plain loop in a second process, over the first; eager: the eager loop over the plain one.`
      : `CPU time is measured from ${CPU_ROUNDS} runs on.`,
  ]
}

/** Why something was not measured. */
export function problemsOf({ libraries, cpuFailed }: DropIns): readonly string[] {
  return [
    ...libraries.flatMap(({ name, problem }) =>
      problem === undefined ? [] : [`${LIBRARY_TITLES[name]}: not measured: ${problem}`],
    ),
    ...cpuFailed.map((text) => `CPU time of ${text}`),
  ]
}
