/**
 * Measures the share of telemetry in a run with a sampling profiler. Without an SDK a comparison is impossible, because core makes its
 * calls anyway; and the difference that an SDK makes is smaller than the noise between two runs on a busy machine.
 */

import { Session } from 'node:inspector/promises'
import { median } from '../stats.ts'
import { cpuOf, spreadOf } from './cpu.ts'
import { type Frame, partOf } from './profile.ts'
import { startSdk } from './sdk.ts'
import { manyDeltas, manySpans, type Subject } from './subjects.ts'
import type { Spread } from './table.ts'

export interface ShareOptions {
  readonly sdk: boolean
  readonly rounds?: number
  /** Runs with many spans in each round; a fifth as many with many deltas. */
  readonly runs?: number
  /**
   * Rounds before the first that counts. In a new process a span costs three times as much as later: V8 compiles
   * hot code little by little.
   */
  readonly warmUps?: number
}

/** Microseconds of CPU. */
export interface Shares {
  readonly perSpan: Spread
  /** For each layer that a delta passes. */
  readonly perDelta: Spread
}

export async function shares({ sdk, rounds = 7, runs = 100, warmUps = 25 }: ShareOptions): Promise<Shares> {
  const spans = manySpans()
  const perSpan = (await shareOf(spans, { sdk, rounds, runs, warmUps })).map((us) => us / spans.spans)
  const deltas = manyDeltas()
  const ofSpans = deltas.spans * (median(perSpan) ?? Number.NaN)
  const perDelta = (await shareOf(deltas, { sdk, rounds, runs: Math.ceil(runs / 5), warmUps })).map(
    (us) => (us - ofSpans) / (deltas.deltas * deltas.layers),
  )
  return { perSpan: spreadOf(perSpan), perDelta: spreadOf(perDelta) }
}

/** Microseconds of each run, in each round: telemetry's share by the profile, of the time without the profiler. */
async function shareOf(
  subject: Subject,
  { sdk, rounds, runs, warmUps }: Required<ShareOptions>,
): Promise<readonly number[]> {
  const { tracerProvider, inContexts, shutdown } = startSdk()
  const work = () => (sdk ? inContexts(() => subject.runs(runs, tracerProvider)) : subject.runs(runs))
  for (let round = 0; round < warmUps; round++) await work()
  const costs: number[] = []
  for (let round = 0; round < rounds; round++) {
    const cpu = (await cpuOf(work)) / runs
    costs.push(cpu * (await profiled(work)))
  }
  await shutdown()
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

/** API, SDK, and all of core's telemetry except the flows with layers: those close, blame and end, and would run anyway. */
function isTelemetry({ url }: Frame): boolean {
  if (url.includes('/@opentelemetry/')) return true
  return /\/telemetry\/|\/(?:run|attempt)-span\.ts|\/call-spans\.ts/.test(url) && !url.endsWith('/traced.ts')
}
