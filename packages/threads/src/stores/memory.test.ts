import { expect, test } from 'vitest'
import { memoryThreads } from '../index.ts'
import { threadStoreContract } from '../testing.ts'

for (const { name, run } of threadStoreContract(() => ({ store: memoryThreads() }))) {
  test(`memory: ${name} (TH6, TH9)`, async () => {
    await expect(run()).resolves.toBeUndefined()
  })
}
