/** Tests of what must hold on every engine with a driver, with processes that are killed, paused and stopped. */

import { textOf } from '@meanwhile/core'
import { createDatabase, startCluster } from '@meanwhile/postgres-cluster'
import { expect, test } from 'vitest'
import { DurableStoreError, type ReadEvent } from '../src/index.ts'
import { HESITATE, isRead } from './clerk.ts'
import type { TestDatabase } from './database.ts'
import type { DriverName } from './drivers.ts'
import { Fleet, type FleetOptions, killAtRandom, pause, until } from './fleet.ts'
import { fold } from './runs.ts'

/** How many processes are killed in total. */
const KILLS = Number(process.env.KILLS ?? 10)

export function driverTests(driver: DriverName, database: TestDatabase): void {
  const patient = { timeout: 60_000 + KILLS * 10_000 }

  async function withFleet(
    work: (fleet: Fleet) => Promise<void>,
    options: Pick<FleetOptions, 'maxAttempts'> = {},
  ): Promise<void> {
    const fleet = await Fleet.open({ driver, url: await createDatabase(database.url), ...options })
    try {
      await work(fleet)
    } finally {
      await fleet.close()
    }
  }

  test.each([false, true])(
    `${driver}: workers take over from workers that are killed at random, and no call except a read is made twice; a model that varies: %s (DU1, DU2, DU10)`,
    patient,
    async (isVaried) => {
      const { takeovers, ...trial } = await killAtRandom(
        { driver, url: await createDatabase(database.url), isVaried },
        Math.ceil(KILLS / 2),
      )
      console.log(
        JSON.stringify({ driver, isVaried, ...trial, p50: takeovers[takeovers.length >> 1], max: takeovers.at(-1) }),
      )
      expect(trial.problems).toEqual([])
    },
  )

  test(`${driver}: a worker that was paused until it was considered dead makes no call twice, and its events are dropped (DU2, DU3, DU14)`, () =>
    withFleet(async (fleet) => {
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
        const end = fleet.end(id)
        if (held.includes(id))
          await until('another worker takes it', async () =>
            (await fleet.workerOf(id, begun)) === sleeper ? undefined : true,
          )
        await pause(100)
        fleet.wake(sleeper)
        const verdict = await end
        await reading
        expect(verdict.problems).toEqual([])
        expect(fold(events)).toEqual((await fleet.runs.result(id)).messages)
      }
    }))

  test(
    `${driver}: if workers are killed while they take over a run, the next one takes it, and it is not poisoned (DU10)`,
    patient,
    () =>
      withFleet(
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

  test(`${driver}: a process that is paused between the save of a call and its start does not start it when it wakes (DU3)`, () =>
    withFleet(async (fleet) => {
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
    }))

  test(`${driver}: a process that is paused between the save of an undo and its start undoes nothing when it wakes (DU3, P22)`, () =>
    withFleet(async (fleet) => {
      const sleeper = await fleet.spawn({ sleepsBefore: 'undo' })
      await fleet.runs.start('clerk', HESITATE, { id: 'run' })
      await fleet.said('asleep', sleeper)
      await fleet.spawn()
      await fleet.mourn(sleeper)
      await fleet.result('run')
      fleet.wake(sleeper)
      await fleet.said('return', sleeper)
      await pause(200)
      expect(fleet.diary.read().filter(({ at }) => at === 'undo')).toEqual([])
    }))

  test(`${driver}: runs whose checkpoints are deleted while workers are alive fail, and nothing is called again (DU1)`, () =>
    withFleet(async (fleet) => {
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
    }))

  test(
    `${driver}: crashes of PostgreSQL and seconds without it lose no run, reader, waiter, message or cancel`,
    patient,
    async () => {
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

  test(`${driver}: a worker that receives SIGTERM leaves nothing unknown, and another continues`, () =>
    withFleet(async (fleet) => {
      await Promise.all([fleet.spawn(), fleet.spawn()])
      for (let round = 0; round < 2; round++) {
        const id = `round-${round}`
        await fleet.runs.start('clerk', 'Go', { id })
        const end = fleet.end(id)
        const pid = await fleet.workerOf(id)
        await pause(Math.random() * 300)
        expect(await fleet.kill(pid, 'SIGTERM')).toBeLessThan(15_000)
        await fleet.spawn()
        const { problems, unknown } = await end
        expect([problems, unknown]).toEqual([[], 0])
      }
    }))

  test(`${driver}: of many answers at once the first is accepted, and the run ends, also if they come when it stops (DU7)`, () =>
    withFleet(async (fleet) => {
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
    }))

  test(
    `${driver}: messages and cancels from another process at random moments, while workers are killed: each message is in the run once, and a cancelled run makes no call`,
    patient,
    () =>
      withFleet(async (fleet) => {
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
}

/** The error of a request while the database is unavailable. */
function failure(error: unknown): DurableStoreError {
  if (error instanceof DurableStoreError) return error
  throw error
}
