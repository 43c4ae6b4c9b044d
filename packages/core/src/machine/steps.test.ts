import fc from 'fast-check'
import { expect, test } from 'vitest'
import { workMade } from '../../test/work.ts'
import type { Phase } from '../vocabulary/saved-run.ts'
import { callOf, noCalls } from './calls.ts'
import { settled } from './decide-call.ts'
import { decideCall } from './decide-calls.ts'
import type { Halt } from './halt.ts'
import type { Steps } from './steps.ts'
import * as machine from './steps.ts'

const PHASES: readonly Phase[] = ['before-model', 'model', 'after-model', 'calls', 'gate', 'over']

// All facts about steps in any order, also in orders that never happen.

type Fact = (steps: Steps) => void

const NAMES = ['a', 'b', 'c']
const ALL = NAMES.map((name) => ({ name }))

const fact: fc.Arbitrary<Fact> = fc.oneof(
  fc.constantFrom<Fact>(
    machine.loopEnded,
    machine.stepBegun,
    machine.hooksDone,
    (steps) => void machine.attemptBegun(steps),
    machine.answerRejected,
    machine.answerAccepted,
    machine.stepEnded,
    machine.inboxClosed,
  ),
  fc.nat({ max: 3 }).map(
    (limit): Fact =>
      (steps) =>
        machine.loopBegun(steps, limit),
  ),
  fc.constantFrom(...NAMES).map(
    (name): Fact =>
      (steps) =>
        machine.hookDone(steps, name),
  ),
  fc.constantFrom(undefined, 1).map(
    (attempt): Fact =>
      (steps) =>
        machine.modelSucceeded(steps, attempt),
  ),
  fc.boolean().map(
    (isOffered): Fact =>
      (steps) =>
        machine.answerOffered(steps, { isOffered, direct: false }),
  ),
  fc.nat({ max: 2 }).map(
    (waiting): Fact =>
      (steps) =>
        machine.messagesWait(steps, waiting),
  ),
)

const after = (...facts: Fact[]): Steps => {
  const steps = machine.noSteps()
  for (const one of facts) one(steps)
  return steps
}

test('no fact, in any order, throws or adds a value that is not JSON; step numbers only grow, and every phase is known (MA9, MA10)', () => {
  fc.assert(
    fc.property(fc.array(fact, { maxLength: 12 }), (facts) => {
      const steps = machine.noSteps()
      for (const one of facts) {
        const { begun } = steps
        one(steps)
        expect(steps.begun).toBeGreaterThanOrEqual(begun)
        expect(JSON.parse(JSON.stringify(steps))).toEqual(steps)
        if (steps.current) expect(PHASES).toContain(steps.current.phase)
        if (machine.dueHook(steps, ALL) === undefined && steps.current)
          expect(steps.current.done).toEqual(expect.arrayContaining(NAMES))
      }
    }),
  )
})

test('a rejected answer is not accepted, and neither is one while something waits that a step can still read (E6, K19, I17)', () => {
  fc.assert(
    fc.property(fc.array(fact, { maxLength: 12 }), fc.boolean(), (facts, hasResult) => {
      const steps = after(...facts)
      const calls = noCalls()
      if (hasResult) decideCall(calls, settled(callOf(calls, workMade(calls)), 'result'))
      if (steps.waiting > 0) expect(machine.mayBeAccepted(steps, calls)).toBe(false)
      if (hasResult && machine.mayGoOn(steps)) expect(machine.mayBeAccepted(steps, calls)).toBe(false)
      machine.answerRejected(steps)
      expect(machine.mayBeAccepted(steps, calls)).toBe(false)
    }),
  )
})

test('hooks run in order, after the model call in reverse, each once per phase (C3, L8)', () => {
  const askAll = (steps: Steps): string[] => {
    const asked: string[] = []
    for (let hook = machine.dueHook(steps, ALL); hook; hook = machine.dueHook(steps, ALL)) {
      asked.push(hook.name)
      machine.hookDone(steps, hook.name)
    }
    return asked
  }
  const steps = after((one) => machine.loopBegun(one, 1), machine.stepBegun)
  expect(askAll(steps)).toEqual(NAMES)
  machine.hooksDone(steps)
  machine.modelSucceeded(steps, 1)
  expect(askAll(steps)).toEqual(NAMES.toReversed())
  machine.answerOffered(steps, { isOffered: true, direct: false })
  machine.hookDone(steps, 'b')
  expect(askAll(steps)).toEqual(['a', 'c'])
})

test('a sent message is accepted until an answer is accepted, the run stops at once or ends, and again when a loop begins (MA6, K18)', () => {
  const RUNNING: Halt = { phase: 'running' }
  const steps = after((one) => machine.loopBegun(one, 9), machine.stepBegun)
  expect(machine.takesMessages(steps, RUNNING)).toBe(true)
  expect(machine.takesMessages(steps, { phase: 'running', stop: 'pause' })).toBe(true)
  expect(machine.takesMessages(steps, { phase: 'running', stop: 'cancel' })).toBe(false)
  expect(machine.takesMessages(steps, { phase: 'over' })).toBe(false)
  machine.answerAccepted(steps)
  expect(machine.takesMessages(steps, RUNNING)).toBe(false)
  machine.loopEnded(steps)
  machine.loopBegun(steps, 9)
  expect(machine.takesMessages(steps, RUNNING)).toBe(true)
  machine.inboxClosed(steps)
  expect(machine.takesMessages(steps, RUNNING)).toBe(false)
})
