/** How the CPU time of work grows with its size, for tests that show that something is linear. */

/** Work in which everything looks at everything takes 16 times as long with four times as many. */
const TIMES = 4
const MOST = 10

const TRIES = 9

/**
 * Does the work with `count` and with four times `count`. Throws if the second took more than ten times the CPU time of the first in each
 * of nine tries. CPU time, because on a busy machine the time of day says nothing; several tries, because garbage is collected in any of
 * them.
 */
export async function expectLinear(count: number, work: (count: number) => unknown): Promise<void> {
  const growths: number[] = []
  for (let tries = 0; tries < TRIES; tries++) {
    const few = await cpuOf(work, count)
    growths.push((await cpuOf(work, count * TIMES)) / few)
    if (growths.some((growth) => growth < MOST)) return
  }
  throw new Error(`${TIMES} times as many took ${growths.map((growth) => growth.toFixed(1)).join(', ')} times as long`)
}

async function cpuOf(work: (count: number) => unknown, count: number): Promise<number> {
  const before = process.cpuUsage()
  await work(count)
  const { user, system } = process.cpuUsage(before)
  return user + system
}
