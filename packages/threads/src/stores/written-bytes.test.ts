import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { useFakeTime } from '../../test/fake-time.ts'
import { bytesByLength } from '../../test/long-threads.ts'
import { sqliteThreads } from '../sqlite.ts'

useFakeTime()

let scratch: string

beforeEach(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'meanwhile-threads-'))
})

afterEach(async () => {
  await rm(scratch, { recursive: true, force: true })
})

/** The store is synchronous, so the turn waits for nothing but timers. */
async function passUntil(end: Promise<unknown>): Promise<void> {
  let isOver = false
  const over = () => {
    isOver = true
  }
  end.then(over, over)
  while (!isOver) await vi.advanceTimersByTimeAsync(20)
}

test('sqlite: a turn writes at most a tenth more bytes after 100 and 1,000 messages than in a new thread (W62)', async () => {
  const path = join(scratch, 'chat.db')
  const store = sqliteThreads(path)
  // As long as this reader is open, the write-ahead file only grows.
  const reader = new DatabaseSync(path)
  reader.exec('BEGIN; SELECT number FROM threads')
  const [few, ...more] = await bytesByLength(store, async () => (await stat(`${path}-wal`)).size, passUntil)
  reader.close()
  store.close()
  for (const bytes of more) expect(bytes).toBeLessThan(1.1 * few)
})
