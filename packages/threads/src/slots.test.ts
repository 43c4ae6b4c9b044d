import { AsyncLocalStorage } from 'node:async_hooks'
import { call, fail, respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { ConfigError, createAgent, interrupt, type ModelRequest, textOf, tool } from '@meanwhile/core'
import { sized } from '@meanwhile/tests/size'
import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { countedStore } from '../test/counted-store.ts'
import { LEASE, useFakeTime } from '../test/fake-time.ts'
import { type Process, processOf } from '../test/processes.ts'
import {
  createThreads,
  memoryThreads,
  ThreadBusyError,
  type ThreadStore,
  type Threads,
  type ThreadsOptions,
  TooManyTurnsError,
} from './index.ts'

useFakeTime()

const request = new AsyncLocalStorage<string>()

interface Opened {
  readonly threads: Threads
  /** The last messages of the requests to the model, in order. */
  readonly asked: string[]
  /** The contexts in which its calls were made. */
  readonly contexts: (string | undefined)[]
}

/** A turn takes 100 ms. With the word `ask` it asks, with `fails` it fails once, and with `delegate` it waits for a turn of the thread `inner`. */
function opened(store: ThreadStore, options: Pick<ThreadsOptions, 'maxRunning' | 'maxWaiting' | 'maxQueued'>): Opened {
  const asked: string[] = []
  const contexts: (string | undefined)[] = []
  const ask = tool({
    name: 'ask',
    description: 'Asks.',
    input: z.object({}),
    answer: z.object({ ok: z.boolean() }),
    execute: (_, { answers }) => JSON.stringify(answers[0] ?? interrupt('?')),
  })
  const delegate = tool({
    name: 'delegate',
    description: 'Asks another thread.',
    input: z.object({}),
    execute: async () => (await (await threads.send('inner', 'help')).result).text,
  })
  const hasFailed = new Set<string>()
  const answer = ({ messages }: ModelRequest) => {
    const last = messages.at(-1)
    const text = last ? textOf(last) : ''
    asked.push(text)
    contexts.push(request.getStore())
    if (last?.role === 'tool') return respond(wait(100), say(`So ${text}.`))
    if (text.includes('fails') && !hasFailed.has(text)) {
      hasFailed.add(text)
      return respond(fail({ status: 400, code: 'bad', message: 'no' }))
    }
    const tools = ['ask', 'delegate'].filter((name) => text.includes(name)).map((name) => call(name))
    return respond(wait(100), ...(tools.length > 0 ? tools : [say(`You said ${text}.`)]))
  }
  const model = scriptedModel(Array.from({ length: 100 }, () => answer))
  const agent = createAgent({ name: 'a', model, tools: [ask, delegate] })
  const threads: Threads = createThreads({ agent, store, lease: LEASE, onError: () => {}, ...options })
  return { threads, asked, contexts }
}

const turnsOf = async (threads: Threads, thread: string) =>
  (await threads.read(thread)).turns.map(({ status }) => status)

const questionOf = async (threads: Threads, thread: string) => (await threads.read(thread)).interrupts[0]?.id ?? ''

test('beyond maxRunning turns wait, and begin in the order of their messages over all threads, each in its own context (W63, W31)', async () => {
  const { threads, asked, contexts } = opened(memoryThreads(), { maxRunning: 2 })
  const send = async (thread: string, text: string) => {
    vi.advanceTimersByTime(1)
    await request.run(text, () => threads.send(thread, text))
  }
  for (const [thread, text] of [
    ['a', 'a1'],
    ['b', 'b1'],
    ['a', 'a2'],
    ['c', 'c1'],
    ['d', 'd1'],
    ['b', 'b2'],
  ] as const)
    await send(thread, text)
  await vi.advanceTimersByTimeAsync(50)
  expect(asked).toEqual(['a1', 'b1'])
  await vi.advanceTimersByTimeAsync(100)
  expect(asked).toEqual(['a1', 'b1', 'a2', 'c1'])
  await vi.advanceTimersByTimeAsync(100)
  expect(asked).toEqual(['a1', 'b1', 'a2', 'c1', 'd1', 'b2'])
  expect(contexts).toEqual(asked)
  await vi.advanceTimersByTimeAsync(100)
  for (const thread of ['a', 'b', 'c', 'd'])
    expect(new Set(await turnsOf(threads, thread))).toEqual(new Set(['completed']))
})

test('turns of the same millisecond begin in the order of their messages, too (W63)', async () => {
  const { threads, asked } = opened(memoryThreads(), { maxRunning: 1 })
  const texts = ['busy', 'a', 'b', 'c']
  for (const text of texts) await threads.send(text, text)
  await vi.advanceTimersByTimeAsync(400)
  expect(asked).toEqual(texts)
})

test('without limits no turn waits (W63)', async () => {
  const { threads, asked } = opened(memoryThreads(), {})
  for (let n = 0; n < 20; n++) await threads.send(`t${n}`, 'hi')
  await vi.advanceTimersByTimeAsync(0)
  expect(asked).toHaveLength(20)
  await vi.advanceTimersByTimeAsync(100)
})

test('a question frees the slot, and its answer is checked at once and continues before new messages begin (W63)', async () => {
  const { threads, asked } = opened(memoryThreads(), { maxRunning: 1 })
  await threads.send('a', 'ask')
  const b = await threads.send('b', 'b')
  await vi.advanceTimersByTimeAsync(150)
  expect(asked).toEqual(['ask', 'b'])
  await threads.send('c', 'c')
  const id = await questionOf(threads, 'a')
  await expect(threads.answer('a', { [id]: 'yes' })).rejects.toMatchObject({ name: 'AnswerError' })
  expect(await turnsOf(threads, 'a')).toEqual(['waiting'])
  const answered = await threads.answer('a', { [id]: { ok: true } })
  expect(await turnsOf(threads, 'a')).toEqual(['running'])
  await expect(threads.answer('a', { [id]: { ok: true } })).rejects.toThrow('it was answered')
  expect(asked).toEqual(['ask', 'b'])
  await vi.advanceTimersByTimeAsync(300)
  expect(await b.result).toMatchObject({ status: 'completed' })
  expect(await answered.result).toMatchObject({ text: 'So {"ok":true}.' })
  expect(asked).toEqual(['ask', 'b', '{"ok":true}', 'c'])
})

test('a retry waits for a slot, too, before new messages (W63)', async () => {
  const { threads, asked } = opened(memoryThreads(), { maxRunning: 1 })
  await (await threads.send('a', 'fails')).result
  await threads.send('b', 'b')
  await threads.send('c', 'c')
  const retried = await threads.retry('a')
  await vi.advanceTimersByTimeAsync(400)
  expect(await retried.result).toMatchObject({ text: 'You said fails.' })
  expect(asked).toEqual(['fails', 'b', 'fails', 'c'])
})

test('a message whose turn would be one too many is refused before anything is stored; what is known, waits in its thread, continues, stops or reads is not (W63)', async () => {
  const counted = countedStore(memoryThreads())
  const { threads } = opened(counted.store, { maxRunning: 1, maxWaiting: 1, maxQueued: 1 })
  await threads.send('asks', 'ask')
  await vi.advanceTimersByTimeAsync(150)
  const running = await threads.send('a', 'a', { messageId: 'a1' })
  const waiting = await threads.send('b', 'b', { messageId: 'b1' })
  const refused = { name: 'TooManyTurnsError', thread: 'c', maxWaiting: 1 }
  await expect(threads.send('c', 'c')).rejects.toBeInstanceOf(TooManyTurnsError)
  await expect(threads.send('c', 'c')).rejects.toMatchObject(refused)
  expect(await threads.turn('c')).toBeUndefined()
  expect((await threads.list()).map(({ id }) => id)).toEqual(['b', 'a', 'asks'])
  await expect(threads.send('asks', 'another')).rejects.toBeInstanceOf(TooManyTurnsError)
  expect(await turnsOf(threads, 'asks')).toEqual(['waiting'])
  expect((await threads.send('a', 'a', { messageId: 'a1' })).id).toBe(running.id)
  expect((await threads.send('b', 'b', { messageId: 'b1' })).id).toBe(waiting.id)
  await threads.send('b', 'later')
  await expect(threads.send('b', 'even later')).rejects.toMatchObject({ name: 'QueueFullError' })
  await threads.answer('asks', { [await questionOf(threads, 'asks')]: { ok: true } })
  await threads.stop('b', { queue: 'drop' })
  await threads.stop('asks')
  await threads.send('c', 'c')
  await vi.advanceTimersByTimeAsync(300)
  expect(await turnsOf(threads, 'c')).toEqual(['completed'])
})

test('of many messages at once no more than maxRunning and maxWaiting are accepted, and none of those is dropped (W63)', async () => {
  const { threads, asked } = opened(memoryThreads(), { maxRunning: 3, maxWaiting: 4 })
  const sent = await Promise.allSettled(Array.from({ length: 30 }, (_, n) => threads.send(`t${n}`, `${n}`)))
  expect(sent.filter(({ status }) => status === 'fulfilled')).toHaveLength(7)
  await vi.advanceTimersByTimeAsync(50)
  expect(asked).toHaveLength(3)
  await vi.advanceTimersByTimeAsync(300)
  expect(asked).toHaveLength(7)
})

test('reject, steer and preempt treat a turn that waits for a slot as running (W63)', async () => {
  const { threads, asked } = opened(memoryThreads(), { maxRunning: 1 })
  await threads.send('busy', 'busy')
  const waiting = await threads.send('t', 'one')
  await expect(threads.send('t', 'no', { whenBusy: 'reject' })).rejects.toMatchObject({ status: 'running' })
  await expect(threads.send('t', 'no', { replacing: 'm' })).rejects.toBeInstanceOf(ThreadBusyError)
  expect((await threads.preview('t', { type: 'stop' })).turn?.id).toBe(waiting.id)
  const preempting = await threads.send('t', 'two', { whenBusy: 'preempt' })
  expect(await waiting.result).toMatchObject({ status: 'stopped' })
  const steering = await threads.send('t', 'three', { whenBusy: 'steer' })
  await vi.advanceTimersByTimeAsync(400)
  expect(await preempting.result).toMatchObject({ status: 'completed' })
  expect(asked.filter((text) => text === 'one')).toEqual([])
  expect(await steering.result).toMatchObject({ status: 'completed' })
  expect(await turnsOf(threads, 't')).toEqual(['stopped', 'completed'])
})

test.for([0, 1])(
  'stop ends a turn that waits for a slot as stopped, from this process and from another (W63): %i',
  async (by) => {
    const shared = memoryThreads()
    const here = opened(shared, { maxRunning: 1 })
    const there = opened(shared, {})
    await here.threads.send('asks', 'ask')
    await vi.advanceTimersByTimeAsync(150)
    await here.threads.send('busy', 'busy')
    const waiting = await here.threads.send('t', 'one')
    const queued = await here.threads.send('t', 'two')
    const id = await questionOf(here.threads, 'asks')
    const answered = await here.threads.answer('asks', { [id]: { ok: true } })
    const { threads } = [here, there][by] ?? here
    const stopped = Promise.all([threads.stop('t'), threads.stop('asks')])
    // The other process writes a mark, which this one finds when it renews the leases of what waits.
    if (by === 1) await vi.advanceTimersByTimeAsync(0.9 * LEASE)
    await stopped
    for (const turn of [waiting, answered]) expect(await turn.result).toMatchObject({ status: 'stopped' })
    expect((await here.threads.read('t')).queued.map(({ turn }) => turn)).toEqual([queued.id])
    const { messages } = await here.threads.read('asks')
    expect(messages.at(-1)?.message).toMatchObject({ role: 'tool', isError: true })
    expect(messages.map(({ message }) => textOf(message)).at(-1)).toContain('The user stopped this.')
    await vi.advanceTimersByTimeAsync(LEASE)
    expect(here.asked).toEqual(['ask', 'busy'])
    expect(there.asked).toEqual([])
  },
)

function two(limits: Pick<ThreadsOptions, 'maxRunning'> = { maxRunning: 1 }) {
  const shared = memoryThreads()
  const open = (): Opened & { readonly process: Process } => {
    const process = processOf(shared)
    return { ...opened(process.store, limits), process }
  }
  return { shared, first: open(), second: open() }
}

test('what waits for a slot is taken over only when its process has died, in the root context (W63, W30, W31)', async () => {
  const { shared, first, second } = two()
  await first.threads.send('asks', 'ask')
  await vi.advanceTimersByTimeAsync(150)
  for (let n = 0; n < 20; n++) await first.threads.send('busy', `${n}`)
  await request.run('own', () => first.threads.send('t', 'mine'))
  await first.threads.answer('asks', { [await questionOf(first.threads, 'asks')]: { ok: true } })
  const waiting = await first.threads.send('u', 'one')
  second.threads.watch()
  first.process.kill()
  await vi.advanceTimersByTimeAsync(0.9 * LEASE)
  expect(await shared.due(Date.now(), 10)).toEqual([])
  expect(second.asked).toEqual([])
  await vi.advanceTimersByTimeAsync(10 * LEASE)
  expect(second.asked[0]).not.toBe('mine')
  expect(await turnsOf(second.threads, 'u')).toEqual(['completed'])
  expect((await second.threads.turn('u'))?.id).toBe(waiting.id)
  expect(second.contexts[second.asked.indexOf('mine')]).toBeUndefined()
})

test('a process that lives keeps what waits in it, however long, with one statement for all (W63)', async () => {
  const counted = countedStore(memoryThreads())
  const { threads, asked } = opened(counted.store, { maxRunning: 1 })
  const other = opened(counted.store, {})
  other.threads.watch()
  for (let n = 0; n < 30; n++) await threads.send('busy', `${n}`)
  for (let n = 0; n < 30; n++) await threads.send(`t${n}`, `t${n}`)
  counted.taken()
  await vi.advanceTimersByTimeAsync(LEASE)
  const { change, renewLeases } = counted.taken()
  expect(renewLeases).toBe(3)
  // Those of the turns that ran.
  expect(change).toBeLessThanOrEqual(10 * 8)
  await vi.advanceTimersByTimeAsync(6 * LEASE)
  expect(other.asked).toEqual([])
  expect(asked).toHaveLength(60)
})

test('in a slow store, one renewal of the leases of what waits is made after the other (W63, W30)', async () => {
  const counted = countedStore(memoryThreads())
  let open = 0
  let most = 0
  const renewLeases: ThreadStore['renewLeases'] = async (...given) => {
    most = Math.max(most, ++open)
    await new Promise((resolve) => setTimeout(resolve, LEASE / 2))
    open--
    return await counted.store.renewLeases(...given)
  }
  const { threads } = opened({ ...counted.store, renewLeases }, { maxRunning: 1 })
  threads.watch()
  for (let n = 0; n < 20; n++) await threads.send('busy', `${n}`)
  await vi.advanceTimersByTimeAsync(1)
  await threads.send('t', 'one')
  await vi.advanceTimersByTimeAsync(LEASE / 3)
  counted.taken()
  // The process was suspended: it renews its leases at once.
  vi.setSystemTime(Date.now() + 4 * LEASE)
  await vi.advanceTimersByTimeAsync(3 * LEASE)
  expect(most).toBe(1)
  expect(counted.taken().renewLeases).toBeGreaterThan(3)
  await threads.close()
})

type Leaves = (opened: Opened, shared: ThreadStore) => Promise<unknown>

const LEAVES: Readonly<Record<string, Leaves>> = {
  'ends and begins the next one': ({ threads }) => Promise.all(['1', '2', '3'].map((text) => threads.send('t', text))),
  waits: ({ threads }) => threads.send('t', 'ask'),
  'is answered': async ({ threads }) => {
    await threads.send('t', 'ask')
    await vi.advanceTimersByTimeAsync(150)
    await threads.answer('t', { [await questionOf(threads, 't')]: { ok: true } })
  },
  'is refused its answer': async ({ threads }) => {
    await threads.send('t', 'ask')
    await vi.advanceTimersByTimeAsync(150)
    await threads.answer('t', { [await questionOf(threads, 't')]: 'yes' })
  },
  fails: ({ threads }) => threads.send('t', 'fails'),
  'is stopped': async ({ threads }) => {
    await threads.send('t', '1')
    await vi.advanceTimersByTimeAsync(50)
    void threads.stop('t').catch(() => undefined)
  },
  'is stopped while it waits for a slot': async ({ threads }) => {
    await Promise.all(['s', 'u', 't'].map((thread) => threads.send(thread, thread)))
    void threads.stop('t').catch(() => undefined)
  },
  'is preempted': async ({ threads }) => {
    await threads.send('t', '1')
    await vi.advanceTimersByTimeAsync(50)
    await threads.send('t', '2', { whenBusy: 'preempt' })
  },
  'is closed by a message': async ({ threads }) => {
    await threads.send('t', 'ask')
    await vi.advanceTimersByTimeAsync(150)
    await threads.send('t', '2')
  },
  'is deleted': async ({ threads }) => {
    await threads.send('t', '1')
    await vi.advanceTimersByTimeAsync(50)
    await threads.delete('t')
  },
  'is taken over': async ({ threads }, shared) => {
    await threads.send('t', '1')
    await vi.advanceTimersByTimeAsync(50)
    const { turns = [] } = (await shared.load('t')) ?? {}
    const taken = turns.map((turn) => ({ ...turn, epoch: turn.epoch + 1, leaseUntil: 0 }))
    await shared.change('t', () => ({ turns: taken, result: undefined }))
    await vi.advanceTimersByTimeAsync(LEASE / 2)
    await threads.recover()
  },
  'waits for another turn': ({ threads }) => threads.send('t', 'delegate'),
}

/** Which of its writes fail: every, every second or every third one, each situation beginning at its own place. */
const EVERY = sized({ small: 3, middle: 2, whole: 1 })

test.for(Object.entries(LEAVES).map(([how, leave], at) => [how, leave, at % EVERY] as const))(
  'a turn that %s frees its slot once, also if the store fails at any of its writes (W63)',
  async ([, leave, first]) => {
    let isReached = true
    for (let fails = first; fails < 10 && isReached; fails += EVERY) {
      const shared = memoryThreads()
      let writes = 0
      let hasFailed = false
      const change: ThreadStore['change'] = async (...given) => {
        if (!hasFailed && writes++ === fails) {
          hasFailed = true
          throw new Error('the store fails')
        }
        return await shared.change(...given)
      }
      const made = opened({ ...shared, change }, { maxRunning: 2, maxWaiting: 4 })
      const { threads, asked } = made
      const left = leave(made, shared).catch(() => undefined)
      await vi.advanceTimersByTimeAsync(4 * LEASE)
      await left
      isReached = hasFailed
      hasFailed = true
      await threads.recover().catch(() => undefined)
      await vi.advanceTimersByTimeAsync(4 * LEASE)
      asked.length = 0
      for (let n = 0; n < 6; n++) await threads.send(`after ${n}`, `after ${n}`)
      const begun: number[] = []
      for (let n = 0; n < 3; n++) {
        await vi.advanceTimersByTimeAsync(n === 0 ? 50 : 100)
        begun.push(asked.length)
      }
      expect([fails, begun]).toEqual([fails, [2, 4, 6]])
      await vi.advanceTimersByTimeAsync(200)
      await expect(Promise.all(Array.from({ length: 6 }, (_, n) => threads.send(`${n}`, 'x')))).resolves.toHaveLength(6)
      await expect(threads.send('one too many', 'x')).rejects.toBeInstanceOf(TooManyTurnsError)
      await threads.close()
    }
  },
)

test('a full process takes over nothing, and takes over the rest when it has a slot (W63)', async () => {
  const { first, second } = two()
  await first.threads.send('t', 'one')
  await first.threads.send('u', 'two')
  first.process.kill()
  await second.threads.send('own', 'own')
  await vi.advanceTimersByTimeAsync(50)
  vi.setSystemTime(Date.now() + 2 * LEASE)
  expect(await second.threads.recover()).toBe(0)
  await vi.advanceTimersByTimeAsync(60)
  expect(await second.threads.recover()).toBe(1)
  await vi.advanceTimersByTimeAsync(110)
  expect(await second.threads.recover()).toBe(1)
  await vi.advanceTimersByTimeAsync(110)
  expect(second.asked).toEqual(['own', 'one', 'two'])
})

test('a turn that a tool starts and waits for takes no second slot, and is never refused (W63)', async () => {
  const { threads, asked } = opened(memoryThreads(), { maxRunning: 1, maxWaiting: 1 })
  const outer = await threads.send('t', 'delegate')
  await threads.send('other', 'other')
  await vi.advanceTimersByTimeAsync(190)
  expect(asked).toEqual(['delegate', 'help'])
  await vi.advanceTimersByTimeAsync(400)
  expect(await outer.result).toMatchObject({ text: 'So You said help..' })
  expect(asked).toEqual(['delegate', 'help', 'You said help.', 'other'])
})

test('a turn that has left while its tool waited for another turn ends that wait once: the turn of a second waiter keeps its slot lent (W63)', async () => {
  const { threads, asked } = opened(memoryThreads(), { maxRunning: 2 })
  for (let n = 0; n < 15; n++) await threads.send('inner', `${n}`)
  await threads.send('t', 'delegate')
  await threads.send('u', 'delegate')
  await vi.advanceTimersByTimeAsync(250)
  void threads.stop('t')
  // It leaves after the grace time. Its tool waits until 1,600 ms, and that of the other turn until 1,700 ms.
  await vi.advanceTimersByTimeAsync(1_400)
  expect(await turnsOf(threads, 't')).toEqual(['stopped'])
  await threads.send('other', 'other')
  await vi.advanceTimersByTimeAsync(10)
  expect(asked.slice(-3)).toEqual(['help', 'help', 'other'])
  await vi.advanceTimersByTimeAsync(400)
})

test('the limits of a process are checked, and durable runs have their own (W63)', () => {
  const agent = createAgent({ model: scriptedModel([]) })
  const open = (options: object) => () => createThreads({ agent, store: memoryThreads(), ...options })
  for (const options of [{ maxRunning: 0 }, { maxRunning: 1.5 }, { maxWaiting: -1 }, { maxWaiting: Number.NaN }])
    expect(open(options)).toThrow(ConfigError)
  expect(open({ maxRunning: 1, maxWaiting: 0 })).not.toThrow()
  const runs = { onStopped: () => {}, agents: ['a'] }
  for (const options of [{ maxRunning: 1 }, { maxWaiting: 1 }])
    expect(() => createThreads({ runs, store: memoryThreads(), ...options } as never)).toThrow('work({ concurrency })')
})

test('a process that closes gives up what waits, and another one begins it at once (W63)', async () => {
  const { first, second } = two()
  await first.threads.send('busy', 'busy')
  await first.threads.send('t', 'one')
  await first.threads.close()
  expect(vi.getTimerCount()).toBe(0)
  await second.threads.recover()
  await vi.advanceTimersByTimeAsync(150)
  await second.threads.recover()
  await vi.advanceTimersByTimeAsync(150)
  expect(new Set(second.asked)).toEqual(new Set(['busy', 'one']))
})
