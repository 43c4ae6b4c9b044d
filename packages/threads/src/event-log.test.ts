import { call, fail, respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { createAgent, interrupt, type Middleware, tool } from '@meanwhile/core'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { all } from '../test/chat.ts'
import { createThreads, memoryThreads, type StoredEvent, type ThreadStore } from './index.ts'

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  vi.useRealTimers()
})

/** A store that records each change with events: its time and the types of the events. */
function watched() {
  const store = memoryThreads()
  const begun = Date.now()
  const writes: (readonly [number, ...string[]])[] = []
  let synced = 0
  const change: ThreadStore['change'] = (id, decide, options) => {
    if (!options?.mayBeLost) synced++
    return store.change(
      id,
      (stored) => {
        const decided = decide(stored)
        const types = (decided.events ?? []).map(({ event }) => event.type)
        if (types.length > 0) writes.push([Date.now() - begun, ...types])
        return decided
      },
      options,
    )
  }
  return { store: { ...store, change }, plain: store, writes, synced: () => synced }
}

const words = (count: number, ms: number) =>
  respond(...Array.from({ length: count }, (_, n) => [say(`w${n}`), wait(ms)]).flat())

test('deltas are stored after 250 ms, or with the next other event, events that come together are stored together, and readers do not wait for that (TH12)', async () => {
  const { store, writes } = watched()
  const look = tool({ name: 'look', description: 'Looks.', input: z.object({}), execute: () => 'seen' })
  const model = scriptedModel([
    respond(say('w0'), wait(100), say('w1'), wait(100), say('w2'), wait(200), say('w3'), wait(80), call('look')),
    respond(say('Well.')),
  ])
  const threads = createThreads({ agent: createAgent({ model, tools: [look] }), store })
  const turn = await threads.send('t', 'go')
  const received: number[] = []
  const begun = Date.now()
  const reading = (async () => {
    for await (const { type } of turn.events()) if (type === 'text-delta') received.push(Date.now() - begun)
  })()
  await vi.advanceTimersByTimeAsync(1_000)
  await reading
  expect(received).toEqual([0, 100, 200, 400, 480])
  expect(writes.filter((types) => types.includes('text-delta'))).toEqual([
    [0, 'attempt-start', 'text-delta'],
    // Clocks of tests run what is due at the next turn of the event loop a millisecond later.
    [351, 'text-delta', 'text-delta'],
    [480, 'text-delta', 'tool-input-start', 'tool-input-delta', 'tool-call', 'message', 'tool-start'],
  ])
})

test('a turn of four seconds makes at most 60 changes of its thread (TH12)', async () => {
  const { store, writes } = watched()
  const threads = createThreads({ agent: createAgent({ model: scriptedModel([words(200, 20)]) }), store })
  const turn = await threads.send('t', 'go')
  await vi.advanceTimersByTimeAsync(5_000)
  expect(await turn.result).toMatchObject({ status: 'completed' })
  expect(writes.length).toBeLessThanOrEqual(60)
})

test('deltas are stored only while their step runs, and messages stay (TH7)', async () => {
  const { store, plain } = watched()
  const model = scriptedModel([words(100, 20)])
  const threads = createThreads({ agent: createAgent({ model }), store })
  const turn = await threads.send('t', 'go')
  await vi.advanceTimersByTimeAsync(1_000)
  const typesOf = (events: readonly StoredEvent[]) => new Set(events.map(({ event }) => event.type))
  expect(typesOf(await plain.events('t'))).toContain('text-delta')
  await vi.advanceTimersByTimeAsync(2_000)
  await turn.result
  expect([...typesOf(await plain.events('t'))]).toEqual(['turn-start', 'message', 'turn-end'])
})

test('a reader in the process of the turn receives the deltas and progress of a step that has ended while it was less than a step behind (TH12)', async () => {
  const look = tool({
    name: 'look',
    description: 'Looks.',
    input: z.object({}),
    async *execute() {
      yield { message: 'half' }
      return 'seen'
    },
  })
  const model = scriptedModel([respond(say('I look.'), call('look')), words(2, 100)])
  const threads = createThreads({ agent: createAgent({ model, tools: [look] }), store: memoryThreads() })
  const turn = await threads.send('t', 'go')
  const types: string[] = []
  const reading = (async () => {
    for await (const { type } of turn.events()) {
      types.push(type)
      for (let n = 0; n < 20; n++) await Promise.resolve()
    }
  })()
  await vi.advanceTimersByTimeAsync(1_000)
  await reading
  expect(types).toEqual(expect.arrayContaining(['text-delta', 'tool-progress', 'tool-end', 'step-end', 'turn-end']))
})

test('the record of a turn is written when its lease is renewed, not with every batch (TH6, TH12)', async () => {
  const { store } = watched()
  const leases: number[] = []
  const begun = Date.now()
  const change: ThreadStore['change'] = (id, decide, options) =>
    store.change(
      id,
      (stored) => {
        const decided = decide(stored)
        for (const { leaseUntil } of decided.turns ?? []) leases.push(leaseUntil && leaseUntil - begun)
        return decided
      },
      options,
    )
  const agent = createAgent({ model: scriptedModel([words(100, 20)]) })
  const threads = createThreads({ agent, store: { ...store, change }, lease: 1_500 })
  const turn = await threads.send('t', 'go')
  await vi.advanceTimersByTimeAsync(3_000)
  expect(await turn.result).toMatchObject({ status: 'completed' })
  // At its begin, after each third of its lease, and at its end.
  expect(leases).toEqual([1_500, 2_000, 2_500, 3_000, 3_500, 0])
})

