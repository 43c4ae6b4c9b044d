import { call, respond, type ScriptResponse, say, wait } from '@meanwhile/assemble/testing'
import { type Agent, createAgent, interrupt, textOf, tool } from '@meanwhile/core'
import { postgresStore } from '@meanwhile/stores/postgres'
import { Pool } from 'pg'
import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { all, fold, scripted, testRuns } from '../test/runs.ts'
import { CursorError, type DurableOptions, type Engine, type ReadEvent, UnknownRunError } from './index.ts'

const here = testRuns()
const { runsOf, work } = here

const look = tool({ name: 'look', description: 'Looks.', input: z.object({}), effect: 'read', execute: () => 'seen' })

const ask = tool({
  name: 'ask',
  description: 'Asks.',
  input: z.object({}),
  execute: (_, { answers }) => (answers.length === 0 ? interrupt('Really?') : 'answered'),
})

function agentOf(responses: readonly ScriptResponse[]): Agent {
  return createAgent({ name: 'clerk', model: scripted(...responses), tools: [look, ask] })
}

const story = (step: string) => Array.from({ length: 12 }, (_, word) => [say(`${step}${word} `), wait(8)]).flat()
const STORY = [respond(...story('a'), call('look')), respond(...story('b'), call('look')), respond(...story('c'))]

test('a reader in another process sees the events live, and they add up to the messages of the result', async () => {
  let goOn = () => {}
  const isRead = new Promise<string>((resolve) => {
    goOn = () => resolve('seen')
  })
  // Its tool ends when the reader has read the words before it.
  const agent = agentOf(STORY).with({ tools: [{ ...look, execute: () => isRead }] })
  await work(runsOf(agent))
  const elsewhere = runsOf(agent, { pool: here.database.pool() })
  await elsewhere.start('clerk', 'Go', { id: 'run' })
  let words = 0
  const read: ReadEvent[] = []
  for await (const one of elsewhere.events('run')) {
    read.push(one)
    if (one.event.type === 'text-delta' && (await elsewhere.get('run'))?.status === 'running') words++
    if (words > 10) goOn()
  }
  const { messages } = await elsewhere.result('run')
  const events = read.map(({ event }) => event)
  expect(fold(read)).toEqual(messages)
  expect(words).toBeGreaterThan(10)
  expect(events[0]).toMatchObject({ type: 'run-start' })
  expect(events.at(-1)).toEqual({ type: 'run-stopped', status: 'completed' })
  expect(events.filter(({ type }) => type === 'run-end')).toEqual([])
  expect(new Set(read.map(({ cursor }) => cursor)).size).toBe(read.length)
})

test('a reader that stops and continues at any of its cursors reads the rest, and nothing twice', async () => {
  const runs = runsOf(agentOf(STORY), { pool: here.database.pool() })
  await work(runsOf(agentOf(STORY)))
  await runs.start('clerk', 'Go', { id: 'run' })
  // It stops after every few events, while the run is running.
  const live: ReadEvent[] = []
  for (let left = false; !left; ) {
    left = true
    const after = live.at(-1)?.cursor
    for await (const one of runs.events('run', after === undefined ? {} : { after })) {
      live.push(one)
      if (live.length % 3 === 0 && one.event.type !== 'run-stopped') {
        left = false
        break
      }
    }
  }
  const { messages } = await runs.result('run')
  expect(fold(live)).toEqual(messages)
  expect(new Set(live.map(({ cursor }) => cursor)).size).toBe(live.length)
  // And afterwards, from every cursor.
  const late = await all(runs.events('run'))
  expect(fold(late)).toEqual(messages)
  for (const [index, { cursor }] of late.entries())
    expect(await all(runs.events('run', { after: cursor }))).toEqual(late.slice(index + 1))
})

test("the deltas of a step are deleted when it has ended, so a late reader gets the step's messages", async () => {
  const runs = runsOf(agentOf(STORY))
  await work(runs)
  await runs.start('clerk', 'Go', { id: 'run' })
  await runs.result('run')
  const { rows } = await here.pool.query(`SELECT fleeting, batch FROM ${here.schema}.events`)
  expect(rows.filter(({ fleeting }) => fleeting)).toEqual([])
  const types = (await all(runs.events('run'))).map(({ event }) => event.type)
  // The remaining deltas came in one batch with other events.
  expect(types.filter((type) => type === 'text-delta').length).toBeLessThan(36)
  expect(types.filter((type) => type === 'step-end')).toHaveLength(3)
})

