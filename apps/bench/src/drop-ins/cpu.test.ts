import { expect, test } from 'vitest'
import { type CpuRound, compared } from './cpu.ts'

const round = (plain: number, again: number, eager: number): CpuRound => ({
  plain: [plain, again],
  eager: [eager, eager],
})

test('a ratio of CPU times is that of one round, so a round in which the machine is slow changes nothing', () => {
  const rounds = [round(1_000, 1_000, 1_100), round(3_000, 3_000, 3_300), round(1_000, 1_000, 1_100)]
  expect(compared(rounds)).toEqual({
    plainMs: 1_000,
    eagerMs: 1_100,
    self: { median: 1, low: 1, high: 1 },
    ratio: { median: 1.1, low: 1.1, high: 1.1 },
    limit: 1.15,
    isMet: true,
  })
})

test('eager may take 1.15 × the CPU time of the plain loop, or what that differs from itself if that is more', () => {
  expect(compared([round(1_000, 1_000, 1_160)])).toMatchObject({ limit: 1.15, isMet: false })
  expect(compared([round(1_000, 1_100, 1_218)])).toMatchObject({ limit: 1.15, isMet: false })
  expect(compared([round(1_000, 1_200, 1_276)])).toMatchObject({ limit: 1.2, isMet: true })
  expect(compared([round(1_000, 800, 1_044)])).toMatchObject({ limit: 1.2, isMet: true })
})

test('both processes of a loop count alike', () => {
  expect(compared([{ plain: [1_000, 1_100], eager: [1_100, 1_210] }])).toMatchObject({
    plainMs: 1_050,
    eagerMs: 1_155,
    self: { median: 1.1 },
    ratio: { median: 1.1 },
  })
})

test('without a round nothing is met', () => {
  expect(compared([])).toMatchObject({ isMet: false })
})
