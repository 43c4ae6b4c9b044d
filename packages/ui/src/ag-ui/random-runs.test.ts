import { call, fail, respond, type ScriptResponse, say, scriptedModel, think, wait } from '@meanwhile/assemble/testing'
import { createAgent, interrupt, type ModelRequest, type Tool, textOf, tool } from '@meanwhile/core'
import { approve, retryModel } from '@meanwhile/middleware'
import { propertyRuns } from '@meanwhile/tests/size'
import { createThreads, memoryThreads, type Threads } from '@meanwhile/threads'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { Client, comparable } from '../../test/ag-ui.ts'
import { agUiHandler, toAgUiMessages } from './index.ts'

beforeEach(() => {
  vi.spyOn(console, 'warn').mockImplementation((...words) => expect.unreachable(words.join(' ')))
})

afterEach(() => void vi.restoreAllMocks())

const slow = (name: string, ms: number) =>
  tool({
    name,
    description: name,
    input: z.object({ n: z.number() }),
    effect: 'read',
    async *execute({ n }, { signal }) {
      yield { progress: 0.5 }
      await new Promise((resolve, reject) => {
        setTimeout(resolve, ms * n)
        signal.addEventListener('abort', () => reject(signal.reason))
      })
      return { name, n }
    },
  }) as Tool

const mail = tool({
  name: 'mail',
  description: 'Sends mail.',
  input: z.object({ to: z.string() }),
  execute: ({ to }) => `Sent to ${to}.`,
}) as Tool

const choose = tool({
  name: 'choose',
  description: 'The page chooses.',
  input: z.object({}),
  output: z.string(),
}) as Tool

const ask = tool({
  name: 'ask',
  description: 'Asks.',
  input: z.object({}),
  execute: (_, { answers }) =>
    answers[0] ?? interrupt({ question: 'How many?' }, { answer: z.object({ count: z.number() }) }),
}) as Tool

const KINDS = ['text', 'thought', 'calls', 'mail', 'both', 'flaky', 'fails', 'choose', 'ask', 'build'] as const
type Kind = (typeof KINDS)[number]

/** A model that answers each kind of message once. */
function script(): (request: ModelRequest) => ScriptResponse {
  const failed = new Set<string>()
  const first: Readonly<Record<Kind, (text: string) => ScriptResponse>> = {
    text: (text) => respond(say('Well, '), wait(1), say(`you said ${text}`), wait(1), say('.')),
    thought: () => respond(think('Hm, '), wait(1), think('yes'), say('So. '), wait(1), think('And?'), say('So!')),
    calls: () => respond(think('I see.'), say('I look.'), call('one', { n: 2 }), wait(1), call('two', { n: 1 })),
    mail: () => respond(say('I write.'), call('mail', { to: 'ada' })),
    both: () => respond(call('mail', { to: 'ada' }), call('one', { n: 1 }), call('mail', { to: 'bob' })),
    flaky: (text) =>
      failed.has(text)
        ? respond(say('Now it works.'))
        : respond(think('Wrong'), wait(1), say('No'), wait(1), call('one', { n: 9 }), fail({ status: 503 })),
    fails: (text) =>
      failed.has(text)
        ? respond(say('Now it works.'))
        : respond(say('I begin'), wait(1), fail({ status: 400, code: 'bad', message: 'no' })),
    choose: () => respond(say('Which?'), call('choose', {})),
    ask: () => respond(call('one', { n: 1 }), call('ask', {})),
    build: () => respond(say('I build.'), call('build', { n: 3 }), call('one', { n: 1 })),
  }
  return ({ messages }) => {
    const last = messages.at(-1)
    if (last?.role === 'tool') return respond(say('It says: '), wait(1), say(textOf(last)))
    const text = last ? textOf(last) : ''
    const response = first[KINDS.find((kind) => text.startsWith(kind)) ?? 'text'](text)
    failed.add(text)
    return response
  }
}

