import { call, fail, respond, type ScriptResponse, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, interrupt, type Message, type ModelRequest, textOf, tool } from '@meanwhile/core'
import { propertyRuns } from '@meanwhile/tests/size'
import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { all } from '../test/chat.ts'
import { tables } from '../test/runs.ts'
import { createThreads, memoryThreads, type SendOptions, type ThreadState, type Threads, type Turn } from './index.ts'

const database = tables()

type Kind = 'text' | 'read' | 'ask' | 'two' | 'fail' | 'hold'

type Order =
  | { readonly type: 'say'; readonly kind: Kind }
  | { readonly type: 'answer'; readonly allow: boolean; readonly only: number }
  | { readonly type: 'meanwhile'; readonly whenBusy: 'queue' | 'steer' | 'preempt'; readonly kind: Kind }
  | { readonly type: 'stop'; readonly queue: 'keep' | 'drop' }
  | { readonly type: 'release' }
  | { readonly type: 'retry' }
  | { readonly type: 'edit'; readonly back: number; readonly kind: Kind }
  | { readonly type: 'rewind'; readonly back: number }
  | { readonly type: 'fork'; readonly back: number }

/** Returns an agent that does what the last message of the user says, and the list of what it did. */
function helper() {
  const did: string[] = []
  const failed = new Set<string>()
  /** Functions that end the running calls of `hold`. */
  const holding = new Set<() => void>()
  const ask = tool({
    name: 'ask',
    description: 'Asks.',
    input: z.object({ what: z.string() }),
    execute({ what }, { answers }) {
      if (answers.length === 0) interrupt(what, { answer: z.object({ allow: z.boolean() }) })
      did.push(`ask ${what} ${JSON.stringify(answers)}`)
      return `asked ${what}`
    },
  })
  const read = tool({
    name: 'read',
    description: 'Reads.',
    input: z.object({}),
    effect: 'read',
    execute: () => 'read it',
  })
  const hold = tool({
    name: 'hold',
    description: 'Waits until it is released.',
    input: z.object({}),
    execute: (_, { signal }) =>
      new Promise<string>((resolve, reject) => {
        const release = () => {
          holding.delete(release)
          resolve('held')
        }
        holding.add(release)
        did.push('hold')
        signal.addEventListener('abort', () => {
          holding.delete(release)
          reject(signal.reason)
        })
      }),
  })
  const script = ({ messages }: ModelRequest): ScriptResponse => {
    const question = textOf(messages.findLast(({ role }) => role === 'user') as Message)
    if (question.includes('fail') && !failed.has(question)) {
      failed.add(question)
      return respond(say('I fail.'), fail({ status: 400, message: 'no' }))
    }
    if (messages.at(-1)?.role === 'tool') return respond(say('So it is.'))
    if (question.includes('read')) return respond(say('I read.'), call('read'))
    if (question.includes('ask')) return respond(call('ask', { what: 'one' }), call('read'))
    if (question.includes('two')) return respond(call('ask', { what: 'one' }), call('ask', { what: 'two' }))
    if (question.includes('hold')) return respond(say('I hold.'), call('hold'))
    return respond(say(`You said ${question}.`))
  }
  const model = scriptedModel(Array.from({ length: 500 }, () => script))
  const agent = createAgent({ name: 'helper', model, tools: [ask, read, hold] })
  return {
    agent,
    did,
    get isHolding() {
      return holding.size > 0
    },
    release() {
      for (const one of holding) one()
    },
  }
}

class World {
  readonly threads: Threads<undefined>
  readonly helper = helper()
  /** Resolves when the run of the turn has received the steering message. */
  readonly #untilReceived: (turn: string) => Promise<void>
  #count = 0
  #forks = 0

  constructor(kind: 'local' | 'durable') {
    const { agent } = this.helper
    const onError = () => {}
    if (kind === 'local') {
      this.threads = createThreads<undefined>({ agent, store: memoryThreads(), onError })
      this.#untilReceived = async () => {}
      return
    }
    const runs = database.runsOf(agent)
    const store = database.newStore()
    this.threads = createThreads({ runs, store, onError })
    database.work(runs)
    this.#untilReceived = (turn) => waitUntil(async () => Object(await store.checkpoints.load(turn)).sent?.length > 0)
  }

  /** Executes the order. Returns its result, or the name of the error that it threw. */
  async execute(order: Order): Promise<unknown> {
    try {
      return await this.#execute(order)
    } catch (error) {
      return error instanceof Error ? error.name : error
    }
  }

