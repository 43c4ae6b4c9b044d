import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { NEW } from '../../test/new-call.ts'
import type { Invocation } from '../vocabulary/saved-run.ts'
import { type CallState, executionOf, hasKeys, hasSettled, hasSlot, nextInvocation, type Stage } from './call.ts'
import { keysOf } from './calls.ts'

import * as facts from './decide-call.ts'

const ASLEEP: CallState = { ...NEW, course: 'asleep' }

/** With an execution. */
const MADE: CallState = facts.executionWanted(NEW, { input: 'x', n: 0 })

const STAGES: readonly Stage[] = [
  'wanted',
  'checking',
  'judged',
  'storing',
  'entered',
  'threw',
  'left',
  'cut off',
  'ended',
  'abandoned',
]

const WRITES = { effect: 'external', keys: { reads: ['r'], writes: ['w'] }, mayBeEarly: false } as const

/** One fact, of whatever kind, as a function of the state. */
const which = fc.record({ input: fc.constantFrom('x', 'y'), n: fc.nat({ max: 1 }) })

const aFact: fc.Arbitrary<(call: CallState) => CallState> = fc.oneof(
  fc.constantFrom(facts.begun, facts.parked, facts.hidden),
  fc.constantFrom('result', 'cut off', 'open', 'none').map((end) => (call: CallState) => facts.settled(call, end)),
  fc.nat().map((now) => (call: CallState) => facts.committed(call, now, now)),
  fc.constant((call: CallState) => facts.discarded(call, 'call_withdrawn')),
  fc.constantFrom('interrupted', 'cancelled', undefined).map((how) => (call: CallState) => facts.kept(call, how)),
  fc.constantFrom('cancelled', 'stopped').map((why) => (call: CallState) => facts.aborted(call, why)),
  fc.constantFrom('theirs', 'begun', 'ended').map((undo) => (call: CallState) => facts.undoing(call, undo)),
  fc.constantFrom('open', 'ended', 'shown').map((what) => (call: CallState) => facts.told(call, what)),
  fc
    .constantFrom('x', 'y')
    .map((input) => (call: CallState) => facts.executionWanted(call, nextInvocation(call, input))),
  fc.tuple(which, fc.constantFrom(1, -1)).map(
    ([invocation, by]) =>
      (call: CallState) =>
        facts.attemptCounted(call, invocation, by),
  ),
  fc.tuple(which, fc.constantFrom(...STAGES)).map(
    ([invocation, stage]) =>
      (call: CallState) =>
        facts.movedTo(call, invocation, stage, stage === 'judged' ? WRITES : undefined),
  ),
  which.map((invocation) => (call: CallState) => facts.executionOver(call, invocation)),
)

/** The states that a call goes through. Each is frozen before the next fact. */
function states(first: CallState, all: readonly ((call: CallState) => CallState)[]): readonly CallState[] {
  let state = frozen(first)
  return [state, ...all.map((fact) => (state = frozen(fact(state))))]
}

function frozen<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  Object.values(value).forEach(frozen)
  return Object.freeze(value)
}

/** A call with one execution that has passed these stages. */
function at(...stages: readonly Stage[]): CallState {
  return stages.reduce(
    (call, stage) => facts.movedTo(call, { n: 0 }, stage, stage === 'judged' ? WRITES : undefined),
    facts.executionWanted(NEW, { n: 0 }),
  )
}

const only = (call: CallState) => call.executions.slice(0, 1)

describe('a call', () => {
  test('no fact, in any order, throws, changes the state that it receives, or adds a value that is not JSON (MA9, MA10)', () => {
    fc.assert(
      fc.property(fc.constantFrom(MADE, ASLEEP), fc.array(aFact, { maxLength: 40 }), (first, all) => {
        for (const state of states(first, all)) expect(JSON.parse(JSON.stringify(state))).toEqual(state)
      }),
    )
  })

  test('its fate and its end are decided once, it never falls asleep again, and no execution moves backwards (MA1, MA10)', () => {
    fc.assert(
      fc.property(fc.constantFrom(MADE, ASLEEP), fc.array(aFact, { maxLength: 40 }), (first, all) => {
        const [before, ...later] = states(first, all)
        if (!before) return
        later.reduce((last, next) => {
          if (last.fate !== 'provisional') expect([next.fate, next.cause]).toEqual([last.fate, last.cause])
          if (hasSettled(last)) expect(next.course).toBe(last.course)
          if (last.course === 'begun') expect(next.course).not.toBe('asleep')
          if (last.aborted) expect(next.aborted).toBe(last.aborted)
          for (const { invocation, stage } of last.executions) {
            const now = executionOf(next, invocation)
            expect(STAGES.indexOf(now?.stage ?? 'wanted')).toBeGreaterThanOrEqual(STAGES.indexOf(stage))
          }
          return next
        }, before)
      }),
    )
  })
})

