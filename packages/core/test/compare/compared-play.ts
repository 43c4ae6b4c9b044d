/** A play with one scenario for each seed. */

import fc from 'fast-check'
import type { StandingClock } from '../standing-clock.ts'

export interface ComparedPlay {
  scenario(seed: number): unknown
  /** What can be observed of it, as JSON. */
  trace(seed: number, clock: StandingClock): Promise<string>
}

/** Scenarios are made by the thousand: small ones come first, as in a search. */
const BLOCK = 1_000

export function comparedPlay<Scenario>(
  scenarios: fc.Arbitrary<Scenario>,
  trace: (scenario: Scenario, clock: StandingClock) => Promise<string>,
): ComparedPlay {
  let block: { readonly number: number; readonly scenarios: readonly Scenario[] } | undefined
  const scenario = (seed: number): Scenario => {
    const number = Math.floor(seed / BLOCK)
    if (block?.number !== number)
      block = { number, scenarios: fc.sample(scenarios, { seed: number + 1, numRuns: BLOCK }) }
    return block.scenarios[seed % BLOCK] as Scenario
  }
  return { scenario, trace: (seed, clock) => trace(scenario(seed), clock) }
}
