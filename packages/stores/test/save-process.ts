/** A process that saves to a store as the test that forked it orders, until it is done or killed. */

// Only what stores need: the process is started so often that all of core would cost seconds.
import { CheckpointConflictError, type CheckpointStore } from '@meanwhile/core'
import { fileStore } from '../src/file.ts'
import { sqliteStore } from '../src/sqlite.ts'

export type Kind = 'file' | 'sqlite'

/** `race`: tries each of this many revisions once. `on`: saves one revision after the other without end. */
export type Order = { readonly race: number } | { readonly on: 'forever' }

export type Report =
  | { readonly ready: true }
  | { readonly won: readonly number[] }
  | { readonly saved: number }
  | { readonly failed: string }

/** Long enough to be cut in the middle, and the same throughout, so that no mixture of two is valid. */
export function numbered(revision: number): { runId: string; revision: number; filler: string } {
  return { runId: 'run', revision, filler: `${revision} `.repeat(20_000) }
}

const [kind, path] = process.argv.slice(2)
if (process.send && path !== undefined) follow(kind === 'file' ? fileStore(path) : sqliteStore(path))

function follow(store: CheckpointStore): void {
  process.on('disconnect', () => process.exit())
  process.on('message', (order: Order) => {
    const following = 'race' in order ? race(store, order.race) : saveOn(store)
    following.catch((error: unknown) => report({ failed: String(error) }))
  })
  report({ ready: true })
}

async function race(store: CheckpointStore, rounds: number): Promise<void> {
  const won: number[] = []
  for (let revision = 1; revision <= rounds; revision++) {
    try {
      await store.save('run', { runId: 'run', revision }, revision - 1)
      won.push(revision)
    } catch (error) {
      if (!(error instanceof CheckpointConflictError)) throw error
      // The others are at most as far: no process gets ahead.
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  report({ won })
}

async function saveOn(store: CheckpointStore): Promise<void> {
  const last = await store.load('run')
  let revision = typeof last === 'object' && last && 'revision' in last ? Number(last.revision) : 0
  for (;;) {
    await store.save('run', numbered(revision + 1), revision)
    revision++
    report({ saved: revision })
    // Between two saves of a synchronous store the reports must be sent.
    await new Promise((resolve) => setImmediate(resolve))
  }
}

function report(what: Report): void {
  process.send?.(what)
}