test('a reader waits while the run waits for an answer, and sees it continue', async () => {
  const script = [respond(say('Let me ask.'), call('ask')), respond(say('Thanks.'))]
  const runs = runsOf(agentOf(script))
  await work(runs)
  await runs.start('clerk', 'Go', { id: 'run' })
  const read: ReadEvent[] = []
  for await (const one of runs.events('run')) {
    const { event } = one
    read.push(one)
    if (event.type === 'run-stopped' && event.status === 'interrupted') {
      const id = (await runs.get('run'))?.interrupts[0]?.id ?? ''
      await runs.answer('run', { [id]: 'yes' })
    }
  }
  const { messages } = await runs.result('run')
  expect(fold(read)).toEqual(messages)
  const events = read.map(({ event }) => event)
  expect(events.flatMap((event) => (event.type === 'run-stopped' ? event.status : []))).toEqual([
    'interrupted',
    'completed',
  ])
  expect(events.filter(({ type }) => type === 'run-start')).toHaveLength(2)
})

test('after a retry a reader continues after the end that it has read', async () => {
  let isBroken = true
  const model = agentOf(STORY)
  const agent = model.with({
    middleware: [
      {
        name: 'broken',
        beforeModel(_state, run) {
          if (isBroken && run.step === 2) throw new Error('broken')
        },
      },
    ],
  })
  const runs = runsOf(agent)
  await work(runs)
  await runs.start('clerk', 'Go', { id: 'run' })
  const first = await all(runs.events('run'))
  expect(first.at(-1)?.event).toMatchObject({
    type: 'run-stopped',
    status: 'failed',
    error: { message: expect.stringContaining('broken') },
  })
  const after = first.at(-1)?.cursor ?? ''
  expect(await all(runs.events('run', { after }))).toEqual([])
  isBroken = false
  await runs.retry('run')
  const second = await all(runs.events('run', { after }))
  expect(fold([...first, ...second])).toEqual((await runs.result('run')).messages)
})

test('batches of an earlier attempt are refused once a later one has written, and both continue (DU14)', async () => {
  // All saves of the first worker are held, as if it slept, until the other one has taken over.
  let wake = () => {}
  const awake = new Promise<void>((resolve) => {
    wake = resolve
  })
  let asleep = () => {}
  const sleeps = new Promise<void>((resolve) => {
    asleep = resolve
  })
  const store = postgresStore(here)
  let saves = 0
  const sleepy: DurableOptions['store'] = {
    ...store,
    async save(id, checkpoint, expected) {
      if (++saves === 3) {
        asleep()
        await awake
      }
      await store.save(id, checkpoint, expected)
    },
  }
  const taken: ((id: string) => Promise<void>)[] = []
  // An engine that considers the first worker dead at once.
  const rash: Engine = {
    wake: async () => {},
    async work(advance) {
      taken.push(async (id) => await advance(id, { signal: new AbortController().signal }))
      return { stop: async () => {} }
    },
  }
  const [first, second] = [
    runsOf(agentOf(STORY), { engine: rash, store: sleepy }),
    runsOf(agentOf(STORY), { engine: rash }),
  ]
  await work(first)
  await work(second)
  await first.start('clerk', 'Go', { id: 'run' })
  const dying = taken[0]?.('run')
  await sleeps
  const stored = async () => JSON.stringify(await store.load('run'))
  const before = await stored()
  const healthy = taken[1]?.('run')
  // In the middle of the second worker's events, after its first save.
  await expect.poll(attempts).toContain(2)
  await expect.poll(stored).not.toBe(before)
  wake()
  await expect(dying).rejects.toMatchObject({ name: 'CheckpointConflictError' })
  await healthy
  const { messages } = await second.result('run')
  expect(fold(await all(second.events('run')))).toEqual(messages)
  const written = await attempts()
  expect(written).toEqual(written.toSorted((a, b) => a - b))
  expect(await second.get('run')).toMatchObject({ status: 'completed', attempts: 2 })

  /** The attempt that wrote each event. */
  async function attempts(): Promise<readonly number[]> {
    const { rows } = await here.pool.query(`SELECT attempt FROM ${here.schema}.events ORDER BY seq`)
    return rows.map(({ attempt }) => attempt)
  }
})

