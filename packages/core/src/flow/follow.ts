/** One listener on a signal, however many follow it: Node warns of more than ten (P20). */

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
