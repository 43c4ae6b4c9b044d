/** The newest stored events of a thread whose turns run in other processes. All readers of the thread in this process share them. */

import type { StoredEvent, StoredThread, ThreadStore } from './thread-store.ts'

/** The number of events that one query of the store reads. */
export const PAGE = 256

/** The number of events that are kept for readers. A reader that is further behind reads the store. */
const MAX_EVENTS = 4 * PAGE

/** The state of a thread, and the events of one of its turns. */
export interface TailOfTurn {
  readonly stored: StoredThread
  readonly events: readonly StoredEvent[]
}

export class ThreadTail {
  /** The tail has all events after this number, up to `#through`. */
  #from: number
  #through: number
  #events: StoredEvent[] = []
  #stored: StoredThread | undefined

  /** `from`: the number of an event of the thread. The tail begins after it. */
  constructor(from: number) {
    this.#from = from
    this.#through = from
  }

  /** Reads the events that the thread has gained. `stored`: the thread, as it was loaded just now. */
  async read({ events }: ThreadStore, stored: StoredThread): Promise<void> {
    const { id, seq } = stored.thread
    while (this.#through < seq) {
      const page = await events(id, { after: this.#through, limit: PAGE })
      // Later events wait for the next poll, so that the events and the state of the turns are of the same time.
      this.#events.push(...page.filter((one) => one.seq <= seq))
      this.#through = page.length < PAGE ? seq : Math.min(seq, page.at(-1)?.seq ?? seq)
      const dropped = this.#events.splice(0, Math.max(0, this.#events.length - MAX_EVENTS))
      this.#from = dropped.at(-1)?.seq ?? this.#from
    }
    this.#stored = stored
  }

  /** Returns the thread, and the events of the turn after this number. Undefined: only the store has them. */
  after(turn: string, seq: number): TailOfTurn | undefined {
    const stored = this.#stored
    if (seq < this.#from || !stored?.turns.some(({ id }) => id === turn)) return undefined
    const begin = this.#events.findLastIndex((one) => one.seq <= seq) + 1
    return { stored, events: this.#events.slice(begin).filter((one) => one.turn === turn) }
  }
}
