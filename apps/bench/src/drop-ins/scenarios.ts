/** Additional scenarios for drop-ins: the same scripts with tools that take no time. */

import type { Scenario } from '../scenario.ts'
import { SCENARIOS } from '../scenarios.ts'

/** Shows the time of the loop itself: a drop-in can save nothing here. */
export const OWN_TIME: Scenario = {
  ...withInstantTools(SCENARIOS.f),
  id: 'f-0ms',
  title: 'The calls of f, with tools of 0 ms',
  shape: '6 calls of 0 ms',
}

const { pace: _, ...unpaced } = withInstantTools(SCENARIOS.f)

/** The same without pauses: CPU time is what counts. */
export const OWN_CPU: Scenario = {
  ...unpaced,
  id: 'f-cpu',
  title: 'The calls of f, with tools of 0 ms, as fast as it goes',
  shape: '6 calls of 0 ms, as fast as it goes',
  timing: 'at-once',
}

export function withInstantTools(scenario: Scenario): Scenario {
  return { ...scenario, turns: scenario.turns.map((calls) => calls.map((call) => ({ ...call, toolMs: 0 }))) }
}
