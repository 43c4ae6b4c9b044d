/** Makes the runs of a plan: paced ones two at a time, those whose CPU time counts alone. */

import { context } from '@opentelemetry/api'
import { suppressTracing } from '@opentelemetry/core'
import { measure, type Sample, type Subject } from './measure.ts'
import { MODES } from './modes.ts'
import { type Job, mayShare } from './run-plan.ts'
import { WARM_UP } from './scenarios.ts'
import type { Transport } from './transport.ts'

/** A run that was made: with what it took, or why it does not count. */
export interface Made extends Job {
  readonly sample?: Sample
  readonly failure?: string
  /** How many runs before it were thrown away because the server wrote too late. */
  readonly repeated: number
}

export interface RunnerOptions {
  readonly transport: Transport
  readonly signal: AbortSignal
  /** Told of every run when it is over. */
  readonly onMade?: (made: Made) => void
}

/** Paced runs at a time, at the most. */
export const LANES = 2

/** A paced run is repeated if one of the server's writes came later than this, in milliseconds. */
export const LATE = 5

/** Twice at the most, and over the whole plan no more than one run in twenty: a busy machine must not double the time. */
const REPEATS = 2
const REPEAT_SHARE = 0.05

/** Rejects with the signal's reason when it aborts; a run that fails is noted, not thrown. */
export async function runPlan(plan: readonly Job[], options: RunnerOptions): Promise<readonly Made[]> {
  await warmUp(plan, options)
  const repeats = { left: Math.ceil(plan.length * REPEAT_SHARE) }
  const shared = plan.filter(({ scenario }) => mayShare(scenario))
  const alone = plan.filter(({ scenario }) => !mayShare(scenario))
  const made = await inLanes(shared, LANES, (job) => make(job, repeats, options))
  return [...made, ...(await inLanes(alone, 1, (job) => make(job, repeats, options)))]
}

/** Every wire once in every mode: connections open, code compiled. */
async function warmUp(plan: readonly Job[], { transport, signal }: RunnerOptions): Promise<void> {
  for (const wire of new Set(plan.map((job) => job.wire))) {
    for (const mode of MODES) {
      const job = { scenario: WARM_UP, wire, mode }
      // What fails here fails in the runs, and is told there; its spans would stand beside theirs.
      await context.with(suppressTracing(context.active()), () => attempt(job, transport, signal))
    }
  }
}

async function make(job: Job, repeats: { left: number }, { transport, signal, onMade }: RunnerOptions): Promise<Made> {
  let made: Made = { ...job, ...(await attempt(job, transport, signal)), repeated: 0 }
  while (isLate(made) && made.repeated < REPEATS && repeats.left > 0) {
    repeats.left--
    made = { ...job, ...(await attempt(job, transport, signal)), repeated: made.repeated + 1 }
  }
  onMade?.(made)
  return made
}

/** Whether the server fell behind its schedule: the run then says less about the client. */
export function isLate({ scenario, sample }: Pick<Made, 'scenario' | 'sample'>): boolean {
  return scenario.pace !== undefined && sample !== undefined && sample.latenessMs > LATE
}

async function attempt(
  subject: Subject,
  transport: Transport,
  signal: AbortSignal,
): Promise<{ readonly sample: Sample } | { readonly failure: string }> {
  try {
    return { sample: await measure(subject, transport, signal) }
  } catch (error) {
    signal.throwIfAborted()
    return { failure: error instanceof Error ? error.message : String(error) }
  }
}

/** Results come in the order of the items, whatever the order of finishing. */
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
  await Promise.all(Array.from({ length: lanes }, lane))
  return results
}
