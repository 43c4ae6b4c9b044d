/** Finds out which calls of a step were kept back by something else than a lack of slots: mostly by a person who had to allow them. */

import type { Place } from './makespan.ts'
import type { CallSavings } from './savings.ts'

interface Limits {
  readonly slots: number
  /** The concurrency limits of tools, by name. */
  readonly limits?: ReadonlyMap<string, Place> | undefined
  /** When the loop started the calls that had not started early. */
  readonly stoodMs: number
}

/**
 * Returns how many milliseconds after `stoodMs` calls were kept back, which they would have been without early starts as
 * well. What came before the slots, or the limit of their tool, were last full may have been a wait for these, so it does
 * not count.
 */
export function heldBack(
  calls: readonly CallSavings[],
  { slots, limits, stoodMs }: Limits,
): ReadonlyMap<CallSavings, number> {
  const held = new Map<CallSavings, number>()
  const moments = calls.flatMap((call) => {
    const { startedMs, durationMs } = call
    if (startedMs === undefined) return []
    return [
      { at: startedMs, call, isStart: true },
      { at: startedMs + durationMs, call, isStart: false },
    ]
  })
  // What ends makes room for what starts at the same time: it was full until then.
  moments.sort((a, b) => a.at - b.at || Number(a.isStart) - Number(b.isStart))
  const all = { limit: slots }
  const places = new Map<Place, { running: number; fullUntil: number }>()
  for (const { at, call, isStart } of moments) {
    let since = stoodMs
    for (const place of [all, limits?.get(call.tool)]) {
      if (!place) continue
      const use = places.get(place) ?? { running: 0, fullUntil: 0 }
      places.set(place, use)
      if (use.running >= place.limit) use.fullUntil = at
      use.running += isStart ? 1 : -1
      since = Math.max(since, use.fullUntil)
    }
    if (isStart && at > since) held.set(call, at - since)
  }
  return held
}
