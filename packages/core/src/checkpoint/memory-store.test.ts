import { storeContract } from '@meanwhile/stores/contract'
import { expect, test, vi } from 'vitest'
import { memoryStore } from '../index.ts'

for (const { name, run } of storeContract(() => ({ store: memoryStore() })))
  test(`memory: ${name}`, () => expectDone(run))

async function expectDone(run: () => Promise<void>): Promise<void> {
  await expect(run()).resolves.toBeUndefined()
}

test('memory: a checkpoint saved at exactly the given time is not older (L14)', async () => {
  vi.useFakeTimers({ now: 1_000 })
  try {
    const store = memoryStore()
    await store.save('a', { runId: 'a', revision: 1 }, 0)
    expect(await store.prune({ olderThan: 1_000 })).toBe(0)
    expect(await store.prune({ olderThan: 1_001 })).toBe(1)
  } finally {
    vi.useRealTimers()
  }
})

test('memory: a revision that does not grow is refused, and the stored checkpoint stays (L14)', async () => {
  const store = memoryStore()
  await store.save('a', { runId: 'a', revision: 1 }, 0)
  for (const revision of [1, 0, 1.5, Number.NaN, 2 ** 53]) {
    await expect(store.save('a', { runId: 'a', revision }, 1)).rejects.toThrow(RangeError)
  }
  expect(await store.load('a')).toEqual({ runId: 'a', revision: 1 })
})
