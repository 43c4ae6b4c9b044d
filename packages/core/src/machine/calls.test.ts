import { propertyRuns } from '@meanwhile/tests/size'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { NO_KEYS } from '../vocabulary/resource-keys.ts'
import type { CallState, Judgement, Stage } from './call.ts'
import { hasSlot, nextInvocation } from './call.ts'
import { type Calls, callOf, isPast, mayStartFor, needsSlot, noCalls } from './calls.ts'
import * as facts from './decide-call.ts'
import * as table from './decide-calls.ts'
import { arrived, dueOf, mustLook, takesOverSlot, takesTurn } from './due.ts'
import { joinableCall } from './join.ts'

// All facts about calls in any order, also in orders that never happen.

const KEYS = [[], ['k'], ['l']] as const
const STAGES: readonly Stage[] = ['judged', 'entered', 'threw', 'ended', 'left', 'cut off', 'abandoned']

/** A fact: changes the table. */
type Fact = (calls: Calls) => void

const pick = fc.nat({ max: 30 })

/** One of the calls in the table, or none. */
const ofOne = (fact: (calls: Calls, call: CallState) => void, one: number): Fact => {
  return (calls) => {
    const all = [...calls.all.values()]
    const call = all[one % all.length]
    if (call) fact(calls, call)
  }
}

const one = (fact: (calls: Calls, call: CallState) => void) => pick.map((which) => ofOne(fact, which))

function made(calls: Calls, attempt: number, maker: number | undefined, content: number, isAsleep: boolean): void {
  const by = maker === undefined && !isAsleep ? [attempt] : []
  const fate = maker === undefined ? (calls.response.isOpen ? 'provisional' : 'committed') : callOf(calls, maker).fate
  table.callMade(calls, {
    id: `${calls.made}`,
    tool: { effect: content === 0 ? 'read' : 'external', namesKeys: content > 1 },
    ...(maker !== undefined && { maker }),
    step: 1,
    startedEarly: fate === 'provisional',
    isRequested: maker === undefined,
    requestedBy: by,
    ...(maker === undefined && { content }),
    course: isAsleep ? 'asleep' : 'begun',
    fate,
    requestedAt: 0,
    executions: [],
    questions: [],
    attempts: 0,
    told: 'open',
  })
}

/** Asks for an execution, and lets it wait for its turn. */
function asked(calls: Calls, { number }: CallState, input: string | undefined): void {
  const invocation = nextInvocation(callOf(calls, number), input)
  table.decideCall(calls, facts.executionWanted(callOf(calls, number), invocation))
  if (!takesOverSlot(calls, number, invocation)) calls.waiting.add(arrived(number, invocation))
}

/** Moves the newest execution of a call to a stage. A judged execution waits for its turn again. */
function comes(calls: Calls, { number, executions }: CallState, stage: Stage, does: Judgement): void {
  const invocation = executions.at(-1)?.invocation
  if (!invocation) return
  table.decideCall(
    calls,
    facts.movedTo(callOf(calls, number), invocation, stage, stage === 'judged' ? does : undefined),
  )
  if (stage === 'judged') calls.waiting.add(arrived(number, invocation))
}

/** Lets every execution go on that may, according to the table. */
function advanced(calls: Calls): void {
  for (const waiting of calls.waiting) {
    const isGone = !calls.all.has(waiting.call)
    if (isGone || !mustLook(calls, waiting)) continue
    const due = dueOf(calls, waiting)
    if (due?.is === 'turn') takesTurn(calls, waiting)
    else if (due) calls.waiting.delete(waiting)
  }
}

/** The call and its inner calls are past, and leave the table. */
function left(calls: Calls, call: CallState): void {
  if (call.maker !== undefined || !isPast(calls, call)) return
  const inner = (number: number): readonly number[] => [number, ...callOf(calls, number).children.flatMap(inner)]
  for (const number of inner(call.number)) {
    for (const waiting of calls.waiting) if (waiting.call === number) calls.waiting.delete(waiting)
    table.callForgotten(calls, number)
  }
}

