/** When a run is saved: one save at a time, each of the newest state, in a store that refuses whoever comes late. */

import type { Checkpoint } from '../saved-run.ts'
import { checkedCheckpoint, checksumOf } from './checkpoint.ts'
import { CheckpointConflictError, CheckpointStoreError } from './checkpoint-errors.ts'
import { type CheckpointStore, loaded } from './checkpoint-store.ts'

export interface SaverOptions {
  readonly runId: string
  readonly store: CheckpointStore | undefined
  /** The state to be saved now, if there still is one. */
  readonly snapshot: () => Checkpoint | undefined
  /** Runs what a store does: its spans stand under the run's. */
  readonly inside: <Result>(work: () => Result) => Result
  /** Somebody else has saved this run: it must not go on. */
  readonly lost: (error: CheckpointConflictError) => void
}

export class Saver {
  /** How often the run has been saved. */
  revision = 0
  readonly #options: SaverOptions
  #last: Promise<void> = Promise.resolve()
  /** A save that has not begun: what happens until then is in it. */
  #waiting: Promise<void> | undefined
  #conflict: CheckpointConflictError | undefined

  constructor(options: SaverOptions) {
    this.#options = options
  }

  get isOn(): boolean {
    return this.#options.store !== undefined
  }

  /** Saves without being waited for. If that fails, the next save has all that this one had. */
  soon(): void {
    if (this.isOn) this.now().catch(() => undefined)
  }

  /**
   * Resolves when the state of this moment, or a later one, is stored.
   *
   * @throws {CheckpointStoreError} The store failed (L16).
   * @throws {CheckpointConflictError} Somebody else has saved this run in the meantime.
   */
  async now(): Promise<void> {
    if (!this.isOn) return
    this.#waiting ??= this.#queue(() => {
      this.#waiting = undefined
      return this.#save(this.#options.snapshot())
    })
    await this.#waiting
  }

  /** Stores this very state, behind what is being saved. Throws like {@link now}. */
  async put(checkpoint: Checkpoint): Promise<void> {
    if (this.isOn) await this.#queue(() => this.#save(checkpoint))
  }

  /**
   * Changes what is stored, though the run has gone on since, or has been aborted; if `change` gives nothing it stays as it is. Throws
   * like {@link now}, and {@link CheckpointCorruptError} if what is stored is damaged.
   */
  async amend(change: (stored: Checkpoint) => Omit<Checkpoint, 'checksum'> | undefined): Promise<void> {
    const { store, runId, inside } = this.#options
    if (!store) return
    await this.#queue(async () => {
      const stored = await inside(() => loaded(store, runId))
      const changed = stored === undefined ? undefined : change(checkedCheckpoint(stored))
      await this.#save(changed && { ...changed, checksum: checksumOf(changed) })
    })
  }

  /** Resolves when no save is at work. */
  async idle(): Promise<void> {
    await this.#last
  }

  #queue(save: () => Promise<void>): Promise<void> {
    const saved = this.#last.then(save)
    this.#last = saved.catch(() => undefined)
    return saved
  }

  async #save(checkpoint: Checkpoint | undefined): Promise<void> {
    if (!checkpoint) return
    const { store, runId, lost, inside } = this.#options
    if (this.#conflict) throw this.#conflict
    try {
      const next = { ...checkpoint, revision: this.revision + 1 }
      await inside(() => store?.save(runId, next, this.revision))
      this.revision++
    } catch (error) {
      if (!(error instanceof CheckpointConflictError)) throw asStoreError(runId, error)
      this.#conflict = error
      lost(error)
      throw error
    }
  }
}

function asStoreError(id: string, cause: unknown): CheckpointStoreError {
  if (cause instanceof CheckpointStoreError) return cause
  return new CheckpointStoreError('save', id, 'it could not be saved', { cause })
}
