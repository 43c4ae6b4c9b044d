import { setImmediate as turn } from 'node:timers/promises'
import type { Effect } from '@meanwhile/core'
import { eagerTools } from '@meanwhile/eager-tools'
import { guard } from '@meanwhile/middleware'
import { byTurns, sized } from '@meanwhile/tests/size'
import { expect, test } from 'vitest'
import { forbiddenOf, judge } from './judge.ts'
import { EFFECTS } from './matrix.ts'
import { VARIANTS } from './response.ts'
import { FAULTS, type Script } from './scripts.ts'
import { trial } from './trial.ts'

/** A guard whose check has this verdict after this many turns of the event loop. */
const guarded = (pass: boolean, turns: number) =>
  guard({
    name: 'checked',
    input: async () => {
      for (let left = turns; left > 0; left--) await turn()
      return { pass }
    },
  })

interface Case {
  readonly fault: string
  readonly effect: Effect
  readonly script: Script
  readonly turns: number
}

/** Of the points of a fault the one in the middle, and every so many before and after it. The matrix always has the last one. */
const STEP = sized({ small: 8, middle: 4, whole: 1 })

const SCRIPTS = VARIANTS.slice(0, sized({ small: 1, middle: 1, whole: 3 })).flatMap((variant) =>
  FAULTS.flatMap(({ title, scripts }) =>
    scripts(variant)
      .filter((_, place, { length }) => (place - (length >> 1)) % STEP === 0)
      .map((script) => ({ fault: title, script, turns: variant.turns })),
  ),
)

/** Each fault at some of its points, with tools of one effect, by turns; in whole runs at all, with tools of each. The matrix, without a guard, has each effect. */
const CASES: readonly Case[] = SCRIPTS.flatMap((one, place) =>
  byTurns(EFFECTS, { small: 1, middle: 1, whole: EFFECTS.length }, place).map((effect) => ({ ...one, effect })),
)

/** For how many turns of the event loop a check goes on. */
const CHECKS = [0, 8, 40]

test('with a guard that passes, eager tools make no forbidden call, whatever fault occurs at whatever point (GD3, GD4, GD11)', async () => {
  const bad = new Set<string>()
  for (const { fault, effect, script, turns } of CASES) {
    const waiting = await trial(script, { effect, turns })
    const eager = await trial(script, { effect, turns, outermost: guarded(true, 8) }, eagerTools())
    if (forbiddenOf(judge(eager, waiting)) > 0) bad.add(`${fault}: ${effect}`)
  }
  expect([...bad]).toEqual([])
}, 600_000)

test('with a guard that fails, nothing above read runs, whatever fault occurs at whatever point (GD3, GD4, GD6)', async () => {
  const ran = new Set<string>()
  for (const [place, { fault, effect, script, turns }] of CASES.entries())
    for (const checking of byTurns(CHECKS, { small: 1, middle: 1, whole: 3 }, place)) {
      const { executions } = await trial(script, { effect, turns, outermost: guarded(false, checking) }, eagerTools())
      for (const one of executions) if (one.effect !== 'read') ran.add(`${fault}: ${one.effect}, ${checking}`)
    }
  expect([...ran]).toEqual([])
}, 600_000)
