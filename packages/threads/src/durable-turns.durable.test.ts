import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { contextOf, createAgent, type Message, tool } from '@meanwhile/core'
import { postgresStore } from '@meanwhile/stores/postgres'
import { context, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { all, type Chat, chat, reading, shown, until } from '../test/chat.ts'
import { type DurableRuns, type Engine, memoryEngine, type ReadEvent, tables } from '../test/runs.ts'
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
  threadBehaviours({ newStore: database.newStore, opened, isRemote: true })
})

interface Process extends Chat {
  readonly runs: DurableRuns
  readonly threads: Threads<undefined>
}

/** Threads of a simulated process. Processes with the same engine belong to one cluster. */
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

/** Makes a function reject the first `times` calls, as if the process had died in them. */
function dying<Given extends readonly unknown[], Result>(work: (...given: Given) => Promise<Result>, times = 1) {
  let left = times
  return async (...given: Given): Promise<Result> => {
    if (left-- > 0) throw new Error('died')
    return await work(...given)
  }
}

const rows = async (table: string) => (await database.pool.query(`SELECT 1 FROM ${database.schema}.${table}`)).rowCount

test('the span of each run links to the span in which its message was sent, also if a worker starts the run (W31, W32)', async () => {
  const exporter = new InMemorySpanExporter()
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }))
  try {
    const engine = memoryEngine()
    const server = processOf(engine)
    const inRequest = (name: string) =>
      trace.getTracer('http').startActiveSpan(name, async (span) => {
        const turn = await server.threads.send('t', 'Hello')
        span.end()
        return turn
      })
    const turns = [await inRequest('A'), await inRequest('B')]
    worker(engine)
    for (const turn of turns) expect(await turn.result).toMatchObject({ status: 'completed' })
    const spans = exporter.getFinishedSpans()
    const runs = spans.filter(({ name }) => name.startsWith('invoke_agent'))
    const ids = runs.map(({ links }) => links.map((link) => link.context.spanId))
    const requests = ids.flat().map((id) => spans.find((span) => span.spanContext().spanId === id)?.name)
    expect(requests).toEqual(['A', 'B'])
  } finally {
    context.disable()
    trace.disable()
  }
})

test('the next turn of the queue begins in the worker in which the turn before it has ended (TH1, TH6)', async () => {
  const engine = memoryEngine()
  const server = processOf(engine)
  await server.threads.send('t', 'Hello')
  const last = await server.threads.send('t', 'look')
  const { asked } = worker(engine)
  expect(await last.result).toMatchObject({ status: 'completed', text: 'So: sunny.' })
  expect(asked.length).toBe(3)
  expect(server.asked).toEqual([])
})

test('a process can read a turn that runs in another process: while it runs, from each cursor, and after its end (TH5, TH12)', async () => {
  const engine = memoryEngine()
  const { open } = worker(engine, { made: chat({ delay: 2 }) })
  const { threads } = processOf(engine)
  const turn = await threads.send('t', 'slow')
  await until(turn, 'tool-entered')
  const state = await threads.read('t')
  expect(shown(state)).toEqual(['user: slow', 'assistant: I wait. [slow]'])
  const rest = reading(turn.events({ after: state.cursor ?? '' }))
  const { received: events, end: live } = reading(turn.events())
  // A reader that comes after the end gets whole messages.
  for (const { received } of [rest, { received: events }]) {
    await vi.waitFor(() => expect(received.at(-1)?.type).toBe('tool-entered'), { timeout: 60_000 })
  }
  open()
  await live
  await rest.end
  expect(events.map(({ type }) => type)).toEqual(
    expect.arrayContaining(['turn-start', 'step-start', 'text-delta', 'tool-entered', 'tool-end', 'turn-end']),
  )
  const next = events.findIndex(({ cursor }) => cursor === state.cursor) + 1
  expect(rest.received).toEqual(events.slice(next))
  const ids = (list: readonly ThreadEvent[]) => list.flatMap((one) => ('messageId' in one && one.messageId) || [])
  const after = await threads.read('t')
  expect(ids(events)).toEqual(after.messages.map(({ id }) => id))
  for (const [index, { cursor }] of events.entries()) {
    const later = await all(turn.events({ after: cursor }))
    expect(ids(later)).toEqual(ids(events.slice(index + 1)))
    expect(later.at(-1)?.type).toBe(index < events.length - 1 ? 'turn-end' : undefined)
  }
})

