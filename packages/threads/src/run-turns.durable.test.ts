import { contextOf, createAgent, type Message, tool } from '@meanwhile/core'
import { call, respond, say, scriptedModel } from '@meanwhile/core/testing'
import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { all, type Chat, chat, shown, until } from '../test/chat.ts'
import { type DurableRuns, type Engine, memoryEngine, tables } from '../test/runs.ts'
import { threadBehaviours } from '../test/thread-behaviours.ts'
import { createThreads, memoryThreads, type ThreadEvent, type ThreadStore, type Threads } from './index.ts'

const database = tables()

function opened(store: ThreadStore, made: Chat = chat()): Chat & { readonly threads: Threads<undefined> } {
  const runs = database.runsOf(made.agent)
  const threads = createThreads({ runs, store })
  database.work(runs)
  return { ...made, threads }
}

describe('durable runs', () => {
  threadBehaviours({ newStore: database.newStore, opened, isElsewhere: true })
})

interface Process extends Chat {
  readonly runs: DurableRuns
  readonly threads: Threads<undefined>
}

/** Threads as another process has them. Those that share an engine are of one cluster. */
function processOf(
  engine: Engine,
  { made = chat(), store = database.newStore(), change = (runs: DurableRuns) => runs } = {},
): Process {
  const runs = change(database.runsOf(made.agent, engine))
  return { ...made, runs, threads: createThreads({ runs, store, onError: () => {} }) }
}

function worker(engine: Engine, options: Parameters<typeof processOf>[1] = {}): Process {
  const made = processOf(engine, options)
  database.work(made.runs)
  return made
}

/** Fails a number of times, as if the process had died then. */
function dying<Given extends readonly unknown[], Result>(work: (...given: Given) => Promise<Result>, times = 1) {
  let left = times
  return async (...given: Given): Promise<Result> => {
    if (left-- > 0) throw new Error('died')
    return await work(...given)
  }
}

const rows = async (table: string) => (await database.pool.query(`SELECT 1 FROM ${database.schema}.${table}`)).rowCount

test('the next message of the queue begins in the worker in which the turn before it has ended (TH1, TH6)', async () => {
  const engine = memoryEngine()
  const page = processOf(engine)
  await page.threads.send('t', 'Hello')
  const last = await page.threads.send('t', 'look')
  const { asked } = worker(engine)
  expect(await last.result).toMatchObject({ status: 'completed', text: 'So: sunny.' })
  expect(asked.length).toBe(3)
  expect(page.asked).toEqual([])
})

test('a turn is read in a process that does not run it: while it runs, from each of its cursors, and when it is over (TH5, TH12)', async () => {
  const engine = memoryEngine()
  const { open } = worker(engine, { made: chat({ delay: 2 }) })
  const { threads } = processOf(engine)
  const turn = await threads.send('t', 'slow')
  await until(turn, 'tool-entered')
  const state = await threads.read('t')
  expect(shown(state)).toEqual(['user: slow', 'assistant: I wait. [slow]'])
  const live = all(turn.events())
  const rest = all(turn.events({ after: state.cursor ?? '' }))
  open()
  const events = await live
  expect(events.map(({ type }) => type)).toEqual(
    expect.arrayContaining(['turn-start', 'step-start', 'text-delta', 'tool-entered', 'tool-end', 'turn-end']),
  )
  const isBehind = events.findIndex(({ cursor }) => cursor === state.cursor) + 1
  expect(await rest).toEqual(events.slice(isBehind))
  const ids = (list: readonly ThreadEvent[]) => list.flatMap((one) => ('messageId' in one && one.messageId) || [])
  const after = await threads.read('t')
  expect(ids(events)).toEqual(after.messages.map(({ id }) => id))
  for (const [index, { cursor }] of events.entries()) {
    const told = await all(turn.events({ after: cursor }))
    expect(ids(told)).toEqual(ids(events.slice(index + 1)))
    expect(told.at(-1)?.type).toBe(index < events.length - 1 ? 'turn-end' : undefined)
  }
})

