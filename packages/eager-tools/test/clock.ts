/** Times on the fake clock. */

import { played } from '@meanwhile/tests/clock'

/** How many milliseconds the work took. */
export async function timeOf(work: Promise<unknown>): Promise<number> {
  const begin = performance.now()
  return await played(work.then(() => Math.round(performance.now() - begin)))
}
