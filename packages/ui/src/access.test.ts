import { call, fail, respond, type ScriptResponse, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, type Tool, tool } from '@meanwhile/core'
import { approve } from '@meanwhile/middleware'
import { createThreads, memoryThreads, type ThreadRuns, type Threads, type ThreadsOptions } from '@meanwhile/threads'
import { afterEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { gate } from '../test/gate.ts'
import { agUiHandler } from './ag-ui/index.ts'
import { chatHandler } from './ai-sdk/index.ts'
import type { Access, HandlerOptions } from './handler-options.ts'

const userSchema = z.object({ user: z.string() })
type User = Readonly<z.output<typeof userSchema>>

const closing: Threads<User>[] = []
afterEach(async () => {
  for (const threads of closing.splice(0)) await threads.close()
})

type Given = Partial<Pick<ThreadsOptions, 'whenBusy' | 'whenAsking'>> &
  Partial<Pick<HandlerOptions<User>, 'open' | 'metadata'>> & {
    readonly script?: readonly ScriptResponse[]
    /** Without `metadata`. */
    readonly isAsBefore?: boolean
  }

const hello = respond(say('Hello.'))
const pays = respond(call('pay', {}))
const waits = respond(say('I wait.'), call('wait', {}))

/** A thread that a guest and an admin share. The guest may change only its own turns; the context has the rights of a run. */
function shared({ script = [], open, metadata, isAsBefore = false, ...policy }: Given) {
  const paid: string[] = []
  const { opened: going, open: go } = gate()
  const pay = tool({
    name: 'pay',
    description: 'Pays.',
    input: z.object({}),
    context: userSchema,
    execute: (_, { context: { user } }) => {
      paid.push(user)
      return 'Paid.'
    },
  })
  const wait = tool({
    name: 'wait',
    description: 'Waits.',
    input: z.object({}),
    execute: (_, { signal }) =>
      Promise.race([going, new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))]),
  })
  const ask = tool({ name: 'ask', description: 'The user answers.', input: z.object({}), output: z.string() })
  const agent = createAgent({
    model: scriptedModel([...script, ...Array.from({ length: 9 }, () => hello)]),
    tools: [pay, wait, ask] as Tool[],
    middleware: [approve({ tools: ['pay'] })],
  })
  const store = memoryThreads()
  const options = {
    agent,
    store,
    context: ({ metadata }) => userSchema.parse(metadata),
    ...policy,
  } satisfies ThreadsOptions
  const opened = () => {
    const threads = createThreads<User>(options)
    closing.push(threads)
    return threads
  }
  const threads = opened()
  const asked: (readonly [user: string, action: string, whose: string | undefined])[] = []
  const given: HandlerOptions<User> = {
    threads,
    ...(!isAsBefore && { metadata: metadata ?? ((context) => ({ user: context?.user ?? '' })) }),
    async open(request, thread, access) {
      if (open) return open(request, thread, access)
      const user = request.headers.get('authorization') ?? ''
      const turn = await access.turn()
      const whose = (turn?.metadata as User | undefined)?.user
      asked.push([user, access.action, whose])
      const isOwn = turn === undefined || whose === user
      return user === 'admin' || isOwn ? { user } : new Response(null, { status: 403 })
    },
  }
  const [chat, agUi] = [chatHandler<User>(given), agUiHandler<User>(given)]
  const request = (path: string, user: string, body?: object) =>
    new Request(`http://chat.test/api/${path}`, {
      method: body || path.endsWith('stop') ? 'POST' : 'GET',
      headers: { authorization: user, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    })
  const ui = (id: string) => ({ id, role: 'user', parts: [{ type: 'text', text: id }] })
  const run = (user: string, more: object) =>
    agUi(request('ag-ui', user, { threadId: 't', runId: 'r', messages: [], ...more }))
  const idOfQuestion = async () => (await threads.read('t')).interrupts[0]?.id ?? ''
  const idOfTurn = async () => (await threads.read('t')).turns.at(-1)?.id
  const actions = {
    'chat: send': (user: string) => chat(request('chat', user, { id: 't', messages: [ui('m9')] })),
    'chat: edit': (user: string) => chat(request('chat', user, { id: 't', messages: [ui('m1')], messageId: 'm1' })),
    'chat: regenerate': (user: string) =>
      chat(request('chat', user, { id: 't', messages: [ui('m1')], trigger: 'regenerate-message' })),
    'chat: answer': async (user: string) => {
      const answers = { [await idOfQuestion()]: { decision: 'allow' } }
      return chat(request('chat', user, { id: 't', messages: [{ id: 'a', role: 'assistant', parts: [] }], answers }))
    },
    'chat: output': async (user: string) => {
      const parts = [{ type: 'dynamic-tool', toolCallId: 'call_2_1', state: 'output-available', output: 'Mine' }]
      return chat(request('chat', user, { id: 't', messages: [{ id: await idOfTurn(), role: 'assistant', parts }] }))
    },
    'chat: stop': (user: string) => chat(request('chat/t/stop', user)),
    'chat: drop m2': (user: string) => chat(request('chat/t/drop', user, { messageId: 'm2' })),
    'chat: read': (user: string) => chat(request('chat/t', user)),
    'chat: stream': (user: string) => chat(request('chat/t/stream', user)),
    'ag-ui: send': (user: string) => run(user, { messages: [{ id: 'm9', role: 'user', content: 'Hi' }] }),
    'ag-ui: rewind': (user: string) =>
      run(user, { messages: [{ id: 'm1', role: 'user', content: 'Hi' }], forwardedProps: { rewind: 'm1' } }),
    'ag-ui: answer': async (user: string) =>
      run(user, {
        resume: [{ interruptId: await idOfQuestion(), status: 'resolved', payload: { approved: true } }],
      }),
    'ag-ui: output': async (user: string) =>
      run(user, {
        messages: [{ id: 'm9', role: 'tool', toolCallId: `${await idOfTurn()}-call_2_1`, content: 'Mine' }],
      }),
    'ag-ui: cancel': async (user: string) => run(user, { resume: [{ interruptId: 'i', status: 'cancelled' }] }),
    'ag-ui: cancel and send': async (user: string) =>
      run(user, {
        resume: [{ interruptId: await idOfQuestion(), status: 'cancelled' }],
        messages: [{ id: 'm2', role: 'user', content: 'Instead' }],
      }),
    'ag-ui: retry': (user: string) => run(user, { forwardedProps: { retry: true } }),
    'ag-ui: stop': (user: string) => agUi(request('ag-ui/t/stop', user)),
    'ag-ui: read': (user: string) => run(user, {}),
  }
  return {
    threads,
    opened,
    paid,
    asked,
    go,
    /** The user sends the message `m1`, and its turn ends, waits or runs. */
    async begin(user: string, status: 'completed' | 'failed' | 'waiting' | 'running') {
      const turn = await threads.send('t', 'Hi', { messageId: 'm1', metadata: { user }, context: { user } })
      if (status === 'running')
        await vi.waitFor(async () => expect((await threads.read('t')).messages).toHaveLength(2), { timeout: 60_000 })
      else expect(await turn.result).toMatchObject({ status })
      asked.length = 0
      return turn
    },
    async act(action: string, user: string) {
      const response = await actions[action as keyof typeof actions](user)
      // Its turn may wait forever.
      void response.body?.cancel()
      return response.status
    },
  }
}

