/** Computes how long calls take if all may start at the same time: in order, each on the next free slot, as in core. */

/** One call. */
export interface Work {
  /** How long it takes, in milliseconds. */
  readonly ms: number
  /** A limit that applies to it in addition to the slots: that of its tool, if it has one. */
  readonly at?: Place | undefined
}

/** The concurrency limit of one tool. */
export interface Place {
  /** How many of its calls may run at the same time. */
  readonly limit: number
}

/** When the calls run. */
export interface Schedule {
  /** When each call starts, in the order of the calls: milliseconds after the first start. */
  readonly starts: readonly number[]
  /** When the last one ends. */
  readonly end: number
}

interface Running {
  readonly ends: number
  readonly at: Place | undefined
}

/**
 * The total time. Work starts in order as soon as a slot is free. Work that waits for its tool's limit holds no slot
 * and does not delay what follows. With one slot the result is the sum.
 */
export function makespan(works: readonly Work[], slots: number): number {
  return schedule(works, slots).end
}

/** When each call starts under the rules of {@link makespan}. */
export function schedule(works: readonly Work[], slots: number): Schedule {
  const starts: number[] = works.map(() => 0)
  const waiting = new Map<Place | undefined, { readonly work: Work; readonly order: number }[]>()
  for (const [order, work] of works.entries()) {
    const queue = waiting.get(work.at) ?? []
    waiting.set(work.at, queue)
    queue.push({ work, order })
  }
  for (const queue of waiting.values()) queue.reverse()
  const taken = new Map<Place, number>()
  const hasRoom = (at: Place | undefined) => !at || (taken.get(at) ?? 0) < at.limit
  const take = (at: Place | undefined, by: 1 | -1) => at && taken.set(at, (taken.get(at) ?? 0) + by)

  /** The one that ends first is last. */
  const running: Running[] = []
  let now = 0
  for (;;) {
    while (running.length < slots) {
      let first: Work | undefined
      let order = Number.POSITIVE_INFINITY
      for (const [at, queue] of waiting) {
        const next = queue.at(-1)
        if (next && next.order < order && hasRoom(at)) ({ work: first, order } = next)
      }
      if (!first) break
      waiting.get(first.at)?.pop()
      take(first.at, 1)
      starts[order] = now
      insert(running, { ends: now + first.ms, at: first.at })
    }
    const ended = running.pop()
    if (!ended) return { starts, end: now }
    now = ended.ends
    take(ended.at, -1)
  }
}

/** Inserts into a list sorted by `ends`, latest first. */
function insert(running: Running[], one: Running): void {
  let low = 0
  let high = running.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((running[middle]?.ends ?? 0) >= one.ends) low = middle + 1
    else high = middle
  }
  running.splice(low, 0, one)
}