test('events that cannot be written are lost to readers, and do not affect the run (DU13)', async () => {
  const failing = here.database.pool()
  const deaf: DurableOptions['pool'] = {
    connect: () => failing.connect(),
    query: (text, values) =>
      text.includes('INSERT INTO') && text.includes('.events')
        ? Promise.reject(new Error('full'))
        : failing.query(text, values),
  }
  const runs = runsOf(agentOf([respond(say('Done.'))]), { pool: deaf })
  await work(runs)
  await runs.start('clerk', 'Go', { id: 'run' })
  expect((await runs.result('run')).text).toBe('Done.')
  expect((await all(runs.events('run'))).map(({ event }) => event)).toEqual([
    { type: 'run-stopped', status: 'completed' },
  ])
})

test('with `events: false` readers see only the end', async () => {
  const runs = runsOf(agentOf(STORY), { events: false })
  await work(runs)
  await runs.start('clerk', 'Go', { id: 'run' })
  expect((await all(runs.events('run'))).map(({ event }) => event)).toEqual([
    { type: 'run-stopped', status: 'completed' },
  ])
})

test('a thousand readers of one run share one connection and all fetched batches', async () => {
  const readers = here.database.pool(4)
  let queries = 0
  readers.on('acquire', () => queries++)
  const runs = runsOf(agentOf(STORY), { pool: readers })
  await work(runsOf(agentOf(STORY)))
  await runs.start('clerk', 'Go', { id: 'run' })
  const read = await Promise.all(Array.from({ length: 1_000 }, () => all(runs.events('run'))))
  const { messages } = await runs.result('run')
  for (const events of read.filter((_, index) => index % 100 === 0)) expect(fold(events)).toEqual(messages)
  expect(new Set(read.map((events) => events.length)).size).toBe(1)
  expect(queries).toBeLessThan(1_000)
})

