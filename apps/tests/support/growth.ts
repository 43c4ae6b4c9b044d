/** How the CPU time of work grows with its size, for tests that show that something is linear. */

/** Work in which everything looks at everything takes 16 times as long with four times as many. */
const TIMES = 4
const MOST = 8

const TRIES = 9

/**
 * Does the work with four times `count`, and twice with `count`, up to nine times. Throws if the quickest run of the first takes more than eight
 * times the CPU time of the quickest run of the second. CPU time, because on a busy machine the time of day says nothing; the quickest, because
 * garbage is collected in some runs, and the first ones are slow. The larger work comes first: next to a slow run of the smaller one nothing seems
 * to grow.
 */
export async function expectLinear(count: number, work: (count: number) => unknown): Promise<void> {
  let few = Number.POSITIVE_INFINITY
  let many = Number.POSITIVE_INFINITY
  for (let tries = 0; tries < TRIES; tries++) {
    many = Math.min(many, await cpuOf(work, count * TIMES))
    few = Math.min(few, await cpuOf(work, count), await cpuOf(work, count))
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