test('a reader ends if the turn begins to wait for an answer just after the reader has loaded it (TH5, TH7)', async () => {
  const engine = memoryEngine()
  const store = database.newStore()
  const { threads, open } = worker(engine, { made: chat({ pauseAfter: 1 }), store })
  const turn = await threads.send('t', 'mail')
  const load: ThreadStore['load'] = async (thread, options) => {
    const stored = await store.load(thread, options)
    if (options?.turn === undefined) return stored
    open()
    await turn.result
    return stored
  }
  const reader = await processOf(engine, { store: { ...store, load } }).threads.turn('t')
  const events = await all(reader?.events() ?? none())
  expect(events).toEqual(await all(turn.events()))
  expect(events.at(-1)).toMatchObject({ type: 'turn-waiting' })
})

test('readers of a queued turn share one poll of its thread (W61)', async () => {
  const engine = memoryEngine()
  const store = database.newStore()
  const { open } = worker(engine, { store })
  const loads = { polls: 0, ofReaders: 0 }
  const load: ThreadStore['load'] = (thread, options) => {
    loads[options?.turn === undefined ? 'polls' : 'ofReaders']++
    return store.load(thread, options)
  }
  const { threads } = processOf(engine, { store: { ...store, load } })
  await threads.send('t', 'slow')
  const turn = await threads.send('t', 'look')
  Object.assign(loads, { polls: 0, ofReaders: 0 })
  const readings = Array.from({ length: 10 }, () => reading(turn.events()))
  await vi.waitFor(() => expect(loads.polls).toBeGreaterThan(5), { timeout: 60_000 })
  expect(loads.ofReaders).toBe(10)
  open()
  await Promise.all(readings.map(({ end }) => end))
  for (const { received } of readings) {
    const kept = received.map(({ type }) => type).filter((type) => ['turn-start', 'message', 'turn-end'].includes(type))
    expect(kept).toEqual(['turn-start', 'message', 'message', 'message', 'turn-end'])
  }
})

test('a reader that comes to a steering message after its turn has ended has the id of the message (TH1, TH5)', async () => {
  const engine = memoryEngine()
  const store = database.newStore()
  const { threads, open } = worker(engine, { store })
  const turn = await threads.send('t', 'slow')
  let isSent = false
  const load: ThreadStore['load'] = async (thread, options) => {
    // The reader looks for the message among those that may join the turn.
    if (isSent && options?.turn === undefined) await turn.result
    return await store.load(thread, options)
  }
  const reader = await processOf(engine, { store: { ...store, load } }).threads.turn('t')
  const { received, end } = reading(reader?.events() ?? none())
  await vi.waitFor(() => expect(received.at(-1)?.type).toBe('tool-entered'), { timeout: 60_000 })
  isSent = true
  const display = { mood: 'hurried' }
  await threads.send('t', 'and quickly', { whenBusy: 'steer', messageId: 'm2', display })
  await vi.waitFor(async () => expect(await store.checkpoints.load(turn.id)).toMatchObject({ sent: [{}] }), {
    timeout: 60_000,
  })
  open()
  await end
  expect(received.find((one) => 'messageId' in one && one.messageId === 'm2')).toMatchObject({ display })
  const { messages } = await threads.read('t')
  const ids = received.flatMap((one) => ('messageId' in one && one.messageId) || [])
  expect(ids).toEqual(messages.map(({ id }) => id))
  expect(ids).toContain('m2')
  expect(received.at(-1)?.type).toBe('turn-end')
})

