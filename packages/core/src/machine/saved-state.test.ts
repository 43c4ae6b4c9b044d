import fc from 'fast-check'
import { expect, test } from 'vitest'
import { NEW } from '../../test/new-call.ts'
import { Interrupt } from '../vocabulary/interrupt.ts'
import type { SavedCallState } from '../vocabulary/saved-run.ts'
import { type CallState, wasEntered } from './call.ts'
import { callOf, noCalls } from './calls.ts'
import { attemptCounted, executionAsked, executionOver, executionWanted, movedTo, settled } from './decide-call.ts'
import { callDiscarded, callMade, decideCall } from './decide-calls.ts'
import { goesOn, isSaved, loadedCall, savedCall } from './saved-state.ts'

const WRITES = { effect: 'external', keys: { reads: ['r'], writes: ['w'] }, mayBeEarly: false } as const

/** A call with an execution that has passed these stages. */
function at(...stages: ('checking' | 'judged' | 'storing' | 'entered' | 'ended')[]) {
  return (call: CallState) =>
    stages.reduce<CallState>(
      (now, stage) => movedTo(now, { n: 0 }, stage, stage === 'judged' ? WRITES : undefined),
      executionWanted(call, { n: 0 }),
    )
}

/** What a checkpoint contains about how often a call was executed and what may have happened. */
function kept(call: CallState, isLast: boolean) {
  const { attempts, effect } = savedCall(call, isLast, [])
  return { attempts, ...(effect && { effect }) }
}

test('a call may have happened from the moment its checkpoint is being saved, unless no function is called any more (MA4)', () => {
  const storing = attemptCounted(at('checking', 'judged', 'storing')(NEW), { n: 0 }, 1)
  expect([kept(storing, false), kept(storing, true)]).toEqual([{ attempts: 1, effect: 'external' }, { attempts: 0 }])
  const entered = movedTo(storing, { n: 0 }, 'entered')
  expect([wasEntered(storing), wasEntered(entered)]).toEqual([false, true])
  const happened = { attempts: 1, effect: 'external' }
  expect([kept(entered, true), kept(executionOver(entered, { n: 0 }), true)]).toEqual([happened, happened])
  expect(kept(movedTo(entered, { n: 0 }, 'ended'), true)).toEqual({ attempts: 1 })
})

test('an execution counts as an attempt in a checkpoint once its function may have been called (MA4, L20)', () => {
  const counted = (...stages: Parameters<typeof at>) => attemptCounted(at(...stages)(NEW), { n: 0 }, 1)
  for (const isLast of [false, true]) {
    expect(kept(at('checking')(NEW), isLast)).toEqual({ attempts: 0 })
    expect(kept(counted('checking'), isLast)).toEqual({ attempts: 0 })
    expect(kept(counted('checking', 'judged'), isLast)).toEqual({ attempts: 0 })
    expect(kept(attemptCounted(counted('checking'), { n: 0 }, -1), isLast)).toEqual({ attempts: 0 })
    expect(kept(executionOver(counted('checking'), { n: 0 }), isLast)).toEqual({ attempts: 1 })
  }
})

test('a call whose function an earlier process called may have happened until it is made again (MA4, L20)', () => {
  const before: CallState = { ...NEW, effectBefore: 'idempotent', attempts: 1 }
  expect(kept(before, true)).toEqual({ attempts: 1, effect: 'idempotent' })
  expect(kept(at('checking', 'judged', 'storing', 'entered', 'ended')(before), true)).toEqual({ attempts: 1 })
})

test('for a checkpoint an execution that asks or runs an agent has not happened, and another execution of its call may have (L7, L8, L21)', () => {
  const entered = at('checking', 'judged', 'storing', 'entered')({ ...NEW, fate: 'committed' })
  const asking: CallState = { ...executionAsked(entered, { n: 0 }), ownQuestion: { interrupt: new Interrupt('Well?') } }
  expect(kept(settled(asking, 'open'), true)).toEqual({ attempts: 0 })
  expect(savedCall(entered, true, [{ n: 0, nested: 1 }])).not.toHaveProperty('effect')
  const second = { input: 'other', n: 0 }
  const both = movedTo(movedTo(executionWanted(asking, second), second, 'judged', WRITES), second, 'entered')
  expect(kept(both, true)).toEqual({ attempts: 0, effect: 'external' })
  expect(savedCall(both, true, [{ n: 0 }])).toMatchObject({ effect: 'external' })
  expect(savedCall(both, true, [second])).not.toHaveProperty('effect')
})

