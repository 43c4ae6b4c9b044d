import { call, respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { createAgent } from '@meanwhile/core'
import { expect, test, vi } from 'vitest'
import { chat, reading, shown, until } from '../test/chat.ts'
import { countedStore } from '../test/counted-store.ts'
import { LEASE, useFakeTime } from '../test/fake-time.ts'
import { look } from '../test/look.ts'
import { createThreads, memoryThreads, type ThreadEvent, type ThreadStore, type Turn } from './index.ts'

useFakeTime()

/** Two processes with one store. The second one counts what it reads. */
function processes(options?: Parameters<typeof chat>[0]) {
  const shared = memoryThreads()
  const made = chat(options)
  const threadsOver = (store: ThreadStore) => createThreads({ agent: made.agent, store, lease: LEASE })
  const there = countedStore(shared)
  const here = countedStore(shared)
  return { ...made, here, there, owner: threadsOver(here.store), other: threadsOver(there.store) }
}

const times = <Value>(count: number, make: () => Value) => Array.from({ length: count }, make)

/** The turn with this id, as another process sees it. */
async function seen(threads: ReturnType<typeof createThreads>, { thread, id }: Turn): Promise<Turn> {
  const turn = await threads.turn(thread, id)
  if (!turn) throw new Error('the turn must be there')
  return turn
}

test.each([1, 10])(
  '%i waiters of a running turn read the store once at its begin and once at its end (W61)',
  async (waiters) => {
    const { owner, here } = processes({ delay: 30 })
    const turn = await owner.send('t', 'story')
    here.taken()
    const results = times(waiters, () => turn.result)
    await vi.advanceTimersByTimeAsync(1_000)
    expect(here.taken()).toMatchObject({ load: waiters })
    await vi.advanceTimersByTimeAsync(2_000)
    expect((await Promise.all(results)).map(({ status }) => status)).toEqual(times(waiters, () => 'completed'))
    expect(here.taken()).toMatchObject({ load: waiters, events: 0 })
  },
)

test('waiters of a queued turn read the store once at its begin and once when it has ended (W61)', async () => {
  const { owner, here } = processes({ delay: 30 })
  await owner.send('t', 'story')
  await owner.send('t', 'story')
  const turn = await owner.send('t', 'story')
  here.taken()
  const results = times(10, () => turn.result)
  await vi.advanceTimersByTimeAsync(5_000)
  expect(here.taken().load).toBe(10)
  await vi.advanceTimersByTimeAsync(5_000)
  await Promise.all(results)
  expect(here.taken().load).toBe(10)
})

test('a waiter of a message that steers reads the store when the message has joined the turn, and at its end (W61)', async () => {
  const { owner, here, open } = processes()
  const turn = await owner.send('t', 'slow')
  const call = until(turn, 'tool-entered')
  await vi.advanceTimersByTimeAsync(100)
  await call
  const joined = await owner.send('t', 'and quickly', { whenBusy: 'steer' })
  here.taken()
  const results = times(10, () => joined.result)
  await vi.advanceTimersByTimeAsync(LEASE)
  open()
  await vi.advanceTimersByTimeAsync(LEASE)
  expect((await Promise.all(results)).map(({ text }) => text)).toEqual(times(10, () => 'You said and quickly.'))
  // Its own record before and after it has joined, and that of the turn that it has joined before and after the end.
  expect(here.taken().load).toBeLessThanOrEqual(40)
})

test('ten calls of stop read the store ten times before and ten times after the turn has ended (W61)', async () => {
  const { owner, here, open } = processes({ pauseAfter: 5 })
  await owner.send('t', 'story')
  await vi.advanceTimersByTimeAsync(100)
  here.taken()
  const stops = times(10, () => owner.stop('t'))
  await vi.advanceTimersByTimeAsync(5 * LEASE)
  open()
  await vi.advanceTimersByTimeAsync(100)
  await Promise.all(stops)
  expect(here.taken().load).toBeLessThanOrEqual(20)
  expect((await owner.read('t')).turns[0]?.status).toBe('stopped')
})

test('a waiter learns that its turn was given up, and follows it in the process that has taken it over (W61)', async () => {
  const { owner, other, open } = processes({ pauseAfter: 5 })
  const turn = await owner.send('t', 'story')
  const result = turn.result
  await vi.advanceTimersByTimeAsync(100)
  const closed = owner.close()
  open()
  await closed
  await other.recover()
  await vi.advanceTimersByTimeAsync(LEASE)
  expect(await result).toMatchObject({ status: 'completed' })
})

test.each([1, 100])(
  '%i readers and waiters of a turn in another process share one poll of its thread (W61)',
  async (count) => {
    const { owner, other, there } = processes({ delay: 30 })
    await owner.send('t', 'story')
    const turn = await seen(other, await owner.send('t', 'story'))
    there.taken()
    const readings = times(count, () => reading(turn.events()))
    const results = times(count, () => turn.result)
    await vi.advanceTimersByTimeAsync(1_000)
    const begin = there.taken()
    const polls = 5
    expect(begin.load).toBeLessThanOrEqual(2 * count + polls)
    expect(begin.events).toBeLessThanOrEqual(count + polls)
    await vi.advanceTimersByTimeAsync(1_600)
    const middle = there.taken()
    expect(middle.load).toBeLessThanOrEqual(8)
    expect(middle.events).toBeLessThanOrEqual(8)
    await vi.advanceTimersByTimeAsync(3_000)
    await Promise.all([...readings.map(({ end }) => end), ...results])
    const end = there.taken()
    expect(end.load).toBeLessThanOrEqual(count + 16)
    expect(end.events).toBeLessThanOrEqual(16)
    const texts = readings.map(({ received }) => JSON.stringify(received.map(({ cursor }) => cursor)))
    expect(new Set(texts).size).toBe(1)
    expect(readings[0]?.received.at(-1)).toMatchObject({ type: 'turn-end', status: 'completed' })
    expect(readings[0]?.received.filter(({ type }) => type === 'text-delta').length).toBeGreaterThan(30)
  },
)

test('nothing is polled while nobody waits, and nothing while the turn runs in this process (W61)', async () => {
  const { owner, other, here, there, open } = processes()
  const turn = await owner.send('t', 'slow')
  const leaves = new AbortController()
  const own = reading(turn.events())
  const reader = reading((await seen(other, turn)).events({ signal: leaves.signal }))
  await vi.advanceTimersByTimeAsync(LEASE)
  leaves.abort(new Error('gone'))
  await expect(reader.end).rejects.toThrow('gone')
  await vi.advanceTimersByTimeAsync(LEASE)
  here.taken()
  there.taken()
  await vi.advanceTimersByTimeAsync(10 * LEASE)
  expect([here.taken(), there.taken()]).toMatchObject([
    { load: 0, events: 0 },
    { load: 0, events: 0 },
  ])
  open()
  await own.end
  expect(shown(await other.read('t')).at(-1)).toBe('assistant: So: at last.')
})

test('if a poll fails, its readers and waiters get the error, and the next reader polls again (W61)', async () => {
  const shared = memoryThreads()
  const { agent, open } = chat()
  const owner = createThreads({ agent, store: shared, lease: LEASE })
  let isBroken = false
  const store: ThreadStore = {
    ...shared,
    load: async (...given) => {
      if (isBroken) throw new Error('no disk')
      return await shared.load(...given)
    },
  }
  const turn = await seen(createThreads({ agent, store }), await owner.send('t', 'slow'))
  const [reader, result] = [reading(turn.events()), turn.result]
  reader.end.catch(() => undefined)
  await vi.advanceTimersByTimeAsync(100)
  isBroken = true
  await vi.advanceTimersByTimeAsync(300)
  await expect(reader.end).rejects.toThrow('no disk')
  await expect(result).rejects.toThrow('no disk')
  isBroken = false
  const again = turn.result
  open()
  await vi.advanceTimersByTimeAsync(500)
  expect(await again).toMatchObject({ status: 'completed' })
})

test('a reader that is far behind, and one that comes late, receive the same events as one that keeps up (W61)', async () => {
  const { owner, other } = processes({ delay: 30 })
  await owner.send('t', 'look')
  const turn = await seen(other, await owner.send('t', 'story'))
  const steady = reading(turn.events())
  const slow: string[] = []
  const slowEnd = (async () => {
    for await (const { cursor } of turn.events()) {
      slow.push(cursor)
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  })()
  await vi.advanceTimersByTimeAsync(1_000)
  const late = reading(turn.events())
  await vi.advanceTimersByTimeAsync(30_000)
  await Promise.all([steady.end, late.end, slowEnd])
  const cursors = ({ received }: typeof steady) => received.map(({ cursor }) => cursor)
  expect(cursors(late)).toEqual(cursors(steady))
  // The deltas of a step that has ended are no longer stored.
  expect(cursors(steady)).toEqual(expect.arrayContaining(slow))
  expect(slow.at(-1)).toBe(cursors(steady).at(-1))
})

test('a reader that comes after all others have left reads no events before its cursor, although a waiter is still there (W61)', async () => {
  const shared = memoryThreads()
  const words = Array.from({ length: 2_000 }, (_, n) => [say(`w${n}`), wait(2)]).flat()
  const agent = createAgent({ model: scriptedModel([respond(...words)]) })
  const there = countedStore(shared)
  const owner = createThreads({ agent, store: shared })
  const other = createThreads({ agent, store: there.store })
  const own = reading((await owner.send('t', 'go')).events())
  const turn = await other.turn('t')
  const result = turn?.result
  const leaves = new AbortController()
  const first = reading(turn?.events({ signal: leaves.signal }) ?? none())
  await vi.advanceTimersByTimeAsync(500)
  leaves.abort(new Error('gone'))
  await expect(first.end).rejects.toThrow('gone')
  await vi.advanceTimersByTimeAsync(3_000)
  there.taken()
  const { cursor = '' } = own.received.at(-100) ?? {}
  const second = reading(turn?.events({ after: cursor }) ?? none())
  await vi.advanceTimersByTimeAsync(450)
  expect(second.received.length).toBeGreaterThan(100)
  expect(there.taken().events).toBeLessThanOrEqual(4)
  await vi.advanceTimersByTimeAsync(5_000)
  await Promise.all([own.end, second.end])
  expect(await result).toMatchObject({ status: 'completed' })
})

test('a reader whose first read of the store takes longer than two steps of the turn receives all messages (TH5, W61)', async () => {
  const shared = memoryThreads()
  const store: ThreadStore = {
    ...shared,
    async load(...given) {
      const loaded = await shared.load(...given)
      await new Promise((resolve) => setTimeout(resolve, 1_000))
      return loaded
    },
  }
  const steps = Array.from({ length: 3 }, () => respond(call('look'), wait(300)))
  const model = scriptedModel([...steps, respond(say('Sunny.'), wait(5_000))])
  const threads = createThreads({ agent: createAgent({ model, tools: [look] }), store, lease: LEASE })
  const turn = await threads.send('t', 'go')
  const reader = reading(turn.events())
  await vi.advanceTimersByTimeAsync(20_000)
  await reader.end
  const received = reader.received.flatMap((event) => ('messageId' in event ? [event.messageId] : []))
  expect(received).toEqual(
    (await shared.events('t')).flatMap(({ event }) => ('messageId' in event ? [event.messageId] : [])),
  )
})

test('a reader in another process receives text at most half a second late (TH12)', async () => {
  const { owner, other } = processes({ delay: 30 })
  const turn = await owner.send('t', 'story')
  const times = async (events: AsyncIterable<ThreadEvent>) => {
    const received: number[] = []
    for await (const { type } of events) if (type === 'text-delta') received.push(Date.now())
    return received
  }
  const [here, there] = [times(turn.events()), times((await seen(other, turn)).events())]
  await vi.advanceTimersByTimeAsync(5_000)
  const late = await there
  const lags = (await here).slice(0, late.length).map((time, index) => (late[index] ?? 0) - time)
  expect(lags.length).toBeGreaterThan(60)
  expect(Math.max(...lags)).toBeLessThanOrEqual(500)
})

async function* none(): AsyncGenerator<ThreadEvent, void> {}
