import { createAgent, interrupt, tool } from '@meanwhile/core'
import { call, respond, say, scriptedModel, wait } from '@meanwhile/core/testing'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { all, shown } from '../test/chat.ts'
import { createThreads, memoryThreads, type ThreadStore } from './index.ts'

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  vi.clearAllTimers()
  vi.useRealTimers()
})

const LEASE = 1_000

/** A store whose changes reach the data late: this many milliseconds after they were asked for. */
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

test('threads are closed when all is written, and a write that was under way does not take the lease again (TH6)', async () => {
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
  // The next write takes long, and that which leaves the turn does not.
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

test('threads that are closed begin no turn of the queue, and none that is sent to them (TH6)', async () => {
  const shared = memoryThreads()
  const model = scriptedModel([respond(say('a'), wait(100))])
  const threads = createThreads({ agent: createAgent({ model }), store: late(shared, () => 20), lease: LEASE })
  for (const text of ['one', 'two']) {
    void threads.send('t', text)
    await vi.advanceTimersByTimeAsync(30)
  }
  // The first turn is about to end, and its end begins the second.
  await vi.advanceTimersByTimeAsync(105)
  const closed = threads.close()
  await vi.advanceTimersByTimeAsync(500)
  await closed
  void threads.send('u', 'three')
  await vi.advanceTimersByTimeAsync(500)
  expect(model.requests).toHaveLength(1)
  const second = createThreads({ agent: agent(), store: shared, lease: LEASE })
  expect(await second.recover()).toBe(2)
  await vi.advanceTimersByTimeAsync(4 * LEASE)
  for (const thread of ['t', 'u']) expect(await second.read(thread)).toMatchObject({ status: 'idle', queued: [] })
})

test('whenever a turn that asks is stopped, it ends as stopped, and readers receive each of its messages once (TH2, TH5)', async () => {
  const ask = tool({
    name: 'ask',
    description: 'Asks.',
    input: z.object({}),
    execute: () => interrupt('Really?'),
  })
  const counts = new Set<number>()
  for (let ms = 0; ms < 300; ms += 5) {
    const model = scriptedModel([respond(wait(40), say('I ask.'), wait(60), call('ask'))])
    const store = late(memoryThreads(), () => 20)
    const threads = createThreads({ agent: createAgent({ model, tools: [ask] }), store, lease: LEASE })
    const sent = threads.send('t', 'go')
    await vi.advanceTimersByTimeAsync(20 + ms)
    const turn = await sent
    void threads.stop('t')
    const reading = all(turn.events())
    await vi.advanceTimersByTimeAsync(LEASE)
    const told = await reading
    // A reader hears of a turn that waits that it waits, and goes on when it is stopped.
    const { cursor = '', type } = told.at(-1) ?? {}
    if (type === 'turn-waiting') told.push(...(await all(turn.events({ after: cursor }))))
    const ids = told.flatMap((event) => ('messageId' in event && event.messageId ? [event.messageId] : []))
    const state = await threads.read('t')
    expect(shown(state)).toEqual([...new Set(shown(state))])
    expect(ids).toEqual(state.messages.map(({ id }) => id))
    expect(state.turns).toMatchObject([{ status: 'stopped' }])
    counts.add(state.messages.length)
  }
  expect(counts).toEqual(new Set([1, 2, 3]))
})
