import { call, respond, say, wait } from '@meanwhile/assemble/testing'
import { createAgent, type Message, textOf, tool } from '@meanwhile/core'
import { type CuttingProxy, cuttingProxy } from '@meanwhile/postgres-cluster'
import { postgresStore } from '@meanwhile/stores/postgres'
import { sleep } from '@meanwhile/tests/clock'
import { Pool } from 'pg'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { all, fold, scripted, status, testRuns } from '../test/runs.ts'
import type { DurableOptions, DurableRuns } from './index.ts'

const here = testRuns()
const { runsOf, work } = here

const executed: string[] = []
const ask = tool({
  name: 'ask',
  description: 'Asks.',
  input: z.object({}),
  answer: z.string(),
})
const post = tool({
  name: 'post',
  description: 'Posts.',
  input: z.object({}),
  execute: () => {
    executed.push('post')
    return 'posted'
  },
})

const clerk = createAgent({
  name: 'clerk',
  model: scripted(respond(say('First.'), call('post')), respond(call('ask')), respond(say('Done.'), wait(30))),
  tools: [ask, post],
})

let proxy: CuttingProxy
/** Its connections go through the proxy; the connections of the checkpoints do not. */
let cut: DurableRuns
let pool: Pool

beforeEach(async () => {
  executed.length = 0
  proxy = await cuttingProxy(here.database.url)
  pool = new Pool({ connectionString: proxy.url })
  pool.on('error', () => {})
  cut = runsOf(clerk, { pool })
  return async () => {
    await pool.end()
    await proxy.close()
  }
})

afterEach(() => {
  executed.length = 0
})

async function answered(runs: DurableRuns, id: string): Promise<readonly Message[]> {
  await status(runs, id, 'interrupted')
  const [question] = (await runs.get(id))?.interrupts ?? []
  await runs.answer(id, { [question?.id ?? '']: 'yes' })
  return (await runs.result(id)).messages
}

const WHEN = ['before', 'after'] as const

test.each(
  WHEN.flatMap((when) =>
    [
      'INSERT INTO "SCHEMA".runs',
      'SET attempts = attempts + 1',
      'SELECT interrupt, answer',
      'INSERT INTO "SCHEMA".answers',
      "SET status = 'running', error = NULL",
      "'interrupted' END",
      'ended_at = clock_timestamp() WHERE',
    ].map((statement) => [when, statement] as const),
  ),
)('a run ends as usual when a connection is lost %s the statement %s (DU5)', async (when, statement) => {
  const lost = proxy.cut(when, statement.replace('SCHEMA', here.schema))
  await work(cut)
  await cut.start('clerk', 'Go', { id: 'run' })
  const messages = await answered(cut, 'run')
  await lost
  expect(messages.map(textOf)).toEqual(['Go', 'First.', 'posted', '', 'yes', 'Done.'])
  expect(executed).toEqual(['post'])
  expect(fold(await all(cut.events('run')))).toEqual(messages)
})

test.each(WHEN)('a message is in the history once when its connection is lost %s it was stored (DU5)', async (when) => {
  await cut.start('clerk', 'Go', { id: 'run' })
  const lost = proxy.cut(when, `INSERT INTO "${here.schema}".inbox`)
  expect(await cut.send('run', 'And this.')).toBe(true)
  await lost
  await work(cut)
  const messages = await answered(cut, 'run')
  expect(messages.filter(({ role }) => role === 'user').map(textOf)).toEqual(['Go', 'And this.'])
})

test('a message that is sent again while the server stores it is in the history once (DU5)', async () => {
  await cut.start('clerk', 'Go', { id: 'run' })
  // The first one waits for the row, and the second one waits for the first.
  const other = await here.pool.connect()
  await other.query('BEGIN')
  await other.query(`SELECT 1 FROM ${here.schema}.runs FOR UPDATE`)
  const sending = cut.send('run', 'And this.')
  const waiting = async (count: number) => {
    for (;;) {
      const { rows } = await here.pool.query(
        `SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%inbox%' AND datname = current_database()`,
      )
      if (rows.length >= count) return
    }
  }
  await waiting(1)
  await proxy.close()
  proxy = await cuttingProxy(here.database.url)
  await other.query('COMMIT')
  other.release()
  await expect(sending).rejects.toMatchObject({ name: 'DurableStoreError' })
  const { rows } = await here.pool.query(`SELECT seq FROM ${here.schema}.inbox`)
  expect(rows).toEqual([{ seq: 1 }])
})

test.each(WHEN)('a retry continues the run once when its connection is lost %s it was stored (DU5)', async (when) => {
  await cut.start('clerk', 'Go', { id: 'run' })
  await cut.cancel('run')
  await work(cut)
  await status(cut, 'run', 'cancelled')
  const lost = proxy.cut(when, "SET status = 'running', error = NULL, cancel = NULL")
  await cut.retry('run')
  await lost
  await answered(cut, 'run')
  expect(executed).toEqual(['post'])
})

test('an engine whose database stays away fails with a DurableStoreError, at its set-up and at a wake', async () => {
  const starting = () =>
    Promise.reject(Object.assign(new Error('the database system is starting up'), { code: '57P03' }))
  const error = { name: 'DurableStoreError', code: '57P03' }
  const deaf = runsOf(clerk, { engine: { ...here.engine, wake: starting } })
  await expect(deaf.start('clerk', 'Go', { id: 'run' })).rejects.toMatchObject(error)
  const unprepared = runsOf(clerk, { engine: { ...here.engine, setUp: starting } })
  await expect(unprepared.start('clerk', 'Go', { id: 'run' })).rejects.toMatchObject(error)
})

