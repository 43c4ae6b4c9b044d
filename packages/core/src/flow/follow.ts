/** Adds one listener to a signal for any number of functions, because Node warns about more than ten listeners. */

interface Following {
  readonly acts: Set<() => void>
  readonly listener: () => void
}

const followings = new WeakMap<AbortSignal, Following>()

/**
 * Calls `act` when the signal aborts, unless the returned function was called before. Pass a different function as `act` in each call; it must not
 * throw. If the signal has already aborted, `act` is not called.
 */
export function follow(signal: AbortSignal, act: () => void): () => void {
  if (signal.aborted) return () => undefined
  const { acts, listener } = followings.get(signal) ?? begin(signal)
  acts.add(act)
  return () => {
    acts.delete(act)
    if (acts.size > 0 || signal.aborted) return
    signal.removeEventListener('abort', listener)
    followings.delete(signal)
  }
}

function begin(signal: AbortSignal): Following {
  const acts = new Set<() => void>()
  const listener = () => {
    for (const act of acts) act()
  }
  signal.addEventListener('abort', listener, { once: true })
  const following = { acts, listener }
  followings.set(signal, following)
  return following
}

/** An `AbortController` that is created when it is aborted or its signal is first used. Where that is rare, it costs nothing. */
export class LazyController {
  #made: AbortController | undefined

  get signal(): AbortSignal {
    return (this.#made ??= new AbortController()).signal
  }

  get aborted(): boolean {
    return this.#made?.signal.aborted ?? false
  }

  abort(reason: unknown): void {
    this.#made ??= new AbortController()
    this.#made.abort(reason)
  }
}

/** Throws the reason of the first signal in the list that has aborted. */
export function throwIfAborted(signals: readonly AbortSignal[]): void {
  for (const signal of signals) signal.throwIfAborted()
}

/** Returns the reason for aborting the work of a wrap that has ended. */
export function wrapLeft(): Error {
  return new Error('the wrap that started this has ended')
}
