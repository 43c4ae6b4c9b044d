/** What the list of runs shows of a run. */

import { layoutOf, mostSaved } from '../geometry/views.ts'
import type { Dialect, Run, RunState, Usage } from '../model/run.ts'

/** One bar of the small picture: what it is, and from where to where in thousandths of the run. */
export type Spark = readonly [kind: 'response' | 'early' | 'late' | 'discarded', from: number, to: number]

export interface Summary {
  readonly key: string
  readonly dialect: Dialect
  readonly agent?: string
  readonly service: string
  readonly model?: string
  readonly conversation?: string
  readonly title?: string
  readonly state: RunState
  readonly start: number
  readonly end?: number
  readonly steps: number
  readonly calls: number
  readonly usage: Usage
  readonly errors: number
  /** What early tools saved, in milliseconds: as the run measured it, or by the times of its calls. */
  readonly saved?: number
  /** What early tools could save at most, in milliseconds, in a run that has none. */
  readonly upTo?: number
  readonly continues?: string
  readonly spark: readonly Spark[]
}

export function summaryOf(run: Run, now: number): Summary {
  const { key, dialect, service, state, start, usage, calls, errors, steps } = run
  const isRunning = state === 'running'
  const upTo = isRunning ? undefined : mostSaved(run, now)
  const saved = run.saved ?? (run.early && !isRunning ? layoutOf(run, 'after', now).difference : undefined)
  return {
    key,
    dialect,
    service,
    state,
    start,
    usage,
    calls,
    errors,
    ...(run.agent !== undefined && { agent: run.agent }),
    ...(run.model !== undefined && { model: run.model }),
    ...(run.conversation !== undefined && { conversation: run.conversation }),
    ...(run.title !== undefined && { title: run.title }),
    ...(run.end !== undefined && { end: run.end }),
    ...(saved !== undefined && { saved }),
    ...(run.continues !== undefined && { continues: run.continues }),
    ...(upTo !== undefined && { upTo }),
    steps: steps.length,
    spark: sparkOf(run, now),
  }
}

const MOST_BARS = 60

function sparkOf(run: Run, now: number): readonly Spark[] {
  const until = run.end ?? now
  const scale = 1_000 / Math.max(1, until - run.start)
  const at = (time: number) => Math.max(0, Math.min(1_000, Math.round((time - run.start) * scale)))
  const bars: Spark[] = []
  for (const { responses, calls } of run.steps) {
    if (bars.length >= MOST_BARS) break
    for (const { start, end = until } of responses) bars.push(['response', at(start), at(end)])
    for (const { start, end = until, fate, early } of calls) {
      bars.push([fate === 'discarded' ? 'discarded' : early ? 'early' : 'late', at(start), at(end)])
    }
  }
  return bars.slice(0, MOST_BARS)
}