/** The things that can happen during a run. */
const MEANWHILE = ['nothing', 'stop', 'join', 'leave', 'queue', 'steer', 'preempt'] as const
const ANSWERS = ['allow', 'deny', 'edit', 'cancel', 'write'] as const
/** What the user wants of the thread when no turn is running: to write something else first, another answer, in words or by cutting the list, or to try again. */
const AFTERWARDS = ['nothing', 'edit', 'again', 'cut', 'retry'] as const

interface Order {
  readonly kind: Kind
  readonly meanwhile: (typeof MEANWHILE)[number]
  /** After this many events. */
  readonly after: number
  /** The reaction to a question. */
  readonly answer: (typeof ANSWERS)[number]
  readonly afterwards: (typeof AFTERWARDS)[number]
  readonly isReloaded: boolean
}

const orders: fc.Arbitrary<readonly Order[]> = fc.array(
  fc.record({
    kind: fc.constantFrom(...KINDS),
    meanwhile: fc.constantFrom(...MEANWHILE),
    after: fc.integer({ min: 1, max: 14 }),
    answer: fc.constantFrom(...ANSWERS),
    afterwards: fc.constantFrom(...AFTERWARDS),
    isReloaded: fc.boolean(),
  }),
  { minLength: 1, maxLength: 4 },
)

async function expectEqual(client: Client, threads: Threads): Promise<void> {
  expect(client.messages).toEqual(comparable([...toAgUiMessages(await threads.read('t'))]))
}

async function expectNewest(threads: Threads, turn: string, isReplaced: boolean): Promise<void> {
  expect((await threads.read('t')).turns.at(-1)?.id !== turn).toBe(isReplaced)
}

class World {
  readonly threads: Threads
  readonly #handler: (request: Request) => Promise<Response>
  readonly #queued: Promise<unknown>[] = []
  readonly #posted: string[] = []
  #said = 0

  constructor() {
    const answer = script()
    const middleware = [approve({ tools: ['mail'] }), retryModel({ maxRetries: 1, baseDelay: 1, jitter: 0 })]
    const model = scriptedModel(Array.from({ length: 400 }, () => answer))
    const build = { ...slow('build', 1), background: true } as Tool
    const agent = createAgent({ model, tools: [slow('one', 2), slow('two', 1), build, mail, choose, ask], middleware })
    this.threads = createThreads({ agent, store: memoryThreads() })
    this.#handler = agUiHandler({ threads: this.threads, open: () => undefined, edits: true })
  }

  client(): Client {
    const client = new Client('http://chat.test/api/ag-ui', 't')
    client.agent.fetch = (url, init) => this.#handler(new Request(url, init))
    return client
  }

  id(): string {
    return `m${++this.#said}`
  }