const effects = fc.constantFrom('read', 'idempotent', 'reversible', 'calls', 'external')

const savedCalls: fc.Arbitrary<SavedCallState> = fc
  .record({
    id: fc.string(),
    step: fc.nat(),
    isRequested: fc.boolean(),
    fate: fc.constantFrom('provisional', 'committed'),
    attempts: fc.nat(),
    told: fc.constantFrom('open', 'shown'),
    effect: fc.option(effects),
    isUnknown: fc.option(fc.constant(true as const)),
    isWork: fc.option(fc.constant(true as const)),
    isRead: fc.option(fc.constant(true as const)),
  })
  .map(({ effect, isUnknown, isWork, isRead, ...rest }) => ({
    ...rest,
    ...(effect && { effect }),
    ...(isUnknown && { isUnknown }),
    ...(isWork && { isWork }),
    ...(isWork && isRead && { isRead }),
  }))

test('a call of a checkpoint that has not changed since is saved as it was (MA19)', () => {
  fc.assert(
    fc.property(savedCalls, fc.boolean(), (saved, isLast) => {
      const call: CallState = { ...NEW, ...loadedCall({ ...saved, outcomes: [] }, 'wait') }
      expect(savedCall(settled(call, 'result'), isLast, [])).toEqual(saved)
      const { isUnknown: _, ...open } = { ...saved, told: 'open' }
      expect(savedCall(call, isLast, [])).toEqual(open)
    }),
  )
})

test('a call without a result continues according to its effect, and stays open while its question has no answer (L20, L21)', () => {
  const ways = (rerun: readonly ('read' | 'idempotent')[]) =>
    ([undefined, 'read', 'idempotent', 'external', 'calls'] as const).map((effectBefore) =>
      goesOn({ ...NEW, effectBefore }, false, rerun),
    )
  expect(ways(['read'])).toEqual(['asleep', 'again', 'unknown', 'unknown', 'again'])
  expect(ways(['read', 'idempotent'])).toEqual(['asleep', 'again', 'again', 'unknown', 'again'])
  expect(goesOn({ ...NEW, effectBefore: 'external' }, true, [])).toBe('open')
})

test('a checkpoint contains the calls of the current step, those that no response requested, those still running, and their inner calls; discarded ones while an effect of them may remain (MA13)', () => {
  const calls = noCalls()
  const made = (more: Partial<CallState>) => callMade(calls, { ...NEW, fate: 'committed', content: 1, ...more })
  const now = made({ step: 2 })
  const onTheSide = made({ step: 1, isRequested: false, content: undefined })
  const before = made({ step: 1 })
  const numbers = [
    now,
    onTheSide,
    before,
    made({ step: 2, maker: now, isRequested: false }),
    made({ step: 1, maker: before, isRequested: false }),
    made({ step: 2, content: undefined }),
    made({ step: 2, fate: 'provisional' }),
  ]
  for (const call of calls.all.values())
    if (call.step === 1 && call.isRequested) decideCall(calls, settled(call, 'result'))
  decideCall(calls, settled(callOf(calls, numbers[4] ?? 0), 'result'))
  // The call of an earlier step has since made one that is running.
  const late = made({ step: 1 })
  decideCall(calls, settled(callOf(calls, late), 'result'))
  const ofLate = made({ step: 1, maker: late, isRequested: false })
  callDiscarded(calls, numbers[6] ?? 0, 'call_withdrawn')
  const held = (isLast: boolean) =>
    [...calls.all.values()].filter((call) => isSaved(calls, call, 2, isLast)).map(({ number }) => number)
  const all = [now, onTheSide, numbers[3], late, ofLate]
  expect([held(false), held(true)]).toEqual([all, all])
  const discarded = callOf(calls, numbers[6] ?? 0)
  decideCall(calls, at('checking', 'judged', 'storing', 'entered')(discarded))
  expect([held(false), held(true)]).toEqual([[...all.slice(0, 3), discarded.number, ...all.slice(3)], all])
  decideCall(calls, settled(callOf(calls, discarded.number), 'none'))
  expect(held(false)).toEqual(all)
})
