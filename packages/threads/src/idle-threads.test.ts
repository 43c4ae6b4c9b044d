import { postedBy } from '@meanwhile/tests/own-thread'
import { sized } from '@meanwhile/tests/size'
import { expect, test } from 'vitest'
import type { IdleHeap } from '../test/idle-heap.ts'

/** How many bytes an idle thread may use: less than an entry of a map and its key. */
const MOST_OF_A_THREAD = 40

/** How many threads run between two measurements of the heap. With fewer, the runtime itself still grows by almost the limit. */
const BLOCK = sized({ small: 400, middle: 400, whole: 20_000 })

/** So many blocks are measured, after one more. */
const BLOCKS = 5

test('idle threads use no memory and no timers in the process (TH9)', async () => {
  // In its own thread, where a collection does not take as long as what other tests have left in the process.
  const file = new URL('../test/idle-heap.ts', import.meta.url)
  const { growths, timers, listed } = (await postedBy(file, { block: BLOCK, blocks: BLOCKS })) as IdleHeap
  expect(timers).toBeLessThanOrEqual(0)
  // Memory that threads keep grows with each block. The runtime itself allocates or frees memory only in some.
  expect(growths).toHaveLength(BLOCKS)
  expect(Math.min(...growths)).toBeLessThan(BLOCK * MOST_OF_A_THREAD)
  expect(listed).toBe((BLOCKS + 1) * BLOCK)
})