const STATUS = {
  completed: [hello],
  failed: [respond(fail({ status: 400, message: 'no' }))],
  waiting: [pays],
  running: [waits],
} satisfies Record<string, readonly ScriptResponse[]>

/** The state of the turn `m1`, the request, and the questions to `open`, in order: the action, and the turn that it is shown. */
const TABLE: readonly (readonly [status: keyof typeof STATUS, act: string, asked: readonly string[], given?: Given])[] =
  [
    ['completed', 'chat: send', ['send']],
    ['completed', 'chat: edit', ['edit of m1']],
    ['completed', 'chat: regenerate', ['regenerate of m1']],
    ['completed', 'chat: read', ['read']],
    ['completed', 'chat: stream', ['read']],
    ['completed', 'chat: stop', ['stop']],
    ['completed', 'ag-ui: send', ['send']],
    ['completed', 'ag-ui: rewind', ['rewind of m1']],
    ['completed', 'ag-ui: read', ['read']],
    ['completed', 'ag-ui: stop', ['stop']],
    ['failed', 'chat: regenerate', ['regenerate of m1', 'retry of m1']],
    ['failed', 'ag-ui: retry', ['retry of m1']],
    ['waiting', 'chat: answer', ['answer of m1']],
    ['waiting', 'chat: send', ['send of m1', 'stop of m1']],
    ['waiting', 'chat: send', ['send'], { whenAsking: 'reject' }],
    ['waiting', 'chat: edit', ['edit of m1']],
    ['waiting', 'chat: stop', ['stop of m1']],
    ['waiting', 'chat: read', ['read']],
    ['waiting', 'ag-ui: answer', ['answer of m1']],
    ['waiting', 'ag-ui: send', ['send of m1', 'stop of m1']],
    ['waiting', 'ag-ui: stop', ['stop of m1']],
    ['waiting', 'ag-ui: rewind', ['rewind of m1']],
    ['running', 'chat: send', ['send']],
    ['running', 'chat: send', ['send of m1', 'steer of m1'], { whenBusy: 'steer' }],
    ['running', 'chat: send', ['send of m1', 'stop of m1'], { whenBusy: 'preempt' }],
    ['running', 'ag-ui: send', ['send']],
    ['running', 'ag-ui: send', ['send of m1', 'steer of m1'], { whenBusy: 'steer' }],
    ['running', 'ag-ui: send', ['send of m1', 'stop of m1'], { whenBusy: 'preempt' }],
    ['running', 'chat: stop', ['stop of m1']],
    ['running', 'chat: stream', ['read']],
    ['running', 'ag-ui: stop', ['stop of m1']],
    ['running', 'ag-ui: read', ['read']],
  ]

