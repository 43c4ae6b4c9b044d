/** Writes the events of a running turn to the store, one batch after the other, as long as this process owns the turn. */

import { CheckpointConflictError, type CheckpointStore } from '@meanwhile/core'
import type { Queued } from './callers.ts'
import { EventLog } from './event-log.ts'
import { HistoryBases } from './history-bases.ts'
import { changeThread, type Host } from './host.ts'
import {
  endTurn,
  type Outcome,
  type Progress,
  releaseTurn,
  reopenTurn,
  saveProgress,
  type TurnRequests,
} from './owner-decisions.ts'
import { readCheckpoint } from './run-checkpoint.ts'
import { LeaseLostError } from './thread-errors.ts'
import type { ThreadEventBody } from './thread-events.ts'
import type { TurnEvents } from './thread-history.ts'
import type { Claim, Owner, Work } from './thread-records.ts'
import type { Change, ChangeOptions, SavedCheckpoint, StoredThread, TurnRecord } from './thread-store.ts'

export interface WriterListener {
  /** Receives the requests of users that the writer has read from the store with a write. */
  onRequests(requests: TurnRequests): void
  /** Called when another process has taken over the turn: this process writes nothing more. */
  onLeaseLost(): void
}

/** What follows from the end of a turn. */
export interface EndedTurn extends Queued {
  /** The work on the next turn, if that has begun. */
  readonly next: Work | undefined
}

export class TurnWriter {
  readonly log: EventLog
  readonly #host: Host
  readonly #owner: Owner
  readonly #turn: TurnRecord
  readonly #bases: HistoryBases
  readonly #listener: WriterListener
  /** Resolves when the last requested write is done. Each write waits for the one before it. */
  #lastWrite: Promise<unknown> = Promise.resolve()
  #isLost = false
  /** A write that has not begun. */
  #scheduled: ReturnType<typeof setTimeout> | undefined
  /** The renewal of the lease that has not begun. */
  #renewal: Promise<void> | undefined
  readonly #joined: { turn: string; seq: number }[] = []
  #retracted: readonly number[] = []

  constructor(host: Host, thread: string, { turn, seq }: Work, listener: WriterListener) {
    this.#host = host
    this.#owner = { thread, turn: turn.id, epoch: turn.epoch }
    this.#turn = turn
    this.#bases = new HistoryBases(thread)
    this.#listener = listener
    const pushed = () => host.changes.pushed(thread, turn.id)
    this.log = new EventLog(turn.id, seq, () => this.#scheduleWrite(), pushed)
  }

  get isLost(): boolean {
    return this.#isLost
  }

  /** Adds an event and returns its number. `joined`: the turn whose message the event has. */
  push(event: ThreadEventBody, joined?: string): number {
    const seq = this.log.push(event)
    this.#bases.push(seq, event)
    if (joined !== undefined) this.#joined.push({ turn: joined, seq })
    return seq
  }

  /** Reads the stored events of the turn, with which its checkpoints begin. */
  readEvents(events: TurnEvents): void {
    this.#bases.read(this.#turn, events)
  }

  /** With the next write, the events with these numbers become superseded. */
  retract(seqs: readonly number[]): void {
    this.#retracted = seqs
    this.#bases.retract(seqs)
  }

  /** Stores the waiting events and renews the lease. Events that cannot be stored wait for the next write. Never rejects. */
  renewLease(): Promise<void> {
    this.#renewal ??= this.#write({ renewsLease: true }).catch((error: unknown) => this.#report(error))
    return this.#renewal
  }

  /** Stores the waiting events. */
  flush(): Promise<void> {
    return this.#write({})
  }

  /** Stores all events and the outcome of the turn. `last`: events that are written together with the outcome. */
  async end(outcome: Outcome, last: readonly ThreadEventBody[]): Promise<EndedTurn> {
    await this.#lastWrite
    for (const event of last) this.push(event)
    const { progress } = this.#takeProgress()
    return await this.#change((stored, claim) => {
      const change = endTurn(stored, this.#owner, outcome, progress, claim)
      const turns = new Map([...stored.turns, ...(change.turns ?? [])].map((turn) => [turn.id, turn.status]))
      const queue = new Set([...turns].flatMap(([id, status]) => (status === 'queued' ? [id] : [])))
      return { ...change, result: { next: change.result, queue, newest: stored.thread.turns } }
    })
  }

  /** The run has rejected the answers: the turn waits for an answer again. */
  async reopen(): Promise<void> {
    await this.#lastWrite
    await this.#change((stored) => reopenTurn(stored, this.#owner))
  }