const attempt = fc.integer({ min: 1, max: 3 })
const does: fc.Arbitrary<Judgement> = fc.record({
  effect: fc.constantFrom('read', 'idempotent', 'external', 'calls'),
  keys: fc.record({ reads: fc.constantFrom(...KEYS), writes: fc.constantFrom(...KEYS) }),
  mayBeEarly: fc.boolean(),
})

const aFact: fc.Arbitrary<Fact> = fc.oneof(
  fc.constant((calls: Calls) => table.modelCalled(calls)),
  fc.constant((calls: Calls) => table.responseEnded(calls)),
  fc.tuple(attempt, pick).map(
    ([by, id]) =>
      (calls: Calls) =>
        void table.idAnnounced(calls, `${id}`, by),
  ),
  fc.tuple(attempt, fc.boolean()).map(
    ([by, isOver]) =>
      (calls: Calls) =>
        table.attemptEnded(calls, by, 0, isOver),
  ),
  {
    weight: 4,
    arbitrary: fc.tuple(attempt, fc.nat({ max: 2 }), fc.boolean()).map(
      ([by, content, isAsleep]) =>
        (calls: Calls) =>
          made(calls, by, undefined, content, isAsleep),
    ),
  },
  fc.nat({ max: 2 }).chain((content) => one((calls, { number }) => made(calls, 1, number, content, false))),
  fc.tuple(attempt, fc.nat({ max: 2 })).map(([by, content]) => (calls: Calls) => {
    const held = mayStartFor(calls, by) ? joinableCall(calls, content, by, []) : undefined
    if (held) table.callJoined(calls, held.number, by)
  }),
  {
    weight: 4,
    arbitrary: fc.constantFrom('x', undefined).chain((input) => one((calls, call) => asked(calls, call, input))),
  },
  {
    weight: 6,
    arbitrary: fc
      .tuple(fc.constantFrom(...STAGES), does)
      .chain(([stage, what]) => one((calls, call) => comes(calls, call, stage, what))),
  },
  one((calls, { number }) => void table.decideCall(calls, facts.begun(callOf(calls, number)))),
  one((calls, { number }) => void table.callCommitted(calls, number, 0, undefined)),
  one((calls, { number }) => void table.callDiscarded(calls, number, 'call_withdrawn')),
  one((calls, { number }) => void table.callStopped(calls, number, 'cancelled')),
  one((calls, { number }) => void table.decideCall(calls, facts.parked(callOf(calls, number)))),
  fc.constantFrom('result', 'stop', 'throw').chain((came) =>
    one((calls, call) => {
      table.decideCall(calls, facts.settled(callOf(calls, call.number), facts.endOf(call, came)))
      table.callClosed(calls, call.number)
    }),
  ),
  fc.tuple(fc.constantFrom('interrupted', 'cancelled', undefined), fc.boolean()).map(
    ([how, keeps]) =>
      (calls: Calls) =>
        void table.runStopped(calls, how, keeps, how === undefined),
  ),
  one(left),
  { weight: 6, arbitrary: fc.constant(advanced) },
)

const aTable = fc.record({
  limit: fc.constantFrom(1, 2, Number.POSITIVE_INFINITY),
  innerLimit: fc.constantFrom(1, Number.POSITIVE_INFINITY),
  all: fc.array(aFact, { minLength: 20, maxLength: 100, size: 'max' }),
})

/** Applies the facts, and looks at the table after each. */
function told(
  { limit, innerLimit, all }: { limit: number; innerLimit: number; all: readonly Fact[] },
  look: (calls: Calls) => void,
): void {
  const calls: Calls = { ...noCalls(), limit, innerLimit }
  for (const fact of all) {
    fact(calls)
    look(calls)
  }
}

test('no fact throws, in any order, over the whole table (MA10)', () => {
  fc.assert(
    fc.property(aTable, (given) => told(given, (calls) => expect(calls.made).toBeGreaterThanOrEqual(calls.all.size))),
    propertyRuns({ small: 40, middle: 60, whole: 20_000 }),
  )
})