test('a message whose process died before it started the run is answered when it is sent again, or when somebody recovers (TH6, TH11)', async () => {
  const engine = memoryEngine()
  const made = worker(engine)
  const dead = processOf(engine, { change: (runs) => ({ ...bound(runs), start: dying(runs.start.bind(runs), 9) }) })
  for (const thread of ['again', 'recovered'])
    await expect(dead.threads.send(thread, 'Hello', { messageId: 'm' })).rejects.toThrow('died')
  const turn = await made.threads.send('again', 'Hello', { messageId: 'm' })
  expect(await turn.result).toMatchObject({ text: 'You said Hello.' })
  await vi.waitFor(async () => expect(await made.threads.recover()).toBe(1), { timeout: 5_000 })
  const other = await made.threads.turn('recovered')
  expect(await other?.result).toMatchObject({ text: 'You said Hello.' })
  expect(await made.threads.recover()).toBe(0)
  expect(made.asked).toHaveLength(2)
})

test('a reader of a turn whose run was not started gets it going, and so does a stop (TH5, TH6)', async () => {
  const engine = memoryEngine()
  const made = worker(engine)
  const dead = processOf(engine, { change: (runs) => ({ ...bound(runs), start: dying(runs.start.bind(runs), 9) }) })
  for (const thread of ['read', 'stopped']) await expect(dead.threads.send(thread, 'Hello')).rejects.toThrow('died')
  const events = await all((await made.threads.turn('read'))?.events() ?? none())
  expect(events.at(-1)).toMatchObject({ type: 'turn-end', status: 'completed' })
  await made.threads.stop('stopped')
  expect((await made.threads.read('stopped')).turns).toMatchObject([{ status: 'stopped' }])
})

test('a stop and a retry whose process died before the run heard of them are made good (TH2, TH4, TH6)', async () => {
  const engine = memoryEngine()
  const made = worker(engine)
  const dead = processOf(engine, {
    change: (runs) => ({
      ...bound(runs),
      cancel: dying(runs.cancel.bind(runs), 9),
      retry: dying(runs.retry.bind(runs), 9),
    }),
  })
  const turn = await made.threads.send('t', 'slow')
  await until(turn, 'tool-entered')
  await expect(dead.threads.stop('t')).rejects.toThrow('died')
  await made.threads.stop('t')
  expect(await turn.result).toMatchObject({ status: 'stopped' })
  await (await made.threads.send('u', 'fails')).result
  made.open()
  await expect(dead.threads.retry('u')).rejects.toThrow('died')
  const { result } = (await made.threads.turn('u')) ?? {}
  const looking = setInterval(() => void made.threads.recover(), 200)
  expect(await result).toMatchObject({ status: 'completed', text: 'You said fails.' })
  clearInterval(looking)
})

test('a stop that could not be written into the thread is written later, and each message is said once (TH1, TH6)', async () => {
  const engine = memoryEngine()
  const store = database.newStore()
  let fails = 0
  const change: ThreadStore['change'] = async (...given) => {
    if (fails > 0 && fails-- > 0) throw new Error('the database is away')
    return await store.change(...given)
  }
  const made = worker(engine, { store: { ...store, change } })
  const page = processOf(engine)
  const texts: string[] = []
  for (const text of ['look', 'mail both', 'Hello']) {
    const turn = await page.threads.send('t', text)
    fails = 2
    texts.push((await turn.result).status)
  }
  expect(texts).toEqual(['completed', 'waiting', 'completed'])
  const state = await page.threads.read('t')
  expect(shown(state)).toEqual([
    'user: look',
    'assistant: I look. [look]',
    'tool: sunny',
    'assistant: So: sunny.',
    'user: mail both',
    'assistant: I write. [mail] [look]',
    'tool: The user wrote a message instead of answering.',
    'tool: sunny',
    'user: Hello',
    'assistant: You said Hello.',
  ])
  expect(made.did).toEqual(['look', 'look'])
})