test('if a process dies before the run has an answer, the turn asks again (TH6, TH8)', async () => {
  const engine = memoryEngine()
  const store = database.newStore()
  const made = worker(engine, { store })
  const turn = await made.threads.send('t', 'mail')
  const { interrupts = [] } = await turn.result
  const answer = Object.fromEntries(interrupts.map(({ id }) => [id, { allow: true }]))
  let isDead = false
  const change: ThreadStore['change'] = async (...given) => {
    if (isDead) throw new Error('died')
    return await store.change(...given)
  }
  const dead = processOf(engine, {
    store: { ...store, change },
    change: (runs) => ({
      ...bound(runs),
      async answer() {
        isDead = true
        throw new Error('died')
      },
    }),
  })
  await expect(dead.threads.answer('t', answer)).rejects.toThrow('died')
  expect((await made.threads.read('t')).status).toBe('running')
  const isAsking = async () => {
    await made.threads.recover()
    expect(await made.threads.read('t')).toMatchObject({ status: 'waiting', interrupts })
  }
  await vi.waitFor(isAsking, { timeout: 60_000, interval: 100 })
  expect(await (await made.threads.answer('t', answer)).result).toMatchObject({ status: 'completed' })
  expect(made.did).toEqual([`mail ada ${JSON.stringify([{ allow: true }])}`])
})

/** A turn that waits, and what a process that dies after `answer` of its runs leaves. */
async function half(answer: (runs: DurableRuns) => DurableRuns['answer']) {
  const engine = memoryEngine()
  const store = database.newStore()
  const made = worker(engine, { store })
  const turn = await made.threads.send('t', 'mail two')
  const [one, two] = ((await turn.result).interrupts ?? []).map(({ id }) => id)
  const change = (runs: DurableRuns) => ({ ...bound(runs), answer: answer(runs) })
  const { threads } = processOf(engine, { store, change })
  return { made, threads, one: one ?? '', two: two ?? '' }
}

const [YES, NO] = [{ allow: true }, { allow: false }]

test('if the run did not get an answer, the same answer can be given again, and no other one (TH6, TH8)', async () => {
  const { made, threads, one, two } = await half(() => () => Promise.reject(new Error('died')))
  await expect(threads.answer('t', { [one]: YES })).rejects.toThrow('died')
  for (const other of [{ [one]: NO }, { [one]: YES, [two]: YES }])
    await expect(made.threads.answer('t', other)).rejects.toMatchObject({ name: 'UnknownInterruptError' })
  await expect(made.threads.answer('t', { [two]: YES })).rejects.toMatchObject({ name: 'ThreadBusyError' })
  const again = await made.threads.answer('t', { [one]: YES })
  expect((await again.result).interrupts?.map(({ id }) => id)).toEqual([two])
  await expect(made.threads.answer('t', { [one]: YES })).rejects.toMatchObject({ name: 'UnknownInterruptError' })
  expect(made.did).toEqual([`mail ada ${JSON.stringify([YES])}`])
})

test('if the run got an answer and the caller an error, no other answer counts for the thread (TH8, W51)', async () => {
  const { made, threads, one } = await half((runs) => async (id, answers) => {
    await runs.answer(id, answers)
    throw new Error('the connection is lost')
  })
  await expect(threads.answer('t', { [one]: YES })).rejects.toThrow('lost')
  await expect(threads.answer('t', { [one]: NO })).rejects.toMatchObject({ name: 'UnknownInterruptError' })
  await vi.waitFor(async () => expect((await made.threads.read('t')).status).toBe('waiting'), { timeout: 60_000 })
  expect(made.did).toEqual([`mail ada ${JSON.stringify([YES])}`])
})

