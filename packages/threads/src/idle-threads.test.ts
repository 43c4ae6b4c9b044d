import { postedBy } from '@meanwhile/tests/own-thread'
import { sized } from '@meanwhile/tests/size'
import { expect, test } from 'vitest'
import type { IdleHeap } from '../test/idle-heap.ts'

/**
 * How many bytes the heap may grow by with an idle thread. In small blocks the runtime itself grows, by 45 to 80 in the block in which it grows least; an
 * entry of a set and its key would add 80.
 */
const MOST_OF_A_THREAD = sized({ small: 110, middle: 110, whole: 40 })

/** How many threads run between two measurements of the heap. */
const BLOCK = sized({ small: 200, middle: 200, whole: 20_000 })

/** So many blocks run before, while the runtime itself grows most. */
const BEFORE = 4

/** So many blocks are measured. */
const BLOCKS = 4

test('idle threads use no memory and no timers in the process (TH9)', async () => {
  // In its own thread, where a collection does not take as long as what other tests have left in the process.
  const file = new URL('../test/idle-heap.ts', import.meta.url)
  const { growths, timers, listed } = (await postedBy(file, {
    block: BLOCK,
    blocks: BLOCKS,
    before: BEFORE,
  })) as IdleHeap
  expect(timers).toBeLessThanOrEqual(0)
  // Memory that threads keep grows with each block. The runtime itself allocates or frees memory only in some.
  expect(growths).toHaveLength(BLOCKS)
  expect(Math.min(...growths)).toBeLessThan(BLOCK * MOST_OF_A_THREAD)
  expect(listed).toBe((BEFORE + BLOCKS) * BLOCK)
})
