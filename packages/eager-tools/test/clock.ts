/** Times on the fake clock. */

import { played } from '@meanwhile/tests/clock'
import { sized } from '@meanwhile/tests/size'

/** Times to try in a test in which something happens every 5 ms: each of these moments, and one between every two of them, in whole runs all. */
export const moments = (until: number): readonly number[] => {
  const between = sized({ small: 1, middle: 1, whole: 4 })
  return Array.from({ length: until + 1 }, (_, at) => at).filter((at) => at % 5 <= between)
}

/** How many milliseconds the work took. */
export async function timeOf(work: Promise<unknown>): Promise<number> {
  const begin = performance.now()
  return await played(work.then(() => Math.round(performance.now() - begin)))
}
