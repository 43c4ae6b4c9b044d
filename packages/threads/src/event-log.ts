/** Buffers the events of a turn that runs in this process: local readers get them from here, and they are stored in batches. */

import { isKept } from './kept-events.ts'
import type { ThreadEventBody } from './thread-events.ts'
import type { StoredEvent } from './thread-store.ts'

/** Milliseconds from the first unstored delta until deltas are stored. */
const BATCH_DELAY = 250

/** When this many events are not stored, the run waits until they are. */
const MAX_WAITING = 1_024

const DELTAS: ReadonlySet<string> = new Set(['text-delta', 'reasoning-delta', 'tool-input-delta', 'tool-progress'])

/** Events to store. */
export interface Batch {
  readonly events: readonly StoredEvent[]
  /** All stored events up to this number that are not kept can be deleted. */
  readonly droppedThrough?: number
}

export class EventLog {
  readonly #turn: string
  #seq: number
  #from: number
  /** The events after `#from`. */
  #events: StoredEvent[] = []
  /** The events that are not stored. */
  #waiting: StoredEvent[] = []
  #droppedThrough: number | undefined
  /** The number of the last event of the last complete step that is stored. */
  #complete = 0
  #timer: ReturnType<typeof setTimeout> | undefined
  readonly #store: () => void
  readonly #pushed: () => void

  /** `store`: called when events should be stored. `pushed`: called after each new event. */
  constructor(turn: string, seq: number, store: () => void, pushed: () => void) {
    this.#turn = turn
    this.#seq = seq
    this.#from = seq
    this.#store = store
    this.#pushed = pushed
  }

  /** The log has all events after this `seq`. */
  get from(): number {
    return this.#from
  }

  /** Whether the run must wait until events are stored. */
  get isFull(): boolean {
    return this.#waiting.length >= MAX_WAITING
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
    if (DELTAS.has(event.type)) this.#timer ??= setTimeout(this.#store, BATCH_DELAY)
    else this.#store()
    this.#pushed()
    return seq
  }

  /** A step has ended: its message replaces its deltas, so the deltas are not stored any more. */
  #stepEnded(): void {
    this.#droppedThrough = this.#seq
    this.#waiting = this.#waiting.filter(({ isKept }) => isKept)
  }

  /** Removes and returns the events to store. */
  take(): Batch {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const events = this.#waiting
    const droppedThrough = this.#droppedThrough
    this.#waiting = []
    this.#droppedThrough = undefined
    return { events, ...(droppedThrough !== undefined && { droppedThrough }) }
  }

  /** A batch could not be stored: its events go into the next batch. */
  putBack({ events, droppedThrough }: Batch): void {
    this.#waiting = [...events, ...this.#waiting]
    this.#droppedThrough ??= droppedThrough
  }

  /**
   * A batch was stored. The log removes the events of complete steps: readers get from the store what is kept of them. Those of the last complete step
   * stay for readers that are a little behind.
   */
  stored({ droppedThrough }: Batch): void {
    if (droppedThrough === undefined) return
    this.#events = this.#events.filter(({ seq }) => seq > this.#complete)
    this.#from = Math.max(this.#from, this.#complete)
    this.#complete = droppedThrough
  }

  /** Drops the events that are not stored. */
  close(): void {
    clearTimeout(this.#timer)
    this.#waiting = []
    this.#droppedThrough = undefined
  }
}
