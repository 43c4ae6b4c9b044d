/** Where a response is cut on a wire, and how. */

import type { Fault } from '@meanwhile/harness'
import { byTurns, sized } from '@meanwhile/tests/size'

interface Cut {
  /** After how many events. */
  readonly after: number
  readonly end: Fault['end']
}

const ENDS: readonly Fault['end'][] = ['reset', 'complete']

/** Places in a response of so many events, four in small runs and six in middle ones, each cut in one way by turns; in whole runs all, in both. */
export function cutsOf(events: number): readonly Cut[] {
  const count = sized({ small: 4, middle: 6, whole: events })
  const places = Array.from({ length: count }, (_, at) => Math.floor(((at + 0.5) * events) / count))
  return places.flatMap((after, at) =>
    byTurns(ENDS, { small: 1, middle: 1, whole: ENDS.length }, at).map((end) => ({ after, end })),
  )
}
