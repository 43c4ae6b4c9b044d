import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'

/** A page of PostgreSQL's log of writes. */
const PAGE = Buffer.alloc(8_192)

const PAGES = 128

const PAUSE_MS = 5

/**
 * Writes a page over an older one in a file of this folder, and syncs the file (`fdatasync`), as PostgreSQL does for a commit. Repeats that `count` times.
 * Returns how long each took, in milliseconds.
 */
export async function diskSyncs(folder: string, count: number): Promise<readonly number[]> {
  const file = await open(join(folder, 'synced'), 'w')
  try {
    await file.write(Buffer.alloc(PAGE.length * PAGES))
    await file.sync()
    const took: number[] = []
    for (let page = 0; page < count; page++) {
      // A sync takes longer after a pause, and the syncs of runs have pauses between them.
      await wait(PAUSE_MS)
      const start = performance.now()
      await file.write(PAGE, 0, PAGE.length, (page % PAGES) * PAGE.length)
      await file.datasync()
      took.push(performance.now() - start)
    }
    return took
  } finally {
    await file.close()
  }
}