test('a turn adds no more than two synced writes to those of its run (TH12)', async () => {
  const { store, synced } = watched()
  let saves = 0
  const counted: ThreadStore = {
    ...store,
    change: (id, decide, options) =>
      store.change(
        id,
        (stored) => {
          const decided = decide(stored)
          if (decided.checkpoint) saves++
          return decided
        },
        options,
      ),
  }
  const threads = createThreads({ agent: createAgent({ model: scriptedModel([words(50, 20)]) }), store: counted })
  const turn = await threads.send('t', 'go')
  await vi.advanceTimersByTimeAsync(2_000)
  await turn.result
  expect(saves).toBeGreaterThan(0)
  expect(synced() - saves).toBeLessThanOrEqual(2)
})

test('the deltas of a turn that waits or has failed are deleted too (TH7)', async () => {
  const { store, plain } = watched()
  const asks: Middleware = {
    name: 'asks',
    afterModel: (_, run) => {
      if (run.answers.length === 0) interrupt('Really?')
    },
  }
  const model = scriptedModel([words(3, 0), respond(say('a'), fail({ status: 400 }))])
  const threads = createThreads({ agent: createAgent({ model, middleware: [asks] }), store })
  await (await threads.send('t', 'go')).result
  const types = async () => (await plain.events('t')).map(({ event }) => event.type)
  expect(await types()).toEqual(['turn-start', 'message', 'turn-waiting'])
  await threads.stop('t')
  expect(await (await threads.send('t', 'again')).result).toMatchObject({ status: 'failed' })
  expect((await types()).slice(-2)).toEqual(['turn-start', 'turn-end'])
})

test('events that could not be stored are stored with the next write (TH6, TH7)', async () => {
  const { store, plain } = watched()
  let failed = false
  const change: ThreadStore['change'] = (id, decide, options) =>
    store.change(
      id,
      (stored) => {
        const decided = decide(stored)
        if (failed || !decided.events?.some(({ event }) => event.type === 'message')) return decided
        failed = true
        throw new Error('the disk is full')
      },
      options,
    )
  const model = scriptedModel([words(20, 20)])
  const threads = createThreads({ agent: createAgent({ model }), store: { ...store, change } })
  const turn = await threads.send('t', 'go')
  const reading = all(turn.events())
  await vi.advanceTimersByTimeAsync(2_000)
  expect(await turn.result).toMatchObject({ status: 'completed' })
  expect((await reading).filter(({ type }) => type === 'text-delta')).toHaveLength(20)
  expect(failed).toBe(true)
  expect((await plain.events('t')).map(({ event }) => event.type)).toEqual(['turn-start', 'message', 'turn-end'])
})

test('a run waits for a slow store, so that the number of unstored events stays bounded (TH7, TH12)', async () => {
  const { plain } = watched()
  let most = 0
  const change: ThreadStore['change'] = async (id, decide, options) => {
    if (options?.mayBeLost) await new Promise((resolve) => setTimeout(resolve, 3_000))
    return await plain.change(
      id,
      (stored) => {
        const decided = decide(stored)
        most = Math.max(most, decided.events?.length ?? 0)
        return decided
      },
      options,
    )
  }
  const agent = createAgent({ model: scriptedModel([words(2_500, 1)]) })
  const threads = createThreads({ agent, store: { ...plain, change } })
  const turn = await threads.send('t', 'go')
  await vi.advanceTimersByTimeAsync(60_000)
  expect(await turn.result).toMatchObject({ status: 'completed' })
  expect(most).toBeGreaterThan(500)
  expect(most).toBeLessThan(1_100)
})

test.each([1, 2, 3, 4, 5, 6, 7, 8])(
  'if write %i of a turn was made and its store reports an error, no event is written twice (W28)',
  async (at) => {
    const { store, plain } = watched()
    let writes = 0
    const change: ThreadStore['change'] = async (id, decide, options) => {
      let isSave = true
      const result = await store.change(
        id,
        (stored) => {
          const decided = decide(stored)
          isSave = decided.checkpoint !== undefined
          return decided
        },
        options,
      )
      if (options?.isOwner && options.mayBeLost && !isSave && ++writes === at) throw new Error('no answer')
      return result
    }
    const agent = createAgent({ model: scriptedModel([words(27, 100)]) })
    const threads = createThreads({ agent, store: { ...store, change }, onError: () => {} })
    const turn = await threads.send('t', 'go')
    const reading = all(turn.events())
    await vi.advanceTimersByTimeAsync(4_000)
    expect(await turn.result).toMatchObject({ status: 'completed' })
    expect(writes).toBeGreaterThanOrEqual(at)
    const stored = await plain.events('t')
    expect(stored.map(({ event }) => event.type)).toEqual(['turn-start', 'message', 'turn-end'])
    expect((await reading).filter(({ type }) => type === 'text-delta')).toHaveLength(27)
  },
)
