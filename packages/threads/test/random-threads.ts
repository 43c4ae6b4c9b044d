/** Plays random requests and crashes against a store, and checks the threads after them. */

import { call, fail, respond, type ScriptResponse, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { createAgent, interrupt, type Message, ModelError, type ModelRequest, textOf, tool } from '@meanwhile/core'
import type { propertyRuns } from '@meanwhile/tests/size'
import fc from 'fast-check'
import { expect, vi } from 'vitest'
import { z } from 'zod'
import {
  createThreads,
  type ThreadEvent,
  type ThreadStore,
  type Threads,
  type Turn,
  type TurnInfo,
  type WhenBusy,
} from '../src/index.ts'
import { isOpen } from '../src/stores/shared.ts'
import { type CheckedCheckpoints, checkedCheckpoints } from './checked-checkpoints.ts'
import { LEASE } from './fake-time.ts'
import { type Process, processOf } from './processes.ts'
import { questionAt, shorten } from './shorten.ts'

export interface RandomThreads {
  /** Returns an empty store. */
  newStore(): Promise<ThreadStore>
  /** Lets this many milliseconds of fake time pass, and lets the store answer meanwhile. */
  pass(ms: number): Promise<void>
  /** Sequences that are tried first. */
  readonly found: readonly (readonly Order[])[]
  /** How many sequences are tried. */
  readonly runs: ReturnType<typeof propertyRuns> & { readonly endOnFailure?: boolean }
  /** Whether each process runs one turn at a time, and has turns of other threads, too. Default false. */
  readonly isCrowded?: boolean
}

/** Milliseconds between two messages of other threads. */
const CROWD_INTERVAL = 400

/** In a turn of kind `short` the history is replaced before each step, and a tool is called. */
type Kind = 'text' | 'read' | 'write' | 'ask' | 'both' | 'fail' | 'short'

type Order =
  | { readonly type: 'say'; readonly kind: Kind; readonly whenBusy: WhenBusy }
  | { readonly type: 'stop'; readonly queue: 'keep' | 'drop' }
  | { readonly type: 'drop' }
  | { readonly type: 'answer' }
  | { readonly type: 'retry' }
  | { readonly type: 'kill'; readonly after: number }
  | { readonly type: 'zombie' }
  | { readonly type: 'reload' }
  | { readonly type: 'pass'; readonly ms: number }

/** The simulated processes, and what happened outside of the threads. */
class World {
  /** The changes that write a turn twice. Stores may write all turns of a change in one statement. */
  readonly repeating: (readonly string[])[] = []
  readonly shared: ThreadStore
  readonly checkpoints: CheckedCheckpoints
  readonly pass: RandomThreads['pass']
  /** The texts of the messages that were sent. */
  readonly sent: string[] = []
  readonly answered = new Set<string>()
  /** For each model call: the number of the last user message that it read. */
  readonly asked: number[] = []
  /** The executions of tools that change something, by their calls. */
  readonly did: string[] = []
  /** The errors that no caller received, other than those of the model. */
  readonly errors: unknown[] = []
  readonly turns: Turn[] = []
  /** For each page that was loaded: the id of its turn, and the ids of the messages that it shows in the end. */
  readonly reloaded: (readonly [turn: string, ids: Promise<string[]>])[] = []
  isOver = false
  readonly #failed = new Set<string>()
  process: Process
  threads: Threads
  readonly #all: { process: Process; threads: Threads }[] = []

  readonly #isCrowded: boolean
  /** Each message in its own thread: each turn of a long thread would read all turns before it. */
  #crowds = 0

  constructor(store: ThreadStore, { pass, isCrowded = false }: Pick<RandomThreads, 'pass' | 'isCrowded'>) {
    this.#isCrowded = isCrowded
    this.checkpoints = checkedCheckpoints(store)
    this.shared = this.#checked(this.checkpoints.store)
    this.pass = pass
    const begun = this.begin()
    this.process = begun.process
    this.threads = begun.threads
  }

  begin(): { process: Process; threads: Threads } {
    const process = processOf(this.shared)
    const onError = (error: unknown) => {
      if (!(error instanceof ModelError)) this.errors.push(error)
    }
    const own = this.#agent(process)
    const agent = ({ id }: TurnInfo) => (id === 't' ? own : crowd())
    const limits = this.#isCrowded ? { maxRunning: 1 } : {}
    const threads = createThreads({ agent, store: process.store, lease: LEASE, onError, ...limits })
    threads.watch()
    if (this.#isCrowded) this.#crowd(process, threads)
    this.#all.push({ process, threads })
    return { process, threads }
  }

  #crowd(process: Process, threads: Threads): void {
    const timer = setInterval(() => {
      if (this.isOver || process.isDead) clearInterval(timer)
      else void threads.send(`crowd ${++this.#crowds}`, 'x').catch(() => undefined)
    }, CROWD_INTERVAL)
  }

  #checked(store: ThreadStore): ThreadStore {
    const change: ThreadStore['change'] = (id, decide, options) =>
      store.change(
        id,
        (stored, now) => {
          const decided = decide(stored, now)
          const turns = (decided.turns ?? []).map((turn) => turn.id)
          if (new Set(turns).size < turns.length) this.repeating.push(turns)
          return decided
        },
        options,
      )
    return { ...store, change }
  }

  restart(): void {
    Object.assign(this, this.begin())
  }

  async end(): Promise<void> {
    for (const { process } of this.#all) process.wake()
    await this.pass(20 * LEASE)
  }

  #agent(process: Process) {
    const changed = (name: string) => (callId: string, key: string) => {
      if (!process.isDead) this.did.push(`${name} ${callId} ${key}`)
    }
    const read = tool({
      name: 'read',
      description: 'Reads.',
      input: z.object({}),
      effect: 'read',
      execute: () => pause(30).then(() => 'read it'),
    })
    const write = tool({
      name: 'write',
      description: 'Writes.',
      input: z.object({}),
      async execute(_, { callId, idempotencyKey }) {
        changed('write')(callId, idempotencyKey)
        await pause(30)
        return 'wrote it'
      },
    })
    const ask = tool({
      name: 'ask',
      description: 'Asks.',
      input: z.object({}),
      execute(_, { answers, callId, idempotencyKey }) {
        if (answers.length === 0) interrupt('Really?', { answer: z.object({ allow: z.boolean() }) })
        changed('ask')(callId, idempotencyKey)
        return 'asked'
      },
    })
    const script = ({ messages }: ModelRequest): ScriptResponse => {
      const question = textOf(messages[questionAt(messages)] as Message)
      if (!process.isDead) this.asked.push(Number(question.split(' ')[0]))
      const last = messages.at(-1)
      if (question.includes('fail') && !process.isDead && !this.#failed.has(question)) {
        this.#failed.add(question)
        return respond(say('I fail.'), wait(20), fail({ status: 400, message: 'no' }))
      }
      const pauses = [say('a '), wait(20), say('b '), wait(20), say('c ')]
      if (last?.role === 'tool') return respond(...pauses)
      if (question.includes('read') || question.includes('short'))
        return respond(say('I read. '), wait(20), call('read'))
      if (question.includes('write')) return respond(call('write'), wait(20))
      if (question.includes('ask')) return respond(say('I ask. '), call('ask'))
      if (question.includes('both')) return respond(call('ask'), call('read'), call('write'))
      return respond(...pauses)
    }
    const model = scriptedModel(Array.from({ length: 500 }, () => script))
    return createAgent({ name: 'random', model, tools: [read, write, ask], middleware: [shorten] })
  }
}

