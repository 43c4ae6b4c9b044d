/** The same runs without an SDK and with one, by turns. */

import { cpuOf, spreadOf } from './cpu.ts'
import { startSdk } from './sdk.ts'
import { manySpans } from './subjects.ts'
import type { Spread } from './table.ts'

export interface Pairs {
  readonly spansPerRun: number
  /** Microseconds of CPU per run: without an SDK, and what one adds. */
  readonly without: Spread
  readonly more: Spread
}

/** Many short rounds, each with both, and the first in one is the second in the next: a busy second of the machine hits them alike. */
export async function pairs({ rounds = 20, runs = 40, warmUps = 20 } = {}): Promise<Pairs> {
  const subject = manySpans()
  const { tracerProvider, inContexts, shutdown } = startSdk()
  const traced = async () => (await cpuOf(() => inContexts(() => subject.runs(runs, tracerProvider)))) / runs
  const untraced = async () => (await cpuOf(() => subject.runs(runs))) / runs
  for (let round = 0; round < warmUps; round++) {
    await traced()
    await untraced()
  }
  const without: number[] = []
  const more: number[] = []
  for (let round = 0; round < rounds; round++) {
    const first = await (round % 2 === 0 ? traced() : untraced())
    const second = await (round % 2 === 0 ? untraced() : traced())
    const [withSdk, withNone] = round % 2 === 0 ? [first, second] : [second, first]
    without.push(withNone)
    more.push(withSdk - withNone)
  }
  const exported = await shutdown()
  const made = (rounds + warmUps) * runs * subject.spans
  if (exported !== made) throw new Error(`${exported} of ${made} spans were exported`)
  return { spansPerRun: subject.spans, without: spreadOf(without), more: spreadOf(more) }
}