test('a turn whose start failed in the worker begins when the engine calls again (TH1, TH6)', async () => {
  const engine = memoryEngine()
  const page = processOf(engine)
  await page.threads.send('t', 'Hello')
  const last = await page.threads.send('t', 'look')
  worker(engine, { change: (runs) => ({ ...bound(runs), start: dying(runs.start.bind(runs), 2) }) })
  expect(await last.result).toMatchObject({ text: 'So: sunny.' })
})

test('a turn whose run was stored and not told to the engine begins when the engine calls again, and so does a retry (TH1, TH4, TH6)', async () => {
  const engine = memoryEngine()
  const page = processOf(engine)
  const first = await page.threads.send('t', 'Hello')
  const last = await page.threads.send('t', 'fails')
  // The worker dies when it wakes the run of the second turn.
  let fails = 1
  const made = worker({
    ...engine,
    wake: async (id) => {
      if (id === last.id && fails-- > 0) throw new Error('died')
      await engine.wake(id)
    },
  })
  expect((await first.result).status).toBe('completed')
  expect((await last.result).status).toBe('failed')
  fails = 1
  made.open()
  await expect(made.threads.retry('t')).rejects.toThrow('died')
  const looking = setInterval(() => void made.threads.recover(), 200)
  expect(await last.result).toMatchObject({ status: 'completed', text: 'You said fails.' })
  clearInterval(looking)
})

test('a turn whose checkpoint is lost has failed, and what was said before it stays (TH4)', async () => {
  const made = worker(memoryEngine())
  await (await made.threads.send('t', 'Hello')).result
  const turn = await made.threads.send('t', 'slow')
  await until(turn, 'tool-entered')
  await database.pool.query(`TRUNCATE ${database.schema}.checkpoints`)
  made.open()
  expect(await turn.result).toMatchObject({ status: 'failed', error: { name: 'CheckpointMissingError' } })
  expect(await (await made.threads.send('t', 'and now?')).result).toMatchObject({ text: 'You said and now?.' })
  expect(made.asked.at(-1)?.slice(0, 2)).toEqual(['user: Hello', 'assistant: You said Hello.'])
  expect(made.did).toEqual(['slow'])
})

test('a call whose checkpoint is lost is answered, so that the next turn can begin (TH2, TH4)', async () => {
  const made = worker(memoryEngine())
  await (await made.threads.send('t', 'mail')).result
  await database.pool.query(`TRUNCATE ${database.schema}.checkpoints`)
  await made.threads.stop('t')
  expect(await (await made.threads.send('t', 'and now?')).result).toMatchObject({ status: 'completed' })
  expect(made.asked.at(-1)).toEqual([
    'user: mail',
    'assistant: I write. [mail]',
    'tool: No result: the stored state of this call was lost.',
    'user: and now?',
  ])
})

test('a queue behind a turn that was rewound goes on when somebody recovers it (TH1)', async () => {
  const engine = memoryEngine()
  const page = processOf(engine)
  const waiting = await page.threads.send('t', 'mail', { messageId: 'm1' })
  const next = await page.threads.send('t', 'Hello')
  const made = worker(engine)
  await waiting.result
  await made.threads.rewind('t', { before: 'm1' })
  expect(await made.threads.recover()).toBe(1)
  expect(await next.result).toMatchObject({ text: 'You said Hello.' })
})

test('a failed turn whose run was deleted never begins again (TH4)', async () => {
  const made = worker(memoryEngine())
  const turn = await made.threads.send('t', 'fails')
  await turn.result
  await made.runs.delete(turn.id)
  made.open()
  const again = await made.threads.retry('t')
  expect(await again.result).toMatchObject({ status: 'failed', error: { name: 'RunLostError' } })
  expect(made.asked).toHaveLength(1)
})

