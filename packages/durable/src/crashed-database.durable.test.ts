import { textOf } from '@meanwhile/core'
import { createDatabase, startCluster } from '@meanwhile/postgres-cluster'
import { expect, test } from 'vitest'
import { DRIVERS } from '../test/drivers.ts'
import { Fleet, KILLS, patient, pause, until } from '../test/fleet.ts'
import { fold } from '../test/runs.ts'
import { DurableStoreError, type ReadEvent } from './index.ts'

test.each(DRIVERS)(
  '%s: crashes of PostgreSQL and seconds without it lose no run, reader, waiter, message or cancel',
  patient,
  async (driver) => {
    const cluster = await startCluster()
    const fleet = await Fleet.open({ driver, url: await createDatabase(cluster.url) })
    try {
      await Promise.all([fleet.spawn(), fleet.spawn()])
      const rounds = Math.max(3, KILLS / 5)
      for (let round = 0; round < rounds; round++) {
        const isAway = round === rounds - 1
        const [id, cancelled] = [`round-${round}`, `cancelled-${round}`]
        for (const one of [id, cancelled]) await fleet.runs.start('clerk', 'Go', { id: one })
        const events: ReadEvent[] = []
        const reading = (async () => {
          for await (const one of fleet.runs.events(id)) events.push(one)
        })()
        const waiting = fleet.runs.result(id)
        const ended = fleet.end(id)
        for (const one of [reading, waiting, ended]) one.catch(() => undefined)
        await pause(Math.random() * 500)
        await cluster.crash()
        // Either it is stored, or the caller gets an error of the database.
        const sent: string[] = []
        const refused: string[] = []
        const asking = (async () => {
          for (let number = 0; number < 3; number++) {
            const text = `message ${number}`
            const isTaken = await fleet.runs.send(id, text).catch(failure)
            if (isTaken === true) sent.push(text)
            else if (isTaken !== false) refused.push(text)
            await pause(300)
          }
          await until('it is cancelled', async () => {
            const is = await fleet.runs.cancel(cancelled).catch(failure)
            return is instanceof DurableStoreError ? undefined : true
          })
        })()
        if (isAway) await pause(4_000)
        await cluster.start()
        await asking
        expect(refused.length).toBeGreaterThanOrEqual(isAway ? 3 : 0)
        const { problems } = await ended
        const { messages } = await waiting
        await reading
        expect([id, problems]).toEqual([id, []])
        expect(fold(events)).toEqual(messages)
        const unread = (await fleet.runs.get(id))?.unread ?? []
        const said = [...messages, ...unread].filter(({ role }) => role === 'user').map(textOf)
        expect(new Set(said).size).toBe(said.length)
        expect(said.filter((text) => !refused.includes(text))).toEqual(['Go', ...sent])
        await until(
          'it is cancelled',
          async () => (await fleet.runs.get(cancelled))?.status === 'cancelled' || undefined,
        )
      }
    } finally {
      await fleet.close()
      await cluster.close()
    }
  },
)

/** The error of a request while the database is unavailable. */
function failure(error: unknown): DurableStoreError {
  if (error instanceof DurableStoreError) return error
  throw error
}