const CASES = TABLE.flatMap((row) =>
  (['guest', 'admin'] as const).flatMap((who) => (['guest', 'admin'] as const).map((whose) => ({ row, who, whose }))),
)

test.for(CASES)(
  'of a turn of $whose: $row.0, $row.1 by $who: open is asked what it does before anything is changed (W52)',
  async ({ row: [status, act, expected, given], who, whose }) => {
    const { threads, asked, begin, act: acts } = shared({ script: STATUS[status], ...given })
    await begin(whose, status)
    const before = await threads.read('t')
    const isAllowed = who === 'admin' || who === whose || expected[0]?.endsWith('of m1') === false
    expect((await acts(act, who)) === 403).toBe(!isAllowed)
    const shown = asked.map(([user, action, owner]) => [user, owner === undefined ? action : `${action} of m1`, owner])
    const seen = (isAllowed ? expected : expected.slice(0, 1)).map((one) => [
      who,
      one,
      one.endsWith('of m1') ? whose : undefined,
    ])
    expect(shown).toEqual(seen)
    if (!isAllowed) expect(await threads.read('t')).toEqual(before)
  },
)

test('of a message in the queue open is shown the turn, and a guest cannot take out that of the admin (W52)', async () => {
  const { threads, asked, begin, act } = shared({ script: STATUS.running })
  await begin('guest', 'running')
  const user = 'admin'
  await threads.send('t', 'Hi', { messageId: 'm2', metadata: { user }, context: { user } })
  expect(await act('chat: drop m2', 'guest')).toBe(403)
  expect((await threads.read('t')).queued).toHaveLength(1)
  expect(await act('chat: drop m2', 'admin')).toBe(204)
  expect((await threads.read('t')).queued).toEqual([])
  expect(asked).toEqual([
    ['guest', 'drop', 'admin'],
    ['admin', 'drop', 'admin'],
  ])
})

