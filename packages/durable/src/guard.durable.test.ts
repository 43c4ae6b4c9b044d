import { expect, test } from 'vitest'
import { isRead } from '../test/clerk.ts'
import { DRIVERS } from '../test/drivers.ts'
import { type Fleet, KILLS, patient, pause, testFleets, until } from '../test/fleet.ts'

const fleets = testFleets()

/** Waits until a worker that has claimed the run since then has begun the check of its guard. Returns the worker's process id. */
async function checking(fleet: Fleet, run: string, after: number): Promise<number> {
  return await until(`a check of ${run}`, () => {
    const check = fleet.diary.read().findLast((line) => line.at === 'check' && line.run === run && line.time >= after)
    return check && fleet.has(check.pid) ? check.pid : undefined
  })
}

/** The calls above `read` that any worker has begun. */
function begun(fleet: Fleet, run: string): readonly string[] {
  return fleet.diary
    .read()
    .flatMap((line) => (line.at === 'start' && line.run === run && !isRead(line) ? [line.tool] : []))
}

async function failedRun(fleet: Fleet, run: string, attempts: number) {
  return await until(`${run} fails`, async () => {
    const known = await fleet.runs.get(run)
    return known?.status === 'failed' && known.attempts >= attempts ? known : undefined
  })
}

test.each(DRIVERS)(
  '%s: workers that are killed while the check of a guard is open begin nothing above read; the next one checks again, and a verdict that has failed is final (GD8, DU1)',
  patient,
  (driver) =>
    fleets.use(
      driver,
      async (fleet) => {
        await Promise.all([fleet.spawn(), fleet.spawn()])
        for (let kills = 0; kills < KILLS; ) {
          for (const pass of [false, true]) {
            const id = `run-${kills}-${pass}`
            await fleet.runs.start('guarded', 'Go', { id })
            let after = 0
            for (let spot = 0; spot < 1 + (kills % 2); spot++, kills++) {
              const pid = await checking(fleet, id, after)
              await pause(Math.random() * 100)
              after = Date.now()
              await fleet.kill(pid)
              await fleet.spawn()
            }
            await checking(fleet, id, after)
            expect(begun(fleet, id)).toEqual([])
            fleet.diary.write({ at: 'verdict', run: id, pid: process.pid, time: Date.now(), pass })
            if (pass) {
              expect((await fleet.end(id)).problems).toEqual([])
              continue
            }
            const checks = () => fleet.diary.read().filter(({ at, run }) => at === 'check' && run === id).length
            const { error, attempts } = await failedRun(fleet, id, 0)
            const asked = checks()
            await fleet.runs.retry(id)
            const again = await failedRun(fleet, id, attempts + 1)
            expect([error?.name, again.error, begun(fleet, id), checks()]).toEqual(['GuardError', error, [], asked])
          }
        }
      },
      { maxAttempts: 100 },
    ),
)
