import { expect, test } from 'vitest'
import { isRead } from '../test/clerk.ts'
import { DRIVERS } from '../test/drivers.ts'
import { KILLS, patient, pause, testFleets, until } from '../test/fleet.ts'

const fleets = testFleets()

test.each(DRIVERS)(
  '%s: if workers are killed while they take over a run, the next one takes it, and it is not poisoned (DU10)',
  patient,
  (driver) =>
    fleets.use(
      driver,
      async (fleet) => {
        await fleet.slow()
        await Promise.all([fleet.spawn(), fleet.spawn()])
        for (let round = 0; round < Math.ceil(KILLS / 10); round++) {
          const id = `round-${round}`
          await fleet.runs.start('clerk', 'Go', { id })
          const end = fleet.end(id)
          end.catch(() => undefined)
          const ended = end.then(() => undefined)
          for (let kill = 0; kill < 4; kill++) {
            const pid = await Promise.race([fleet.workerOf(id), ended])
            if (pid === undefined) break
            // The first one anywhere in the run, the others between their claim and their first save, which is slow.
            await pause(Math.random() * (kill === 0 ? 400 : 150))
            if (!fleet.has(pid)) continue
            const spawned = fleet.spawn()
            await fleet.kill(pid)
            // And one that may be about to notice the death.
            const [other] = fleet.pids()
            if (kill === 2 && other !== undefined) {
              await pause(Math.random() * 600)
              await fleet.kill(other)
              await fleet.spawn()
            }
            await spawned
          }
          const { problems } = await end
          const { attempts, status } = (await fleet.runs.get(id)) ?? { attempts: 0 }
          expect([problems, status]).toEqual([[], 'completed'])
          expect(attempts).toBeGreaterThan(1)
        }
      },
      { maxAttempts: 15 },
    ),
)

test.each(DRIVERS)(
  '%s: runs whose checkpoints are deleted while workers are alive fail, and nothing is called again (DU1)',
  (driver) =>
    fleets.use(driver, async (fleet) => {
      const [first] = await Promise.all([fleet.spawn(), fleet.spawn()])
      const ids = Array.from({ length: 6 }, (_, run) => `run-${run}`)
      await Promise.all(ids.map((id) => fleet.runs.start('clerk', 'Go', { id })))
      await fleet.workerOf('run-0')
      await pause(Math.random() * 250)
      await fleet.pool.query('TRUNCATE meanwhile.checkpoints')
      await fleet.kill(first)
      await fleet.spawn()
      for (const id of ids) {
        const error = await until(`${id} fails`, async () => {
          const run = await fleet.runs.get(id)
          // A run that had already asked waits until somebody answers.
          if (run?.status === 'interrupted')
            await expect(fleet.runs.answer(id, { any: 'yes' })).rejects.toMatchObject({
              name: 'CheckpointMissingError',
            })
          return run?.error?.name
        })
        expect([id, error]).toEqual([id, 'CheckpointMissingError'])
      }
      const keys = fleet.diary.read().flatMap((line) => (line.at === 'start' && !isRead(line) ? [line.key] : []))
      expect(keys.length).toBe(new Set(keys).size)
    }),
)
