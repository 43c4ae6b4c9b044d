/** Whether two calls would wait for each other for ever: one waits for its keys, the other for what it makes itself. */

import { type Calls, callOf, isMakerOf } from './calls.ts'

/**
 * Whether `other`, which holds `call` back, waits for a maker of `call`: that maker holds back a call that `other` makes, or a third call
 * does which waits for that maker in the same way. Then both would wait for ever.
 */
export function waitsForMaker(calls: Calls, other: number, call: number, seen: Set<number> = new Set()): boolean {
  if (callOf(calls, call).maker === undefined || seen.has(other)) return false
  seen.add(other)
  if (!makesOneThatWaits(calls, other)) return false
  for (const { call: waiting, blockedBy } of calls.waiting) {
    if (blockedBy === undefined || waiting === call || !isMakerOf(calls, other, waiting)) continue
    if (isMakerOf(calls, blockedBy, call) || waitsForMaker(calls, blockedBy, call, seen)) return true
  }
  return false
}

/** Whether a call that this one makes, directly or not, may wait: so that not everybody who waits is asked in vain. */
function makesOneThatWaits(calls: Calls, maker: number): boolean {
  return (calls.all.get(maker)?.children ?? []).some(
    (child) =>
      calls.all.get(child)?.executions.some(({ stage }) => stage === 'wanted' || stage === 'judged') ||
      makesOneThatWaits(calls, child),
  )
}
