/** Defines how a run is saved. `checkpoint/` implements it. */

import type { Awaitable } from '../flow/flow.ts'
import type { Checkpoint, SavedUndo } from '../vocabulary/saved-run.ts'

/** Saves a run. */
export interface Saver<Call> {
  /** Whether there is a store. */
  readonly isOn: boolean
  /** How often the run has been saved. */
  revision: number
  readonly undos: Undos<Call>
  /** Whether executions that wait for a save do not start any more. */
  readonly startsNothing: boolean
  /** Saves without being awaited, at most 10 ms later. If that fails, the next save contains everything. */
  soon(): void
  /** If {@link soon} was called, begins that save with the state of this moment. */
  flush(): Promise<void>
  /**
   * Resolves when the current state, or a later one, is stored. The rejection need not be handled.
   *
   * @throws {CheckpointStoreError} The store failed.
   * @throws {CheckpointConflictError} Another process has saved this run in the meantime.
   */
  now(): Promise<void>
  /** Stores exactly this state, after saves that are running. Throws the errors of {@link now}. */
  put(checkpoint: Checkpoint): Promise<void>
  /** Whether this error comes from a save of this run, and not from a tool that has its own checkpoints. */
  hasThrown(error: unknown): boolean
  /** Resolves when no save is running. */
  idle(): Promise<void>
}

/** The undos of a run and of its inner runs. */
export interface Undos<Call> {
  /** Whether an undo of the call with this key had begun before the resume. */
  hadBegun(key: string): boolean
  /**
   * Undoes a call after the beginning of the undo is stored; immediately if there is no store. `id`: the id of the call in the outermost run.
   *
   * @throws {CheckpointError} The beginning could not be stored: nothing is undone, and a resume will undo it.
   */
  during(entry: Call, id: string, undo: () => Awaitable<void>): Promise<void>
  save(): readonly SavedUndo[]
  /** Loads undos of a checkpoint. They are not repeated, and the run warns about those that had not ended. */
  load(saved: readonly SavedUndo[]): void
}