test('if two processes give the same answer and the run refuses it, both callers learn why (TH8)', async () => {
  const engine = memoryEngine()
  const store = database.newStore()
  const made = worker(engine, { store })
  const { interrupts = [] } = await (await made.threads.send('t', 'mail')).result
  const wrong = Object.fromEntries(interrupts.map(({ id }) => [id, 'yes']))
  let isStored = () => {}
  const stored = new Promise<void>((resolve) => {
    isStored = resolve
  })
  let open = () => {}
  const gate = new Promise<void>((resolve) => {
    open = resolve
  })
  /** Its answer is stored, and reaches the run when the gate opens. */
  const slow = processOf(engine, {
    store,
    change: (runs) => ({
      ...bound(runs),
      async answer(...given) {
        isStored()
        await gate
        await runs.answer(...given)
      },
    }),
  })
  const first = slow.threads.answer('t', wrong)
  first.catch(() => undefined)
  await stored
  await expect(made.threads.answer('t', wrong)).rejects.toMatchObject({ name: 'AnswerError' })
  open()
  await expect(first).rejects.toMatchObject({ name: 'AnswerError' })
  expect(await made.threads.read('t')).toMatchObject({ status: 'waiting', interrupts })
})

test('a thread whose turn ends while the thread is read has the state after the end (TH1, TH5)', async () => {
  const engine = memoryEngine()
  const store = database.newStore()
  const { threads, open } = worker(engine, { store })
  const turn = await threads.send('t', 'slow')
  await until(turn, 'tool-entered')
  await threads.send('t', 'and quickly', { whenBusy: 'steer', messageId: 'm2' })
  await vi.waitFor(async () => expect(await store.checkpoints.load(turn.id)).toMatchObject({ sent: [{}] }), {
    timeout: 60_000,
  })
  let reads = 0
  const late = (runs: DurableRuns): DurableRuns => ({
    ...bound(runs),
    async *events(id, options) {
      const found: ReadEvent[] = []
      reads++
      open()
      for await (const one of runs.events(id, { ...options, follow: true })) found.push(one)
      await turn.result
      yield* found
    },
  })
  const state = await processOf(engine, { store, change: late }).threads.read('t')
  expect(state).toEqual(await threads.read('t'))
  expect(state.messages.map(({ id }) => id)).toContain('m2')
  expect(reads).toBe(1)
})

test('if a process dies before it starts the run of a message, the run starts when the message is sent again or a process calls recover (TH6, TH11)', async () => {
  const engine = memoryEngine()
  const made = worker(engine)
  const dead = processOf(engine, { change: (runs) => ({ ...bound(runs), start: dying(runs.start.bind(runs), 9) }) })
  for (const thread of ['again', 'recovered'])
    await expect(dead.threads.send(thread, 'Hello', { messageId: 'm' })).rejects.toThrow('died')
  const turn = await made.threads.send('again', 'Hello', { messageId: 'm' })
  expect(await turn.result).toMatchObject({ text: 'You said Hello.' })
  await vi.waitFor(async () => expect(await made.threads.recover()).toBe(1), { timeout: 60_000 })
  const other = await made.threads.turn('recovered')
  expect(await other?.result).toMatchObject({ text: 'You said Hello.' })
  expect(await made.threads.recover()).toBe(0)
  expect(made.asked).toHaveLength(2)
})

/** A function that works only after `open`. `reached` resolves when it is called. */
function held<Given extends readonly unknown[], Result>(work: (...given: Given) => Promise<Result>) {
  let call = () => {}
  let open = () => {}
  const reached = new Promise<void>((resolve) => {
    call = resolve
  })
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return {
    reached,
    open: () => open(),
    async work(...given: Given): Promise<Result> {
      call()
      await opened
      return await work(...given)
    },
  }
}

test('a process that is late does not start the run of a turn that has ended by then (TH6, TH11)', async () => {
  const engine = memoryEngine()
  const made = worker(engine)
  const slow = processOf(engine)
  const { reached, open, work } = held(slow.runs.start.bind(slow.runs))
  const late = processOf(engine, { change: (runs) => ({ ...bound(runs), start: work }) })
  const first = late.threads.send('t', 'Hello', { messageId: 'm' })
  await reached
  const turn = await made.threads.send('t', 'Hello', { messageId: 'm' })
  expect(await turn.result).toMatchObject({ text: 'You said Hello.' })
  await vi.waitFor(async () => expect(await rows('runs')).toBe(0), { timeout: 60_000 })
  open()
  expect((await first).id).toBe(turn.id)
  expect([await rows('runs'), await rows('checkpoints')]).toEqual([0, 0])
  expect(made.asked).toEqual([['user: Hello']])
})