const crowd = () => createAgent({ name: 'random', model: scriptedModel([respond(wait(60), say('x'))]) })

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

async function execute(world: World, order: Order): Promise<void> {
  const { threads, process } = world
  switch (order.type) {
    case 'say': {
      const text = `${world.sent.length} ${order.kind}`
      world.sent.push(text)
      const sent = threads.send('t', text, { whenBusy: order.whenBusy, messageId: text })
      void sent.then(
        (turn) => world.turns.push(turn),
        () => undefined,
      )
      break
    }
    case 'stop':
      void threads.stop('t', { queue: order.queue }).catch(() => undefined)
      break
    case 'drop':
      // Also one that has begun, or was dropped before.
      void threads.drop('t', world.sent.at(-1) ?? 'none').catch(() => undefined)
      break
    case 'answer': {
      const stored = await world.shared.load('t')
      const interrupts = stored?.turns.find(({ status }) => status === 'waiting')?.interrupts
      for (const { id } of interrupts ?? []) {
        expect(world.answered).not.toContain(id)
        void threads.answer('t', { [id]: { allow: true } }).then(
          () => world.answered.add(id),
          () => undefined,
        )
      }
      break
    }
    case 'retry':
      void threads.retry('t').catch(() => undefined)
      break
    case 'kill':
      process.kill(order.after)
      await world.pass(50)
      process.kill()
      world.restart()
      break
    case 'zombie':
      process.pause()
      world.restart()
      setTimeout(() => process.wake(), 3 * LEASE)
      break
    case 'reload':
      await checkReaders(world)
      await reload(world)
      break
    case 'pass':
      await world.pass(order.ms)
  }
  await world.pass(0)
}

