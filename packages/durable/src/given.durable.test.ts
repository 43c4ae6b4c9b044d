import { respond, say } from '@meanwhile/assemble/testing'
import { ConfigError, createAgent, InputError } from '@meanwhile/core'
import { Pool } from 'pg'
import { PgBoss } from 'pg-boss'
import { expect, test } from 'vitest'
import { all, scripted, testRuns } from '../test/runs.ts'
import { dbosEngine } from './dbos.ts'
import {
  CursorError,
  type DurableRuns,
  DurableSetUpError,
  DurableStoreError,
  durableRuns,
  setUpDurable,
  UnknownRunError,
} from './index.ts'
import { pgBossEngine } from './pg-boss.ts'

const here = testRuns()
const clerk = () => createAgent({ name: 'clerk', model: scripted(respond(say('Done.'))) })

/** What a caller without types passes. */
const wrong = (value: unknown): never => value as never

test.each([
  ['data', 5n],
  ['data', () => 1],
  ['data', { at: Number.NaN }],
  ['conversationId', 5],
  ['delay', '5'],
  ['delay', -1],
  ['delay', Number.NaN],
  ['priority', 'high'],
  ['priority', 1.5],
])('start refuses %s %s, and stores nothing (DU16)', async (option, value) => {
  const runs = here.runsOf(clerk())
  const started = runs.start('clerk', 'Go', wrong({ id: 'run', [option]: value }))
  await expect(started).rejects.toMatchObject({ name: 'ConfigError', option })
  const { rows } = await here.pool.query(`SELECT key FROM ${here.schema}.checkpoints`)
  expect(rows).toEqual([])
})

test.each([
  5,
  null,
  {},
  [],
  { role: 'assistant', content: 'Hi' },
  { role: 'user', content: 5 },
  { role: 'user', content: [5] },
  { role: 'user', content: [{ type: 'image', url: 'https://example.com' }] },
  '',
])('send refuses %j, which is not a user message, instead of losing it in the worker (DU16)', async (message) => {
  const runs = here.runsOf(clerk())
  await runs.start('clerk', 'Go', { id: 'run' })
  await expect(runs.send('run', wrong(message))).rejects.toThrow(InputError)
  await here.work(runs)
  await runs.result('run')
  expect((await runs.get('run'))?.unread).toEqual([])
})

test.each(['a\0b', '', '\ud800', 'x'.repeat(256), wrong(5)])(
  'nobody has a run with the id %j, which no run can have (DU16)',
  async (id) => {
    const runs = here.runsOf(clerk())
    expect(await runs.get(id)).toBeUndefined()
    await expect(runs.delete(id)).resolves.toBeUndefined()
    const asked: readonly ((runs: DurableRuns) => Promise<unknown>)[] = [
      (runs) => runs.answer(id, {}),
      (runs) => runs.send(id, 'Hi'),
      (runs) => runs.cancel(id),
      (runs) => runs.retry(id),
      (runs) => runs.result(id),
      (runs) => all(runs.events(id)),
    ]
    for (const ask of asked) await expect(ask(runs)).rejects.toThrow(UnknownRunError)
  },
)

test('a cursor with a greater number than any event has is refused (DU14)', async () => {
  const runs = here.runsOf(clerk())
  await runs.start('clerk', 'Go', { id: 'run' })
  await expect(all(runs.events('run', { after: '9999999999.1' }))).rejects.toThrow(CursorError)
})

test.each(['yesterday', undefined, new Date('yesterday'), Number.NaN])(
  'prune refuses %s, which is not a time',
  async (olderThan) => {
    await expect(here.runsOf(clerk()).prune(wrong({ olderThan }))).rejects.toThrow('olderThan: must be a valid Date')
  },
)

test.each([
  { agents: [undefined] },
  { agents: [{ name: 'clerk' }] },
  { context: {} },
  { shouldRetry: 1 },
  { events: { every: '25' } },
  { events: { every: Number.POSITIVE_INFINITY } },
  { events: { keepFor: '5000' } },
])('durableRuns refuses %j', (options) => {
  expect(() => here.runsOf(clerk(), wrong(options))).toThrow(ConfigError)
})

