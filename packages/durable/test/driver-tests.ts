/** What must hold on every engine that we have a driver for, tried with processes that are killed, paused and stopped. */

import { textOf } from '@meanwhile/core'
import { createDatabase } from '@meanwhile/postgres-cluster'
import { expect, test } from 'vitest'
import type { ReadEvent } from '../src/index.ts'
import type { TestDatabase } from './database.ts'
import type { DriverName } from './drivers.ts'
import { Fleet, killAtRandom, pause, until } from './fleet.ts'
import { fold } from './runs.ts'

/** How many processes are killed in all. */
const KILLS = Number(process.env.KILLS ?? 10)

export function driverTests(driver: DriverName, database: TestDatabase): void {
  const patient = { timeout: 60_000 + KILLS * 10_000 }

  async function withFleet(work: (fleet: Fleet) => Promise<void>): Promise<void> {
    const fleet = await Fleet.open({ driver, url: await createDatabase(database.url) })
    try {
      await work(fleet)
    } finally {
      await fleet.close()
    }
  }

  test.each([false, true])(
    `${driver}: of workers that are killed at random others take over, and no call that is no read is made twice; a model that varies: %s (DU1, DU2, DU10)`,
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

  test(`${driver}: a worker that slept until it was taken for dead makes no call twice, and its events are dropped (DU2, DU3, DU14)`, () =>
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

  test(`${driver}: a worker that is told to stop leaves nothing unknown, and another goes on`, () =>
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

  test(`${driver}: of answers from many sides at once the first stands, and the run ends, also if they come when it stops (DU7)`, () =>
    withFleet(async (fleet) => {
      await fleet.spawn()
      const ids = Array.from({ length: 10 }, (_, run) => `run-${run}`)
      await Promise.all(ids.map((id) => fleet.runs.start('clerk', 'Go', { id })))
      await Promise.all(
        ids.map(async (id) => {
          // In the very moment in which the question is stored.
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

  test(`${driver}: messages from another process are in the history once and in order, whenever the worker dies`, () =>
    withFleet(async (fleet) => {
      await Promise.all([fleet.spawn(), fleet.spawn()])
      for (let round = 0; round < 2; round++) {
        const id = `round-${round}`
        await fleet.runs.start('clerk', 'Go', { id })
        const end = fleet.result(id)
        const sent: string[] = []
        const sending = (async () => {
          for (let number = 0; number < 4; number++) {
            if (await fleet.runs.send(id, `message ${number}`)) sent.push(`message ${number}`)
            await pause(Math.random() * 200)
          }
        })()
        const pid = await fleet.workerOf(id)
        await pause(Math.random() * 400)
        await fleet.kill(pid)
        await fleet.spawn()
        await sending
        const { messages } = await end
        const unread = (await fleet.runs.get(id))?.unread ?? []
        const said = [...messages, ...unread].filter(({ role }) => role === 'user').map(textOf)
        expect(said).toEqual(['Go', ...sent])
      }
    }))
}