test('a stop that meets a turn just before its run is started stops that run (TH6, TH11)', async () => {
  const engine = memoryEngine()
  const slow = processOf(engine)
  const { reached, open, work } = held(slow.runs.start.bind(slow.runs))
  const late = processOf(engine, { change: (runs) => ({ ...bound(runs), start: work }) })
  const first = late.threads.send('t', 'Hello')
  await reached
  const stopping = processOf(engine, {
    change: (runs) => ({
      ...bound(runs),
      async cancel(id, options) {
        try {
          await runs.cancel(id, options)
        } catch (error) {
          open()
          await first
          throw error
        }
      },
    }),
  })
  const stopped = stopping.threads.stop('t')
  await first
  worker(engine)
  await stopped
  expect(await (await first).result).toMatchObject({ status: 'stopped' })
})

test('a process that finds no run of a turn that has ended by then does not take the run for lost (TH4, TH6, TH11)', async () => {
  const engine = memoryEngine()
  const made = worker(engine)
  const turn = await made.threads.send('t', 'fails', { messageId: 'm' })
  expect(await turn.result).toMatchObject({ status: 'failed' })
  made.open()
  const wake = held(engine.wake)
  const retried = processOf({ ...engine, wake: wake.work }).threads.retry('t')
  await wake.reached
  const get = held(made.runs.get.bind(made.runs))
  const late = processOf(engine, { change: (runs) => ({ ...bound(runs), get: get.work }) })
  const again = late.threads.send('t', 'fails', { messageId: 'm' })
  await get.reached
  wake.open()
  await retried
  await vi.waitFor(async () => expect(await rows('runs')).toBe(0), { timeout: 60_000 })
  get.open()
  expect((await again).id).toBe(turn.id)
  expect((await made.threads.read('t')).turns).toMatchObject([{ status: 'completed' }])
})

test('a reader of a turn whose run was not started starts the run, and so does a stop (TH5, TH6)', async () => {
  const engine = memoryEngine()
  const made = worker(engine)
  const dead = processOf(engine, { change: (runs) => ({ ...bound(runs), start: dying(runs.start.bind(runs), 9) }) })
  for (const thread of ['read', 'stopped']) await expect(dead.threads.send(thread, 'Hello')).rejects.toThrow('died')
  const events = await all((await made.threads.turn('read'))?.events() ?? none())
  expect(events.at(-1)).toMatchObject({ type: 'turn-end', status: 'completed' })
  await made.threads.stop('stopped')
  expect((await made.threads.read('stopped')).turns).toMatchObject([{ status: 'stopped' }])
})

