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

/**
 * The total time. Work starts in order as soon as a slot is free. Work that waits for its tool's limit holds no slot
 * and does not delay what follows: when the tool has room, it comes after what waits for a slot by then. With one slot
 * the result is the sum, if no work has to wait for its `after`.
 */
export function makespan(works: readonly Work[], slots: number): number {
  return schedule(works, slots).end
}

/** When each call starts under the rules of {@link makespan}. */
export function schedule(works: readonly Work[], slots: number): Schedule {
  const starts: number[] = works.map(() => 0)
  const all = works.map((work, order): Ordered => ({ ...work, order, from: work.after ?? 0 }))
  /** What waits for a slot, from `first` on. */
  const queue = all.filter(({ from }) => from <= 0)
  let first = 0
  /** What may not start yet: the next one is last. */
  const kept = all.filter(({ from }) => from > 0).sort((a, b) => b.from - a.from || b.order - a.order)
  const uses = new Map<Place, Use>()
  const useOf = (at: Place): Use => {
    const use = uses.get(at) ?? { taken: 0, waiting: [] }
    uses.set(at, use)
    return use
  }
  /** The one that ends first is last. */
  const running: Running[] = []
  let now = 0

  const start = () => {
    for (let one = queue[first]; one && running.length < slots; one = queue[++first]) {
      const use = one.at && useOf(one.at)
      if (one.at && use && use.taken >= one.at.limit) {
        use.waiting.push(one)
        continue
      }
      if (use) use.taken++
      starts[one.order] = now
      insert(running, { ends: now + one.ms, use })
    }
  }
  for (;;) {
    start()
    const next = kept.at(-1)
    const end = running.at(-1)
    if (next && !(end && end.ends <= next.from)) {
      now = next.from
      queue.push(next)
      kept.pop()
    } else if (end) {
      now = end.ends
      running.pop()
      if (!end.use) continue
      end.use.taken--
      start()
      const waiting = end.use.waiting.shift()
      if (waiting) queue.push(waiting)
    } else return { starts, end: now }
  }
}

/** Work with its place in the order, and when it may start. */
type Ordered = Work & { readonly order: number; readonly from: number }

/** How much of a tool's limit is taken, and what waits for it. */
interface Use {
  taken: number
  readonly waiting: Ordered[]
}

interface Running {
  readonly ends: number
  readonly use: Use | undefined
}

/** Inserts into a list that is sorted by `ends`, the latest first. */
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
