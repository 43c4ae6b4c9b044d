/**
 * Tells code that waits for a turn when that may have changed. The turns that run in this process tell their own changes. For all other threads the
 * store is polled: once for each thread, however many readers and waiters it has here.
 */

import { inRoot } from './callers.ts'
import type { ThreadStore, TurnRecord } from './thread-store.ts'
import { type TailOfTurn, ThreadTail } from './thread-tail.ts'

/** Milliseconds between two polls of a thread. */
const POLL_INTERVAL = 200

/** What a listener waits for: new events of the turn, or only that the turn has ended, waits, or has joined another turn. */
export type Awaited = 'events' | 'end'

interface WaitOptions {
  /** For `events`: the number of the last event that the listener has. */
  readonly after?: number
  /** Whether each poll ends the wait. Default false. */
  readonly everyPoll?: boolean
  /** After this many milliseconds the wait ends. Default: never. */
  readonly atMost?: number
  /** If it is aborted, the wait rejects with its reason. */
  readonly signal?: AbortSignal | undefined
}

interface Listener {
  readonly turn: string
  readonly awaited: Awaited
  /** Present while it waits. */
  wait?: WaitOptions
  wake(found?: TailOfTurn): void
  fail(error: unknown): void
}

interface Watched {
  readonly listeners: Set<Listener>
  /** Present while a poll is scheduled. */
  timer?: ReturnType<typeof setTimeout>
  isPolling: boolean
  /** Present while the polls find readers that wait. */
  tail?: ThreadTail
}

/** A listener of a turn. Always close it. */
export interface Listening {
  /**
   * Resolves when the turn may have changed since the listener was made. The value is what a poll has found of the turn since this call; undefined: read
   * the store. Rejects if the store cannot be polled.
   */
  next(options?: WaitOptions): Promise<TailOfTurn | undefined>
  close(): void
}

export class ThreadChanges {
  readonly #store: ThreadStore
  readonly #runsHere: (thread: string) => boolean
  readonly #threads = new Map<string, Watched>()

  /** `runsHere`: whether a turn of the thread runs in this process. Then the thread is not polled. */
  constructor(store: ThreadStore, runsHere: (thread: string) => boolean) {
    this.#store = store
    this.#runsHere = runsHere
  }

  /** A turn that runs in this process has a new event. */
  pushed(thread: string, turn: string): void {
    for (const one of this.#threads.get(thread)?.listeners ?? [])
      if (one.awaited === 'events' && one.turn === turn) one.wake()
  }

  /** The thread has changed. `goesOn`: whether a turn still runs or is queued, so that those who wait for its end continue to wait. */
  changed(thread: string, goesOn: (turn: string) => boolean = () => false): void {
    const watched = this.#threads.get(thread)
    if (!watched) return
    for (const one of watched.listeners) if (one.awaited === 'events' || !goesOn(one.turn)) one.wake()
    this.#schedule(thread, watched)
  }

  /** Listens from now on, so that no change is missed if the store is read before `next` is called. */
  listen(thread: string, turn: string, awaited: Awaited): Listening {
    const watched = this.#threads.get(thread) ?? { listeners: new Set(), isPolling: false }
    this.#threads.set(thread, watched)
    const listener: Listener = { turn, awaited, wake() {}, fail() {} }
    const changed = new Promise<TailOfTurn | undefined>((resolve, reject) => {
      Object.assign(listener, { wake: resolve, fail: reject })
    })
    // Prevents an unhandled rejection if the listener does not wait.
    changed.catch(() => undefined)
    watched.listeners.add(listener)
    return {
      next: async (options = {}) => {
        const { signal, atMost } = options
        signal?.throwIfAborted()
        const abort = () => listener.fail(signal?.reason)
        signal?.addEventListener('abort', abort, { once: true })
        const timer = atMost === undefined ? undefined : setTimeout(() => listener.wake(), atMost)
        listener.wait = options
        this.#schedule(thread, watched)
        try {
          return await changed
        } finally {
          clearTimeout(timer)
          signal?.removeEventListener('abort', abort)
        }
      },
      close: () => {
        watched.listeners.delete(listener)
        this.#forget(thread, watched)
      },
    }
  }

  #schedule(thread: string, watched: Watched): void {
    if (watched.timer || watched.isPolling || this.#waitingIn(thread, watched).length === 0) return
    // The request of the first listener may end long before the polls.
    watched.timer = inRoot(() => setTimeout(() => void this.#pollAndSchedule(thread, watched), POLL_INTERVAL))
  }

  /** Polls the thread, and again as long as somebody waits. Never rejects. */
  async #pollAndSchedule(thread: string, watched: Watched): Promise<void> {
    delete watched.timer
    watched.isPolling = true
    const waiting = this.#waitingIn(thread, watched)
    if (waiting.length === 0) delete watched.tail
    else await this.#poll(thread, watched, waiting).catch((error: unknown) => waiting.map(({ fail }) => fail(error)))
    watched.isPolling = false
    this.#schedule(thread, watched)
    this.#forget(thread, watched)
  }

  async #poll(thread: string, watched: Watched, waiting: readonly Listener[]): Promise<void> {
    const stored = await this.#store.load(thread)
    const goingOn = new Set(stored?.turns.filter(goesOn).map(({ id }) => id))
    const after = waiting.flatMap(({ awaited, wait }) => (awaited === 'events' ? [wait?.after ?? 0] : []))
    if (after.length === 0) delete watched.tail
    else if (stored) {
      watched.tail ??= new ThreadTail(after.reduce((least, one) => Math.min(least, one)))
      await watched.tail.read(this.#store, stored)
    }
    for (const { turn, awaited, wait = {}, wake } of waiting) {
      const found = awaited === 'events' ? watched.tail?.after(turn, wait.after ?? 0) : undefined
      const hasNews = awaited === 'events' && found?.events.length !== 0
      if (hasNews || wait.everyPoll || !goingOn.has(turn)) wake(found)
    }
  }

  /** The listeners that only a poll can wake. */
  #waitingIn(thread: string, { listeners }: Watched): readonly Listener[] {
    return this.#runsHere(thread) ? [] : [...listeners].filter(({ wait }) => wait)
  }

  #forget(thread: string, watched: Watched): void {
    if (watched.listeners.size > 0 || watched.isPolling) return
    clearTimeout(watched.timer)
    delete watched.timer
    this.#threads.delete(thread)
  }
}

function goesOn({ status }: TurnRecord): boolean {
  return status === 'running' || status === 'queued'
}
