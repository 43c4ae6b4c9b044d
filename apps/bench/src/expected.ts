/** The theoretical minimum time of a run: for the progress bar, and for the time limit of a run. */

import { beats } from '@meanwhile/assemble/testing'
import type { ScriptedReply } from '@meanwhile/harness/server'
import type { Subject } from './contestant.ts'
import { startsEarly } from './modes.ts'
import { mayStartEarly, type Scenario, type ScenarioCall } from './scenario.ts'

/** In milliseconds. */
export function expectedMs({ scenario, mode }: Pick<Subject, 'scenario' | 'mode'>): number {
  if (scenario.timing === 'at-once') return AT_ONCE_MS
  if (scenario.timing === 'live') return LIVE_MS
  return scenario.script.reduce((sum, reply, index) => sum + turnMs(reply, scenario, index, mode), 0)
}

/** A guess. */
const AT_ONCE_MS = 300
const LIVE_MS = 5_000

function turnMs(reply: ScriptedReply, scenario: Scenario, index: number, mode: Subject['mode']): number {
  const { end, ready } = timesOf(reply, scenario)
  const calls = scenario.turns[index] ?? []
  const durations = calls.map(({ toolMs }) => toolMs)
  if (mode === 'sequential') return end + durations.reduce((sum, ms) => sum + ms, 0)
  if (!startsEarly(mode)) return end + Math.max(0, ...durations)
  const early = mayStartEarly(scenario, calls)
  return Math.max(end, ...calls.map((call, at) => (early[at] ? ready(call, at) : end) + call.toolMs))
}

interface Times {
  readonly end: number
  /** When the arguments of a call are complete. */
  ready(call: ScenarioCall, index: number): number
}

function timesOf(reply: ScriptedReply, { pace }: Scenario): Times {
  if ('raw' in reply) {
    const times = reply.raw.map(({ at = 0 }) => at)
    const end = times.at(-1) ?? 0
    return { end, ready: ({ lastWrite }) => (lastWrite === undefined ? end : (times[lastWrite] ?? end)) }
  }
  const schedule = 'steps' in reply ? beats(reply, pace) : []
  const end = schedule.at(-1)?.at ?? 0
  const ends = schedule.filter((beat) => beat.type === 'call-end').map(({ at }) => at)
  return { end, ready: (_, index) => ends[index] ?? end }
}
