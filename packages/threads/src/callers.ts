/** The calls whose messages wait for their turns in this process, so that each turn runs in the async context of its own call. */

import { inTrace } from '@meanwhile/core/calls'

/** The call of `send`, `answer`, `retry` or `stop` for which a turn runs. */
export interface Caller {
  /** The context that was passed to the call. */
  readonly context?: unknown
  /** Runs work in the async context of the call. */
  readonly inside: Enter
}

/** The queue of a thread at some time. */
export interface Queued {
  /** The ids of the turns that wait in it. */
  readonly queue: ReadonlySet<string>
  /** The number of the newest turn of the thread. */
  readonly newest: number
}

interface QueuedCaller extends Caller {
  /** The number of the turn. */
  readonly number: number
}

type Enter = <Result>(work: () => Result) => Result

/** The number of threads of which callers are kept while no turn runs here. */
const MOST_THREADS = 1_000

export class Callers {
  /** The calls of `send` that have not returned, by the id of the turn of their message. */
  readonly #sending = new Map<string, Caller>()
  /** The calls whose messages wait in a queue, by thread and turn. The threads that were used last come last. */
  readonly #queued = new Map<string, Map<string, QueuedCaller>>()

  /** A message is about to be stored. */
  sends(turn: string, caller: Caller): void {
    this.#sending.set(turn, caller)
  }

  /** The message was stored, or could not be. `number`: that of its turn, if it may begin in this process and has not begun. */
  sent(thread: string, turn: string, number: number | undefined): void {
    const caller = this.#sending.get(turn)
    this.#sending.delete(turn)
    if (number === undefined || !caller) return
    const callers = this.#queued.get(thread) ?? new Map<string, QueuedCaller>()
    this.#queued.delete(thread)
    this.#queued.set(thread, callers.set(turn, { ...caller, number }))
    // Other processes may have begun these turns long ago.
    const [oldest] = this.#queued.keys()
    if (oldest !== undefined && this.#queued.size > MOST_THREADS) this.#queued.delete(oldest)
  }

  /** Returns the caller of a turn that begins. Undefined if another process received the message. */
  take(thread: string, turn: string): Caller | undefined {
    const callers = this.#queued.get(thread)
    const caller = this.#sending.get(turn) ?? callers?.get(turn)
    this.#sending.delete(turn)
    callers?.delete(turn)
    if (callers?.size === 0) this.#queued.delete(thread)
    return caller
  }

  /** Forgets the callers of the turns that are not in the queue any more. Messages that were stored since it was read are not judged. */
  keep(thread: string, { queue, newest }: Queued): void {
    for (const [turn, { number }] of this.#queued.get(thread) ?? [])
      if (number <= newest && !queue.has(turn)) this.take(thread, turn)
  }
}

/** Returns the caller whose code is running. */
export function currentCaller(context?: unknown): Caller {
  return { ...(context !== undefined && { context }), inside: snapshot() }
}

/** Runs work in no async context of a request: in the one in which this package was loaded. */
export function inRoot<Result>(work: () => Result): Result {
  return atLoad(() => inTrace(undefined, work))
}

const atLoad: Enter = /* @__PURE__ */ snapshot()

/** Returns a function that runs work in the current async context. Browsers have none. */
function snapshot(): Enter {
  const hooks = globalThis.process?.getBuiltinModule?.('node:async_hooks')
  return hooks ? hooks.AsyncLocalStorage.snapshot() : (work) => work()
}
