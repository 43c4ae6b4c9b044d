/** Writes the events of a running turn to the store, one batch after another, as long as this process owns the turn. */

import { CheckpointConflictError, type CheckpointStore } from '@meanwhile/core'
import { EventLog } from './event-log.ts'
import type { Host } from './host.ts'
import { ended, left, type Orders, type Outcome, type Progress, progressed, refused } from './owner-decisions.ts'
import { LeaseLostError } from './thread-errors.ts'
import type { ThreadEventBody } from './thread-events.ts'
import { newThread, type Owner, type Work } from './thread-records.ts'
import type { Change, ChangeOptions, StoredThread } from './thread-store.ts'

/** Receives what the writer reads from the store with each write. */
export interface WriterListener {
  heed(orders: Orders): void
  /** Another process has taken over the turn: this one writes nothing more. */
  lose(): void
}

export class TurnWriter {
  readonly log: EventLog
  readonly #host: Host
  readonly #owner: Owner
  readonly #listener: WriterListener
  /** Resolves when all writes that were requested until now are done. */
  #last: Promise<unknown> = Promise.resolve()
  #isLost = false
  /** A write of all waiting events has been scheduled. */
  #isDue = false
  readonly #joined: { turn: string; seq: number }[] = []
  #retracted: readonly number[] = []

  constructor(host: Host, thread: string, { turn, seq }: Work, listener: WriterListener) {
    this.#host = host
    this.#owner = { thread, turn: turn.id, epoch: turn.epoch }
    this.#listener = listener
    const pushed = () => host.wakes.wake(thread)
    this.log = new EventLog(turn.id, seq, () => this.#soon(), pushed)
  }

  get isLost(): boolean {
    return this.#isLost
  }

  /** Adds an event and returns its number. `joined`: the turn whose message the event has. */
  push(event: ThreadEventBody, joined?: string): number {
    const seq = this.log.push(event)
    if (joined !== undefined) this.#joined.push({ turn: joined, seq })
    return seq
  }

  /** Marks these events as no longer valid, with the next write. */
  retract(seqs: readonly number[]): void {
    this.#retracted = seqs
  }

  /** Stores the waiting events and renews the lease. Events that cannot be stored wait for the next write. */
  async beat(): Promise<void> {
    await this.#write({ isBeat: true }).catch((error: unknown) => this.#report(error))
  }

  /** Stores the waiting events. */
  flush(): Promise<void> {
    return this.#write({})
  }

  /** Stores all events and the outcome of the turn. Returns the work on the next turn, if that begins. */
  async end(outcome: Outcome): Promise<Work | undefined> {
    await this.#last
    const { progress } = this.#take()
    return await this.#change((stored) => ended(stored, this.#owner, outcome, progress, this.#host.claim()))
  }

  /** The run has rejected the answers: the turn waits for an answer again. */
  async refuse(): Promise<void> {
    await this.#last
    await this.#change((stored) => refused(stored, this.#owner))
  }

  /** Gives up the turn. If that cannot be stored, other processes wait until the lease has expired. */
  async leave(): Promise<void> {
    await this.#change((stored) => left(stored, this.#owner)).catch((error: unknown) => this.#report(error))
  }

  /** Drops events that are not stored. Resolves when no write is running any more. */
  async close(): Promise<void> {
    this.log.close()
    await this.#last
  }

  /** The checkpoint store of the run. Each save also stores the events until then. */
  get checkpoints(): CheckpointStore {
    const { checkpoints } = this.#host.store
    return {
      load: (id) => checkpoints.load(id),
      save: async (id, checkpoint, expected) => {
        try {
          await this.#write({ checkpoint: { id, checkpoint, expected } })
        } catch (error) {
          // This error stops the run.
          throw error instanceof LeaseLostError ? new CheckpointConflictError(id, expected) : error
        }
      },
      delete: (id) => checkpoints.delete(id),
      prune: (options) => checkpoints.prune(options),
    }
  }

  /** Stores the waiting events in a microtask, so that events of the same moment share a write. */
  #soon(): void {
    if (this.#isDue) return
    this.#isDue = true
    queueMicrotask(() => {
      this.#write({}).catch((error: unknown) => this.#report(error))
    })
  }

  #write({ isBeat = false, ...extra }: Pick<Progress, 'checkpoint'> & { readonly isBeat?: boolean }): Promise<void> {
    const written = this.#last.then(async () => {
      const { batch, progress, putBack } = this.#take()
      const isEmpty = progress.events.length === 0 && progress.droppedThrough === undefined
      if (isEmpty && !isBeat && !extra.checkpoint) return
      try {
        const decide = (stored: StoredThread) =>
          progressed(stored, this.#owner, { ...progress, ...extra }, this.#host.claim())
        const orders = await this.#change(decide, { isFleeting: !extra.checkpoint })
        this.log.stored(batch)
        this.#listener.heed(orders)
      } catch (error) {
        putBack()
        throw error
      }
    })
    // The caller of this write receives its error; the next write only waits for it.
    this.#last = written.catch(() => undefined)
    return written
  }

  #take() {
    this.#isDue = false
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

  async #change<Result>(decide: (stored: StoredThread) => Change<Result>, options?: ChangeOptions): Promise<Result> {
    const { thread, turn } = this.#owner
    try {
      if (this.#isLost) throw new LeaseLostError(thread)
      const known = (stored: StoredThread | undefined) => decide(stored ?? newThread(thread, '', 0))
      return await this.#host.store.change(thread, known, { turn, ...options })
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
    this.#listener.lose()
  }
}