test('a request that turns out to do more is refused by the second question, and nothing has changed (W52)', async () => {
  for (const [given, act, more, status] of [
    [{ whenBusy: 'steer' }, 'send', 'steer', 'running'],
    [{ whenBusy: 'preempt' }, 'send', 'stop', 'running'],
    [{}, 'send', 'stop', 'waiting'],
    [{}, 'regenerate', 'retry', 'failed'],
  ] as const)
    for (const door of ['chat', 'ag-ui'] as const) {
      if (act === 'regenerate' && door === 'ag-ui') continue
      const actions: string[] = []
      const open = (_: Request, __: string, { action }: Access) => {
        actions.push(action)
        return action === more ? new Response(null, { status: 403 }) : { user: 'guest' }
      }
      const { threads, begin, act: acts } = shared({ script: STATUS[status], open, ...given })
      await begin('admin', status)
      const before = await threads.read('t')
      expect([door, await acts(`${door}: ${act}`, 'guest'), actions]).toEqual([door, 403, [act, more]])
      expect(await threads.read('t')).toEqual(before)
    }
})

test.for([
  ['chat: stop', 'running'],
  ['chat: edit', 'completed'],
  ['chat: send', 'waiting'],
  ['chat: answer', 'waiting'],
  ['ag-ui: stop', 'running'],
  ['ag-ui: rewind', 'completed'],
  ['ag-ui: retry', 'failed'],
  ['ag-ui: send', 'waiting'],
] as const)(
  '%s of a %s turn is 409 if the thread has another turn by then, and nothing has changed (W52)',
  async (given) => {
    const [act, status] = given
    let before: unknown
    const {
      threads,
      begin,
      act: acts,
      go,
    } = shared({
      script: [...STATUS[status], pays, waits],
      async open(_, __, { turn }) {
        expect((await turn())?.metadata).toEqual({ user: 'guest' })
        // The turn ends, and the admin begins another one in its place.
        if (status === 'running') go()
        await vi.waitFor(async () => expect((await threads.read('t')).status).not.toBe('running'), { timeout: 60_000 })
        await threads.rewind('t', { before: 'm1' })
        await (await threads.send('t', 'Mine', { messageId: 'm1', metadata: { user: 'admin' } })).result
        before = await threads.read('t')
        return { user: 'guest' }
      },
    })
    await begin('guest', status)
    expect(await acts(act, 'guest')).toBe(409)
    expect(await threads.read('t')).toEqual(before)
  },
)

test('an answer to a question that opens after open was shown no turn is 409, and the question stays open (W52)', async () => {
  const { threads, begin, act, go } = shared({
    script: [waits, respond(call('ask', {}))],
    async open(_, __, { turn }) {
      expect(await turn()).toBeUndefined()
      go()
      await vi.waitFor(async () => expect((await threads.read('t')).status).toBe('waiting'), { timeout: 60_000 })
      return { user: 'guest' }
    },
  })
  await begin('admin', 'running')
  expect(await act('chat: output', 'guest')).toBe(409)
  expect((await threads.read('t')).status).toBe('waiting')
})

test.for([
  ['chat', ['answer of guest']],
  ['ag-ui', ['read of undefined', 'answer of guest']],
] as const)(
  'in %s the output of a client tool is an answer, of which open is asked %j (W52)',
  async ([door, questions]) => {
    const { begin, act, asked, go } = shared({ script: [waits, respond(call('ask', {}))] })
    const turn = await begin('guest', 'running')
    go()
    expect(await turn.result).toMatchObject({ status: 'waiting' })
    expect(await act(`${door}: output`, 'guest')).toBe(200)
    expect(asked.map(([, action, whose]) => `${action} of ${whose}`)).toEqual(questions)
    expect(await turn.result).toMatchObject({ status: 'completed' })
  },
)

