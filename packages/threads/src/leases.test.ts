import { call, fail, respond, type ScriptedResponse, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { createAgent, interrupt, type Middleware, type ModelRequest, tool } from '@meanwhile/core'
import { byTurns, sized } from '@meanwhile/tests/size'
import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { all, shown, until } from '../test/chat.ts'
import { LEASE, useFakeTime } from '../test/fake-time.ts'
import { look } from '../test/look.ts'
import { type Process, processOf } from '../test/processes.ts'
import { createThreads, memoryThreads, type ThreadEvent, type ThreadStore, type Threads } from './index.ts'

useFakeTime()

/** Two processes over one store; each has its own agent. */
function two(script: ScriptedResponse, execute: (signal: AbortSignal) => Promise<string> = async () => 'done') {
  const shared = memoryThreads()
  const contexts: string[] = []
  const opened = (name: string) => {
    const process = processOf(shared)
    const work = tool({
      name: 'work',
      description: 'Works.',
      input: z.object({}),
      execute: (_, { signal }) => execute(signal),
    })
    const model = scriptedModel(Array.from({ length: 20 }, () => script))
    const context = ({ metadata }: { metadata?: unknown }) => {
      contexts.push(`${name} ${JSON.stringify(metadata)}`)
    }
    const agent = createAgent({ model, tools: [work, look] })
    const threads = createThreads({ agent, store: process.store, lease: LEASE, context })
    return { process, threads, model }
  }
  return { shared, contexts, first: opened('first'), second: opened('second') }
}

const slowly = () => respond(...Array.from({ length: 40 }, (_, n) => [say(`w${n} `), wait(100)]).flat())

test('a turn is not taken over as long as its process lives, however long the turn takes (TH6)', async () => {
  const { first, second } = two(slowly)
  const turn = await first.threads.send('t', 'go')
  second.threads.watch()
  await vi.advanceTimersByTimeAsync(8 * LEASE)
  expect(await turn.result).toMatchObject({ status: 'completed' })
  expect([first.model.requests.length, second.model.requests.length]).toEqual([1, 0])
})

test('a turn whose process has died is taken over when its lease has expired, not before; its context is made again (TH6, TH10)', async () => {
  const { first, second, contexts } = two(slowly)
  const turn = await first.threads.send('t', 'go', { metadata: { user: 'ada' } })
  await vi.advanceTimersByTimeAsync(300)
  first.process.kill()
  expect(await second.threads.recover()).toBe(0)
  await vi.advanceTimersByTimeAsync(2 * LEASE)
  expect(await second.threads.recover()).toBe(1)
  await vi.advanceTimersByTimeAsync(8 * LEASE)
  const state = await second.threads.read('t')
  expect(state.turns).toMatchObject([{ id: turn.id, status: 'completed' }])
  expect(contexts).toEqual(['first {"user":"ada"}', 'second {"user":"ada"}'])
})

test('all turns whose process has died are taken over, however many there are, and one that fails does not block the others (TH6)', async () => {
  const { first, second, shared } = two(() => respond(say('a'), wait(100)))
  const ids = Array.from({ length: 130 }, (_, n) => `t${n}`)
  await Promise.all(ids.map((id) => first.threads.send(id, 'go')))
  first.process.kill()
  await vi.advanceTimersByTimeAsync(2 * LEASE)
  const damaged = new Error('the row is damaged')
  const change: ThreadStore['change'] = (id, ...given) =>
    ids.indexOf(id) < 110 && id !== 't7' ? Promise.reject(damaged) : shared.change(id, ...given)
  const third = createThreads({ agent: createAgent({ model: second.model }), store: { ...shared, change } })
  await expect(third.recover()).rejects.toBe(damaged)
  expect(await shared.due(Date.now(), 1_000)).toEqual(ids.slice(0, 110).filter((id) => id !== 't7'))
  expect(await second.threads.recover()).toBe(109)
  await third.close()
})

test('if several processes find a turn, only one takes it over (TH1, TH6)', async () => {
  const { first, second, shared } = two(slowly)
  await first.threads.send('t', 'go')
  first.process.kill()
  await vi.advanceTimersByTimeAsync(2 * LEASE)
  const third = createThreads({ agent: createAgent({ model: second.model }), store: shared, lease: LEASE })
  expect((await Promise.all([second.threads.recover(), third.recover()])).toSorted()).toEqual([0, 1])
  await vi.advanceTimersByTimeAsync(8 * LEASE)
  expect(second.model.requests).toHaveLength(1)
})

test('if the context cannot be made, the turn fails before anything has run, and a retry starts it (TH4, TH10)', async () => {
  let fails = true
  const model = scriptedModel([respond(say('Hello'))])
  const threads = createThreads({
    agent: createAgent({ model }),
    store: memoryThreads(),
    context: () => {
      if (fails) throw new RangeError('no such tenant')
    },
  })
  const turn = await threads.send('t', 'go')
  expect(await turn.result).toMatchObject({
    status: 'failed',
    error: { name: 'ContextError', message: expect.stringContaining('no such tenant') },
  })
  expect(model.requests).toHaveLength(0)
  fails = false
  expect(await (await threads.retry('t')).result).toMatchObject({ status: 'completed', text: 'Hello' })
  expect(shown(await threads.read('t'))).toEqual(['user: go', 'assistant: Hello'])
})

test('a suspended process that wakes after the takeover stops its run and writes nothing more (TH6)', async () => {
  const aborted: string[] = []
  const { first, second, shared } = two(
    () => respond(call('work')),
    async (signal) => {
      signal.addEventListener('abort', () => aborted.push('aborted'))
      return await new Promise<string>(() => {})
    },
  )
  const turn = await first.threads.send('t', 'go')
  await until(turn, 'tool-entered')
  await vi.advanceTimersByTimeAsync(LEASE / 2)
  first.process.pause()
  await vi.advanceTimersByTimeAsync(3 * LEASE)
  await second.threads.stop('t')
  const stored = [await shared.events('t'), await shared.turns('t')]
  expect(aborted).toEqual([])
  first.process.wake()
  await vi.advanceTimersByTimeAsync(3 * LEASE)
  expect(aborted).toEqual(['aborted'])
  expect([await shared.events('t'), await shared.turns('t')]).toEqual(stored)
  expect((await second.threads.read('t')).turns).toMatchObject([{ status: 'stopped' }])
})

test('as long as the store does not respond, one renewal of a lease waits, and the others join it (TH6)', async () => {
  const { first, second, shared } = two(() => respond(wait(12 * LEASE), say('Well.')))
  const changed = vi.spyOn(shared, 'change')
  const turn = await first.threads.send('t', 'go')
  await vi.advanceTimersByTimeAsync(LEASE / 2)
  first.process.pause()
  await vi.advanceTimersByTimeAsync(6 * LEASE)
  changed.mockClear()
  first.process.wake()
  await vi.advanceTimersByTimeAsync(0)
  expect(changed.mock.calls.length).toBe(2)
  await vi.advanceTimersByTimeAsync(12 * LEASE)
  expect(await turn.result).toMatchObject({ status: 'completed' })
  expect(second.model.requests).toHaveLength(0)
})

test('when a process closes its threads, another one can take over its turns at once (TH6)', async () => {
  const { first, second } = two(slowly)
  await first.threads.send('t', 'go')
  await vi.advanceTimersByTimeAsync(300)
  await first.threads.close()
  expect(await second.threads.recover()).toBe(1)
  await vi.advanceTimersByTimeAsync(8 * LEASE)
  expect((await second.threads.read('t')).turns).toMatchObject([{ status: 'completed' }])
})

test('a queue without a running turn is recovered, unless it is paused (TH1, TH6)', async () => {
  const { first, second } = two(() => respond(say('Well.')))
  const message = { role: 'user', content: 'left over' } as const
  await first.threads.send('t', 'go')
  await vi.advanceTimersByTimeAsync(10)
  const left = {
    id: 'x',
    number: 2,
    status: 'queued',
    messageId: 'm',
    message,
    createdAt: 0,
    epoch: 0,
    leaseUntil: 0,
  } as const
  await first.process.store.change('t', () => ({ turns: [left], result: undefined }))
  expect(await second.threads.recover()).toBe(1)
  await vi.advanceTimersByTimeAsync(10)
  expect(shown(await second.threads.read('t')).slice(2)).toEqual(['user: left over', 'assistant: Well.'])
})

test('at whichever write a process dies, the thread and a reader that continues have the messages of an undisturbed turn (TH5, TH6)', async () => {
  const script = ({ messages }: ModelRequest) =>
    messages.at(-1)?.role === 'tool' ? respond(say('a'), wait(60), say('b')) : respond(say('I work.'), call('look'))
  let deaths = 0
  for (let writes = 1; writes < 20; writes++) {
    const { first, second } = two(script)
    const sent = first.threads.send('t', 'go')
    first.process.kill(writes)
    let cursor: string | undefined
    let ids: string[] = []
    const receive = (event: ThreadEvent) => {
      cursor = event.cursor
      if (event.type === 'turn-resumed') ids = ids.filter((id) => event.messages.includes(id))
      if ('messageId' in event && event.messageId) ids.push(event.messageId)
    }
    void sent.then(async (turn) => {
      for await (const event of turn.events()) receive(event)
    })
    await vi.advanceTimersByTimeAsync(1)
    await vi.advanceTimersByTimeAsync(200)
    if (first.process.isDead) deaths++
    first.process.kill()
    await vi.advanceTimersByTimeAsync(3 * LEASE)
    await second.threads.recover()
    await vi.advanceTimersByTimeAsync(3 * LEASE)
    const { messages } = await second.threads.read('t')
    expect(messages.map(({ message }) => message.role)).toEqual(['user', 'assistant', 'tool', 'assistant'])
    const turn = await second.threads.turn('t')
    for (const event of await all(turn?.events(cursor === undefined ? {} : { after: cursor }) ?? none())) receive(event)
    expect(ids).toEqual(messages.map(({ id }) => id))
  }
  expect(deaths).toBeGreaterThan(6)
})

test('a checkpoint is kept as long as its turn can continue (TH4, TH9)', async () => {
  const { first, shared } = two(() => respond(say('Well.')))
  const model = scriptedModel([respond(call('x', '{}')), respond(fail({ status: 400 })), respond(say('Well.'))])
  const failing = createThreads({ agent: createAgent({ model }), store: shared })
  const kept = async ({ id }: { readonly id: string }) => (await shared.checkpoints.load(id)) !== undefined
  const done = await first.threads.send('t', 'go')
  await done.result
  expect(await kept(done)).toBe(false)
  const failed = await failing.send('t', 'fail')
  expect(await failed.result).toMatchObject({ status: 'failed' })
  expect(await kept(failed)).toBe(true)
  await (await first.threads.send('t', 'go on')).result
  expect(await kept(failed)).toBe(false)
  const waiting = await first.threads.send('t', 'stop')
  await first.threads.stop('t')
  expect(await kept(waiting)).toBe(false)
})

test('a closed watch takes over no more turns (TH6)', async () => {
  const { first, second } = two(slowly)
  const watch = second.threads.watch()
  await first.threads.send('t', 'go')
  await vi.advanceTimersByTimeAsync(300)
  first.process.kill()
  watch.close()
  await vi.advanceTimersByTimeAsync(10 * LEASE)
  expect(second.model.requests).toHaveLength(0)
  expect((await second.threads.read('t')).status).toBe('running')
})

test('accepted answers are not lost with their process, and the question is not asked again (TH6, TH8)', async () => {
  // The process dies at each of its writes, beginning with the write of the answer.
  for (let writes = 1; writes < 6; writes++) {
    const { second, ask, did } = asking(writes)
    await ask()
    await vi.advanceTimersByTimeAsync(4 * LEASE)
    await second.recover()
    await vi.advanceTimersByTimeAsync(4 * LEASE)
    expect(await second.read('t')).toMatchObject({ status: 'idle', turns: [{ status: 'completed' }] })
    expect(did.length).toBeLessThanOrEqual(1)
  }
})

test('a steering message to a lost run is not confused with another message that has the same text (TH1, TH6, TH11)', async () => {
  const gate = { open: () => {} }
  const opened = new Promise<void>((resolve) => {
    gate.open = resolve
  })
  const script = ({ messages }: ModelRequest) => {
    const last = messages.at(-1)
    return last?.role === 'user' && last.content === 'go' ? respond(call('work')) : respond(say('Well.'))
  }
  const { first, second } = two(script, () => opened.then(() => 'done'))
  await (await first.threads.send('t', 'yes', { messageId: 'yes-1' })).result
  await first.threads.send('t', 'go', { messageId: 'go' })
  await vi.advanceTimersByTimeAsync(10)
  first.process.kill()
  await second.threads.send('t', 'yes', { messageId: 'yes-2', whenBusy: 'steer' })
  await vi.advanceTimersByTimeAsync(3 * LEASE)
  const recovering = second.threads.recover()
  await second.threads.send('t', 'other', { messageId: 'other', whenBusy: 'steer' })
  expect(await recovering).toBe(1)
  gate.open()
  await vi.advanceTimersByTimeAsync(5 * LEASE)
  const { messages, turns } = await second.threads.read('t')
  const sent = messages.flatMap(({ id, message }) => (message.role === 'user' ? [[id, message.content]] : []))
  expect(sent).toEqual([
    ['yes-1', 'yes'],
    ['go', 'go'],
    ['yes-2', 'yes'],
    ['other', 'other'],
  ])
  expect(turns.map(({ status }) => status)).toEqual(['completed', 'completed'])
})

test('at whichever write a process dies after it has accepted a steering message, the message is in the thread once (TH1, TH6, TH11)', async () => {
  const script = ({ messages }: ModelRequest) =>
    messages.at(-1)?.content === 'go' ? respond(call('look')) : respond(say('a'), wait(60), say('b'))
  let joins = 0
  for (let writes = 0; writes < 12; writes++) {
    for (const ms of byTurns([0, 1, 30, 70], { small: 2, middle: 3, whole: 4 }, writes)) {
      const { first, second } = two(script)
      await first.threads.send('t', 'go', { messageId: 'go' })
      await first.threads.send('t', 'and more', { messageId: 'more', whenBusy: 'steer' })
      await vi.advanceTimersByTimeAsync(ms)
      first.process.kill(writes)
      await vi.advanceTimersByTimeAsync(200)
      first.process.kill()
      await vi.advanceTimersByTimeAsync(3 * LEASE)
      await second.threads.recover()
      await vi.advanceTimersByTimeAsync(3 * LEASE)
      const { messages, status, turns } = await second.threads.read('t')
      const users = messages.filter(({ message }) => message.role === 'user')
      expect(users.map(({ id, message }) => [id, message.content])).toEqual([
        ['go', 'go'],
        ['more', 'and more'],
      ])
      expect(status).toBe('idle')
      if (turns.length === 1) joins++
    }
  }
  expect(joins).toBeGreaterThan(sized({ small: 4, middle: 6, whole: 8 }))
})

test('a steering message that readers have received and no checkpoint has is sent to the run again (TH1, TH6)', async () => {
  const script = ({ messages }: ModelRequest) =>
    messages.at(-1)?.content === 'go' ? respond(wait(10), call('look')) : respond(say('a'), wait(60), say('b'))
  const { first, second, shared } = two(script)
  const { change } = shared
  // The disk is full for checkpoints from the message on.
  let isFull = false
  shared.change = (id, decide, options) =>
    change(
      id,
      (stored) => {
        const decided = decide(stored)
        if (isFull && decided.checkpoint) throw new Error('the disk is full')
        return decided
      },
      options,
    )
  await first.threads.send('t', 'go', { messageId: 'go' })
  await vi.advanceTimersByTimeAsync(5)
  isFull = true
  await first.threads.send('t', 'and more', { messageId: 'more', whenBusy: 'steer' })
  await vi.advanceTimersByTimeAsync(30)
  const stored = (await shared.events('t')).filter(({ event }) => 'messageId' in event && event.messageId === 'more')
  expect(stored).toHaveLength(1)
  first.process.kill()
  isFull = false
  await vi.advanceTimersByTimeAsync(3 * LEASE)
  await second.threads.recover()
  await vi.advanceTimersByTimeAsync(3 * LEASE)
  const { messages, turns } = await second.threads.read('t')
  expect(messages.flatMap(({ id, message }) => (message.role === 'user' ? [id] : []))).toEqual(['go', 'more'])
  expect(turns).toMatchObject([{ status: 'completed' }])
})

test('if the process that received an answer loses the turn, the answer is used and the turn continues in another process (TH6, TH8)', async () => {
  const { first, second, did } = asking(Number.POSITIVE_INFINITY)
  const { interrupts = [] } = await (await first.threads.send('t', 'go')).result
  const answering = first.threads.answer('t', { [interrupts[0]?.id ?? '']: true })
  // The answer is stored, and the run has not begun.
  first.process.pause()
  await vi.advanceTimersByTimeAsync(4 * LEASE)
  await second.recover()
  await vi.advanceTimersByTimeAsync(4 * LEASE)
  first.process.wake()
  await vi.advanceTimersByTimeAsync(4 * LEASE)
  expect(await (await answering).result).toMatchObject({ status: 'completed', text: 'Done.' })
  expect(did).toHaveLength(1)
})

/** A thread with a question. `ask` asks and answers it in a process that dies after this many writes. */
function asking(writes: number): {
  first: { process: Process; threads: Threads }
  second: Threads
  ask: () => Promise<void>
  did: unknown[]
} {
  const shared = memoryThreads()
  const did: unknown[] = []
  const opened = () => {
    const process = processOf(shared)
    const work = tool({
      name: 'work',
      description: 'Works.',
      input: z.object({}),
      execute: (_, { answers }) => {
        if (process.isDead) return 'dead'
        did.push(answers)
        return 'done'
      },
    })
    const model = scriptedModel([
      ({ messages }) => (messages.at(-1)?.role === 'tool' ? respond(say('Done.')) : respond(call('work'))),
      respond(say('Done.')),
    ])
    const asks = {
      name: 'asks',
      async *wrapToolCall(request, next, run) {
        if (run.answers.length === 0) interrupt('Really?')
        return yield* next(request)
      },
    } satisfies Middleware
    const threads = createThreads({
      agent: createAgent({ model, tools: [work], middleware: [asks] }),
      store: process.store,
      lease: LEASE,
    })
    return { process, threads }
  }
  const first = opened()
  const second = opened()
  const ask = async () => {
    await (await first.threads.send('t', 'go')).result
    const { interrupts } = await first.threads.read('t')
    first.process.kill(writes)
    void first.threads.answer('t', { [interrupts[0]?.id ?? '']: true })
  }
  return { first, second: second.threads, ask, did }
}

async function* none(): AsyncGenerator<ThreadEvent> {}
