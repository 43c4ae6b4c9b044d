/** Times on the fake clock. */

import { played } from '@meanwhile/tests/clock'

/** The times at which something happens in a test that waits for 5 ms each time, and one between every two of them. */
export const moments = (until: number): readonly number[] =>
  Array.from({ length: until + 1 }, (_, at) => at).filter((at) => at % 5 === 0 || at % 5 === 2)

/** How many milliseconds the work took. */
export async function timeOf(work: Promise<unknown>): Promise<number> {
  const begin = performance.now()
  return await played(work.then(() => Math.round(performance.now() - begin)))
}
