import { call, fail, respond, say, wait } from '@meanwhile/assemble/testing'
import { type Agent, createAgent, interrupt, type Message, textOf, tool } from '@meanwhile/core'
import { postgresStore } from '@meanwhile/stores/postgres'
import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { all, fold, manualEngine, scripted, testRuns } from '../test/runs.ts'
import type { DurableOptions, DurableRuns, ReadEvent } from './index.ts'

const here = testRuns()
const { runsOf, work } = here

const ask = tool({
  name: 'ask',
  description: 'Asks.',
  input: z.object({}),
  answer: z.string(),
  execute: (_, { answers: [said] }) => (typeof said === 'string' ? `They said ${said}.` : interrupt('Really?')),
})

/** A tool that runs until the process dies. */
function endless() {
  let enter = () => {}
  const entered = new Promise<void>((resolve) => {
    enter = resolve
  })
  const hold = tool({
    name: 'hold',
    description: 'Holds.',
    input: z.object({}),
    effect: 'read',
    execute: (_, { signal }) => {
      enter()
      return new Promise<string>((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    },
  })
  return { hold, entered }
}

const WAITING = createAgent({
  name: 'clerk',
  model: scripted(respond(say('Let me ask.'), call('ask')), respond(say('Thanks.'))),
  tools: [ask],
})

interface Death {
  readonly when: 'before' | 'after'
  /** Part of the statement at which the process dies. */
  readonly statement: string
}

/** Runs whose process can die: from then on nothing that it does reaches the database. */
function mortal(agent: Agent, engine: DurableOptions['engine'], death?: Death) {
  let isDead = false
  let die = () => {}
  const died = new Promise<void>((resolve) => {
    die = () => {
      isDead = true
      resolve()
    }
  })
  const never = () => new Promise<never>(() => undefined)
  const store = postgresStore(here)
  const runs = runsOf(agent, {
    engine,
    pool: {
      connect: () => Promise.reject(new Error('it cannot listen')),
      async query(text, values) {
        const isLast = death !== undefined && text.includes(death.statement)
        if (isLast && death.when === 'before') die()
        if (isDead) await never()
        const result = await here.pool.query(text, values)
        if (isLast) die()
        if (isDead) await never()
        return result
      },
    },
    store: {
      ...store,
      save: (id, checkpoint, expected) => (isDead ? never() : store.save(id, checkpoint, expected)),
    },
  })
  return { runs, died, die: () => die() }
}

/** Starts a run that two workers can execute. The process of the first one can die; `runs` are those of the other process. */
async function twoWorkers(agent: Agent, death?: Death, options: Pick<DurableOptions, 'maxAttempts'> = {}) {
  const { engine, advance } = manualEngine()
  const first = mortal(agent, engine, death)
  const runs = runsOf(agent, { engine, ...options })
  await runs.start('clerk', 'Go', { id: 'run' })
  await first.runs.work()
  await work(runs)
  return { runs, died: first.died, die: first.die, advance: (worker: 0 | 1) => advance(worker, 'run') }
}

const users = (messages: readonly Message[]) => messages.filter(({ role }) => role === 'user').map(textOf)

/** What was said to the run: in its history, and what it has not read. */
async function said(runs: DurableRuns, id: string) {
  const stored = await postgresStore(here).load(id)
  const { messages, sent }: { messages: readonly Message[]; sent: readonly Message[] } = Object(stored)
  const { status, unread = [] } = (await runs.get(id)) ?? {}
  return { status, read: users([...messages, ...sent]), unread: users(unread) }
}

test('a message that a worker has read before it died is not unread when the run is cancelled before another worker has it', async () => {
  const { hold, entered } = endless()
  const agent = createAgent({ name: 'clerk', model: scripted(respond(call('hold'))), tools: [hold] })
  const { runs, advance, die } = await twoWorkers(agent)
  await runs.send('run', 'Be quick.')
  void advance(0)
  await entered
  await vi.waitFor(async () => expect((await said(runs, 'run')).read).toEqual(['Go', 'Be quick.']), { timeout: 60_000 })
  die()
  await runs.send('run', 'Too late.')
  await runs.cancel('run')
  await advance(1)
  expect(await said(runs, 'run')).toEqual({ status: 'cancelled', read: ['Go', 'Be quick.'], unread: ['Too late.'] })
})

test('a message that a worker has read before it died with its question is not unread when the run is cancelled', async () => {
  const { runs, advance, died } = await twoWorkers(WAITING, { when: 'before', statement: "'interrupted' END" })
  await runs.send('run', 'Be quick.')
  void advance(0)
  await died
  await advance(1)
  await runs.cancel('run')
  expect(await said(runs, 'run')).toEqual({ status: 'cancelled', read: ['Go', 'Be quick.'], unread: [] })
})

test('a message that a worker has read before it died with the result is not unread', async () => {
  const agent = createAgent({ name: 'clerk', model: scripted(respond(say('Done.'))) })
  const { runs, advance, died } = await twoWorkers(agent, {
    when: 'before',
    statement: 'ended_at = clock_timestamp() WHERE',
  })
  await runs.send('run', 'Be quick.')
  void advance(0)
  await died
  await runs.send('run', 'Too late.')
  await advance(1)
  expect(await said(runs, 'run')).toEqual({ status: 'completed', read: ['Go', 'Be quick.'], unread: ['Too late.'] })
})

test('a message that a worker has read before it died is not unread when the next worker completes the run and reads none', async () => {
  const { hold, entered } = endless()
  let started = 0
  const agent = createAgent({
    name: 'clerk',
    model: scripted(respond(call('hold')), respond(say('Done.'))),
    tools: [{ ...hold, execute: (_, context) => (started++ === 0 ? hold.execute({}, context) : 'held') }],
  })
  const { runs, advance, die } = await twoWorkers(agent)
  await runs.send('run', 'Be quick.')
  void advance(0)
  await entered
  // The last save before the tool has ended.
  const roles = async () => Object(await postgresStore(here).load('run')).messages.map(({ role }: Message) => role)
  await vi.waitFor(async () => expect(await roles()).toEqual(['user', 'user', 'assistant']), { timeout: 60_000 })
  die()
  await advance(1)
  expect(await said(runs, 'run')).toEqual({ status: 'completed', read: ['Go', 'Be quick.'], unread: [] })
})

/** The statement that stores the end of a run. */
const END = 'ended_at = clock_timestamp() WHERE'

test('a run whose worker died with the final answer completes, also if it is cancelled before another worker has it, and its listeners get the answer (TH3, DU7)', async () => {
  const agent = createAgent({ name: 'clerk', model: scripted(respond(say('Done.'))) })
  const { runs, advance, died } = await twoWorkers(agent, { when: 'before', statement: END })
  const heard: unknown[] = []
  runs.onStopped(async (run) => void heard.push([run.status, (await run.outcome('Stopped.')).text]))
  void advance(0)
  await died
  await runs.cancel('run')
  await advance(1)
  expect(heard).toEqual([['completed', 'Done.']])
  expect((await runs.result('run')).text).toBe('Done.')
})

test('a run that has its final answer and is given up is a stop with its whole history (TH3)', async () => {
  const agent = createAgent({ name: 'clerk', model: scripted(respond(say('Done.'))) })
  const { runs, advance, died } = await twoWorkers(agent, { when: 'before', statement: END }, { maxAttempts: 1 })
  const heard: unknown[] = []
  runs.onStopped(async (run) => {
    const { messages = [] } = await run.outcome('Stopped.')
    heard.push([run.status, run.error?.name, messages.map(textOf)])
  })
  void advance(0)
  await died
  await advance(1)
  expect(heard).toEqual([['failed', 'RunPoisonedError', ['Go', 'Done.']]])
})

test('a message that a worker had and could not store before it died is read once by the next worker', async () => {
  const agent = createAgent({
    name: 'clerk',
    model: scripted(respond(say('One moment.'), wait(150), call('look')), respond(say('Done.'))),
    tools: [tool({ name: 'look', description: 'Looks.', input: z.object({}), effect: 'read', execute: () => 'seen' })],
  })
  // It has read the message from its inbox, and not stored that.
  const { runs, advance, died } = await twoWorkers(agent, { when: 'after', statement: 'SELECT seq, body' })
  await runs.send('run', 'First.')
  void advance(0)
  await died
  await runs.send('run', 'Second.')
  await advance(1)
  expect(await said(runs, 'run')).toEqual({ status: 'completed', read: ['Go', 'First.', 'Second.'], unread: [] })
})

test('a message that came just before its run failed is in the history or unread, and a retry reads it once', async () => {
  const { engine, advance } = manualEngine()
  let isBroken = true
  const working = scripted(respond(say('Done.')))
  const broken = scripted(respond(say('One moment.'), wait(60), fail()))
  const agent = createAgent({
    name: 'clerk',
    model: { ...working, stream: (request) => (isBroken ? broken : working).stream(request) },
  })
  const store = postgresStore(here)
  let saves = 0
  // After the first save of the attempt no save succeeds before the run fails.
  const runs = runsOf(agent, {
    engine,
    store: {
      ...store,
      async save(id, checkpoint, expected) {
        if (isBroken && ++saves > 2) await new Promise((resolve) => setTimeout(resolve, 200))
        await store.save(id, checkpoint, expected)
      },
    },
  })
  await work(runs)
  await runs.start('clerk', 'Go', { id: 'run' })
  const attempt = advance(0, 'run')
  await new Promise((resolve) => setTimeout(resolve, 30))
  await runs.send('run', 'And this.')
  await attempt
  const { status, read, unread } = await said(runs, 'run')
  expect([status, [...read, ...unread]]).toEqual(['failed', ['Go', 'And this.']])
  isBroken = false
  await runs.retry('run')
  await advance(0, 'run')
  expect(await said(runs, 'run')).toEqual({ status: 'completed', read: ['Go', 'And this.'], unread: [] })
})

test('a reader gets the question of a run whose worker died between storing that the run waits and telling the reader', async () => {
  const { runs, advance, died } = await twoWorkers(WAITING, { when: 'after', statement: "'interrupted' END" })
  const read: ReadEvent[] = []
  const reading = (async () => {
    for await (const one of runs.events('run')) {
      read.push(one)
      if (one.event.type === 'run-stopped') break
    }
  })()
  void advance(0)
  await died
  await advance(1)
  await reading
  expect(read.at(-1)?.event).toEqual({ type: 'run-stopped', status: 'interrupted' })
  const { messages }: { messages: readonly Message[] } = Object(await postgresStore(here).load('run'))
  expect(fold(read)).toEqual(messages)
})

test('a run that waits and is woken without an answer tells its readers of the question once', async () => {
  const { engine, advance } = manualEngine()
  const runs = runsOf(WAITING, { engine })
  await work(runs)
  await runs.start('clerk', 'Go', { id: 'run' })
  for (let wake = 0; wake < 3; wake++) await advance(0, 'run')
  const types = (await all(runs.events('run', { follow: false }))).map(({ event }) => event.type)
  expect(types.filter((type) => type === 'run-stopped')).toHaveLength(1)
})
