/** Makes the runs of a plan: paced ones two at a time, and one at a time where CPU time counts. */

import { messageOf } from '@meanwhile/core'
import { context } from '@opentelemetry/api'
import { suppressTracing } from '@opentelemetry/core'
import type { Subject } from './contestant.ts'
import { loopRun } from './drop-ins/loops.ts'
import { MODES } from './modes.ts'
import { type Job, mayShare } from './run-plan.ts'
import type { Sample } from './sample.ts'
import { WARM_UP } from './scenarios.ts'

/** A finished run: its measurements, or why it does not count. */
export interface Made extends Job {
  readonly sample?: Sample
  readonly failure?: string
  /** How many runs before it were dropped because the server wrote too late. */
  readonly repeated: number
}

export interface RunnerOptions {
  /** Makes one run. Rejects if it does not count. */
  measure(subject: Subject, signal: AbortSignal): Promise<Sample>
  /** Runs before all others, which are not reported. Default: {@link warmUpOf} the plan. */
  readonly warmUp?: readonly Subject[]
  readonly signal: AbortSignal
  /** Called after every run. */
  readonly onMade?: (made: Made) => void
}

/** The maximum number of paced runs at a time. */
export const LANES = 2

/** A paced run is repeated if one of the server's writes was later than this, in milliseconds. */
export const LATE = 5

/** At most twice, and at most one run in twenty over the whole plan: a busy machine must not double the time. */
const REPEATS = 2
const REPEAT_SHARE = 0.05

/** Rejects with the signal's reason when it aborts; a failed run is recorded, not thrown. */
export async function runPlan(plan: readonly Job[], options: RunnerOptions): Promise<readonly Made[]> {
  await warmUp(options.warmUp ?? warmUpOf(plan), options)
  const repeats = { left: Math.ceil(plan.length * REPEAT_SHARE) }
  const shared = plan.filter(isShared)
  const alone = plan.filter((job) => !isShared(job))
  const made = await inLanes(shared, LANES, (job) => make(job, repeats, options))
  return [...made, ...(await inLanes(alone, 1, (job) => make(job, repeats, options)))]
}

function isShared({ scenario, mode }: Job): boolean {
  return mayShare(scenario) && !loopRun(mode)?.loop.alone
}

/** Every wire once in every mode, and in every other way of the plan: connections open, code compiled. */
function warmUpOf(plan: readonly Job[]): readonly Subject[] {
  return [...new Set(plan.map(({ wire }) => wire))].flatMap((wire) => {
    const there = plan.filter((job) => job.wire === wire).map(({ mode }) => mode)
    return [...new Set([...MODES, ...there])].map((mode) => ({ scenario: WARM_UP, wire, mode }))
  })
}

async function warmUp(subjects: readonly Subject[], options: RunnerOptions): Promise<void> {
  for (const subject of subjects) {
    // A failure here also happens in the runs, and is reported there; its spans would mix with theirs.
    await context.with(suppressTracing(context.active()), () => attempt(subject, options))
  }
}

async function make(job: Job, repeats: { left: number }, options: RunnerOptions): Promise<Made> {
  let made: Made = { ...job, ...(await attempt(job, options)), repeated: 0 }
  while (isLate(made) && made.repeated < REPEATS && repeats.left > 0) {
    repeats.left--
    made = { ...job, ...(await attempt(job, options)), repeated: made.repeated + 1 }
  }
  options.onMade?.(made)
  return made
}

/** Whether the server fell behind its schedule: the run then says less about the client. */
export function isLate({ scenario, sample }: Pick<Made, 'scenario' | 'sample'>): boolean {
  return scenario.timing !== 'at-once' && sample !== undefined && sample.latenessMs > LATE
}

async function attempt(
  subject: Subject,
  { measure, signal }: RunnerOptions,
): Promise<{ readonly sample: Sample } | { readonly failure: string }> {
  try {
    return { sample: await measure(subject, signal) }
  } catch (error) {
    signal.throwIfAborted()
    return { failure: messageOf(error) }
  }
}

/**
 * Results have the order of the items, whatever the order in which they finish. If a lane rejects, this waits for the other lanes: what
 * they are doing, for example the spans of cancelled runs, has its end too.
 */
async function inLanes<Item, Result>(
  items: readonly Item[],
  lanes: number,
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = []
  const queue = items.entries()
  const lane = async (): Promise<void> => {
    for (const [index, item] of queue) results[index] = await work(item)
  }
  const ends = await Promise.allSettled(Array.from({ length: lanes }, lane))
  const failed = ends.find((end) => end.status === 'rejected')
  if (failed) throw failed.reason
  return results
}
