import { textOf } from '@meanwhile/core'
import { expect, test } from 'vitest'
import { isRead } from '../test/clerk.ts'
import { DRIVERS } from '../test/drivers.ts'
import { KILLS, patient, pause, testFleets, until } from '../test/fleet.ts'

const fleets = testFleets()

test.each(DRIVERS)(
  '%s: of many answers at once the first is accepted, and the run ends, also if they come when it stops (DU7)',
  (driver) =>
    fleets.use(driver, async (fleet) => {
      await fleet.spawn()
      const ids = Array.from({ length: 10 }, (_, run) => `run-${run}`)
      await Promise.all(ids.map((id) => fleet.runs.start('clerk', 'Go', { id })))
      await Promise.all(
        ids.map(async (id) => {
          // Exactly when the question is stored.
          const interrupt = await until(`${id} asks`, async () => {
            const { rows } = await fleet.pool.query(`SELECT checkpoint FROM meanwhile.checkpoints WHERE key = $1`, [id])
            return JSON.parse(rows[0].checkpoint).interrupts[0]?.id
          })
          await Promise.all(
            Array.from({ length: 8 }, (_, side) => fleet.runs.answer(id, { [interrupt]: `side ${side}` })),
          )
          const { messages } = await fleet.result(id)
          const { rows } = await fleet.pool.query('SELECT answer FROM meanwhile.answers WHERE id = $1', [id])
          const said = messages.map(textOf).filter((text) => text.startsWith('They said'))
          expect(said).toEqual([`They said ${JSON.parse(rows[0].answer)}.`])
        }),
      )
    }),
)

test.each(DRIVERS)(
  '%s: messages and cancels from another process at random moments, while workers are killed: each message is in the run once, and a cancelled run makes no call',
  patient,
  (driver) =>
    fleets.use(driver, async (fleet) => {
      await Promise.all([fleet.spawn(), fleet.spawn()])
      for (let round = 0; round < Math.max(3, KILLS / 5); round++) {
        const id = `round-${round}`
        await fleet.runs.start('clerk', 'Go', { id })
        const sent: string[] = []
        const sending = (async () => {
          for (let number = 0; number < 4; number++) {
            if (await fleet.runs.send(id, `message ${number}`)) sent.push(`message ${number}`)
            await pause(Math.random() * 200)
          }
        })()
        const killing = (async () => {
          const pid = await fleet.workerOf(id)
          await pause(Math.random() * 400)
          const spawned = fleet.spawn()
          await fleet.kill(pid)
          await spawned
        })()
        // In each third round nobody cancels. A run that waits for an answer can be cancelled, too.
        if (round % 3 !== 2) {
          await pause(Math.random() * 700)
          await fleet.runs.cancel(id)
          await until('it is cancelled', async () => (await fleet.runs.get(id))?.status === 'cancelled' || undefined)
          const starts = () => fleet.diary.read().filter(({ at, run }) => at === 'start' && run === id).length
          const before = starts()
          await Promise.all([killing, sending])
          await pause(500)
          expect([starts(), (await fleet.runs.get(id))?.status]).toEqual([before, 'cancelled'])
          const early = (await fleet.runs.get(id))?.unread ?? []
          await fleet.runs.retry(id)
          // The retry takes messages that came too late.
          expect(early.length).toBeLessThanOrEqual(sent.length)
        }
        const { messages } = await fleet.result(id)
        await Promise.all([killing, sending])
        const unread = (await fleet.runs.get(id))?.unread ?? []
        const said = [...messages, ...unread].filter(({ role }) => role === 'user').map(textOf)
        expect(said).toEqual(['Go', ...sent])
        const keys = fleet.diary
          .read()
          .flatMap((line) => (line.at === 'start' && line.run === id && !isRead(line) ? [line.key] : []))
        expect(keys.length).toBe(new Set(keys).size)
      }
    }),
)