/** Checks that a reader of an ended turn receives the messages that `read` returns. */
async function checkReaders({ shared }: World): Promise<void> {
  const threads = createThreads({ agent: createAgent({ model: scriptedModel([]) }), store: shared })
  const { messages, turns } = await threads.read('t')
  for (const { id, status } of turns) {
    if (status === 'running' || status === 'waiting') continue
    const events: ThreadEvent[] = []
    for await (const event of (await threads.turn('t', id))?.events() ?? []) events.push(event)
    const ids = events.flatMap((event) => ('messageId' in event && event.messageId ? [event.messageId] : []))
    expect(ids).toEqual(messages.filter(({ turn }) => turn === id).map(({ id }) => id))
    expect(events.at(-1)).toMatchObject({ type: 'turn-end', status })
  }
}

/** Loads a page: it shows the state of the thread and follows the events after its cursor. */
async function reload(world: World): Promise<void> {
  const threads = createThreads({ agent: createAgent({ model: scriptedModel([]) }), store: world.shared })
  const { messages, cursor } = await threads.read('t')
  const turn = await threads.turn('t')
  if (!turn) return
  const ids = messages.filter((one) => one.turn === turn.id).map(({ id }) => id)
  world.reloaded.push([turn.id, messagesOf(world, turn, ids, cursor)])
}

/** Reads the events of all turns, from their beginnings and over all restarts. Returns the message ids that the reader has in the end, by turn. */
function follow(world: World): Map<string, Promise<string[]>> {
  const followed = new Map<string, Promise<string[]>>()
  const threads = createThreads({ agent: createAgent({ model: scriptedModel([]) }), store: world.shared })
  const look = async () => {
    const turn = await threads.turn('t')
    if (turn && !followed.has(turn.id)) followed.set(turn.id, messagesOf(world, turn))
  }
  // Not more often: each look is two statements, which take milliseconds each on a busy machine. A turn takes 60 ms or longer.
  setInterval(() => void look(), 60)
  return followed
}

/** Reads a turn until the test is over, because a waiting turn may continue and a failed turn may be retried. */
async function messagesOf(world: World, turn: Turn, shown: string[] = [], cursor?: string): Promise<string[]> {
  let ids = shown
  let after = cursor
  for (;;) {
    for await (const event of turn.events(after === undefined ? {} : { after })) {
      after = event.cursor
      if (event.type === 'turn-resumed') ids = ids.filter((id) => event.messages.includes(id))
      if ('messageId' in event && event.messageId) ids.push(event.messageId)
      if (event.type === 'turn-end' && event.status !== 'failed') return ids
    }
    if (world.isOver) return ids
    await pause(LEASE)
  }
}

const order: fc.Arbitrary<Order> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      type: fc.constant('say' as const),
      kind: fc.constantFrom<Kind>('text', 'read', 'write', 'ask', 'both', 'fail', 'short'),
      whenBusy: fc.constantFrom<WhenBusy>('queue', 'steer', 'preempt'),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant('stop' as const),
      queue: fc.constantFrom('keep' as const, 'drop' as const),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ type: 'drop' as const }) },
  { weight: 3, arbitrary: fc.constant({ type: 'answer' as const }) },
  { weight: 1, arbitrary: fc.constant({ type: 'retry' as const }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('kill' as const), after: fc.nat(6) }) },
  { weight: 1, arbitrary: fc.constant({ type: 'zombie' as const }) },
  { weight: 1, arbitrary: fc.constant({ type: 'reload' as const }) },
  {
    weight: 6,
    arbitrary: fc.record({ type: fc.constant('pass' as const), ms: fc.constantFrom(1, 10, 30, 70, 200, 1_500) }),
  },
)

