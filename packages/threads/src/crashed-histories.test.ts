import { sized } from '@meanwhile/tests/size'
import { expect, test, vi } from 'vitest'
import { checkCrashes, REQUESTS } from '../test/crashed-histories.ts'
import { useFakeTime } from '../test/fake-time.ts'
import { memoryThreads } from './index.ts'
import { sqliteThreads } from './sqlite.ts'

useFakeTime()

const STORES = [
  { store: 'memory', open: memoryThreads, every: sized({ small: 12, middle: 8, whole: 1 }) },
  { store: 'sqlite', open: () => sqliteThreads(':memory:'), every: sized({ small: 24, middle: 16, whole: 1 }) },
]

const CASES = STORES.flatMap((one) => Object.entries(REQUESTS).map(([what, requests]) => ({ ...one, what, requests })))

test.each(CASES)(
  '$store: after a crash at any write of $what, the thread and its history are as without the crash, and each stored checkpoint is whole (TH6, L13, W62)',
  async ({ open, every, requests }) => {
    const pass = async (ms: number) => void (await vi.advanceTimersByTimeAsync(ms))
    const checked = checkCrashes({ newStore: async () => open(), pass, expire: () => pass(300), every }, requests)
    await expect(checked).resolves.toBeUndefined()
  },
)
