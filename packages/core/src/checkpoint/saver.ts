/** Saves a run in its store: one save at a time, always with the newest state. */

import { turnIfDue } from '../flow/event-loop.ts'
import { unheard } from '../flow/unheard.ts'
import { isEnding, isLost } from '../machine/halt.ts'
import type { RunState, Saver, Undos } from '../state/run.ts'
import { CheckpointConflictError, type CheckpointError, CheckpointStoreError } from '../vocabulary/checkpoint-errors.ts'
import { loaded } from '../vocabulary/checkpoint-store.ts'
import type { Checkpoint } from '../vocabulary/saved-run.ts'
import { checkedCheckpoint, signed } from './checkpoint.ts'
import { checkpointOf } from './take.ts'
import { type Change, RunUndos } from './undos.ts'

/** The longest time in milliseconds before a save begins that nobody waits for. */
const LATEST = 10

interface WaitingSave {
  readonly ended: Promise<void>
  /** What it stores. Default: the state when it begins. */
  checkpoint?: Checkpoint
}

export class RunSaver implements Saver {
  revision = 0
  readonly undos: Undos
  /** The outermost run. */
  readonly #run: RunState
  /** Ends when the last save has ended. After a conflict it rejects, so that nothing more is saved. */
  #last: Promise<void> = Promise.resolve()
  /** A save that has not begun. */
  #waiting: WaitingSave | undefined
  /** Begins the save that nobody waits for, if there is one. */
  #late: ReturnType<typeof setTimeout> | undefined
  readonly #thrown: WeakSet<object> = new WeakSet()

  constructor(run: RunState) {
    this.#run = run
    this.undos = new RunUndos(run, (change) => this.#saveUndos(change))
  }

  get isOn(): boolean {
    return this.#run.store !== undefined
  }

  get startsNothing(): boolean {
    const { state } = this.#run.halt
    return isEnding(state) || isLost(state)
  }

  soon(): void {
    if (!this.isOn || this.#run.over || isLost(this.#run.halt.state)) return
    this.#late ??= setTimeout(() => void this.now(), LATEST)
    // Without a first checkpoint a resume finds nothing.
    if (this.revision === 0) void this.now()
  }

  now(): Promise<void> {
    if (!this.isOn) return Promise.resolve()
    this.#waiting ??= this.#wait()
    return this.#waiting.ended
  }

  async flush(): Promise<void> {
    if (this.#run.signal.aborted) return
    if (this.#late !== undefined || this.#waiting) await this.put(this.#take())
  }

  async put(checkpoint: Checkpoint): Promise<void> {
    this.#isTaken()
    if (!this.isOn) return
    const waiting = this.#waiting
    if (!waiting) return await this.#queue(() => this.#save(checkpoint))
    // It would begin first, and with a later state.
    waiting.checkpoint = checkpoint
    this.#waiting = undefined
    await waiting.ended
  }

  #wait(): WaitingSave {
    const save = async () => {
      // Calls that wait for the event loop may share the save.
      const turn = turnIfDue()
      if (turn) await turn
      if (this.#waiting === waiting) this.#waiting = undefined
      const { over, signal } = this.#run
      // An abort saves nothing, and the checkpoint of a cancel was taken before anything was stopped.
      const checkpoint = waiting.checkpoint ?? (over || signal.aborted ? undefined : this.#take())
      if (checkpoint) await this.#save(checkpoint)
    }
    const waiting: WaitingSave = { ended: this.#queue(save) }
    return waiting
  }

  /**
   * Changes only the undos of the stored checkpoint, because an aborted run saves no new state but still stores its undos. If `change` returns
   * nothing, the checkpoint stays as it is. Throws the errors of {@link now}, and {@link CheckpointCorruptError} if the stored checkpoint is damaged.
   */
  async #saveUndos(change: Change): Promise<void> {
    const { store, over } = this.#run
    if (!store || over) return
    await this.#queue(async () => {
      const { id } = this.#run
      const found = await this.#inside(() => loaded(store, id))
      if (found === undefined) return
      const stored = checkedCheckpoint(found)
      if (stored.revision !== this.revision)
        throw this.#overtaken(new CheckpointConflictError(id, this.revision, stored.revision))
      const undos = change(stored)
      if (undos) await this.#save(signed({ ...stored, undos }))
    })
  }

  hasThrown(error: unknown): boolean {
    return this.#thrown.has(Object(error))
  }

  async idle(): Promise<void> {
    await this.#last.catch(() => undefined)
  }

  /** Takes a checkpoint, which contains what the late save would contain. */
  #take(): Checkpoint {
    this.#isTaken()
    return checkpointOf(this.#run, 'running')
  }

  #isTaken(): void {
    clearTimeout(this.#late)
    this.#late = undefined
  }

  /** The rejection need not be handled. */
  #queue(save: () => Promise<void>): Promise<void> {
    const saved = this.#last.then(save)
    this.#last = unheard(
      saved.catch((error: object) => {
        this.#thrown.add(error)
        if (error instanceof CheckpointConflictError) throw error
      }),
    )
    return saved
  }

  async #save(checkpoint: Checkpoint): Promise<void> {
    const { id, store } = this.#run
    try {
      const next = { ...checkpoint, revision: this.revision + 1 }
      await this.#inside(() => store?.save(id, next, this.revision))
      this.revision++
    } catch (error) {
      if (!(error instanceof CheckpointConflictError)) throw asStoreError(id, error)
      throw this.#overtaken(error)
    }
  }

  /** Another process has saved this run, so it does not continue here. */
  #overtaken(conflict: CheckpointConflictError): CheckpointConflictError {
    if (!this.#run.over) this.#run.halt.fail(conflict)
    return conflict
  }

  /** Calls the store in the telemetry context of the run, so that spans of the store are children of the run's span. */
  #inside<Result>(work: () => Result): Result {
    const { telemetry, context } = this.#run
    return telemetry.inside(context, work)
  }
}

/** Wraps an error that a store threw while saving in a {@link CheckpointError}. */
export function asStoreError(id: string, cause: unknown): CheckpointError {
  if (cause instanceof CheckpointStoreError || cause instanceof CheckpointConflictError) return cause
  return new CheckpointStoreError('save', id, 'it could not be saved', { cause })
}
