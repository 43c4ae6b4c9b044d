/** The events of a turn at work: live readers get them from here, and they are stored in batches. */

import { isKept, type ThreadEventBody } from './thread-events.ts'
import type { StoredEvent } from './thread-store.ts'

/** Milliseconds after which a delta is stored. */
const BATCH = 50

/** If so many events wait for the store, the turn waits, too. */
const MOST_WAITING = 1_024

const DELTAS: ReadonlySet<string> = new Set(['text-delta', 'reasoning-delta', 'tool-input-delta', 'tool-progress'])

export interface Batch {
  readonly events: readonly StoredEvent[]
  readonly droppedThrough?: number
}

export class EventLog {
  readonly #turn: string
  #seq: number
  /** It has all events after this `seq`. */
  #from: number
  #events: StoredEvent[] = []
  #waiting: StoredEvent[] = []
  #droppedThrough: number | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  /** Stores what waits. */
  readonly #store: () => void
  readonly #heard: () => void

  /** `heard` is called for each event. */
  constructor(turn: string, seq: number, store: () => void, heard: () => void) {
    this.#turn = turn
    this.#seq = seq
    this.#from = seq
    this.#store = store
    this.#heard = heard
  }

  get from(): number {
    return this.#from
  }

  get isFull(): boolean {
    return this.#waiting.length >= MOST_WAITING
  }

  /** The events after this `seq`, which is {@link from} or higher. */
  after(seq: number): readonly StoredEvent[] {
    return this.#events.slice(Math.max(0, seq - this.#from))
  }

  /** Returns the `seq` of the event. */
  push(event: ThreadEventBody): number {
    const seq = ++this.#seq
    const stored: StoredEvent = { seq, turn: this.#turn, ...(isKept(event) && { isKept: true }), event }
    this.#events.push(stored)
    this.#waiting.push(stored)
    if (event.type === 'step-end' && !event.path) this.#stepEnded()
    if (DELTAS.has(event.type)) this.#timer ??= setTimeout(this.#store, BATCH)
    else this.#store()
    this.#heard()
    return seq
  }

  /** Its messages now stand for its deltas. */
  #stepEnded(): void {
    this.#droppedThrough = this.#seq
    this.#waiting = this.#waiting.filter(({ isKept }) => isKept)
  }

  /** Takes out what waits, to be stored now. */
  take(): Batch {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const events = this.#waiting
    const droppedThrough = this.#droppedThrough
    this.#waiting = []
    this.#droppedThrough = undefined
    return { events, ...(droppedThrough !== undefined && { droppedThrough }) }
  }

  /** A batch could not be stored, and waits again. */
  putBack({ events, droppedThrough }: Batch): void {
    this.#waiting = [...events, ...this.#waiting]
    this.#droppedThrough ??= droppedThrough
  }

  /** A batch is stored. Events that its step has ended with are read from the store from now on. */
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
