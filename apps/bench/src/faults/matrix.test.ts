import type { Effect } from '@meanwhile/core'
import { sized } from '@meanwhile/tests/size'
import { beforeAll, expect, test } from 'vitest'
import { forbiddenOf } from './judge.ts'
import { EFFECTS, type FaultCell, faultMatrix, type Rule, sumOfCells } from './matrix.ts'
import { VARIANTS } from './response.ts'
import { FAULTS } from './scripts.ts'

let cells: readonly FaultCell[] = []
beforeAll(async () => {
  const variants = VARIANTS.slice(0, sized({ small: 1, middle: 1, whole: 3 }))
  cells = await faultMatrix({ variants, step: sized({ small: 8, middle: 4, whole: 1 }) })
}, 300_000)

const BREAKS = ['error', 'cut off', 'length', 'content filter', 'refusal', 'abort', 'cancel and resume'].map(
  (what) => `${what}, at every delta`,
)
const HANGS = 'the tool hangs, abort at every delta'

/** The cells in which a rule executes something wrongly: the fault, and the effects. */
function faultsOf(rule: Rule): Record<string, readonly Effect[]> {
  const bad = cells.filter(({ rules }) => forbiddenOf(rules[rule]) > 0)
  const faults = [...new Set(bad.map(({ fault }) => fault))]
  return Object.fromEntries(
    faults.map((fault) => [fault, bad.filter((cell) => cell.fault === fault).map(({ effect }) => effect)]),
  )
}

function each(faults: readonly string[], effects: readonly Effect[]): Record<string, readonly Effect[]> {
  return Object.fromEntries(faults.map((fault) => [fault, effects]))
}

test('eager tools make no wrong, extra, repeated or missing call, and undo none that was accepted, whatever fault occurs at whatever point (P4, P5, P6, H16, H18, H21, H22, H24, W4, W46)', () => {
  expect(cells).toHaveLength(FAULTS.length * EFFECTS.length)
  expect(faultsOf('ours')).toEqual({})
})

test('calls of eager tools start early under faults, except those of external tools (H2)', () => {
  const early = (effect: Effect) => sumOfCells(cells.filter((cell) => cell.effect === effect)).rules.ours.early
  expect(EFFECTS.map((effect) => early(effect) > 0)).toEqual([true, true, true, false, true])
})

test('starting on valid JSON and adopting by id runs calls of broken responses, with arguments that change later, with what a schema fills in too early, and again after a retry', () => {
  expect(faultsOf('valid-json')).toEqual({
    ...each([...BREAKS, 'retry asks something else', 'failover asks something else'], EFFECTS.slice(1)),
    ...each(['more after the arguments', 'afterModel takes the call out'], EFFECTS.slice(1)),
    ...each(['afterModel leaves the call twice'], EFFECTS.slice(1)),
    ...each(['arguments changed at the end', 'placeholder, then the arguments', 'afterModel edits the call'], EFFECTS),
    ...each(['arguments changed, calls another', 'afterModel edits, calls another'], EFFECTS),
    ...each([HANGS], ['idempotent', 'reversible', 'external']),
    ...each(['a schema that differs'], EFFECTS.slice(1)),
    ...each(['the tool asks'], EFFECTS),
    ...each(['retry asks the same', 'failover asks the same', 'a schema that differs, retry'], EFFECTS),
  })
})

test('starting at the tool-call part runs calls of responses that are not accepted, whatever the effect, with what a schema fills in too early, and again after a retry', () => {
  expect(faultsOf('tool-call-part')).toEqual({
    ...each([...BREAKS, 'retry asks something else', 'failover asks something else'], ['external', 'calls']),
    ...each(['afterModel takes the call out', 'afterModel leaves the call twice'], ['external', 'calls']),
    ...each([HANGS], ['external']),
    ...each(['afterModel edits, calls another', 'the tool asks'], EFFECTS),
    ...each(['a schema that differs'], EFFECTS.slice(1)),
    ...each(['afterModel edits the call', 'retry asks the same', 'failover asks the same'], EFFECTS),
    ...each(['a schema that differs, retry'], EFFECTS),
  })
})

test('without a fault all rules execute the same calls', () => {
  const sound = cells.filter(({ fault }) => ['no fault', 'the same call twice'].includes(fault))
  expect(sound).toHaveLength(2 * EFFECTS.length)
  for (const { rules } of sound) expect(Object.values(rules).map(forbiddenOf)).toEqual([0, 0, 0])
})
