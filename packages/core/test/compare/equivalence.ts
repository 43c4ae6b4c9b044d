/** Compares runs with eagerTools with the same runs without. */

import type fc from 'fast-check'
import type { AgentEvent, AgentResult } from '../../src/index.ts'
import type { StandingClock } from '../standing-clock.ts'
import { comparedPlay } from './compared-play.ts'
import { type Deed, traceOf } from './trace.ts'

/** The trials of eager-tools' tests. Core imports no other package, so it finds them by their path. */
interface Trials {
  readonly scenarios: fc.Arbitrary<object>
  trial(scenario: object, eager: boolean, clock: StandingClock): Promise<Trial>
}

interface Trial {
  readonly events: readonly AgentEvent[]
  readonly times: readonly number[]
  readonly result?: AgentResult
  readonly error?: unknown
  readonly executions: readonly Execution[]
  readonly inner: readonly { readonly tool: string; readonly key: string; readonly startedAt: number }[]
  readonly undone: readonly unknown[]
}

interface Execution {
  readonly tool: string
  readonly callId: string
  readonly startedAt: number
  readonly signal: AbortSignal
  /** Indexes in the order of all calls. */
  readonly started: number
  readonly ended: number
}

const PLACE = '../../../eager-tools/test/'
const { scenarios }: Trials = await import(new URL(`${PLACE}scenario.ts`, import.meta.url).href)
const { trial }: Trials = await import(new URL(`${PLACE}trial.ts`, import.meta.url).href)

export const play = comparedPlay(scenarios, (scenario, clock) => {
  const deeds: TimedDeed[] = []
  return traceOf(trials(scenario, clock, deeds), deeds)
})

type TimedDeed = Deed & { readonly at: number }

async function* trials(scenario: object, clock: StandingClock, deeds: TimedDeed[]) {
  let before = 0
  for (const eager of [true, false]) {
    const tried = await trial(scenario, eager, clock)
    deeds.push(...deedsOf(tried, before))
    before = performance.now() + 1
    yield tried
  }
}

/** In the order of time; what has no time comes last. `before`: everything without a time is later than this. */
function deedsOf({ executions, inner, undone }: Trial, before: number): readonly TimedDeed[] {
  const made: TimedDeed[] = executions.map(({ started: _, ended: __, signal, ...execution }) => ({
    at: execution.startedAt,
    did: `${execution.tool} starts`,
    callId: execution.callId,
    about: { ...execution, isAborted: signal.aborted },
  }))
  const called = inner.map((one) => ({ at: one.startedAt, did: `${one.tool} starts`, callId: one.key, about: one }))
  const end = Math.max(before, performance.now())
  const undid: TimedDeed[] = undone.map((input) => ({
    at: end,
    did: 'is undone',
    callId: JSON.stringify(input),
    about: input,
  }))
  return [...[...made, ...called].toSorted((a, b) => a.at - b.at), ...undid]
}
