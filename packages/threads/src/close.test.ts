import { call, respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { createAgent, interrupt, type ModelRequest, tool } from '@meanwhile/core'
import { sized } from '@meanwhile/tests/size'
import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { all, shown } from '../test/chat.ts'
import { LEASE, useFakeTime } from '../test/fake-time.ts'
import { createThreads, memoryThreads, type ThreadStore } from './index.ts'

useFakeTime()

/** A store that makes each change this many milliseconds after the call. `written` is called at that time. */
function late(shared: ThreadStore, ms: () => number, written = () => {}): ThreadStore {
  const change: ThreadStore['change'] = async (...given) => {
    const delay = ms()
    if (delay > 0) await new Promise((resolve) => setTimeout(resolve, delay))
    written()
    return await shared.change(...given)
  }
  return { ...shared, change }
}

const slowly = () => respond(...Array.from({ length: 40 }, (_, n) => [say(`w${n} `), wait(25)]).flat())

const agent = () => createAgent({ model: scriptedModel(Array.from({ length: 20 }, () => slowly)) })

/** Milliseconds between two of the times that are tried. Each write takes 20 ms, so every write is tried at one time or more. */
const STEP = sized({ small: 15, middle: 10, whole: 5 })

test('close resolves when all writes are done, and a write that has begun before it does not renew the lease (TH6)', async () => {
  const shared = memoryThreads()
  let delay = 0
  let writes = 0
  const store = late(
    shared,
    () => delay,
    () => writes++,
  )
  const first = createThreads({ agent: agent(), store, lease: LEASE })
  await first.send('t', 'go')
  await vi.advanceTimersByTimeAsync(60)
  // The next write is slow, and the write that gives up the turn is fast.
  delay = 300
  await vi.advanceTimersByTimeAsync(45)
  delay = 0
  const closed = first.close().then(() => writes)
  await vi.advanceTimersByTimeAsync(500)
  expect(writes).toBe(await closed)
  const second = createThreads({ agent: agent(), store: shared, lease: LEASE })
  expect(await second.recover()).toBe(1)
  await vi.advanceTimersByTimeAsync(8 * LEASE)
  expect((await second.read('t')).turns).toMatchObject([{ status: 'completed' }])
})

test('at whichever event of a turn its threads are closed, nothing is written when close has resolved, and the next process has the turn at once (TH6)', async () => {
  const look = tool({ name: 'look', description: 'Looks.', input: z.object({}), execute: () => 'seen' })
  const script = ({ messages }: ModelRequest) =>
    messages.at(-1)?.role === 'tool' ? respond(say('Well.')) : respond(say('I look.'), call('look'))
  const working = () => createAgent({ model: scriptedModel([script, script, script]), tools: [look] })
  for (let closedAt = 1, isOver = false; !isOver; closedAt++) {
    const shared = memoryThreads()
    let writes = 0
    const store = late(
      shared,
      () => 0,
      () => writes++,
    )
    const first = createThreads({ agent: working(), store, lease: LEASE })
    const turn = await first.send('t', 'go')
    let seen = 0
    let closed: Promise<number> | undefined
    void (async () => {
      for await (const _ of turn.events()) if (++seen === closedAt) closed = first.close().then(() => writes)
    })()
    await vi.advanceTimersByTimeAsync(50)
    const before = await closed
    isOver = closed === undefined
    await vi.advanceTimersByTimeAsync(500)
    if (!isOver) expect([closedAt, writes]).toEqual([closedAt, before])
    const second = createThreads({ agent: working(), store: shared, lease: LEASE })
    const { turns } = await second.read('t')
    expect([closedAt, await second.recover()]).toEqual([closedAt, turns[0]?.status === 'completed' ? 0 : 1])
    await vi.advanceTimersByTimeAsync(100)
    const { messages } = await second.read('t')
    expect(messages.map(({ message }) => message.role)).toEqual(['user', 'assistant', 'tool', 'assistant'])
  }
})

test('close waits for a takeover that watch has begun, and gives up its turn (TH6)', async () => {
  const shared = memoryThreads()
  const first = createThreads({ agent: agent(), store: shared, lease: LEASE })
  await first.send('t', 'go')
  await vi.advanceTimersByTimeAsync(60)
  await first.close()
  let writes = 0
  const store = late(
    shared,
    () => 100,
    () => writes++,
  )
  const second = createThreads({ agent: agent(), store, lease: LEASE })
  second.watch()
  // The takeover has begun, and its change is not made yet.
  await vi.advanceTimersByTimeAsync(50)
  const closed = second.close().then(() => writes)
  await vi.advanceTimersByTimeAsync(5 * LEASE)
  expect(await closed).toBe(writes)
  expect(await shared.due(Date.now(), 1)).toEqual(['t'])
})

test('closed threads begin neither the next turn of the queue nor the turn of a new message (TH6)', async () => {
  // At one of these times the first turn is about to end, and its end would begin the second.
  const counts = new Set<number>()
  for (let ms = 80; ms < 150; ms += STEP) {
    const shared = memoryThreads()
    const model = scriptedModel([respond(say('a'), wait(100)), respond(say('b'))])
    const threads = createThreads({ agent: createAgent({ model }), store: late(shared, () => 20), lease: LEASE })
    for (const text of ['one', 'two']) {
      void threads.send('t', text)
      await vi.advanceTimersByTimeAsync(30)
    }
    await vi.advanceTimersByTimeAsync(ms)
    const begun = model.requests.length
    counts.add(begun)
    const closed = threads.close()
    await vi.advanceTimersByTimeAsync(500)
    await closed
    void threads.send('u', 'three')
    await vi.advanceTimersByTimeAsync(500)
    expect(model.requests).toHaveLength(begun)
    const second = createThreads({ agent: agent(), store: shared, lease: LEASE })
    expect(await second.recover()).toBe(2)
    await vi.advanceTimersByTimeAsync(4 * LEASE)
    for (const thread of ['t', 'u']) expect(await second.read(thread)).toMatchObject({ status: 'idle', queued: [] })
  }
  expect(counts).toEqual(new Set([1, 2]))
})

test('at whichever time a turn with a question is stopped, it ends as stopped, and readers receive each of its messages once (TH2, TH5)', async () => {
  const ask = tool({
    name: 'ask',
    description: 'Asks.',
    input: z.object({}),
    execute: () => interrupt('Really?'),
  })
  const counts = new Set<number>()
  for (let ms = 0; ms < 300; ms += STEP) {
    const model = scriptedModel([respond(wait(40), say('I ask.'), wait(60), call('ask'))])
    const store = late(memoryThreads(), () => 20)
    const threads = createThreads({ agent: createAgent({ model, tools: [ask] }), store, lease: LEASE })
    const sent = threads.send('t', 'go')
    await vi.advanceTimersByTimeAsync(20 + ms)
    const turn = await sent
    void threads.stop('t')
    const reading = all(turn.events())
    await vi.advanceTimersByTimeAsync(LEASE)
    const events = await reading
    // The events of a waiting turn end. A new reader continues after the last event.
    const { cursor = '', type } = events.at(-1) ?? {}
    if (type === 'turn-waiting') events.push(...(await all(turn.events({ after: cursor }))))
    const ids = events.flatMap((event) => ('messageId' in event && event.messageId ? [event.messageId] : []))
    const state = await threads.read('t')
    expect(shown(state)).toEqual([...new Set(shown(state))])
    expect(ids).toEqual(state.messages.map(({ id }) => id))
    expect(state.turns).toMatchObject([{ status: 'stopped' }])
    counts.add(state.messages.length)
  }
  expect(counts).toEqual(new Set([1, 2, 3]))
})
