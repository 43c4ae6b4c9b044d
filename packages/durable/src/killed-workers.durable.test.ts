import { createDatabase } from '@meanwhile/postgres-cluster'
import { expect, test } from 'vitest'
import { DRIVERS } from '../test/drivers.ts'
import { KILLS, killAtRandom, patient, pause, testFleets } from '../test/fleet.ts'

const TRIALS = DRIVERS.flatMap((driver) => [false, true].map((isVaried) => [driver, isVaried] as const))

const fleets = testFleets()

test.each(TRIALS)(
  `%s: workers take over from workers that are killed at random, and no call except a read is made twice; a model that varies: %s (DU1, DU2, DU10)`,
  patient,
  async (driver, isVaried) => {
    const { takeovers, ...trial } = await killAtRandom(
      { driver, url: await createDatabase(fleets.url), isVaried },
      Math.ceil(KILLS / 2),
    )
    console.log(
      JSON.stringify({ driver, isVaried, ...trial, p50: takeovers[takeovers.length >> 1], max: takeovers.at(-1) }),
    )
    expect(trial.problems).toEqual([])
  },
)

test.each(DRIVERS)('%s: a worker that receives SIGTERM leaves nothing unknown, and another continues', (driver) =>
  fleets.use(driver, async (fleet) => {
    await Promise.all([fleet.spawn(), fleet.spawn()])
    for (let round = 0; round < 2; round++) {
      const id = `round-${round}`
      await fleet.runs.start('clerk', 'Go', { id })
      const end = fleet.end(id)
      const pid = await fleet.workerOf(id)
      await pause(Math.random() * 300)
      // Before the time that a worker has to stop is over.
      expect((await fleet.kill(pid, 'SIGTERM')).ms).toBeLessThan(30_000)
      await fleet.spawn()
      const { problems, unknown } = await end
      expect([problems, unknown]).toEqual([[], 0])
    }
  }),
)