  /** Gives up the turn. If that cannot be stored, other processes wait until the lease has expired. */
  async release(): Promise<void> {
    await this.#change((stored) => releaseTurn(stored, this.#owner)).catch((error: unknown) => this.#report(error))
  }

  /** Drops the events that are not stored. Resolves when no write is running. */
  async close(): Promise<void> {
    this.#unschedule()
    this.log.close()
    await this.#lastWrite
  }

  /** The checkpoint store for the run. Each save also stores the events that the run has emitted before it. */
  get checkpoints(): CheckpointStore {
    const { checkpoints } = this.#host.store
    return {
      load: (id) => checkpoints.load(id),
      save: async (id, checkpoint, expected) => {
        try {
          await this.#write({ checkpoint: { id, checkpoint, expected } })
        } catch (error) {
          // A `CheckpointConflictError` stops the run.
          throw error instanceof LeaseLostError ? new CheckpointConflictError(id, expected) : error
        }
      },
      delete: (id) => checkpoints.delete(id),
      prune: (options) => checkpoints.prune(options),
    }
  }

  /** Stores the waiting events in the next turn of the event loop, so that all that one piece of the model's stream brings is one write. */
  #scheduleWrite(): void {
    this.#scheduled ??= setTimeout(() => {
      this.#write({}).catch((error: unknown) => this.#report(error))
    }, 0)
  }

  #unschedule(): void {
    clearTimeout(this.#scheduled)
    this.#scheduled = undefined
  }

  #write({
    renewsLease = false,
    ...extra
  }: Pick<Progress, 'checkpoint'> & { readonly renewsLease?: boolean }): Promise<void> {
    const written = this.#lastWrite.then(async () => {
      if (renewsLease) this.#renewal = undefined
      const { batch, progress, putBack } = this.#takeProgress()
      const isEmpty = progress.events.length === 0 && progress.droppedThrough === undefined
      if (isEmpty && !renewsLease && !extra.checkpoint) return
      try {
        const checkpoint = extra.checkpoint && this.#withBase(extra.checkpoint)
        const decide = (stored: StoredThread, claim: Claim) =>
          saveProgress(stored, this.#owner, { ...progress, ...(checkpoint && { checkpoint }) }, claim)
        const requests = await this.#change(decide, { mayBeLost: !extra.checkpoint })
        this.log.stored(batch)
        this.#tellJoined(progress.joined)
        this.#listener.onRequests(requests)
      } catch (error) {
        putBack()
        throw error
      }
    })
    // The caller of this write receives its error. The next write only waits until this one is done.
    this.#lastWrite = written.catch(() => undefined)
    return written
  }

  /** Adds the last event that is stored, or is in the same write, and with whose history the checkpoint begins. */
  #withBase(saved: SavedCheckpoint): SavedCheckpoint {
    const base = this.#bases.of(readCheckpoint(saved.checkpoint)?.messages ?? [])
    return base ? { ...saved, base } : saved
  }

  /** Wakes the readers of the turns whose messages have joined this one. */
  #tellJoined(joined: Progress['joined'] = []): void {
    const turns = new Set(joined.map(({ turn }) => turn))
    if (turns.size > 0) this.#host.changes.changed(this.#owner.thread, (turn) => !turns.has(turn))
  }

  /** Removes the waiting events, joins and retractions, for one write. `putBack` restores them if the write fails. */
  #takeProgress() {
    this.#unschedule()
    const batch = this.log.take()
    const joined = this.#joined.splice(0)
    const retracted = this.#retracted
    this.#retracted = []
    const putBack = () => {
      this.log.putBack(batch)
      this.#joined.unshift(...joined)
      this.#retracted = retracted
    }
    const progress: Progress = { ...batch, joined, retracted }
    return { batch, progress, putBack }
  }

  async #change<Result>(
    decide: (stored: StoredThread, claim: Claim) => Change<Result>,
    options?: ChangeOptions,
  ): Promise<Result> {
    const { thread, turn } = this.#owner
    try {
      if (this.#isLost) throw new LeaseLostError(thread)
      return await changeThread(this.#host, thread, decide, { turn, isOwner: true, ...options })
    } catch (error) {
      if (error instanceof LeaseLostError) this.#lose()
      throw error
    }
  }

  #report(error: unknown): void {
    const { thread, turn } = this.#owner
    this.#host.report(error, { thread, turn })
  }

  #lose(): void {
    this.#isLost = true
    this.#listener.onLeaseLost()
  }
}
