import { setImmediate } from 'node:timers/promises'
import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { sized } from '@meanwhile/tests/size'
import { beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { type Agent, createAgent, type Middleware, tool } from '../index.ts'

/** The calls in the order in which their tool was called, and how many of them in each turn of the event loop. */
let entered: number[] = []
let inTurn = new Map<number, number>()
let turn = 0

beforeEach(() => {
  entered = []
  inTurn = new Map()
  turn = 0
})

const passing: Middleware = {
  name: 'passing',
  async *wrapToolCall(asked, next) {
    return yield* next(asked)
  },
}

const look = tool({
  name: 'look',
  description: 'Looks',
  input: z.object({ n: z.number() }),
  effect: 'read',
  execute: ({ n }) => {
    entered.push(n)
    inTurn.set(turn, (inTurn.get(turn) ?? 0) + 1)
    return n
  },
})

/** An agent whose first response has these calls. */
function looking(ns: readonly number[]): Agent {
  const model = scriptedModel([respond(...ns.map((n) => call('look', { n }))), respond(say('Done'))])
  return createAgent({ model, tools: [look], middleware: [passing] })
}

/** Makes runs while each look at the clock takes 20 µs, so that a turn is long after 400 of them. Counts the turns of the event loop. */
async function inTurns(...agents: readonly Agent[]): Promise<void> {
  let time = performance.now()
  Object.assign(performance, { now: () => (time += 0.02) })
  let isOver = false
  const counting = (async () => {
    for (; !isOver; turn++) await setImmediate()
  })()
  try {
    await Promise.all(agents.map((agent) => agent.run('Go')))
  } finally {
    Reflect.deleteProperty(performance, 'now')
    isOver = true
    await counting
    // The last turn began at a time that has not come yet: it ends here.
    await setImmediate()
  }
}

const upTo = (count: number) => Array.from({ length: count }, (_, n) => n)

test('while very many calls of a step begin, the event loop turns, and they begin in call order (P9, W61)', async () => {
  const calls = upTo(sized({ small: 500, middle: 1_000, whole: 1_000 }))
  await inTurns(looking(calls))
  expect(entered).toEqual(calls)
  expect(Math.max(...inTurn.values())).toBeLessThanOrEqual(200)
})

test('the calls of two agents that run at once begin in call order, and in turns (P9, W61)', async () => {
  const [first, second] = [upTo(100), upTo(100).map((n) => 1_000 + n)]
  await inTurns(looking(first), looking(second))
  expect(entered.filter((n) => n < 1_000)).toEqual(first)
  expect(entered.filter((n) => n >= 1_000)).toEqual(second)
  expect(Math.max(...inTurn.values())).toBeLessThanOrEqual(100)
})

test('a few calls begin in the turn in which they were requested, however long it lasts (P9)', async () => {
  await inTurns(looking(upTo(16)))
  expect(entered).toEqual(upTo(16))
  expect([...inTurn.values()]).toEqual([16])
})
