/** Counts the listeners of signals: Node warns about the eleventh. */

export interface ListenerWatch {
  /** The most listeners that one signal has had at the same time since the watch began. */
  readonly most: number
  end(): void
}

/** Counts on every signal. */
export function watchListeners(): ListenerWatch {
  const { addEventListener, removeEventListener } = AbortSignal.prototype
  const counts = new WeakMap<EventTarget, Set<unknown>>()
  let most = 0
  AbortSignal.prototype.addEventListener = function (
    this: AbortSignal,
    ...given: Parameters<EventTarget['addEventListener']>
  ) {
    const listeners = counts.get(this) ?? new Set()
    counts.set(this, listeners.add(given[1]))
    most = Math.max(most, listeners.size)
    addEventListener.apply(this, given)
  }
  AbortSignal.prototype.removeEventListener = function (
    this: AbortSignal,
    ...given: Parameters<EventTarget['removeEventListener']>
  ) {
    counts.get(this)?.delete(given[1])
    removeEventListener.apply(this, given)
  }
  return {
    get most() {
      return most
    },
    end() {
      Object.assign(AbortSignal.prototype, { addEventListener, removeEventListener })
    },
  }
}
