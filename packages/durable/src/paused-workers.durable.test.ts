import { expect, test } from 'vitest'
import { HESITATE, isRead } from '../test/clerk.ts'
import { DRIVERS } from '../test/drivers.ts'
import { pause, testFleets, until } from '../test/fleet.ts'
import { fold } from '../test/runs.ts'
import type { ReadEvent } from './index.ts'

const fleets = testFleets()

test.each(DRIVERS)(
  '%s: a worker that was paused until it was considered dead makes no call twice, and its events are dropped (DU2, DU3, DU14)',
  (driver) =>
    fleets.use(driver, async (fleet) => {
      await Promise.all([fleet.spawn(), fleet.spawn()])
      for (const [round, asleep] of [80, 160, 240].entries()) {
        const id = `round-${round}`
        await fleet.runs.start('clerk', 'Go', { id })
        const events: ReadEvent[] = []
        const reading = (async () => {
          for await (const one of fleet.runs.events(id)) events.push(one)
        })()
        const sleeper = await fleet.workerOf(id)
        await pause(asleep)
        const begun = Date.now()
        const held = await fleet.pause(sleeper)
        let hasEnded = false
        const end = fleet.end(id).finally(() => {
          hasEnded = true
        })
        // On a busy machine the worker may still end the run between the look at what it holds and its pause.
        if (held.includes(id))
          await until('another worker takes it', () => {
            const pid = fleet.livingWorkerOf(id, begun)
            return hasEnded || (pid !== undefined && pid !== sleeper) || undefined
          })
        await pause(100)
        fleet.wake(sleeper)
        const verdict = await end
        await reading
        expect(verdict.problems).toEqual([])
        expect(fold(events)).toEqual((await fleet.runs.result(id)).messages)
      }
    }),
)

test.each(DRIVERS)(
  '%s: a process that is paused between the save of a call and its start does not start it when it wakes (DU3)',
  (driver) =>
    fleets.use(driver, async (fleet) => {
      const sleeper = await fleet.spawn({ sleepsBefore: 'start' })
      await fleet.runs.start('clerk', 'Go', { id: 'run' })
      await fleet.said('asleep', sleeper)
      await fleet.spawn()
      await fleet.mourn(sleeper)
      const { problems, unknown } = await fleet.end('run')
      expect([problems, unknown > 0]).toEqual([[], true])
      fleet.wake(sleeper)
      await fleet.said('return', sleeper)
      await pause(200)
      const changed = fleet.diary.read().filter((line) => line.at === 'start' && line.pid === sleeper && !isRead(line))
      expect(changed).toEqual([])
    }),
)

test.each(DRIVERS)(
  '%s: a process that is paused between the save of an undo and its start undoes nothing when it wakes (DU3, P22)',
  (driver) =>
    fleets.use(driver, async (fleet) => {
      const sleeper = await fleet.spawn({ sleepsBefore: 'undo' })
      await fleet.runs.start('clerk', HESITATE, { id: 'run' })
      await fleet.said('asleep', sleeper)
      await fleet.spawn()
      await fleet.mourn(sleeper)
      await fleet.result('run')
      fleet.wake(sleeper)
      await fleet.said('return', sleeper)
      await pause(200)
      // The other process may call the model again, and undoes what it has done itself. On a slow machine the undo may have come first: it
      // needs no save if no stored checkpoint contains the result of its call.
      const lines = fleet.diary.read().filter(({ pid }) => pid === sleeper)
      const awake = lines.slice(lines.findIndex(({ at }) => at === 'asleep'))
      expect(awake.filter(({ at }) => at === 'undo')).toEqual([])
    }),
)
