/** Finds the tests that fail with the drop-in and pass without it. */

import type { Allowed } from './allowed.ts'

/** The outcomes of the tests of one run, by file and full name. Tests that did not run are missing. */
export interface Outcomes {
  readonly tests: ReadonlyMap<string, Outcome>
  /** How often the drop-in was of use: calls that started early, or models that were wrapped; 0 without it. */
  readonly uses: number
  /** The warnings of the drop-in, each once. */
  readonly warnings: readonly string[]
}

export interface Outcome {
  readonly passed: boolean
  /** The first line of the error. */
  readonly reason?: string
}

export interface Failure {
  readonly test: string
  readonly reason: string
}

export interface Comparison {
  /** How many tests ran unchanged, and how many of them passed. */
  readonly ran: number
  readonly passed: number
  /** How many of these also pass with the drop-in. */
  readonly stillPass: number
  readonly uses: number
  readonly warnings: readonly string[]
  /** Tests that fail only with the drop-in: allowed ones, each with the reason, and others, each with its error. */
  readonly allowed: readonly Failure[]
  readonly forbidden: readonly Failure[]
}

export function compared(plain: Outcomes, added: Outcomes, list: readonly Allowed[]): Comparison {
  const passing = [...plain.tests].filter(([, { passed }]) => passed).map(([test]) => test)
  const allowed: Failure[] = []
  const forbidden: Failure[] = []
  for (const test of passing) {
    const outcome = added.tests.get(test)
    if (outcome?.passed) continue
    const entry = list.find((one) => test.endsWith(one.test))
    if (entry) allowed.push({ test, reason: entry.reason })
    else forbidden.push({ test, reason: outcome?.reason ?? 'it did not run' })
  }
  return {
    ran: plain.tests.size,
    passed: passing.length,
    stillPass: passing.length - allowed.length - forbidden.length,
    uses: added.uses,
    warnings: added.warnings,
    allowed,
    forbidden,
  }
}
