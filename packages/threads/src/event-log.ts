/** Collects the events of a running turn: readers in this process get them from here, and they are stored in batches. */

import { isKept, type ThreadEventBody } from './thread-events.ts'
import type { StoredEvent } from './thread-store.ts'

/** Deltas are stored after this many milliseconds. */
const BATCH = 50

/** When this many events wait for the store, the turn waits for it. */
const MOST_WAITING = 1_024

const DELTAS: ReadonlySet<string> = new Set(['text-delta', 'reasoning-delta', 'tool-input-delta', 'tool-progress'])

export interface Batch {
  readonly events: readonly StoredEvent[]
  readonly droppedThrough?: number
}

export class EventLog {
  readonly #turn: string
  #seq: number
  /** The log has all events after this `seq`. */
  #from: number
  #events: StoredEvent[] = []
  #waiting: StoredEvent[] = []
  #droppedThrough: number | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  /** Stores the waiting events. */
  readonly #store: () => void
  readonly #pushed: () => void

  /** `store` stores the waiting events; `pushed` is called after each new event. */
  constructor(turn: string, seq: number, store: () => void, pushed: () => void) {
    this.#turn = turn
    this.#seq = seq
    this.#from = seq
    this.#store = store
    this.#pushed = pushed
  }

  get from(): number {
    return this.#from
  }

  get isFull(): boolean {
    return this.#waiting.length >= MOST_WAITING
  }

  /** Returns the events after this `seq`, which must be {@link from} or higher. */
  after(seq: number): readonly StoredEvent[] {
    return this.#events.slice(Math.max(0, seq - this.#from))
  }

  /** Adds an event and returns its `seq`. */
  push(event: ThreadEventBody): number {
    const seq = ++this.#seq
    const stored: StoredEvent = { seq, turn: this.#turn, ...(isKept(event) && { isKept: true }), event }
    this.#events.push(stored)
    this.#waiting.push(stored)
    if (event.type === 'step-end' && !event.path) this.#stepEnded()
    if (DELTAS.has(event.type)) this.#timer ??= setTimeout(this.#store, BATCH)
    else this.#store()
    this.#pushed()
    return seq
  }

  /** The messages of the step replace its deltas, which are no longer stored. */
  #stepEnded(): void {
    this.#droppedThrough = this.#seq
    this.#waiting = this.#waiting.filter(({ isKept }) => isKept)
  }

  /** Removes and returns the waiting events, for the next write. */
  take(): Batch {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const events = this.#waiting
    const droppedThrough = this.#droppedThrough
    this.#waiting = []
    this.#droppedThrough = undefined
    return { events, ...(droppedThrough !== undefined && { droppedThrough }) }
  }

  /** A batch could not be stored: its events wait for the next write. */
  putBack({ events, droppedThrough }: Batch): void {
    this.#waiting = [...events, ...this.#waiting]
    this.#droppedThrough ??= droppedThrough
  }

  /** A batch is stored. Readers get the events of complete steps from the store from now on. */
  stored({ droppedThrough }: Batch): void {
    if (droppedThrough === undefined) return
    this.#events = this.#events.filter(({ seq }) => seq > droppedThrough)
    this.#from = droppedThrough
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#waiting = []
  }
}