test.for(['chat', 'ag-ui'] as const)(
  'in %s a message that meets another state of the thread than was read is tried again, and open is asked again (W52)',
  async (door) => {
    const actions: string[] = []
    const { threads, begin, act, go } = shared({
      script: [waits, pays],
      open(_, __, { action }) {
        actions.push(action)
        return { user: 'admin' }
      },
      async metadata() {
        go()
        await vi.waitFor(async () => expect((await threads.read('t')).status).toBe('waiting'), { timeout: 60_000 })
        return { user: 'admin' }
      },
    })
    await begin('guest', 'running')
    expect(await act(`${door}: send`, 'admin')).toBe(200)
    expect(actions).toEqual(['send', 'stop'])
    const begun = async () => (await threads.read('t')).turns.map(({ messageId }) => messageId)
    await vi.waitFor(async () => expect(await begun()).toEqual(['m1', 'm9']), { timeout: 60_000 })
  },
)

test.for(['chat', 'ag-ui'] as const)(
  'in %s a message is 409 if the thread changes each time before it is stored (W52)',
  async (door) => {
    let sent = 0
    const { threads, begin, act } = shared({
      script: Array.from({ length: 9 }, () => pays),
      open: () => ({ user: 'admin' }),
      async metadata() {
        await (await threads.send('t', 'Mine', { messageId: `other-${++sent}`, metadata: { user: 'guest' } })).result
        return { user: 'admin' }
      },
    })
    await begin('guest', 'waiting')
    expect([await act(`${door}: send`, 'admin'), sent]).toEqual([409, 3])
    expect((await threads.read('t')).turns.map(({ messageId }) => messageId)).not.toContain('m9')
  },
)

test('a request that stops the turn that open was shown, and adds a message, does both (W52)', async () => {
  const { threads, asked, begin, act } = shared({ script: [respond(call('ask', {}))] })
  await begin('guest', 'waiting')
  expect(await act('ag-ui: cancel and send', 'guest')).toBe(200)
  expect(asked).toEqual([
    ['guest', 'answer', 'guest'],
    ['guest', 'send', 'guest'],
    ['guest', 'stop', 'guest'],
  ])
  // The turn of the message begins when the other one is closed.
  await vi.waitFor(
    async () => {
      const { messages, turns } = await threads.read('t')
      expect(messages.map(({ id }) => id)).toContain('m2')
      expect(turns[0]?.status).toBe('stopped')
    },
    { timeout: 60_000 },
  )
})

test.for(['chat', 'ag-ui'] as const)(
  'in %s a turn keeps the rights of its sender, no matter who answers or retries (W52)',
  async (door) => {
    const answered = shared({ script: [pays] })
    const turn = await answered.begin('guest', 'waiting')
    await answered.act(`${door}: answer`, 'admin')
    expect(await turn.result).toMatchObject({ status: 'completed' })
    expect(answered.paid).toEqual(['guest'])

    const failed = shared({ script: [respond(fail({ status: 400, message: 'no' })), pays] })
    const retried = await failed.begin('guest', 'failed')
    await failed.act(door === 'chat' ? 'chat: regenerate' : 'ag-ui: retry', 'admin')
    await vi.waitFor(async () => expect((await failed.threads.read('t')).status).toBe('waiting'), { timeout: 60_000 })
    await failed.act(`${door}: answer`, 'admin')
    expect(await retried.result).toMatchObject({ status: 'completed' })
    expect(failed.paid).toEqual(['guest'])
  },
)

