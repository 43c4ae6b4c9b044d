import { setImmediate } from 'node:timers/promises'
import { afterEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { createAgent, type Middleware, tool } from '../index.ts'
import { call, respond, say, scriptedModel } from '../testing.ts'

afterEach(() => {
  vi.restoreAllMocks()
})

const CALLS = 1_000

const passing: Middleware = {
  name: 'passing',
  async *wrapToolCall(asked, next) {
    return yield* next(asked)
  },
}

test('the event loop turns while the calls of a step begin and run, however many there are, in call order (P9)', async () => {
  // Each look at the clock takes a millisecond, so that a turn is long after a few.
  let time = performance.now()
  vi.spyOn(performance, 'now').mockImplementation(() => time++)
  let turn = 0
  const entered: number[] = []
  const inTurn = new Map<number, number>()
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
  const asked = Array.from({ length: CALLS }, (_, n) => call('look', { n }))
  const model = scriptedModel([respond(...asked), respond(say('Done'))])
  let isOver = false
  const counted = (async () => {
    for (; !isOver; turn++) await setImmediate()
  })()
  await createAgent({ model, tools: [look], middleware: [passing] }).run('Go')
  isOver = true
  await counted
  expect(entered).toEqual(asked.map((_, n) => n))
  expect(Math.max(...inTurn.values())).toBeLessThanOrEqual(20)
})