test('a reader continues when the listening connection is lost', async () => {
  const own = here.database.pool()
  const runs = runsOf(agentOf(STORY), { pool: own })
  await work(runsOf(agentOf(STORY)))
  await runs.start('clerk', 'Go', { id: 'run' })
  const reading = all(runs.events('run'))
  await vi.waitFor(
    async () => {
      const { rows } = await here.pool.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query = 'LISTEN meanwhile'`,
      )
      expect(rows.length).toBeGreaterThan(0)
    },
    { timeout: 60_000 },
  )
  const { messages } = await runs.result('run')
  expect(fold(await reading)).toEqual(messages)
})

test('when no connection can listen, readers and workers poll every second (DU12)', async () => {
  const pooled = here.database.pool()
  const deaf: DurableOptions['pool'] = {
    query: (text, values) => pooled.query(text, values),
    async connect() {
      const connection = await pooled.connect()
      return {
        query: (text, values) =>
          text.startsWith('LISTEN') ? Promise.reject(new Error('not here')) : connection.query(text, values),
        on: () => undefined,
        off: () => undefined,
        release: (destroy) => connection.release(destroy),
      }
    },
  }
  const script = [respond(call('ask')), respond(wait(3_000), say('Never said.'))]
  const runs = runsOf(agentOf(script), { pool: deaf })
  await work(runs)
  await runs.start('clerk', 'Go', { id: 'run' })
  const events: ReadEvent['event'][] = []
  for await (const { event } of runs.events('run')) {
    events.push(event)
    if (event.type !== 'run-stopped' || event.status !== 'interrupted') continue
    const id = (await runs.get('run'))?.interrupts[0]?.id ?? ''
    await runs.answer('run', { [id]: 'yes' })
    setTimeout(() => void runs.cancel('run'), 500)
  }
  expect(events.at(-1)).toEqual({ type: 'run-stopped', status: 'cancelled' })
})

test('an invalid cursor and an unknown run are refused', async () => {
  const runs = runsOf(agentOf(STORY))
  await runs.start('clerk', 'Go', { id: 'run' })
  for (const after of ['', 'x', '1', '1.2.3', '-1.2', '1.end.2', '99999999999999.1'])
    await expect(all(runs.events('run', { after }))).rejects.toThrow(CursorError)
  for (const follow of [true, false])
    await expect(all(runs.events('nobody', { follow }))).rejects.toThrow(UnknownRunError)
})

test('a custom event that JSON cannot hold is left out', async () => {
  const agent = agentOf([respond(say('Done.'))]).with({
    middleware: [
      {
        name: 'teller',
        beforeModel(_state, run) {
          run.emit({ name: 'big', data: 1n })
          run.emit({ name: 'small', data: 1 })
        },
      },
    ],
  })
  const runs = runsOf(agent)
  await work(runs)
  await runs.start('clerk', 'Go', { id: 'run' })
  const custom = (await all(runs.events('run'))).flatMap(({ event }) => (event.type === 'custom' ? event.name : []))
  expect(custom).toEqual(['small'])
  expect((await runs.result('run')).messages.map(textOf)).toEqual(['Go', 'Done.'])
})

test('however many notifications arrive while the database is slow, a waiter, a reader and a run each make one query at a time', async () => {
  const fast = here.database.pool()
  const most: Record<string, number> = {}
  const running: Record<string, number> = {}
  const kinds = [
    ['waiter', 'SELECT id, agent'],
    ['reader', 'SELECT status, error'],
    ['run', 'SELECT cancel, sent'],
  ] as const
  const slow: DurableOptions['pool'] = {
    connect: () => fast.connect(),
    async query(text, values) {
      const [kind] = kinds.find(([, start]) => text.includes(start)) ?? []
      if (!kind) return await fast.query(text, values)
      running[kind] = (running[kind] ?? 0) + 1
      most[kind] = Math.max(most[kind] ?? 0, running[kind])
      try {
        await new Promise((resolve) => setTimeout(resolve, 50))
        return await fast.query(text, values)
      } finally {
        running[kind]--
      }
    },
  }
  const runs = runsOf(agentOf(STORY), { pool: slow })
  await work(runs)
  await runs.start('clerk', 'Go', { id: 'run' })
  const result = runs.result('run')
  const reading = all(runs.events('run'))
  for (let number = 0; number < 200; number++)
    await here.pool.query(`SELECT pg_notify('meanwhile', $1)`, [`${here.schema} run`])
  const { messages } = await result
  expect(fold(await reading)).toEqual(messages)
  expect(most).toEqual({ waiter: 1, reader: 1, run: 1 })
})

test('a reader whose signal aborts while it fetches events throws the reason at once', async () => {
  const runs = runsOf(agentOf([respond(call('ask'))]))
  await work(runs)
  await runs.start('clerk', 'Go', { id: 'run' })
  let last: string | undefined
  for await (const { cursor, event } of runs.events('run')) {
    last = cursor
    if (event.type === 'run-stopped') break
  }
  if (last === undefined) throw new Error('the reader has seen nothing')
  const end = new AbortController()
  const reading = runs.events('run', { after: last, signal: end.signal })[Symbol.asyncIterator]().next()
  end.abort(new Error('the reader has left'))
  await expect(reading).rejects.toThrow('the reader has left')
})

test('the end of a run writes its last events at once, however seldom events are written', async () => {
  // The run ends while the writer waits for its next batch.
  const agent = agentOf([respond(say('One '), wait(3_800), say('two.'))])
  const runs = runsOf(agent, { events: { every: 3_600 } })
  await work(runs)
  await runs.start('clerk', 'Go', { id: 'run' })
  await runs.result('run')
  expect(fold(await all(runs.events('run'))).map(textOf)).toEqual(['Go', 'One two.'])
})

test('a reader that waits ends at once when its iterator is returned, and keeps no connection', async () => {
  const pool = new Pool({ connectionString: here.database.url })
  const runs = runsOf(agentOf([respond(call('ask'))]), { pool })
  await runs.start('clerk', 'Go', { id: 'run' })
  const reading = runs.events('run')[Symbol.asyncIterator]()
  const next = reading.next()
  await vi.waitFor(() => expect(pool.totalCount - pool.idleCount).toBe(1), { timeout: 60_000 })
  await reading.return?.()
  expect(await next).toEqual({ done: true, value: undefined })
  await pool.end()
})

test('a pool can be ended although a reader and a waiter were forgotten, and both get an error', async () => {
  const pool = new Pool({ connectionString: here.database.url })
  const runs = runsOf(agentOf([respond(call('ask'))]), { pool })
  await runs.start('clerk', 'Go', { id: 'run' })
  const forgotten = [runs.events('run')[Symbol.asyncIterator]().next(), runs.result('run')]
  for (const one of forgotten) one.catch(() => undefined)
  await vi.waitFor(() => expect(pool.totalCount - pool.idleCount).toBe(1), { timeout: 60_000 })
  await pool.end()
  for (const one of forgotten) await expect(one).rejects.toThrow('its pool was ended')
})