describe('an execution', () => {
  test('has a slot while its input is checked and again once it has its keys, and holds nothing while it waits or is over (MA1)', () => {
    const ways: readonly (readonly Stage[])[] = [
      [],
      ['checking'],
      ['checking', 'judged'],
      ['checking', 'judged', 'storing'],
      ['checking', 'judged', 'storing', 'entered'],
      ['checking', 'judged', 'storing', 'entered', 'ended'],
      ['checking', 'judged', 'storing', 'entered', 'abandoned'],
      ['checking', 'judged', 'left'],
    ]
    expect(ways.map((way) => only(at(...way)).map((one) => [hasSlot(one), hasKeys(one)]))).toEqual([
      [[false, false]],
      [[true, false]],
      [[false, false]],
      [[true, true]],
      [[true, true]],
      [[false, false]],
      [[false, false]],
      [[false, false]],
    ])
  })

  test('that threw an error that ends the run keeps its slot, and its keys if it had them (MA1, A12)', () => {
    const [checked] = only(at('checking', 'threw'))
    const [entered] = only(at('checking', 'judged', 'storing', 'entered', 'threw'))
    expect([checked, entered].map((one) => one && [hasSlot(one), hasKeys(one)])).toEqual([
      [true, false],
      [true, true],
    ])
  })

  test('has an effect and keys only when it is judged; then the call names the keys of all its executions, and has no reads once discarded (MA1, MA2)', () => {
    const second: Invocation = { input: 'x', n: 0 }
    const unjudged = facts.executionWanted(at('checking'), second)
    expect(keysOf(unjudged, 'provisional')).toBeUndefined()
    const one = facts.movedTo(unjudged, { n: 0 }, 'judged', WRITES)
    const both = facts.movedTo(facts.movedTo(one, second, 'checking'), second, 'judged', {
      ...WRITES,
      keys: { reads: [], writes: ['v'] },
    })
    expect(keysOf(both, 'provisional')).toEqual({ reads: ['r'], writes: ['w', 'v'] })
    expect(keysOf(both, 'discarded')).toEqual({ reads: [], writes: ['w', 'v'] })
  })

  test('is identified by its input and by the number of earlier executions with that input (MA11)', () => {
    const inputs = ['x', 'y', 'x', undefined, 'x']
    const call = inputs.reduce<CallState>(
      (state, input) => facts.executionWanted(state, nextInvocation(state, input)),
      NEW,
    )
    expect(call.executions.map(({ invocation }) => invocation)).toEqual([
      { input: 'x', n: 0 },
      { input: 'y', n: 0 },
      { input: 'x', n: 1 },
      { n: 0 },
      { input: 'x', n: 2 },
    ])
    const ended = facts.movedTo(call, { input: 'x', n: 1 }, 'ended')
    expect(ended.executions.map(({ stage }) => stage)).toEqual(['wanted', 'wanted', 'ended', 'wanted', 'wanted'])
  })
})

test('uses the outcome of an execution in an earlier process once (MA11, L8)', () => {
  const [own, other] = [{ n: 0 }, { input: 'x', n: 0 }]
  const saved: CallState = {
    ...NEW,
    knownOutcomes: [
      { place: 0, invocation: own },
      { place: 1, invocation: other },
    ],
  }
  const again = facts.recalled(facts.executionWanted(saved, own), own)
  expect(again.knownOutcomes).toEqual([{ place: 1, invocation: other }])
  expect(again.executions).toEqual([{ invocation: own, stage: 'ended' }])
  const further = facts.executionWanted(again, { n: 1 })
  expect(facts.recalled(further, { n: 1 })).toBe(further)
  expect(facts.recalled(facts.executionWanted(further, other), other).knownOutcomes).toEqual([])
})