  async #execute(order: Order): Promise<unknown> {
    const { threads, helper } = this
    const state = await threads.read('t')
    const before = ('back' in order && state.turns.at(-1 - order.back)?.messageId) || 'none'
    switch (order.type) {
      case 'say':
        await this.#say(order.kind)
        break
      case 'answer': {
        const asked = state.interrupts.slice(0, order.only)
        await threads.answer('t', Object.fromEntries(asked.map(({ id }) => [id, { allow: order.allow }])))
        break
      }
      case 'meanwhile': {
        const held = await this.#say('hold')
        await this.settle()
        await this.#say(order.kind, { whenBusy: order.whenBusy })
        const { status } = (await threads.read('t')).turns.at(-1) ?? {}
        if (order.whenBusy === 'preempt') await (await threads.turn('t'))?.result
        else if (order.whenBusy === 'steer' && status === 'running')
          await this.#untilReceived((await threads.turn('t'))?.id ?? held.id)
        helper.release()
        break
      }
      case 'stop':
        await threads.stop('t', { queue: order.queue })
        break
      case 'release':
        helper.release()
        break
      case 'retry':
        await threads.retry('t')
        break
      case 'edit':
        await this.#say(order.kind, { replacing: before })
        break
      case 'rewind':
        await threads.rewind('t', { before })
        break
      case 'fork': {
        const as = `fork ${++this.#forks}`
        await threads.fork('t', { as, ...(before !== 'none' && { before }) })
        return summaryOf(await threads.read(as))
      }
    }
    return undefined
  }

  #say(kind: Kind, options: SendOptions<undefined> = {}): Promise<Turn> {
    const text = `${++this.#count} ${kind}`
    return this.threads.send('t', text, { messageId: text, ...options })
  }

  /** Waits until no turn is running, or a call of `hold` waits. Returns the state of the thread. */
  async settle(): Promise<unknown> {
    await waitUntil(async () => {
      const { status, messages } = await this.threads.read('t')
      // The events of the call arrive a moment after it has begun.
      return (
        status !== 'running' || (this.helper.isHolding && JSON.stringify(messages.at(-1)).includes('"name":"hold"'))
      )
    })
    return summaryOf(await this.threads.read('t'))
  }

  /** Returns the messages that readers receive of each turn that is not running. */
  async readMessages(): Promise<unknown> {
    const { turns } = await this.threads.read('t')
    const messages: string[][] = []
    for (const { id, status } of turns) {
      const turn = status === 'running' ? undefined : await this.threads.turn('t', id)
      const events = turn ? await all(turn.events()) : []
      messages.push(events.flatMap((event) => (event.type === 'message' ? [textIn(event.message)] : [])))
    }
    return messages
  }
}

async function waitUntil(isTrue: () => Promise<boolean>): Promise<void> {
  await vi.waitFor(async () => expect(await isTrue()).toBe(true), { timeout: 60_000, interval: 5 })
}

function summaryOf({ status, messages, interrupts, settled, turns, queued }: ThreadState): unknown {
  const places = new Map(turns.map(({ id }, index) => [id, index]))
  return {
    status,
    messages: messages.map(({ turn, message }) => `${places.get(turn)} ${textIn(message)}`),
    interrupts: interrupts.map(({ payload }) => payload),
    settled: settled.map(textIn),
    turns: turns.map(({ status, messageId, error }) => [status, messageId, error]),
    queued: queued.map(({ id }) => id),
  }
}

const textIn = (message: Message) => `${message.role}: ${JSON.stringify(message.content)}`

const kind = fc.constantFrom<Kind>('text', 'read', 'ask', 'two', 'fail')
const back = fc.nat(2)
const order: fc.Arbitrary<Order> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ type: fc.constant('say' as const), kind }) },
  {
    weight: 5,
    arbitrary: fc.record({ type: fc.constant('answer' as const), allow: fc.boolean(), only: fc.constantFrom(1, 2) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('meanwhile' as const),
      whenBusy: fc.constantFrom('queue' as const, 'steer' as const, 'preempt' as const),
      kind,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('stop' as const),
      queue: fc.constantFrom('keep' as const, 'drop' as const),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ type: 'say' as const, kind: 'hold' as const }) },
  { weight: 2, arbitrary: fc.constant({ type: 'release' as const }) },
  { weight: 3, arbitrary: fc.constant({ type: 'retry' as const }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('edit' as const), back, kind }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('rewind' as const), back }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('fork' as const), back }) },
)

/** Executes the orders in threads of each kind. Throws at the first difference. */
async function expectSame(orders: readonly Order[]): Promise<void> {
  const [local, durable] = [new World('local'), new World('durable')]
  for (const one of orders) {
    const states = await Promise.all(
      [local, durable].map(async (world) => [one, await world.execute(one), await world.settle()]),
    )
    expect(states[1]).toEqual(states[0])
  }
  expect(await durable.readMessages()).toEqual(await local.readMessages())
  expect(durable.helper.did).toEqual(local.helper.did)
  await Promise.all([local, durable].map(({ threads }) => threads.delete('t')))
}

test('a retry of a failed turn that is the newest again after a rewind has the same result in both (TH4)', async () => {
  const failing: Order = { type: 'say', kind: 'fail' }
  await expectSame([failing, failing, { type: 'rewind', back: 0 }, { type: 'retry' }])
})

test('after any sequence of requests, threads over durable runs have the same state as threads in one process (TH1, TH2, TH3, TH4, TH5, TH7, TH8)', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(order, { minLength: 4, maxLength: 12 }), async (orders) => {
      await database.renew()
      await expectSame(orders)
    }),
    { ...propertyRuns({ small: 6, middle: 6, whole: 500 }), endOnFailure: true },
  )
})
