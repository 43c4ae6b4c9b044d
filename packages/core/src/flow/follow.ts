/** Puts one listener on a signal, however many follow it: Node warns of more than ten. */

interface Following {
  readonly acts: Set<() => void>
  readonly listener: () => void
}

const followings = new WeakMap<AbortSignal, Following>()

/**
 * Calls `act` when the signal aborts, unless the function that this returns was called before. `act` is a function of its own for each
 * call, and must not throw. A signal that has aborted calls nothing any more.
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

/** An `AbortController` that is made when somebody asks for its signal, or aborts it: where most never do, that costs nothing. */
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

/** Throws the reason of the first of several signals that has aborted, where any of them stops the work. */
export function throwIfAborted(signals: readonly AbortSignal[]): void {
  for (const signal of signals) signal.throwIfAborted()
}

/** Why work is cut off that nobody waits for any more: the reason its signal gives, and what it throws. */
export function wrapLeft(): Error {
  return new Error('the wrap that asked has left')
}
