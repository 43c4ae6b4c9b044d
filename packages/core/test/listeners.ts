/** How many listeners signals have at once: from the eleventh on Node warns. */

export interface ListenerWatch {
  /** The most that any one signal has had at once, since the watch began. */
  readonly most: number
  end(): void
}

/** Counts on every signal there is, whoever made it. */
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
