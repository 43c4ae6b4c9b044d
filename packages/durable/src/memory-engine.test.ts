import { expect, test } from 'vitest'
import { engineContract, memoryEngine } from './testing.ts'

for (const { name, run } of engineContract(() => ({ engine: memoryEngine() }))) {
  test.concurrent(`in memory: ${name} (DU7)`, async () => {
    await expect(run()).resolves.toBeUndefined()
  })
}
