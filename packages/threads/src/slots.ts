/** Limits how many turns run in this process at the same time. The others wait for a slot, the oldest first. */

import type { AsyncLocalStorage } from 'node:async_hooks'
import { TooManyTurnsError } from './thread-errors.ts'
import type { Work } from './thread-records.ts'

/** How many turns may run in this process at the same time, and how many may wait for that. */
export interface Limits {
  readonly maxRunning: number
  readonly maxWaiting: number
}

/** `lent`: it runs in the slot of a turn that waits for it. */
type State = 'waits' | 'runs' | 'lent' | 'left'

/** The place of a turn that waits for a slot or has one. A turn that has entered must leave. */
export interface Place {
  readonly isWaiting: boolean
  /** Resolves when the turn has a slot, or has left. */
  readonly granted: Promise<void>
  leave(): void
}

/** The right of a message to begin a turn, which then runs or waits. */
export interface Admission {
  /**
   * Keeps room for one turn. It may be called more than once.
   *
   * @throws {TooManyTurnsError} There is none.
   */
  take(): void
  release(): void
}

export class Slots {
  readonly #limits: Limits
  #running = 0
  /** How many turns were admitted that have not entered. */
  #admitted = 0
  /** Ordered: the first one runs next. */
  readonly #waiting: OwnPlace[] = []
  /** By the id of their thread. */
  readonly #places = new Map<string, OwnPlace>()
  /** For each thread, how often running turns wait for its turns. */
  readonly #awaited = new Map<string, number>()
  /** The place of the turn whose code is running. */
  readonly #inside: AsyncLocalStorage<OwnPlace | undefined> | undefined

  constructor(limits: Limits) {
    this.#limits = limits
    // Browsers have no such storage.
    const hooks = globalThis.process?.getBuiltinModule?.('node:async_hooks')
    if (hooks && limits.maxRunning < Number.POSITIVE_INFINITY) this.#inside = new hooks.AsyncLocalStorage()
  }

  /** Whether no turn can begin now. */
  get isFull(): boolean {
    return this.#running >= this.#limits.maxRunning
  }

  get hasWaiting(): boolean {
    return this.#waiting.length > 0
  }

  /** A message of this thread is about to be stored. One that a turn sends is part of its work, and always admitted. */
  admission(thread: string): Admission {
    const { maxRunning, maxWaiting } = this.#limits
    let isTaken = this.#holder() !== undefined
    let release = () => {}
    return {
      take: () => {
        if (isTaken) return
        if (this.#running + this.#waiting.length + this.#admitted >= maxRunning + maxWaiting)
          throw new TooManyTurnsError(thread, maxWaiting)
        isTaken = true
        this.#admitted++
        release = () => {
          release = () => {}
          this.#admitted--
        }
      },
      release: () => release(),
    }
  }

  /** A turn needs a slot: it gets one, or waits. One that continues comes before those that begin. */
  enter(thread: string, { kind, turn }: Work): Place {
    const age = kind === 'begin' ? turn.createdAt : Number.NEGATIVE_INFINITY
    const place = new OwnPlace(thread, age, () => this.#leave(place))
    this.#places.set(thread, place)
    if (this.#awaited.has(thread)) place.state = 'lent'
    else if (this.isFull) {
      const before = this.#waiting.findLastIndex((one) => one.age <= age)
      this.#waiting.splice(before + 1, 0, place)
    } else this.#run(place)
    return place
  }

  /** Runs the code of a turn, so that its waits for other turns are noticed. */
  inside<Result>(place: Place | undefined, work: () => Result): Result {
    return this.#inside && place instanceof OwnPlace ? this.#inside.run(place, work) : work()
  }

  /**
   * The code that is running begins to wait for a turn of this thread. If it is the code of a turn that has a slot, both run in that one: otherwise turns
   * could wait for each other without end. Returns a function that ends the wait.
   */
  await(thread: string): () => void {
    const holder = this.#holder()
    if (!holder || holder.thread === thread) return () => {}
    const count = this.#awaited.get(thread) ?? 0
    this.#awaited.set(thread, count + 1)
    if (count === 0) this.#lend(this.#places.get(thread))
    const end = () => {
      if (!holder.waits.delete(end)) return
      const left = (this.#awaited.get(thread) ?? 1) - 1
      if (left > 0) this.#awaited.set(thread, left)
      else this.#takeBack(thread)
    }
    holder.waits.add(end)
    return end
  }

  #lend(place: OwnPlace | undefined): void {
    if (!place) return
    const was = place.state
    place.state = 'lent'
    if (was === 'runs') this.#running--
    else this.#forget(place)
    place.grant()
    this.#next()
  }

  /** Nobody waits for the thread any more: its turn takes a slot, even if none is left. */
  #takeBack(thread: string): void {
    this.#awaited.delete(thread)
    const place = this.#places.get(thread)
    if (place?.state === 'lent') this.#run(place)
  }

  #run(place: OwnPlace): void {
    place.state = 'runs'
    this.#running++
    place.grant()
  }

  #leave(place: OwnPlace): void {
    if (place.state === 'left') return
    if (place.state === 'runs') this.#running--
    this.#forget(place)
    place.state = 'left'
    if (this.#places.get(place.thread) === place) this.#places.delete(place.thread)
    for (const end of place.waits) end()
    place.grant()
    this.#next()
  }

  #forget(place: OwnPlace): void {
    const index = this.#waiting.indexOf(place)
    if (index >= 0) this.#waiting.splice(index, 1)
  }

  #next(): void {
    while (!this.isFull) {
      const place = this.#waiting.shift()
      if (!place) return
      this.#run(place)
    }
  }

  /** The place of the turn whose code is running, if that turn has a slot. */
  #holder(): OwnPlace | undefined {
    const place = this.#inside?.getStore()
    return place?.state === 'runs' || place?.state === 'lent' ? place : undefined
  }
}

class OwnPlace implements Place {
  readonly thread: string
  /** The lower, the earlier it runs. */
  readonly age: number
  state: State = 'waits'
  /** Ends the waits of its turn for other turns. */
  readonly waits = new Set<() => void>()
  readonly granted: Promise<void>
  readonly leave: () => void
  grant: () => void = () => {}

  constructor(thread: string, age: number, leave: () => void) {
    this.thread = thread
    this.age = age
    this.leave = leave
    this.granted = new Promise((resolve) => {
      this.grant = resolve
    })
  }

  get isWaiting(): boolean {
    return this.state === 'waits'
  }
}
