/** Stores each undo of a run before it begins, so that no resume repeats it and a resume can report it. */

import type { Awaitable } from '../flow/flow.ts'
import { recently } from '../flow/grace.ts'
import type { CallEntry } from '../state/call-entry.ts'
import type { RunState, Undos } from '../state/run.ts'
import type { Checkpoint, SavedUndo } from '../vocabulary/saved-run.ts'

/** Returns the undos to be stored; nothing if the checkpoint stays as it is. */
export type Change = (stored: Checkpoint) => readonly SavedUndo[] | undefined

/** The undos of a run and of its inner runs. */
export class RunUndos implements Undos {
  /** The outermost run. */
  readonly #run: RunState
  readonly #store: (change: Change) => Promise<void>
  /** The undos that are running, by the key of their call. */
  readonly #running: Map<string, SavedUndo> = new Map()
  /** The keys of calls whose undo had begun before the resume. */
  readonly #before: Set<string> = new Set()

  /** `store`: changes the undos of the stored checkpoint. */
  constructor(run: RunState, store: (change: Change) => Promise<void>) {
    this.#run = run
    this.#store = store
  }

  hadBegun(key: string): boolean {
    return this.#before.has(key)
  }

  async during({ key, call }: CallEntry, id: string, undo: () => Awaitable<void>): Promise<void> {
    if (!this.#run.store) return await undo()
    const saved = { key, id, tool: call.name }
    this.#running.set(key, saved)
    try {
      await recently(() =>
        this.#store((stored) => (mayUndo(stored, key) ? [...othersIn(stored, key), saved] : undefined)),
      )
      await undo()
    } finally {
      this.#running.delete(key)
    }
    // The undo has ended. If this cannot be stored, a resume reports it as one that may not have ended.
    await this.#store((stored) => {
      const isThere = stored.undos.some((one) => one.key === key)
      return isThere ? [...othersIn(stored, key), { ...saved, hasEnded: true }] : undefined
    }).catch(() => undefined)
  }

  save(): readonly SavedUndo[] {
    return [...this.#running.values()]
  }

  load(saved: readonly SavedUndo[]): void {
    for (const { key, id, tool, hasEnded } of saved) {
      this.#before.add(key)
      if (hasEnded) continue
      this.#run.history.takenIds.add(id)
      this.#run.mayHaveHappened(id)
      const problem =
        'the process ended while the call was being undone. It may or may not be undone; the undo is not repeated'
      const message = `${tool}: ${problem}`
      this.#run.events.warn({ code: 'compensation-failed', message, source: 'core' })
    }
  }
}

function othersIn({ undos }: Checkpoint, key: string): readonly SavedUndo[] {
  return undos.filter((one) => one.key !== key)
}

/** Whether a resume from this checkpoint could undo the call. */
function mayUndo({ calls }: Checkpoint, key: string): boolean {
  return calls.some(
    ({ done, runs, ...call }) => (call.key === key && done) || runs.some(({ checkpoint }) => mayUndo(checkpoint, key)),
  )
}