test.for(['chat', 'ag-ui'] as const)(
  'in %s a message that steers gives the turn no rights, and an edit has those of its sender (W52)',
  async (door) => {
    const { threads, begin, act, go, paid } = shared({ script: [waits, pays, hello, pays], whenBusy: 'steer' })
    const turn = await begin('guest', 'running')
    expect(await act(`${door}: send`, 'admin')).toBe(200)
    go()
    expect(await turn.result).toMatchObject({ status: 'waiting' })
    await act(`${door}: answer`, 'admin')
    await turn.result
    expect(paid).toEqual(['guest'])
    await act(door === 'chat' ? 'chat: edit' : 'ag-ui: rewind', 'admin')
    await vi.waitFor(async () => expect((await threads.read('t')).status).toBe('waiting'), { timeout: 60_000 })
    await act(`${door}: answer`, 'guest')
    await act(`${door}: answer`, 'admin')
    await (await threads.turn('t'))?.result
    expect(paid).toEqual(['guest', 'admin'])
  },
)

test('a process that takes over a turn makes the context of its sender again (W52)', async () => {
  const { threads, opened, begin, paid } = shared({ script: [waits, pays] })
  const turn = await begin('guest', 'running')
  // A call that has not begun would begin in the next process, and wait there.
  for await (const { type } of turn.events()) if (type === 'tool-entered') break
  await threads.close()
  const next = opened()
  await next.recover()
  await (await next.turn('t', turn.id))?.result
  const { interrupts } = await next.read('t')
  await next.answer('t', { [interrupts[0]?.id ?? '']: { decision: 'allow' } })
  expect(await (await next.turn('t', turn.id))?.result).toMatchObject({ status: 'completed' })
  expect(paid).toEqual(['guest'])
})

test('without metadata, a run has the rights of the user who answers (W52)', async () => {
  const { begin, act, paid } = shared({ script: [pays], isAsBefore: true })
  const turn = await begin('guest', 'waiting')
  await act('chat: answer', 'admin')
  await turn.result
  expect(paid).toEqual(['admin'])
})

test('metadata is called for messages only, with the context and the request (W52)', async () => {
  const calls: unknown[] = []
  const { begin, act } = shared({
    script: [pays],
    metadata: (context, request) => {
      calls.push([context, new URL(request.url).pathname])
      return { user: 'guest' }
    },
  })
  await begin('guest', 'waiting')
  for (const action of ['chat: answer', 'chat: read', 'chat: stop', 'ag-ui: read']) await act(action, 'admin')
  expect(calls).toEqual([])
  await act('chat: send', 'admin')
  expect(calls).toEqual([[{ user: 'admin' }, '/api/chat']])
})

/** Durable runs that never take a turn. */
const idleRuns: ThreadRuns = {
  agents: ['clerk'],
  start: async () => undefined,
  answer: async () => undefined,
  send: async () => true,
  cancel: async () => undefined,
  retry: async () => undefined,
  get: async () => ({ status: 'running', attempts: 1 }),
  async *events() {},
  delete: async () => undefined,
  onStopped: () => undefined,
}

test('with durable runs open may return an object, which no run gets, and metadata is stored with the turn (W52)', async () => {
  const started = vi.fn(async () => undefined)
  const threads = createThreads({ runs: { ...idleRuns, start: started }, store: memoryThreads() })
  const chat = chatHandler({
    threads,
    open: () => ({ user: 'ada' }),
    metadata: (context) => ({ by: String(context?.user) }),
  })
  const body = JSON.stringify({
    id: 't',
    messages: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Hi' }] }],
  })
  const headers = { 'content-type': 'application/json' }
  const response = await chat(new Request('http://chat.test/api/chat', { method: 'POST', headers, body }))
  void response.body?.cancel()
  expect(response.status).toBe(200)
  const [{ id } = {}] = (await threads.read('t')).turns
  const data = { thread: 't', turn: id, metadata: { by: 'ada' } }
  expect(started.mock.calls).toEqual([
    ['clerk', expect.anything(), expect.objectContaining({ id, conversationId: 't', data })],
  ])
})
