import { expect, test } from 'vitest'
import { environment } from '../environment.ts'
import { type Figures, withEarlier } from './figures.ts'
import type { TurnCost } from './measure-server.ts'
import { serverCostsPage } from './page.ts'
import { PLAN, type Plan, planOf } from './plan.ts'
import type { SetUpName } from './setups.ts'

const costs = { wallMs: 4_000, statements: 3, bytes: 2_000, loopMs: 1, firstMs: 50, lateMs: 1, late99Ms: 5 }

function turns(name: SetUpName, count: number, cpuMs: number): TurnCost {
  return { name, turns: count, cpuMs, ...costs }
}

function figuresOf(plan: Plan, loads: readonly TurnCost[], lengths: Figures['lengths'] = []): Figures {
  const measured = [{ plan, machine: environment() }]
  return { version: '15.18', loads, lengths, readers: [], durable: [], measured }
}

test('a plan has only the rows that are asked for, and all of them if only servers are named', () => {
  expect(planOf(PLAN, { loads: [10], servers: ['ai'] })).toEqual({
    ...PLAN,
    servers: ['ai'],
    loads: [10],
    lengths: [],
    readers: [],
    workers: [],
  })
  // Durable runs need no server.
  expect(planOf(PLAN, { workers: [1] })).toMatchObject({ servers: [], loads: [], workers: [1] })
  expect(planOf(PLAN, { servers: ['memory'] })).toEqual({ ...PLAN, servers: ['memory'] })
  expect(planOf(PLAN, {})).toEqual(PLAN)
})

test('figures keep the earlier rows that were not measured again, in the order of the page, which names both measurements', () => {
  const length = { ...turns('postgres', 10, 127), messages: 1_000 }
  const before = figuresOf(planOf(PLAN, { loads: [10], lengths: [1_000] }), [turns('memory', 10, 93)], [length])
  const loads = [turns('memory', 200, 96), turns('memory', 10, 95), turns('ai', 10, 136)]
  const page = withEarlier(figuresOf(planOf(PLAN, { loads: [10, 200] }), loads), before)
  expect(page.loads.map(({ name, turns, cpuMs }) => [name, turns, cpuMs])).toEqual([
    ['memory', 10, 95],
    ['memory', 200, 96],
    ['ai', 10, 136],
  ])
  expect(page.lengths).toEqual([length])
  const text = serverCostsPage(page)
  expect(text).toContain(
    'Measured: 10 turns at once; threads of 1,000 messages, 10 turns at once; medians of 3 rounds.',
  )
  expect(text).toContain('Measured: 10 and 200 turns at once; medians of 3 rounds.')
  expect(text).not.toContain('Pages that join')
})
