/** How the CPU time of work grows with its size, for tests that show that something is linear. */

/** Work in which everything looks at everything takes 16 times as long with four times as many. */
const TIMES = 4
const MOST = 10

const TRIES = 9

/**
 * Does the work with `count` and with four times `count`, up to nine times. Throws if the quickest run of the second takes more than ten times
 * the CPU time of the quickest run of the first. CPU time, because on a busy machine the time of day says nothing; the quickest, because garbage
 * is collected in some runs, and the first ones are slow.
 */
export async function expectLinear(count: number, work: (count: number) => unknown): Promise<void> {
  let few = await cpuOf(work, count)
  let many = Number.POSITIVE_INFINITY
  for (let tries = 0; tries < TRIES; tries++) {
    few = Math.min(few, await cpuOf(work, count))
    many = Math.min(many, await cpuOf(work, count * TIMES))
    if (many < MOST * few) return
  }
  throw new Error(`${TIMES} times as many took ${(many / few).toFixed(1)} times as long`)
}

async function cpuOf(work: (count: number) => unknown, count: number): Promise<number> {
  const before = process.cpuUsage()
  await work(count)
  const { user, system } = process.cpuUsage(before)
  return user + system
}