const saying = (kind: Kind, whenBusy: WhenBusy): Order => ({ type: 'say', kind, whenBusy })

/** Sequences that once failed, by the store with which they did. */
export const FOUND = {
  memory: [
    [saying('text', 'queue'), saying('text', 'steer'), { type: 'pass', ms: 1 }],
    [saying('text', 'queue'), { type: 'kill', after: 3 }, saying('text', 'steer'), { type: 'pass', ms: 1 }],
    [
      saying('text', 'queue'),
      saying('text', 'steer'),
      saying('both', 'preempt'),
      { type: 'pass', ms: 1_500 },
      { type: 'stop', queue: 'drop' },
      saying('text', 'queue'),
    ],
    [
      saying('both', 'queue'),
      saying('text', 'preempt'),
      { type: 'kill', after: 1 },
      { type: 'pass', ms: 1 },
      { type: 'answer' },
    ],
    [saying('text', 'queue'), { type: 'kill', after: 3 }, { type: 'pass', ms: 1 }, saying('text', 'preempt')],
  ],
  postgres: [[saying('fail', 'queue'), saying('text', 'queue'), { type: 'pass', ms: 1_500 }]],
} as const satisfies Readonly<Record<string, readonly (readonly Order[])[]>>

/** Checks what must hold after any sequence of requests and crashes. Timers must be fake. */
export async function checkRandomThreads({ newStore, found, runs, ...options }: RandomThreads): Promise<void> {
  await fc.assert(
    fc.asyncProperty(fc.array(order, { minLength: 3, maxLength: 14 }), async (orders) => {
      const world = new World(await newStore(), options)
      const followed = follow(world)
      for (const one of orders) await execute(world, one)
      await world.end()
      // Clients send messages again if `send` did not resolve. A new message starts a paused queue again.
      world.sent.push(`${world.sent.length} text`)
      for (const text of world.sent) await within(world, world.threads.send('t', text, { messageId: text }))
      for (let round = 0; round < 40 && (await isBusy(world)); round++) {
        await world.pass(2 * LEASE)
        await execute(world, { type: 'answer' })
      }
      await world.pass(5 * LEASE)
      const state = await world.threads.read('t')
      expect(state).toMatchObject({ status: 'idle', queued: [], interrupts: [] })
      const failed = state.turns.filter(({ status }) => status === 'failed')
      const fails = ({ id }: { readonly id: string }) =>
        state.messages.some(({ turn, message }) => turn === id && textOf(message).includes('fail'))
      expect(failed.filter((turn) => !fails(turn))).toEqual([])
      const users = state.messages
        .filter(({ message }) => message.role === 'user')
        .map(({ message }) => textOf(message))
      const dropped = (await world.shared.turns('t')).filter(({ status }) => status === 'dropped')
      expect([...users, ...dropped.map(({ messageId }) => messageId)].sort()).toEqual([...world.sent].sort())
      expect(new Set(world.did).size).toBe(world.did.length)
      expect(world.repeating).toEqual([])
      expect(world.checkpoints.faults).toEqual([])
      expect(world.errors).toEqual([])
      // After a later message was answered, no earlier one is answered.
      const place = new Map(users.map((text, index) => [Number(text.split(' ')[0]), index]))
      const places = world.asked.map((number) => place.get(number) ?? -1)
      expect(places).toEqual(places.toSorted((a, b) => a - b))
      await checkReaders(world)
      world.isOver = true
      for (const [turn, ids] of [...followed, ...world.reloaded]) {
        expect(await within(world, ids)).toEqual(state.messages.filter((one) => one.turn === turn).map(({ id }) => id))
      }
      vi.clearAllTimers()
    }),
    {
      examples: found.map((orders) => [[...orders]]),
      ...runs,
    },
  )
}

async function isBusy({ shared }: World): Promise<boolean> {
  return (await shared.turns('t')).some(isOpen)
}

async function within<Result>({ pass }: World, promise: Promise<Result>): Promise<Result> {
  let settled = false
  promise
    .catch(() => undefined)
    .finally(() => {
      settled = true
    })
  for (let tries = 0; !settled && tries < 200; tries++) await pass(100)
  if (!settled) throw new Error('the promise did not settle')
  return await promise
}
