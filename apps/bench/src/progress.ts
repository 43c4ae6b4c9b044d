/** Shows a progress bar on a terminal, and nothing elsewhere. */

import { SingleBar } from 'cli-progress'
import type { Subject } from './contestant.ts'
import { expectedMs } from './expected.ts'
import type { Job } from './run-plan.ts'
import { LANES, type Made, type RunnerOptions, runPlan } from './runner.ts'

export interface Progress {
  made(subject: Subject): void
  stop(): void
}

/** Makes the runs of a plan, and shows their progress. */
export async function shownRuns(plan: readonly Job[], options: RunnerOptions): Promise<readonly Made[]> {
  const progress = progressOf(plan)
  try {
    return await runPlan(plan, { ...options, onMade: (run) => progress.made(run) })
  } finally {
    progress.stop()
  }
}

export function progressOf(plan: readonly Subject[], stream: NodeJS.WriteStream = process.stderr): Progress {
  const bar = progressBar('{made} of {runs} runs, {left} left · {what}', stream)
  let left = plan.reduce((sum, subject) => sum + expectedMs(subject), 0)
  let made = 0
  const payload = (what: string) => ({
    made,
    runs: plan.length,
    what,
    left: `${Math.round(left / LANES / 1000)} s`,
  })
  // Without a terminal the bar writes nothing by itself.
  bar.start(left, 0, payload('warming up'))
  return {
    made(subject) {
      const took = expectedMs(subject)
      made++
      left -= took
      bar.increment(took, payload(`${subject.scenario.id} ${subject.wire} ${subject.mode}`))
    },
    stop: () => bar.stop(),
  }
}

/** Shows a bar while `work` runs, which calls `onPart` before each of its parts. In the format `{what}` is the name of the part. */
export async function shownParts<Result>(
  format: string,
  { parts, before = '' }: { readonly parts: number; readonly before?: string },
  work: (onPart: (what?: string) => void) => Promise<Result>,
): Promise<Result> {
  const bar = progressBar(format)
  bar.start(parts, 0, { what: before })
  try {
    return await work((what = '') => bar.increment({ what }))
  } finally {
    bar.stop()
  }
}

/** `format` is the text after the bar. */
function progressBar(format: string, stream: NodeJS.WriteStream = process.stderr): SingleBar {
  return new SingleBar({
    stream,
    format: `  {bar} ${format}`,
    barCompleteChar: '━',
    barIncompleteChar: '─',
    barsize: 30,
    hideCursor: true,
    // Drawing takes time from the measurement.
    fps: 4,
    clearOnComplete: true,
    stopOnComplete: false,
  })
}