test('if a process dies before a stop or a retry reaches the run, the next stop and recover complete it (TH2, TH4, TH6)', async () => {
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

test('a message preempts a turn whose worker has died with the final answer: the turn completes, and that of the message begins (TH2, TH3, TH6)', async () => {
  const checkpoints = postgresStore(database)
  let tell = () => {}
  const isStored = new Promise<void>((resolve) => {
    tell = resolve
  })
  /** The process dies after it has stored the answer, and before it stores that the run has ended. */
  const save: typeof checkpoints.save = async (id, checkpoint, expected) => {
    await checkpoints.save(id, checkpoint, expected)
    if (Object(checkpoint).status !== 'completed') return
    tell()
    await new Promise(() => {})
  }
  const store = database.newStore()
  const runs = database.runsOf(chat().agent, memoryEngine(), { store: { ...checkpoints, save } })
  const dead = createThreads({ runs, store })
  database.work(runs)
  await dead.send('t', 'Hello')
  await isStored
  const { threads } = worker(memoryEngine(), { store })
  const next = await threads.send('t', 'Again', { whenBusy: 'preempt' })
  expect(await next.result).toMatchObject({ status: 'completed' })
  const state = await threads.read('t')
  expect(state.turns.map(({ status }) => status)).toEqual(['completed', 'completed'])
  const answers = ['assistant: You said Hello.', 'assistant: You said Again.']
  expect(shown(state)).toEqual(['user: Hello', answers[0], 'user: Again', answers[1]])
})

test('a stop of a run that could not be written to the thread is written later, and each message is in the thread once (TH1, TH6)', async () => {
  const engine = memoryEngine()
  const store = database.newStore()
  let fails = 0
  const change: ThreadStore['change'] = async (...given) => {
    if (fails > 0 && fails-- > 0) throw new Error('the database is not available')
    return await store.change(...given)
  }
  const made = worker(engine, { store: { ...store, change } })
  const server = processOf(engine)
  const texts: string[] = []
  for (const text of ['look', 'mail both', 'Hello']) {
    const turn = await server.threads.send('t', text)
    fails = 2
    texts.push((await turn.result).status)
  }
  expect(texts).toEqual(['completed', 'waiting', 'completed'])
  const state = await server.threads.read('t')
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

test('a thread can be read while the run of its turn starts (TH5)', async () => {
  let begin = () => {}
  const begun = new Promise<void>((resolve) => {
    begin = resolve
  })
  const store = database.newStore()
  const change = (runs: DurableRuns): DurableRuns => ({
    ...bound(runs),
    async start(...given) {
      await begun
      return await runs.start(...given)
    },
    async *events(id, options) {
      try {
        yield* runs.events(id, options)
      } finally {
        begin()
        await vi.waitFor(async () => expect(await runs.get(id)).toBeDefined(), { timeout: 60_000 })
      }
    },
  })
  const { threads } = processOf(memoryEngine(), { store, change })
  const sent = threads.send('t', 'Hello')
  await vi.waitFor(async () => expect(await store.load('t')).toBeDefined(), { timeout: 60_000 })
  const state = await threads.read('t')
  expect([state.status, shown(state)]).toEqual(['running', ['user: Hello']])
  begin()
  await sent
})

test('if a worker fails to start the next turn, the turn begins when the engine reports the stop again (TH1, TH6)', async () => {
  const engine = memoryEngine()
  const server = processOf(engine)
  await server.threads.send('t', 'Hello')
  const last = await server.threads.send('t', 'look')
  worker(engine, { change: (runs) => ({ ...bound(runs), start: dying(runs.start.bind(runs), 2) }) })
  expect(await last.result).toMatchObject({ text: 'So: sunny.' })
})

test('if a worker dies before it wakes a stored run, the turn begins when the engine reports the stop again, and a retry continues after recover (TH1, TH4, TH6)', async () => {
  const engine = memoryEngine()
  const server = processOf(engine)
  const first = await server.threads.send('t', 'Hello')
  const last = await server.threads.send('t', 'fails')
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

test('a turn whose checkpoint is lost fails, and the messages before it stay (TH4)', async () => {
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

test('an open call whose checkpoint is lost gets a result, so that the next turn can begin (TH2, TH4)', async () => {
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

test('the queue after a waiting turn that was rewound continues when a process calls recover (TH1)', async () => {
  const engine = memoryEngine()
  const server = processOf(engine)
  const waiting = await server.threads.send('t', 'mail', { messageId: 'm1' })
  const next = await server.threads.send('t', 'Hello')
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

test('idle, rewound and deleted threads have no runs in the database (TH9)', async () => {
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
  }, 60_000)
})

test('durable runs make the context of a turn from the metadata of its message, and callers cannot pass one (TH10)', async () => {
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

test('options that do not apply to durable runs are rejected, and so is an agent that the runs do not have (TH1)', () => {
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

/** Copies the methods of the runs, so that a test can replace some. */
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
