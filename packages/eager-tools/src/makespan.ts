/** Computes how long calls take if none starts before the first: in order, each on the next free slot, as in core. */

/** One call. */
export interface Work {
  /** How long it takes, in milliseconds. */
  readonly ms: number
  /** A limit that applies to it in addition to the slots: that of its tool, if it has one. */
  readonly at?: Place | undefined
  /** It may not start earlier, for example because a person has to allow it: milliseconds after the first start, 0 by default. It holds no slot until then. */
  readonly after?: number
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
 * and does not delay what follows. With one slot the result is the sum, if no work has to wait for its `after`.
 */
export function makespan(works: readonly Work[], slots: number): number {
  return schedule(works, slots).end
}

/** When each call starts under the rules of {@link makespan}. */
export function schedule(works: readonly Work[], slots: number): Schedule {
  const starts: number[] = works.map(() => 0)
  const ordered = works.map((work, order) => ({ work, order }))
  /** By place, the first in order last. */
  const waiting = new Map<Place | undefined, typeof ordered>()
  const admit = (one: (typeof ordered)[number]) => {
    const queue = waiting.get(one.work.at) ?? []
    waiting.set(one.work.at, queue)
    insert(queue, one, ({ order }) => order)
  }
  /** Those that may not start yet, the next one last. */
  const kept = ordered.filter(({ work }) => work.after).sort((a, b) => afterOf(b) - afterOf(a))
  for (const one of ordered.toReversed()) if (!one.work.after) admit(one)
  const taken = new Map<Place, number>()
  const hasRoom = (at: Place | undefined) => !at || (taken.get(at) ?? 0) < at.limit
  const take = (at: Place | undefined, by: 1 | -1) => at && taken.set(at, (taken.get(at) ?? 0) + by)

  /** The one that ends first is last. */
  const running: Running[] = []
  let now = 0
  for (;;) {
    for (let one = kept.at(-1); one && afterOf(one) <= now; one = kept.at(-1)) {
      kept.pop()
      admit(one)
    }
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
      insert(running, { ends: now + first.ms, at: first.at }, ({ ends }) => ends)
    }
    const [next, end] = [kept.at(-1), running.at(-1)]
    if (next && !(end && end.ends <= afterOf(next))) now = afterOf(next)
    else if (!end) return { starts, end: now }
    else {
      running.pop()
      now = end.ends
      take(end.at, -1)
    }
  }
}

const afterOf = ({ work: { after = 0 } }: { readonly work: Work }): number => after

/** Inserts into a list that is sorted by this number, the largest first. */
function insert<Item>(list: Item[], one: Item, by: (item: Item) => number): void {
  let low = 0
  let high = list.length
  while (low < high) {
    const middle = (low + high) >> 1
    const other = list[middle]
    if (other !== undefined && by(other) >= by(one)) low = middle + 1
    else high = middle
  }
  list.splice(low, 0, one)
}
