import { propertyRuns } from '@meanwhile/tests/size'
import { expect, test, vi } from 'vitest'
import { useFakeTime } from '../test/fake-time.ts'
import { checkRandomThreads, FOUND } from '../test/random-threads.ts'
import { memoryThreads } from './index.ts'

useFakeTime()

test('after any sequence of requests and crashes, the history is valid, no message is lost, and no question or change is repeated (TH1, TH2, TH3, TH5, TH6, TH8, TH11)', async () => {
  const checked = checkRandomThreads({
    newStore: async () => memoryThreads(),
    pass: async (ms) => void (await vi.advanceTimersByTimeAsync(ms)),
    found: FOUND.memory,
    runs: propertyRuns({ small: 4, middle: 6, whole: 5_000 }),
  })
  await expect(checked).resolves.toBeUndefined()
})

test('the same holds where a turn waits until the turns of other threads have ended (W63)', async () => {
  const checked = checkRandomThreads({
    newStore: async () => memoryThreads(),
    pass: async (ms) => void (await vi.advanceTimersByTimeAsync(ms)),
    found: [],
    runs: propertyRuns({ small: 1, middle: 2, whole: 1_000 }),
    isCrowded: true,
  })
  await expect(checked).resolves.toBeUndefined()
})
