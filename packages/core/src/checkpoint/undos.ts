/** Stores each undo of a run before it begins, so that no resume repeats it and a resume can report it. */

import type { Awaitable } from '../flow/flow.ts'
import { recently } from '../flow/grace.ts'
import type { CallEntry } from '../state/call-entry.ts'
import type { RunState } from '../state/run.ts'
import type { Undos } from '../state/saver.ts'
import type { Checkpoint, SavedUndo } from '../vocabulary/saved-run.ts'

/** The functions that store undos. */
interface Storing {
  readonly isOn: boolean
  saveUndos(change: (stored: Checkpoint) => readonly SavedUndo[] | undefined): Promise<void>
}

export class RunUndos implements Undos<CallEntry> {
  /** The outermost run. */
  readonly #run: RunState
  readonly #saver: Storing
  /** The undos that are running, by the key of their call. */
  readonly #running: Map<string, SavedUndo> = new Map()
  /** The keys of calls whose undo had begun before the resume. */
  readonly #before: Set<string> = new Set()

  constructor(run: RunState, saver: Storing) {
    this.#run = run
    this.#saver = saver
  }

  hadBegun(key: string): boolean {
    return this.#before.has(key)
  }

  async during({ key, call }: CallEntry, id: string, undo: () => Awaitable<void>): Promise<void> {
    if (!this.#saver.isOn) return await undo()
    const saved = { key, id, tool: call.name }
    this.#running.set(key, saved)
    try {
      await recently(() =>
        this.#saver.saveUndos((stored) => (mayUndo(stored, key) ? [...othersIn(stored, key), saved] : undefined)),
      )
      await undo()
    } finally {
      this.#running.delete(key)
    }
    // The undo has ended. If this cannot be stored, a resume reports it as one that may not have ended.
    await this.#saver
      .saveUndos((stored) => {
        const isThere = stored.undos.some((one) => one.key === key)
        return isThere ? [...othersIn(stored, key), { ...saved, hasEnded: true }] : undefined
      })
      .catch(() => undefined)
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
      const message = `${tool}: the process ended during the undo, which is not repeated`
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