test.each(['inbox', 'pg_notify'])('a run continues when its worker cannot query %s', async (asked) => {
  let failures = 0
  const failing: DurableOptions['pool'] = {
    connect: () => here.pool.connect(),
    query(text, values) {
      if (!text.includes(asked) || text.includes('INSERT') || failures >= 6) return here.pool.query(text, values)
      failures++
      return Promise.reject(Object.assign(new Error('gone'), { code: '57P01' }))
    },
  }
  const runs = runsOf(clerk)
  await runs.start('clerk', 'Go', { id: 'run' })
  await runs.send('run', 'And this.')
  await work(runsOf(clerk, { pool: failing }))
  const messages = await answered(runs, 'run')
  const { unread = [] } = (await runs.get('run')) ?? {}
  expect([...messages, ...unread].filter(({ role }) => role === 'user').map(textOf)).toEqual(['Go', 'And this.'])
  expect(failures).toBeGreaterThan(0)
})

test('a checkpoint that cannot be loaded does not fail the run, which continues when it can be loaded (DU2)', async () => {
  const store = postgresStore(here)
  let failures = 0
  const failing: DurableOptions['store'] = {
    ...store,
    load(id) {
      if (++failures > 4) return store.load(id)
      return Promise.reject(new Error('no disk'))
    },
  }
  const runs = runsOf(clerk)
  await runs.start('clerk', 'Go', { id: 'run' })
  await work(runsOf(clerk, { store: failing }))
  await answered(runs, 'run')
  expect(failures).toBeGreaterThan(4)
})

test('a run that is cancelled while no checkpoint can be loaded ends as cancelled after its last attempt (DU7, DU9)', async () => {
  const store = { ...postgresStore(here), load: () => Promise.reject(new Error('no disk')) }
  const runs = runsOf(clerk)
  await runs.start('clerk', 'Go', { id: 'run' })
  await runs.cancel('run')
  await work(runsOf(clerk, { store, maxAttempts: 3 }))
  await status(runs, 'run', 'cancelled')
  expect(await runs.get('run')).toMatchObject({ attempts: 3, status: 'cancelled' })
})

test('a run that has messages ends after its last attempt, also if no checkpoint can be loaded (DU9)', async () => {
  const store = { ...postgresStore(here), load: () => Promise.reject(new Error('no disk')) }
  const runs = runsOf(clerk)
  await runs.start('clerk', 'Go', { id: 'run' })
  await runs.send('run', 'And this.')
  await work(runsOf(clerk, { store, maxAttempts: 3 }))
  await status(runs, 'run', 'failed')
  const { attempts, error, unread = [] } = (await runs.get('run')) ?? {}
  expect([attempts, error?.name, unread.map(textOf)]).toEqual([3, 'CheckpointStoreError', ['And this.']])
})

test('a worker whose events were lost in a crash of the server writes the history again, so that readers have all of it', async () => {
  const steps = Array.from({ length: 6 }, (_, step) => respond(say(`Step ${step}.`), wait(60), call('post')))
  let lost = 0
  // Each call waits until the events of the one before were lost, if the reader has seen its message: those of a run that has ended are not
  // lost, because its end waits for the disk.
  const waiting = tool({
    name: 'post',
    description: 'Posts.',
    input: z.object({}),
    async execute() {
      const before = executed.push('post') - 1
      for (let tries = 0; tries < 100 && lost < Math.min(before, 3); tries++) await sleep(10)
      return 'posted'
    },
  })
  const agent = createAgent({
    name: 'clerk',
    model: scripted(...steps, respond(say('Done.'), wait(60))),
    tools: [waiting],
  })
  const runs = runsOf(agent)
  await work(runs)
  await runs.start('clerk', 'Go', { id: 'run' })
  // A crash loses the last commits that did not wait for the disk.
  for await (const { event } of runs.events('run')) {
    if (event.type !== 'message' || event.message.role !== 'tool' || lost >= 3) continue
    await here.pool.query(
      `DELETE FROM ${here.schema}.events WHERE seq > (SELECT max(seq) - 2 FROM ${here.schema}.events)`,
    )
    lost++
  }
  const { messages } = await runs.result('run')
  const late = await all(runs.events('run'))
  expect(fold(late)).toEqual(messages)
  expect(lost).toBe(3)
})

test('a later attempt does not reuse the numbers of lost events that a reader has seen', async () => {
  const steps = [respond(say('One.'), call('post')), respond(say('Two.'), call('ask')), respond(say('Done.'))]
  const agent = createAgent({ name: 'clerk', model: scripted(...steps), tools: [post, ask] })
  const runs = runsOf(agent)
  await work(runs)
  await runs.start('clerk', 'Go', { id: 'run' })
  const read = []
  for await (const one of runs.events('run')) {
    read.push(one)
    if (one.event.type === 'run-stopped') break
  }
  await here.pool.query(`DELETE FROM ${here.schema}.events WHERE seq > 1`)
  await answered(runs, 'run')
  const rest = await all(runs.events('run', { after: read.at(-1)?.cursor ?? '' }))
  expect(fold([...read, ...rest])).toEqual((await runs.result('run')).messages)
})