  /** Resolves when no turn is running, and the thread has all messages of the clients. */
  async calm(): Promise<void> {
    for (;;) {
      const { status, messages, queued } = await this.threads.read('t')
      const known = new Set([...messages, ...queued].map(({ id }) => id))
      if (status !== 'running' && this.#posted.every((id) => known.has(id))) return
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
  }

  async end(): Promise<void> {
    await this.threads.stop('t', { queue: 'drop' })
    await Promise.all(this.#queued)
  }

  /** Sends a message, and does something else while the run streams. */
  async say(client: Client, { kind, meanwhile, after }: Order): Promise<void> {
    const id = this.id()
    const others: Promise<unknown>[] = []
    const happen = (): Promise<unknown> | undefined => {
      const other = this.client()
      switch (meanwhile) {
        case 'stop':
          return this.threads.stop('t')
        case 'join':
          return other.run().then(() => this.calm().then(() => expectEqual(other, this.threads)))
        case 'leave':
          client.agent.abortRun()
          return undefined
        case 'queue':
          // It may have to wait for an answer, or for the next message.
          this.#posted.push(this.id())
          this.#queued.push(other.say(`text ${id}`, this.#posted.at(-1)))
          return undefined
        case 'steer':
        case 'preempt':
          return this.threads.send('t', `text ${id}`, { messageId: this.id(), whenBusy: meanwhile })
      }
    }
    let count = 0
    const onEvent = () => {
      if (++count === after) others.push(Promise.resolve(happen()))
    }
    client.agent.addMessage({ id, role: 'user', content: `${kind} ${id}` })
    await client.run({}, { onEvent })
    await Promise.all(others)
    await this.calm()
    const { turns, status } = await this.threads.read('t')
    // A stop may have arrived when the client already had its question, or the call that it must execute.
    const isAsked = client.agent.pendingInterrupts.length + pendingCalls(client).length > 0
    const isTold = isAsked === (status === 'waiting')
    if (meanwhile !== 'leave' && isTold && turns.at(-1)?.messageId === id) await expectEqual(client, this.threads)
  }

  async answer(client: Client, answer: Order['answer']): Promise<void> {
    const { pendingInterrupts } = client.agent
    const calls = pendingCalls(client)
    if (pendingInterrupts.length === 0 && calls.length === 0) return
    if (answer === 'write') {
      client.agent.pendingInterrupts = []
      await client.say('text instead', this.id())
    } else if (pendingInterrupts.length === 0) {
      for (const toolCallId of calls) client.agent.addMessage({ id: this.id(), role: 'tool', toolCallId, content: 'a' })
      await client.run()
    } else if (answer === 'cancel')
      await client.run({ resume: pendingInterrupts.map(({ id }) => ({ interruptId: id, status: 'cancelled' })) })
    else {
      const approval = { approved: answer !== 'deny', ...(answer === 'edit' && { editedArgs: { to: 'eve' } }) }
      const resume = pendingInterrupts.map(({ id, reason }) => {
        const payload = reason === 'tool_call' ? approval : { count: 3 }
        return { interruptId: id, status: 'resolved' as const, payload }
      })
      await client.run({ resume })
    }
    await this.calm()
    // The next queued message may have started.
    if (client.agent.pendingInterrupts.length === 0 && this.#queued.length > 0) await client.run()
    if ((await this.threads.read('t')).status === 'idle') await expectEqual(client, this.threads)
  }

  /** Replaces turns, or tries one again, if no turn is running and the client has the messages of the thread. */
  async replace(client: Client, how: Order['afterwards']): Promise<void> {
    const { turns, status, queued } = await this.threads.read('t')
    const [first, newest] = [turns.at(0), turns.at(-1)]
    if (how === 'nothing' || status !== 'idle' || queued.length > 0 || !newest) return
    const { agent } = client
    // They may be replaced.
    this.#posted.length = 0
    if (how === 'edit') {
      agent.setMessages([])
      agent.addMessage({ id: this.id(), role: 'user', content: 'calls instead' })
      await client.run({ forwardedProps: { rewind: first?.messageId } })
    } else if (how === 'retry') {
      if (newest.status !== 'failed') return
      await client.run({ forwardedProps: { retry: true } })
    } else if (newest.status !== 'failed') {
      const kept = agent.messages.slice(0, agent.messages.findIndex(({ id }) => id === newest.messageId) + 1)
      const isAnsweredAgain = how === 'again' || kept.length < agent.messages.length
      agent.setMessages(kept)
      await client.run(how === 'again' ? { forwardedProps: { regenerate: true } } : {})
      await expectNewest(this.threads, newest.id, isAnsweredAgain)
    }
    await this.calm()
    await expectEqual(client, this.threads)
    await this.answer(client, 'allow')
  }
}

/** The calls that the client must execute. */
function pendingCalls({ events }: Client): readonly string[] {
  return Object(events.at(-1)?.outcome).pendingToolCallIds ?? []
}

test('whatever happens during a run, the client has the messages of the thread when it is over (UI1, UI2, UI5, W35, W36, W38)', async () => {
  await fc.assert(
    fc.asyncProperty(orders, async (list) => {
      const world = new World()
      let client = world.client()
      for (const order of list) {
        await world.say(client, order)
        // A client with an open question can only run with its answer.
        if (order.isReloaded || client.agent.pendingInterrupts.length > 0) client = world.client()
        await client.run()
        await expectEqual(client, world.threads)
        await world.answer(client, order.answer)
        await world.replace(client, order.afterwards)
      }
      await world.end()
    }),
    propertyRuns({ small: 2, middle: 3, whole: 5_000 }),
  )
}, 120_000)