test('the number of taken slots equals a recount, and call order contains each call once (MA12)', () => {
  fc.assert(
    fc.property(aTable, (given) =>
      told(given, (calls) => {
        const outer = [...calls.all.values()].filter((call) => needsSlot(call))
        const holding = outer.filter(({ course }) => course === 'asleep' || course === 'begun')
        expect(calls.slotsTaken).toBe(holding.flatMap(({ executions }) => executions.filter(hasSlot)).length)
        expect(new Set(calls.order).size).toBe(calls.order.length)
        expect(calls.order.filter((number) => !outer.some((call) => call.number === number))).toEqual([])
      }),
    ),
    propertyRuns({ small: 40, middle: 60, whole: 20_000 }),
  )
})

test('the number of slots that the inner calls of one maker hold equals a recount (MA12)', () => {
  fc.assert(
    fc.property(aTable, (given) =>
      told(given, (calls) => {
        const working = [...calls.all.values()].filter(
          ({ maker, course, executions }) => maker !== undefined && course === 'begun' && executions.some(hasSlot),
        )
        const makers = new Set(working.map(({ maker }) => maker))
        expect(calls.innerSlotsTaken).toEqual(
          new Map([...makers].map((one) => [one, working.filter(({ maker }) => maker === one).length])),
        )
      }),
    ),
    propertyRuns({ small: 40, middle: 60, whole: 20_000 }),
  )
})

test('no execution passes a gate without a free slot of the run (MA1, MA12)', () => {
  fc.assert(
    fc.property(aTable, (given) =>
      told(given, (calls) => {
        const { slotsTaken } = calls
        advanced(calls)
        expect(calls.slotsTaken).toBeLessThanOrEqual(Math.max(calls.limit, slotsTaken))
      }),
    ),
    propertyRuns({ small: 40, middle: 60, whole: 20_000 }),
  )
})

/** Calls that write one key, one after another: the first executes, and the others wait for it. */
function line(length: number): Calls {
  const calls: Calls = { ...noCalls() }
  for (let number = 1; number <= length; number++) {
    made(calls, 0, undefined, 2, false)
    asked(calls, callOf(calls, number), undefined)
    advanced(calls)
    const writes: Judgement = { effect: 'external', keys: { reads: [], writes: ['k'] }, mayBeEarly: true }
    comes(calls, callOf(calls, number), 'judged', writes)
    advanced(calls)
  }
  return calls
}

const lookedAt = (calls: Calls) => [...calls.waiting].filter((one) => mustLook(calls, one)).map(({ call }) => call)

test('of a thousand executions that wait for each other, only those that wait for what has changed are examined (MA12)', () => {
  const calls = line(1_000)
  expect([calls.waiting.size, lookedAt(calls)]).toEqual([999, []])
  table.putAtEnd(calls, 500)
  // This one is still waiting, and the next one waits for it.
  expect(lookedAt(calls)).toEqual([500, 501])
  advanced(calls)
  expect(lookedAt(calls)).toEqual([])
  table.decideCall(calls, facts.settled(callOf(calls, 1), 'result'))
  table.callClosed(calls, 1)
  expect(lookedAt(calls)).toEqual([2])
})

/** Many calls that one call makes. Those that may execute have begun, and the others wait. */
function innerCalls(count: number, innerLimit: number, writes: readonly string[]): Calls {
  const calls: Calls = { ...noCalls(), innerLimit }
  const does: Judgement = { effect: 'external', keys: { reads: [], writes }, mayBeEarly: true }
  made(calls, 0, undefined, 2, false)
  for (let number = 2; number <= count + 1; number++) {
    made(calls, 0, 1, 2, false)
    const invocation = nextInvocation(callOf(calls, number), undefined)
    table.decideCall(calls, facts.executionWanted(callOf(calls, number), invocation))
    comes(calls, callOf(calls, number), 'judged', does)
    advanced(calls)
  }
  return calls
}

