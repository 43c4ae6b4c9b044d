/** Puts one listener on a signal, however many functions follow it, because Node warns about more than ten. */

interface Following {
  readonly acts: Set<() => void>
  readonly listener: () => void
}

const followings = new WeakMap<AbortSignal, Following>()

/**
 * Calls `act` when the signal aborts, unless the returned function was called before. Pass a different `act` for each call; it must not
 * throw. A signal that has already aborted calls nothing.
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

/** An `AbortController` that is created when its signal is first used or it is aborted. It costs nothing where that rarely happens. */
export class LazyController {
  #made: AbortController | undefined

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  get aborted(): boolean {
    return this.#made?.signal.aborted ?? false
  }

  abort(reason: unknown): void {
    this.#controller.abort(reason)
  }

  get #controller(): AbortController {
    this.#made ??= new AbortController()
    return this.#made
  }
}

/** Throws the reason of the first of several signals that has aborted. */
export function throwIfAborted(signals: readonly AbortSignal[]): void {
  for (const signal of signals) signal.throwIfAborted()
}

/** The reason with which the work for a wrap that has left is aborted. */
export function wrapLeft(): Error {
  return new Error('the wrap that started this has ended')
}