test('a worker refuses an unknown option, a listener that is not a function, and a grace time that no timer can wait', async () => {
  const runs = here.runsOf(clerk())
  await expect(runs.work(wrong({ concurency: 5 }))).rejects.toThrow('concurency: is not an option of work')
  expect(() => runs.onStopped(wrong('tell'))).toThrow('listener: must be a function')
  const worker = await here.work(runs)
  await expect(worker.stop(wrong(null))).rejects.toThrow('options: must be an object')
  for (const grace of [Number.POSITIVE_INFINITY, Number.NaN, wrong('5')])
    await expect(worker.stop({ grace })).rejects.toThrow(ConfigError)
})

test.each<readonly [string, (runs: DurableRuns) => unknown, string]>([
  ['cancel', (runs) => runs.cancel('run', wrong(null)), 'options: must be an object'],
  ['cancel', (runs) => runs.cancel('run', wrong({ when: 'now' })), 'when: is not an option of cancel'],
  ['cancel', (runs) => runs.cancel('run', wrong({ at: 'soon' })), 'at: must be one of'],
  ['retry', (runs) => runs.retry('run', wrong(null)), 'options: must be an object'],
  ['retry', (runs) => runs.retry('run', wrong({ rerun: 'read' })), 'rerun: must be a list of effects'],
  ['result', (runs) => runs.result('run', wrong(null)), 'options: must be an object'],
  ['result', (runs) => runs.result('run', wrong({ signal: 5 })), 'signal: must be an AbortSignal'],
  ['prune', (runs) => runs.prune(wrong(undefined)), 'olderThan: must be a valid Date'],
  ['prune', (runs) => runs.prune(wrong(null)), 'options: must be an object'],
  ['prune', (runs) => runs.prune(wrong({ olderThen: 5 })), 'did you mean olderThan?'],
  ['answer', (runs) => runs.answer('run', wrong(null)), 'answers: must be an object'],
  ['events', async (runs) => await all(runs.events('run', wrong(null))), 'options: must be an object'],
  ['events', async (runs) => await all(runs.events('run', wrong({ folow: false }))), 'did you mean follow?'],
  ['durableRuns', async () => durableRuns(wrong(undefined)), 'options: must be an object'],
  ['durableRuns', async () => durableRuns(wrong(null)), 'options: must be an object'],
  ['setUpDurable', () => setUpDurable(wrong(undefined)), 'options: must be an object'],
  ['setUpDurable', () => setUpDurable(wrong(null)), 'options: must be an object'],
  ['setUpDurable', () => setUpDurable(wrong({ pool: here.pool, shema: 'x' })), 'did you mean schema?'],
])('%s refuses options that it cannot use: %#', async (_, ask, problem) => {
  const runs = here.runsOf(clerk())
  await runs.start('clerk', 'Go', { id: 'run' })
  const asked = (async () => await ask(runs))()
  await expect(asked).rejects.toThrow(ConfigError)
  await expect(asked).rejects.toThrow(problem)
  expect((await runs.get('run'))?.status).toBe('running')
})

test('the engines refuse unknown options, and times that no timer can wait', () => {
  const boss = new PgBoss(here.database.url)
  expect(() => pgBossEngine(boss, wrong({ retries: 5 }))).toThrow('is not an option of pgBossEngine')
  expect(() => dbosEngine(wrong({ pool: here.pool, deadafter: 5 }))).toThrow('did you mean deadAfter?')
  expect(() => dbosEngine({ pool: here.pool, heartbeat: Number.NaN })).toThrow('heartbeat: must be a number')
})

test('setUpDurable throws its own errors without a server, and without a database', async () => {
  const at = (part: 'port' | 'pathname', value: string) =>
    new Pool({ connectionString: Object.assign(new URL(here.database.url), { [part]: value }).href })
  const [unreachable, nameless] = [at('port', '1'), at('pathname', '/nobody')]
  await expect(setUpDurable({ pool: unreachable })).rejects.toThrow(DurableStoreError)
  await expect(setUpDurable({ pool: nameless })).rejects.toThrow(DurableSetUpError)
  await Promise.all([unreachable.end(), nameless.end()])
})

test.each(['a\0b', '\ud800'])(
  'the context of a run gets its conversation %j as it was given (DU16)',
  async (conversationId) => {
    const given: unknown[] = []
    const runs = here.runsOf(clerk(), { context: (run) => void given.push(run.conversationId) })
    await runs.start('clerk', 'Go', { id: 'run', conversationId })
    await here.work(runs)
    await runs.result('run')
    expect(new Set(given)).toEqual(new Set([conversationId]))
  },
)
