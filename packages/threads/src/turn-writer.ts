/** Writes what a turn tells: one batch after another, in the name of the process that works on it. */

import { CheckpointConflictError, type CheckpointStore } from '@meanwhile/core'
import { EventLog } from './event-log.ts'
import type { Host } from './host.ts'
import { ended, left, type Orders, type Outcome, type Progress, progressed, refused } from './owner-decisions.ts'
import { LeaseLostError } from './thread-errors.ts'
import type { ThreadEventBody } from './thread-events.ts'
import { newThread, type Owner, type Work } from './thread-records.ts'
import type { Change, ChangeOptions, StoredThread } from './thread-store.ts'

/** What a writer learns with its writes. */
export interface WriterListener {
  heed(orders: Orders): void
  /** Another process has taken over the turn: nothing more is written. */
  lose(): void
}

export class TurnWriter {
  readonly log: EventLog
  readonly #host: Host
  readonly #owner: Owner
  readonly #listener: WriterListener
  /** Settles when all has been written that was to be written until now. */
  #last: Promise<unknown> = Promise.resolve()
  #isLost = false
  /** A write is on its way that takes all that waits. */
  #isDue = false
  readonly #joined: { turn: string; seq: number }[] = []
  #retracted: readonly number[] = []

  constructor(host: Host, thread: string, { turn, seq }: Work, listener: WriterListener) {
    this.#host = host
    this.#owner = { thread, turn: turn.id, epoch: turn.epoch }
    this.#listener = listener
    const heard = () => host.wakes.wake(thread)
    this.log = new EventLog(turn.id, seq, () => this.#soon(), heard)
  }

  get isLost(): boolean {
    return this.#isLost
  }

  /** Returns the number that the event gets. `joined`: the turn whose message it tells. */
  push(event: ThreadEventBody, joined?: string): number {
    const seq = this.log.push(event)
    if (joined !== undefined) this.#joined.push({ turn: joined, seq })
    return seq
  }

  /** These events do not count any more. */
  retract(seqs: readonly number[]): void {
    this.#retracted = seqs
  }

  /** Stores what waits, so that the process keeps the turn. What cannot be stored waits for the next write. */
  async beat(): Promise<void> {
    await this.#write({ isBeat: true }).catch((error: unknown) => this.#report(error))
  }

  /** Stores what waits. */
  flush(): Promise<void> {
    return this.#write({})
  }

  /** Stores all that was told, and how the turn has ended. Returns the work that this begins. */
  async end(outcome: Outcome): Promise<Work | undefined> {
    await this.#last
    const { progress } = this.#take()
    return await this.#change((stored) => ended(stored, this.#owner, outcome, progress, this.#host.claim()))
  }

  /** Opens the question again whose answers the run has refused. */
  async refuse(): Promise<void> {
    await this.#last
    await this.#change((stored) => refused(stored, this.#owner))
  }

  /** Leaves the turn to another process. If that cannot be stored, the others wait until the lease has run out. */
  async leave(): Promise<void> {
    await this.#change((stored) => left(stored, this.#owner)).catch((error: unknown) => this.#report(error))
  }

  /** Drops what was told and not stored. Resolves when nothing is being written any more. */
  async close(): Promise<void> {
    this.log.close()
    await this.#last
  }

  /** Where the run keeps its checkpoints: what was told until then is stored with them. */
  get checkpoints(): CheckpointStore {
    const { checkpoints } = this.#host.store
    return {
      load: (id) => checkpoints.load(id),
      save: async (id, checkpoint, expected) => {
        try {
          await this.#write({ checkpoint: { id, checkpoint, expected } })
        } catch (error) {
          // The run must not go on.
          throw error instanceof LeaseLostError ? new CheckpointConflictError(id, expected) : error
        }
      },
      delete: (id) => checkpoints.delete(id),
      prune: (options) => checkpoints.prune(options),
    }
  }

  /** Stores what waits, with what else comes at the same moment. */
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
    // Whoever asked for the write hears of its error; the next write only waits for it.
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
