import { call, respond, say } from '@meanwhile/assemble/testing'
import { createAgent, tool } from '@meanwhile/core'
import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { all, fold, scripted, status, testRuns } from '../test/runs.ts'
import { type DurableOptions, type DurableRuns, durableRuns, type ReadEvent } from './index.ts'

const here = testRuns()
const { runsOf, work } = here

const look = tool({ name: 'look', description: 'Looks.', input: z.object({}), effect: 'read', execute: () => 'seen' })

let isBroken = false
const clerk = createAgent({
  name: 'clerk',
  model: scripted(respond(say('One moment.'), call('look')), respond(say('Done.'))),
  tools: [look],
  middleware: [
    {
      name: 'broken',
      beforeModel(_state, run) {
        if (isBroken && run.step === 2) throw new Error('broken')
      },
    },
  ],
})

async function batches(id: string): Promise<readonly string[]> {
  const { rows } = await here.pool.query(`SELECT batch FROM ${here.schema}.events WHERE id = $1 ORDER BY seq`, [id])
  return rows.map(({ batch }) => batch)
}

/** The number of the newest batch that the reader has read. */
const batchOf = (read: readonly ReadEvent[]) => Number.parseInt(read.at(-1)?.cursor ?? '', 10)

/** Makes the run look as if it had ended this many minutes ago. */
async function age(id: string, minutes: number): Promise<void> {
  await here.pool.query(`UPDATE ${here.schema}.runs SET ended_at = ended_at - $2 * interval '1 minute' WHERE id = $1`, [
    id,
    minutes,
  ])
}

/** The runs of a worker that has deleted old events. */
async function dropped(keepFor: number, isDone: () => Promise<void>): Promise<DurableRuns> {
  const runs = runsOf(clerk, { events: { keepFor } })
  await work(runs)
  await vi.waitFor(isDone, { timeout: 60_000, interval: 20 })
  return runs
}

test('a worker deletes the events of runs that ended longer ago than keepFor, and of no others', async () => {
  const ids = [...Array.from({ length: 120 }, (_, run) => `old-${run}`), 'new', 'waiting']
  const runs = runsOf(clerk)
  await work(runs)
  for (const id of ids.slice(0, -1)) await runs.start('clerk', 'Go', { id })
  for (const id of ids.slice(0, -1)) await runs.result(id)
  await here.pool.query(`INSERT INTO ${here.schema}.runs (id, agent) VALUES ('waiting', 'clerk')`)
  await here.pool.query(
    `INSERT INTO ${here.schema}.events (id, seq, attempt, fleeting, batch) VALUES ('waiting', 1, 1, false, '[1]')`,
  )
  await here.pool.query(
    `UPDATE ${here.schema}.runs SET ended_at = ended_at - interval '9 minutes' WHERE id LIKE 'old-%'`,
  )
  await dropped(8 * 60_000, async () => {
    for (const id of ids.slice(0, 120)) expect(await batches(id)).toEqual(['[]'])
  })
  expect((await batches('new')).join()).toContain('run-start')
  expect(await batches('waiting')).toEqual(['[1]'])
})

test('a reader of deleted events gets the messages of the run and its end, from any cursor', async () => {
  const runs = runsOf(clerk)
  await work(runs)
  await runs.start('clerk', 'Go', { id: 'run' })
  const { messages } = await runs.result('run')
  const before = await all(runs.events('run'))
  await age('run', 10)
  const after = await dropped(60_000, async () => expect(await batches('run')).toEqual(['[]']))
  const late = await all(after.events('run'))
  expect(late.map(({ event }) => event)).toEqual([
    { type: 'history-replaced', runId: 'run', messages },
    { type: 'run-stopped', status: 'completed' },
  ])
  expect(late.map(({ cursor }) => cursor)).toEqual([`${batchOf(before) + 1}.1`, `${batchOf(before) + 1}.end`])
  for (const [index, { cursor }] of before.entries()) {
    const rest = await all(after.events('run', { after: cursor }))
    expect(fold([...before.slice(0, index + 1), ...rest])).toEqual(messages)
    expect(rest).toEqual(late)
  }
  for (const [index, { cursor }] of late.entries())
    expect(await all(after.events('run', { after: cursor }))).toEqual(late.slice(index + 1))
})

test('a run that continues after its events were deleted can be read on by readers that had read its end', async () => {
  isBroken = true
  const runs = runsOf(clerk)
  await work(runs)
  await runs.start('clerk', 'Go', { id: 'run' })
  await status(runs, 'run', 'failed')
  const first = await all(runs.events('run'))
  await age('run', 10)
  const after = await dropped(60_000, async () => expect(await batches('run')).toEqual(['[]']))
  isBroken = false
  await after.retry('run')
  const second = await all(after.events('run', { after: first.at(-1)?.cursor ?? '' }))
  const { messages } = await after.result('run')
  expect(fold([...first, ...second])).toEqual(messages)
  expect(fold(await all(after.events('run')))).toEqual(messages)
  expect(second.slice(0, 2).map(({ event }) => event.type)).toEqual(['history-replaced', 'run-start'])
})

test('a late reader gets the end, also of a run whose checkpoint is deleted', async () => {
  const runs = runsOf(clerk)
  await work(runs)
  await runs.start('clerk', 'Go', { id: 'run' })
  await runs.result('run')
  await age('run', 10)
  const after = await dropped(60_000, async () => expect(await batches('run')).toEqual(['[]']))
  await here.pool.query(`TRUNCATE ${here.schema}.checkpoints`)
  expect((await all(after.events('run'))).map(({ event }) => event)).toEqual([
    { type: 'run-stopped', status: 'completed' },
  ])
})

test('a worker keeps checking for old events while it is idle, and not after it has stopped', async () => {
  let looks = 0
  const pooled = here.database.pool()
  // No connection can listen, so it polls every second.
  const deaf: DurableOptions['pool'] = {
    connect: () => Promise.reject(new Error('not here')),
    query(text, values) {
      if (text.includes('WITH page AS')) looks++
      return pooled.query(text, values)
    },
  }
  const worker = await runsOf(clerk, { pool: deaf, events: { keepFor: 100 } }).work()
  await vi.waitFor(() => expect(looks).toBe(3), { timeout: 60_000 })
  await worker.stop()
  await new Promise((resolve) => setTimeout(resolve, 1_500))
  expect(looks).toBe(3)
})

test.each([{ every: -1 }, { keepFor: Number.NaN }, { keep: 1 }])('%j is not a valid events option', (events) => {
  const options = { agents: [clerk], store: here, pool: here.pool, engine: here.engine, events }
  expect(() => durableRuns(Object.assign(options, { store: { load() {}, save() {} } }) as never)).toThrow('events.')
})