/** The calls whose executions are examined when the first inner call ends. */
function examinedAtEnd(calls: Calls): readonly number[] {
  const before = [...calls.waiting].map((waiting) => ({ waiting, lookedAtIn: waiting.lookedAtIn }))
  comes(calls, callOf(calls, 2), 'ended', { effect: 'external', keys: NO_KEYS, mayBeEarly: true })
  table.decideCall(calls, facts.settled(callOf(calls, 2), 'result'))
  table.callClosed(calls, 2)
  advanced(calls)
  return before.flatMap(({ waiting, lookedAtIn }) => (waiting.lookedAtIn === lookedAtIn ? [] : [waiting.call]))
}

test('of hundreds of calls of one maker that wait for a key or a slot, only the next ones are examined when one ends (MA12, Q8, Q10)', () => {
  const ofOneKey = innerCalls(300, Number.POSITIVE_INFINITY, ['k'])
  expect([ofOneKey.waiting.size, lookedAt(ofOneKey)]).toEqual([299, []])
  // The next one goes on, and the one after it waits for that.
  expect(examinedAtEnd(ofOneKey)).toEqual([3, 4])
  expect(ofOneKey.waiting.size).toBe(298)
  const withSlots = innerCalls(300, 4, [])
  expect([withSlots.waiting.size, lookedAt(withSlots)]).toEqual([296, []])
  expect(examinedAtEnd(withSlots)).toEqual([6])
})

test('an execution that waits only for a slot of its tool is not examined until its call changes (MA8)', () => {
  const calls: Calls = { ...noCalls(), limit: 2 }
  made(calls, 0, undefined, 1, false)
  asked(calls, callOf(calls, 1), undefined)
  const [waiting] = calls.waiting
  if (!waiting) throw new Error('it does not wait')
  expect(dueOf(calls, waiting)).toEqual({ is: 'turn' })
  waiting.awaitsToolSlot = true
  expect(mustLook(calls, waiting)).toBe(false)
  // Meanwhile its tool holds nothing of the run.
  expect(calls.slotsTaken).toBe(0)
  table.decideCall(calls, facts.settled(callOf(calls, 1), 'result'))
  expect(mustLook(calls, waiting)).toBe(true)
})

test('calls that are past leave nothing in the table: no state, no place, no count (MA13)', () => {
  fc.assert(
    fc.property(aTable, (given) =>
      told(given, (calls) => {
        for (const call of calls.all.values()) left(calls, call)
        const numbers = [...calls.order, ...calls.inner, ...calls.changedIn.keys()]
        expect(numbers.filter((number) => !calls.all.has(number))).toEqual([])
        expect([...calls.waiting].filter(({ call }) => !calls.all.has(call))).toEqual([])
      }),
    ),
    propertyRuns({ small: 40, middle: 60, whole: 20_000 }),
  )
})

test('a call waits for itself, and no later call waits for it, while it is asleep, discarded, or requested by failed attempts only; a committed call does not', () => {
  const withOneSlot = (becomes: Fact, isAsleep = false) => {
    const calls: Calls = { ...noCalls(), limit: 1 }
    table.modelCalled(calls)
    made(calls, 1, undefined, 1, isAsleep)
    becomes(calls)
    asked(calls, callOf(calls, 1), undefined)
    made(calls, 2, undefined, 1, false)
    asked(calls, callOf(calls, 2), undefined)
    return [...calls.waiting].map((waiting) => dueOf(calls, waiting)?.is ?? `behind ${waiting.blockedBy}`)
  }
  const stays: Fact = () => undefined
  const fails: Fact = (calls) => table.attemptEnded(calls, 1, 0, true)
  const aside = ['behind 1', 'turn']
  expect(withOneSlot(stays, true)).toEqual(aside)
  expect(withOneSlot((calls) => void table.callDiscarded(calls, 1, 'stream_error'))).toEqual(aside)
  expect(withOneSlot(fails)).toEqual(aside)
  const first = ['turn', 'behind 1']
  expect(withOneSlot(stays)).toEqual(first)
  const failsAndCounts: Fact = (calls) => {
    table.attemptEnded(calls, 1, 0, true)
    table.callCommitted(calls, 1, 0, undefined)
  }
  expect(withOneSlot(failsAndCounts)).toEqual(first)
})
