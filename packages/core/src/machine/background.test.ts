import fc from 'fast-check'
import { expect, test } from 'vitest'
import { workMade } from '../../test/work.ts'
import { openWorks, ownWorks, resultRead, unreadWorks, workBeforeAnswer, worksHandedOver } from './background.ts'
import type { End } from './call.ts'
import { type Calls, callOf, noCalls } from './calls.ts'
import { settled } from './decide-call.ts'
import { callStopped, decideCall } from './decide-calls.ts'
import { decideHalt, type Halt, type HaltFact } from './halt.ts'

// All facts about background work in any order, also in orders that never happen.

type Fact = (calls: Calls) => void

const ENDS: readonly End[] = ['result', 'cut off', 'open']

const one = fc.nat({ max: 9 }).map((which) => (calls: Calls) => [...calls.all.keys()][which % (calls.all.size || 1)])

const fact: fc.Arbitrary<Fact> = fc.oneof(
  fc.constantFrom('wait', 'cancel', 'detach').map(
    (atEnd): Fact =>
      (calls) =>
        void workMade(calls, atEnd),
  ),
  fc.tuple(one, fc.constantFrom(...ENDS)).map(([which, end]): Fact => {
    return (calls) => {
      const number = which(calls)
      if (number !== undefined) decideCall(calls, settled(callOf(calls, number), end))
    }
  }),
  one.map((which): Fact => {
    return (calls) => {
      const number = which(calls)
      if (number !== undefined) callStopped(calls, number, 'stopped')
    }
  }),
  fc.constantFrom<Fact>((calls) => {
    for (const { number } of unreadWorks(calls)) resultRead(calls, number)
  }),
)

const facts = fc.array(fact, { maxLength: 16 })

function after(all: readonly Fact[]): Calls {
  const calls = noCalls()
  for (const one of all) one(calls)
  return calls
}

const numbers = (works: readonly { readonly number: number }[]) => works.map(({ number }) => number)

test('the model reads each result once, in the order in which the work began, and no result that does not exist (I15, MA17)', () => {
  fc.assert(
    fc.property(facts, facts, (some, more) => {
      const calls = noCalls()
      const read: number[] = []
      const readAll = () => {
        const unread = numbers(unreadWorks(calls))
        expect(unread).toEqual(unread.toSorted((a, b) => a - b))
        for (const number of unread) {
          expect(callOf(calls, number).course).toBe('result')
          resultRead(calls, number)
        }
        read.push(...unread)
        expect(unreadWorks(calls)).toEqual([])
      }
      for (const one of some) one(calls)
      readAll()
      for (const one of more) one(calls)
      readAll()
      expect(new Set(read).size).toBe(read.length)
      expect(JSON.parse(JSON.stringify([...calls.all.values()]))).toEqual([...calls.all.values()])
    }),
  )
})

test('an answer waits for the work whose tools ask for that, until the run is stopped or an agent asks (I17, O18, P19)', () => {
  const RUNNING: Halt = { phase: 'running' }
  const stop = fc.constantFrom<HaltFact | undefined>(
    undefined,
    { is: 'pause' },
    { is: 'cancel', at: 'after-tools' },
    { is: 'cancel', at: 'now' },
  )
  fc.assert(
    fc.property(facts, stop, (some, told) => {
      const calls = after(some)
      const halt = told ? decideHalt(RUNNING, told) : RUNNING
      const due = workBeforeAnswer(calls, halt)
      const open = openWorks(calls).filter(({ work }) => work.atEnd !== 'cancel')
      const awaited = open.filter(({ work }) => work.atEnd === 'wait')
      if (due.is === 'wait') expect([told, numbers(due.for)]).toEqual([undefined, numbers(awaited)])
      if (due.is === 'judge') expect([...awaited, ...open.filter(({ course }) => course === 'open')]).toEqual([])
      if (due.is !== 'stop') return
      if (due.by) expect([due.by.course, due.by.work.atEnd === 'cancel']).toEqual(['open', false])
      else expect([told === undefined, awaited.length > 0]).toEqual([false, true])
    }),
  )
})

test('detached work goes on after the run, the run stops the other work, and the caller gets all results that the model has not read (I17, I18, MA18)', () => {
  fc.assert(
    fc.property(facts, facts, (some, more) => {
      const calls = after(some)
      const open = openWorks(calls)
      const unread = numbers(unreadWorks(calls))
      const handed = numbers(worksHandedOver(calls))
      const detached = numbers(open.filter(({ work }) => work.atEnd === 'detach'))
      expect(handed).toEqual([...detached, ...unread].toSorted((a, b) => a - b))
      expect(numbers(ownWorks(calls))).toEqual(numbers(open).filter((number) => !detached.includes(number)))
      for (const one of more) one(calls)
      for (const number of detached) expect(numbers(ownWorks(calls))).not.toContain(number)
    }),
  )
})