test('a thread that is idle leaves no run behind, nor does one that was rewound or deleted (TH9)', async () => {
  const made = worker(memoryEngine())
  const { threads } = made
  for (const thread of ['t', 'u', 'v']) {
    await (await threads.send(thread, 'Hello', { messageId: 'm1' })).result
    await (await threads.send(thread, 'mail', { messageId: 'm2' })).result
  }
  expect(await rows('runs')).toBe(3)
  await threads.stop('t')
  await threads.rewind('u', { before: 'm2' })
  await threads.delete('v')
  await until(await threads.send('v2', 'slow'), 'tool-entered')
  await threads.delete('v2')
  await vi.waitFor(async () => {
    for (const table of ['runs', 'events', 'answers', 'checkpoints'])
      expect([table, await rows(table)]).toEqual([table, 0])
  }, 5_000)
})

test('the context of a turn is made by the runs, of the metadata of its message; none can be given (TH10)', async () => {
  const tenant = contextOf(z.object({ tenant: z.string() }))
  const seen: string[] = []
  const note = tool({
    name: 'note',
    description: 'Notes.',
    input: z.object({}),
    execute: (_, { run }) => {
      if (run) seen.push(tenant(run).tenant)
      return 'noted'
    },
  })
  const reply = ({ messages }: { readonly messages: readonly Message[] }) =>
    messages.at(-1)?.role === 'tool' ? respond(say('Done.')) : respond(call('note'))
  const agent = createAgent({
    name: 'chat',
    model: scriptedModel([reply, reply]),
    tools: [note],
    middleware: [{ name: 'tenancy', context: tenant }],
  })
  const runs = database.runsOf(agent, memoryEngine(), {
    context: ({ conversationId, data }) => ({ tenant: `${conversationId} ${JSON.stringify(data)}` }),
  })
  const threads = createThreads({ runs, store: database.newStore() })
  database.work(runs)
  const turn = await threads.send('t', 'Go', { metadata: { user: 'ada' } })
  expect(await turn.result).toMatchObject({ status: 'completed' })
  expect(seen).toEqual([`t ${JSON.stringify({ thread: 't', turn: turn.id, metadata: { user: 'ada' } })}`])
  const given = threads.send('t', 'Go', { context: { tenant: 'acme' } } as never)
  await expect(given).rejects.toMatchObject({ name: 'ConfigError', option: 'context' })
  expect((await threads.read('t')).turns).toHaveLength(1)
})

test('options that durable runs have no use for are refused, and so is an agent that they do not have (TH1)', () => {
  const runs = database.runsOf(chat().agent)
  const store = memoryThreads()
  const refused = (option: string) => expect.objectContaining({ name: 'ConfigError', option })
  expect(() => createThreads({ runs, store, agent: 'other' })).toThrow(refused('agent'))
  expect(() => createThreads({ runs: {} as never, store })).toThrow(refused('runs'))
  expect(() => createThreads({ runs } as never)).toThrow(refused('store'))
  expect(() => createThreads({ runs, store, lease: 1_000 } as never)).toThrow('is not an option')
  expect(() => createThreads({ runs, store, context: () => 1 } as never)).toThrow('is not an option')
})

async function* none(): AsyncGenerator<ThreadEvent> {}

/** The methods of the runs, so that some can be replaced. */
function bound(runs: DurableRuns): DurableRuns {
  return {
    agents: runs.agents,
    start: runs.start.bind(runs),
    answer: runs.answer.bind(runs),
    send: runs.send.bind(runs),
    cancel: runs.cancel.bind(runs),
    retry: runs.retry.bind(runs),
    get: runs.get.bind(runs),
    result: runs.result.bind(runs),
    events: runs.events.bind(runs),
    delete: runs.delete.bind(runs),
    prune: runs.prune.bind(runs),
    onStopped: runs.onStopped.bind(runs),
    work: runs.work.bind(runs),
  }
}
