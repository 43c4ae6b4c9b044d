/**
 * What spans cost without an SDK. There is nothing to compare such a run with, as core makes its calls in any case: a sampling
 * profiler says what part of a run they are.
 */

import { Session } from 'node:inspector/promises'
import { median } from '../stats.ts'
import { cpuOf, spreadOf } from './cpu.ts'
import { type Frame, partOf } from './profile.ts'
import { manyDeltas, manySpans, type Subject } from './subjects.ts'
import type { Figures } from './table.ts'

export interface UntracedOptions {
  readonly rounds?: number
  /** Of the run with many spans, in each round; a tenth of them of the one with many deltas. */
  readonly runs?: number
}

export async function untraced({
  rounds = 7,
  runs = 600,
}: UntracedOptions = {}): Promise<Pick<Figures, 'untracedSpanUs' | 'untracedDeltaUs'>> {
  const spans = manySpans()
  const spanCosts = (await telemetryOf(spans, rounds, runs)).map((us) => us / spans.spans)
  const deltas = manyDeltas()
  const ofSpans = deltas.spans * (median(spanCosts) ?? Number.NaN)
  const deltaCosts = (await telemetryOf(deltas, rounds, Math.ceil(runs / 10))).map(
    (us) => Math.max(0, us - ofSpans) / (deltas.deltas * deltas.layers),
  )
  return { untracedSpanUs: spreadOf(spanCosts), untracedDeltaUs: spreadOf(deltaCosts) }
}

/** Microseconds of each run that are telemetry's, in each round: its part by the profile, of the time without the profiler. */
async function telemetryOf(subject: Subject, rounds: number, runs: number): Promise<readonly number[]> {
  await subject.runs(runs)
  const costs: number[] = []
  for (let round = 0; round < rounds; round++) {
    const cpu = (await cpuOf(() => subject.runs(runs))) / runs
    costs.push(cpu * (await profiled(() => subject.runs(runs))))
  }
  return costs
}

async function profiled(work: () => Promise<void>): Promise<number> {
  const session = new Session()
  session.connect()
  try {
    await session.post('Profiler.enable')
    await session.post('Profiler.setSamplingInterval', { interval: 200 })
    await session.post('Profiler.start')
    await work()
    const { profile } = await session.post('Profiler.stop')
    return partOf(profile, isTelemetry)
  } finally {
    session.disconnect()
  }
}

/** All of core's telemetry, and the API, but for the flows with layers: those close, blame and end, and would be there in any case. */
function isTelemetry({ url }: Frame): boolean {
  if (url.includes('/@opentelemetry/')) return true
  return url.includes('/telemetry/') && !url.endsWith('/traced.ts')
}
