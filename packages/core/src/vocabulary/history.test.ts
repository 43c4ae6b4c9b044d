import { call, collect, respond, say, scriptedModel, think } from '@meanwhile/assemble/testing'
import { afterEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import {
  AgentError,
  type AgentEvent,
  type AssistantMessage,
  type Checkpoint,
  createAgent,
  type Flow,
  HistoryError,
  interrupt,
  type Message,
  type Middleware,
  type Model,
  type ModelEvent,
  type ModelRequest,
  type ToolCall,
  type ToolMessage,
  tool,
} from '../index.ts'

afterEach(() => {
  vi.useRealTimers()
})

const note = tool({
  name: 'note',
  description: 'Notes something.',
  input: z.object({ text: z.string() }),
  execute: ({ text }) => `noted ${text}`,
})

const user = (content: string): Message => ({ role: 'user', content })
const answer = (text: string): AssistantMessage => ({
  role: 'assistant',
  content: [{ type: 'text', text }],
  finishReason: 'stop',
})
const asking = (...ids: readonly string[]): AssistantMessage => ({
  role: 'assistant',
  content: ids.map((id): ToolCall => ({ type: 'tool-call', id, name: 'note', input: { text: id } })),
  finishReason: 'tool-calls',
})
const result = (callId: string, text = `noted ${callId}`): ToolMessage => ({
  role: 'tool',
  callId,
  name: 'note',
  content: [{ type: 'text', text }],
})

/** A model that returns these messages, one per request, each with the events of its calls. */
function modelOf(...messages: readonly AssistantMessage[]): Model & { readonly requests: readonly ModelRequest[] } {
  const requests: ModelRequest[] = []
  return {
    provider: 'own',
    id: 'own-1',
    requests,
    async *stream(request): Flow<ModelEvent, AssistantMessage> {
      const message = messages[requests.push(request) - 1]
      if (!message) throw new Error('one request too many')
      for (const part of message.content) {
        if (part.type === 'tool-call') yield { type: 'tool-call', call: part }
      }
      return message
    },
  }
}

function callIdsOf(messages: readonly Message[]) {
  return messages.flatMap((message) => {
    if (message.role === 'user') return []
    if (message.role === 'tool') return [`result ${message.callId}`]
    return message.content.flatMap((part) => (part.type === 'tool-call' ? [`call ${part.id}`] : []))
  })
}

test('results enter the history in call order, whatever finishes first (A14)', async () => {
  vi.useFakeTimers()
  const slow = tool({
    name: 'slow',
    description: 'Takes its time.',
    input: z.object({ ms: z.number() }),
    async execute({ ms }) {
      await new Promise((resolve) => setTimeout(resolve, ms))
      if (ms === 200) throw new Error('too slow')
      return ms
    },
  })
  const calls = [300, 100, 200].map((ms) => call('slow', { ms }, { id: `after ${ms}` }))
  const model = scriptedModel([respond(...calls), respond(say('done'))])
  const running = collect(createAgent({ model, tools: [slow] }).stream('Go'))
  await vi.advanceTimersByTimeAsync(300)
  const { events, result } = await running
  expect(events.flatMap((event) => (event.type === 'tool-end' ? [event.callId] : []))).toEqual([
    'after 100',
    'after 200',
    'after 300',
  ])
  const results = ['result after 300', 'result after 100', 'result after 200']
  const expected = ['call after 300', 'call after 100', 'call after 200', ...results]
  expect(callIdsOf(model.requests[1]?.messages ?? [])).toEqual(expected)
  expect(callIdsOf(result?.messages ?? [])).toEqual(expected)
  const stepEnd = events.find((event) => event.type === 'step-end')
  expect(stepEnd?.type === 'step-end' && callIdsOf(stepEnd.messages)).toEqual(expected)
})

test('a result keeps the id and the name of its call, whatever a wrap changes (A14)', async () => {
  const forger: Middleware = {
    name: 'forger',
    async *wrapToolCall(call, next) {
      const message = yield* next({ ...call, id: 'forged', name: 'forged' })
      return { ...message, callId: 'forged again', name: 'forged again' }
    },
  }
  const model = scriptedModel([respond(call('note', { text: 'a' }, { id: 'x' })), respond(say('done'))])
  const { messages } = await createAgent({ model, tools: [note], middleware: [forger] }).run('Go')
  expect(messages[2]).toEqual({ ...result('x', 'noted a'), output: 'noted a' })
})

test('after an error in mid-step every call has a result, the settled ones their own, in call order (A14, A24)', async () => {
  class Fatal extends AgentError {}
  const tools = [
    note,
    tool({
      name: 'fatal',
      description: 'Ends the run.',
      input: z.object({}),
      async execute() {
        await new Promise((resolve) => setImmediate(resolve))
        throw new Fatal('that was it')
      },
    }),
  ]
  const calls = [call('note', { text: 'a' }), call('fatal'), call('note', { text: 'b' })]
  const error = await createAgent({ model: scriptedModel([respond(...calls)]), tools })
    .run('Go')
    .catch((error: unknown) => error)
  expect(error).toBeInstanceOf(Fatal)
  expect((error as Fatal).messages?.slice(2)).toMatchObject([
    { callId: 'call_1_1', output: 'noted a' },
    { callId: 'call_1_2', isError: true },
    { callId: 'call_1_3', output: 'noted b' },
  ])
})

const unpaired: readonly (readonly [string, readonly Message[], readonly string[]])[] = [
  ['a call without result', [user('Go'), asking('x', 'y'), result('y'), user('And?')], ['x']],
  ['a result without call', [user('Go'), result('z'), answer('Hm.'), user('And?')], ['z']],
  ['a result before its call', [user('Go'), result('x'), asking('x')], ['x']],
  ['a second result', [user('Go'), asking('x'), result('x'), result('x', 'again')], ['x']],
  ['an id of two calls', [user('Go'), asking('x', 'x'), result('x'), result('x')], ['x']],
  ['a user message before the result', [user('Go'), asking('x'), user('So?'), result('x')], ['x']],
  ['a user message between results', [user('Go'), asking('x', 'y'), result('x'), user('So?'), result('y')], ['y']],
  ['an answer before the result', [user('Go'), asking('x'), asking('y'), result('x'), result('y')], ['x']],
  ['several of them', [user('Go'), asking('x', 'y'), user('So?'), result('z')], ['z', 'x', 'y']],
]

test.for(unpaired)(
  '%s in the input is refused after beforeModel, before the request (A15)',
  async ([, input, callIds]) => {
    const model = scriptedModel([])
    const hooks: string[] = []
    const watcher: Middleware = {
      name: 'watcher',
      beforeAgent: () => void hooks.push('beforeAgent'),
      beforeModel: () => void hooks.push('beforeModel'),
      async *wrapModel(request, next) {
        hooks.push('wrapModel')
        return yield* next(request)
      },
    }
    const error = await createAgent({ model, tools: [note], middleware: [watcher] })
      .run(input)
      .catch((error: unknown) => error)
    expect(error).toBeInstanceOf(HistoryError)
    expect(error).toMatchObject({ name: 'HistoryError', callIds })
    for (const id of callIds) expect((error as HistoryError).message).toContain(id)
    expect(hooks).toEqual(['beforeAgent', 'beforeModel'])
    expect(model.requests).toHaveLength(0)
  },
)

test('the error says what stands where, and the ways out (A15)', async () => {
  const input = [user('Go'), asking('x', 'y'), result('x'), user('So?'), result('y'), result('z')]
  const error = await createAgent({ model: scriptedModel([]) })
    .run(input)
    .catch((error: unknown) => error)
  expect(error).toMatchObject({
    callIds: ['z', 'y'],
    message: 'the history is wrong at messages[3] (user): z, y. Use resume(), close() or patchToolCalls()',
  })
})

test('results in another order than their calls, and ids that an earlier turn has, are in order (A15)', async () => {
  const input = [user('Go'), asking('x', 'y'), result('y'), result('x'), asking('x'), result('x'), user('So?')]
  const model = scriptedModel([respond(say('Done.'))])
  await createAgent({ model }).run(input)
  expect(model.requests[0]?.messages).toEqual(input)
})

test('a history in which a hook has separated calls and results is refused, in any step (A15)', async () => {
  const model = scriptedModel([respond(call('note', { text: 'a' }, { id: 'x' })), respond(say('done'))])
  const forgetful: Middleware = {
    name: 'forgetful',
    beforeModel: ({ messages }) => ({ messages: messages.filter(({ role }) => role !== 'tool') }),
  }
  const agent = createAgent({ model, tools: [note], middleware: [forgetful] })
  await expect(agent.run('Go')).rejects.toMatchObject({ name: 'HistoryError', callIds: ['x'] })
  expect(model.requests).toHaveLength(1)
})

test('a history that was valid before is refused after a hook has separated calls and results (A15)', async () => {
  const model = modelOf(asking('x'), asking('y'), answer('done'))
  const forgetful: Middleware = {
    name: 'forgetful',
    beforeModel: ({ messages }, { step }) =>
      step < 3 ? undefined : { messages: messages.filter((_, index) => index !== 1) },
  }
  const agent = createAgent({ model, tools: [note], middleware: [forgetful] })
  await expect(agent.run('Go')).rejects.toMatchObject({ name: 'HistoryError', callIds: ['x'] })
  expect(model.requests).toHaveLength(2)
})

test('a hook may repair an invalid history (A15)', async () => {
  const model = scriptedModel([respond(say('done'))])
  const repair: Middleware = {
    name: 'repair',
    beforeModel: ({ messages }) => ({
      messages: messages.flatMap((message): Message[] =>
        message.role === 'assistant' ? [message, result('x')] : [message],
      ),
    }),
  }
  const agent = createAgent({ model, tools: [note], middleware: [repair] })
  const { messages } = await agent.run([user('Go'), asking('x'), user('And?')])
  expect(messages).toEqual([user('Go'), asking('x'), result('x'), user('And?'), { ...answer('done') }])
})

/** The messages that each step has added according to its events. */
async function broughtBy(run: AsyncIterable<AgentEvent>) {
  const events: AgentEvent[] = []
  for await (const event of run) events.push(event)
  return events.flatMap((event) => (event.type === 'step-end' ? [event.messages] : []))
}

test('messages that a hook adds to the history count as added by its step, messages that it leaves do not (B9)', async () => {
  const model = modelOf(asking('x'), answer('done'))
  const summarise: Middleware = {
    name: 'summarise',
    beforeModel: ({ messages }) =>
      messages.length < 3 ? undefined : { messages: [user('In short: go'), ...messages.slice(1)] },
  }
  const agent = createAgent({ model, tools: [note], middleware: [summarise] })
  expect(await broughtBy(agent.stream([user('Go')]))).toEqual([
    [asking('x'), { ...result('x'), output: 'noted x' }],
    [user('In short: go'), answer('done')],
  ])
})

test('a step that is resumed in its middle also reports what it had added before (B9)', async () => {
  const model = modelOf(answer('done'))
  let asked = false
  const ask: Middleware = {
    name: 'ask',
    afterModel({ messages }) {
      if (asked) return undefined
      asked = true
      throw interrupt({ seen: messages.length })
    },
  }
  const preface: Middleware = {
    name: 'preface',
    beforeModel: ({ messages }) => ({ messages: [user('First of all'), ...messages] }),
  }
  const agent = createAgent({ model, middleware: [preface, ask] })
  const { checkpoint, interrupts } = await agent.run([user('Go')])
  const resumed = agent.resume(checkpoint as Checkpoint, { [interrupts?.[0]?.id ?? '']: 'go on' })
  expect(await broughtBy(resumed)).toEqual([[user('First of all'), answer('done')]])
})

test('a model that returns the same message object as an earlier step adds it again (B9)', async () => {
  const same = answer('done')
  const model = modelOf(same, same)
  let rejected = false
  const strict: Middleware = {
    name: 'strict',
    beforeFinalAnswer() {
      if (rejected) return undefined
      rejected = true
      return { accept: false, feedback: 'Again.' }
    },
  }
  const agent = createAgent({ model, middleware: [strict] })
  expect(await broughtBy(agent.stream('Go'))).toEqual([
    [answer('done'), { role: 'user', origin: 'strict', content: 'Again.' }],
    [answer('done')],
  ])
})

const attempts: readonly (readonly [string, (write: (change: () => void) => void) => Partial<Middleware>])[] = [
  [
    'a before hook',
    (write) => ({
      beforeModel({ messages }) {
        write(() => (messages as Message[]).push(user('psst')))
        write(() => Object.assign(messages[0] as Message, { content: 'psst' }))
      },
    }),
  ],
  [
    'an after hook',
    (write) => ({
      afterModel({ messages }) {
        const last = messages.at(-1) as AssistantMessage
        write(() => (last.content as unknown[]).pop())
        write(() => Object.assign(last.content[0] as object, { id: 'psst', text: 'psst' }))
      },
    }),
  ],
  [
    'a gate',
    (write) => ({
      beforeFinalAnswer({ messages }) {
        write(() => (messages as Message[]).pop())
        write(() => Object.assign(messages[1] as Message, { role: 'user' }))
      },
    }),
  ],
  [
    'a wrap of the model',
    (write) => ({
      async *wrapModel(request, next) {
        write(() => (request.messages as Message[]).push(user('psst')))
        write(() => Object.assign(request.messages[0] as Message, { content: 'psst' }))
        return yield* next(request)
      },
    }),
  ],
  [
    'a wrap of a tool call',
    (write) => ({
      async *wrapToolCall(call, next) {
        write(() => Object.assign(call, { id: 'psst' }))
        write(() => Object.assign(call.input as object, { text: 'psst' }))
        return yield* next(call)
      },
    }),
  ],
]

test.for(attempts)(
  '%s that writes to a message gets a TypeError, and nothing changes (A16)',
  async ([, middleware]) => {
    const errors: unknown[] = []
    const write = (change: () => void) => {
      try {
        change()
        errors.push('nothing thrown')
      } catch (error) {
        errors.push(error)
      }
    }
    const model = scriptedModel([respond(call('note', { text: 'a' }, { id: 'x' })), respond(say('done'))])
    const agent = createAgent({ model, tools: [note], middleware: [{ name: 'vandal', ...middleware(write) }] })
    const { messages } = await agent.run('Go')
    expect(errors.length).toBeGreaterThan(0)
    for (const error of errors) expect(error).toBeInstanceOf(TypeError)
    expect(messages).toEqual([
      user('Go'),
      { ...asking('x'), content: [{ type: 'tool-call', id: 'x', name: 'note', input: { text: 'a' } }] },
      { ...result('x', 'noted a'), output: 'noted a' },
      answer('done'),
    ])
  },
)

test('a tool that writes to the input of its call gets a TypeError, which is its error result (A16)', async () => {
  const greedy = tool({
    name: 'greedy',
    description: 'Writes to what it is given.',
    input: z.any(),
    execute: ({ list }) => list.push(4),
  })
  const model = scriptedModel([respond(call('greedy', { list: [1] })), respond(say('done'))])
  const { messages } = await createAgent({ model, tools: [greedy] }).run('Go')
  expect(messages[1]).toMatchObject({ content: [{ input: { list: [1] } }] })
  expect(messages[2]).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('not extensible') }] })
})

test('the message or call of an event cannot be written to, whenever its reader tries (A16)', async () => {
  const tried: string[] = []
  const model = scriptedModel([respond(say('Go.'), call('note', { text: 'a' }, { id: 'x' })), respond(say('done'))])
  const run = createAgent({ model, tools: [note] }).stream('Go')
  for await (const event of run) {
    const change = () => {
      if (event.type === 'tool-input-closed' || event.type === 'tool-call' || event.type === 'tool-start') {
        Object.assign(event.call.input as object, { text: 'psst' })
      } else if (event.type === 'tool-end') Object.assign(event.message.content[0] as object, { text: 'psst' })
      else if (event.type === 'step-end') Object.assign(event.messages[0] as Message, { content: [] })
      else if (event.type === 'run-end') (event.result.messages as Message[]).push(user('psst'))
      else return
      tried.push(`${event.type} was changed`)
    }
    try {
      change()
    } catch (error) {
      expect(error).toBeInstanceOf(TypeError)
      tried.push(event.type)
    }
  }
  expect(tried).toEqual(['tool-input-closed', 'tool-call', 'tool-start', 'tool-end', 'step-end', 'step-end', 'run-end'])
  const { messages } = await run.result
  expect(messages[2]).toMatchObject({ output: 'noted a' })
})

test('messages that a hook adds to the history are frozen to their leaves, also below a frozen surface (A16)', async () => {
  const parts = [{ type: 'text' as const, text: 'More.' }]
  const more: Middleware = {
    name: 'more',
    beforeModel: ({ messages }) => ({
      messages: [...messages, Object.freeze({ role: 'user' as const, content: parts })],
    }),
  }
  await createAgent({ model: scriptedModel([respond(say('done'))]), middleware: [more] }).run('Go')
  expect(() => parts.push({ type: 'text', text: 'psst' })).toThrow(TypeError)
  expect(() => Object.assign(parts[0] as object, { text: 'psst' })).toThrow(TypeError)
})

test('metadata that contains itself, frozen or not, is frozen to its leaves (A16)', async () => {
  interface Ring {
    self?: Ring
    readonly list: number[]
  }
  const rings: Ring[] = [{ list: [1] }, { list: [2] }]
  for (const ring of rings) ring.self = ring
  Object.freeze(rings[1])
  const ask = tool({ name: 'ask', description: 'Asks.', input: z.object({}), execute: () => 'ok' })
  const rich: Middleware = {
    name: 'rich',
    async *wrapToolCall(call, next) {
      return { ...(yield* next(call)), content: [{ type: 'text', text: 'ok', providerMetadata: { rings } }] }
    },
  }
  const model = scriptedModel([respond(call('ask', {})), respond(say('done'))])
  await createAgent({ model, tools: [ask], middleware: [rich] }).run('Go')
  for (const ring of rings) expect(() => ring.list.push(3)).toThrow(TypeError)
})

test('the messages of a result with a further user message are the input of the next run (B18)', async () => {
  const metadata = { own: { signature: 'abc', nested: { list: [1, null] } } }
  const first: AssistantMessage = {
    role: 'assistant',
    content: [
      { type: 'reasoning', text: 'Hm.', providerMetadata: metadata },
      { type: 'text', text: 'Let me see.', providerMetadata: metadata },
      { type: 'tool-call', id: 'x', name: 'note', input: { text: 'a' }, providerMetadata: metadata },
    ],
    finishReason: 'tool-calls',
    usage: { inputTokens: 1, reasoningTokens: 2 },
    response: { id: 'r1', model: 'own-1-exact', finishReason: 'tool_use' },
  }
  const model = modelOf(first, answer('One.'), asking('y'), answer('Two.'))
  const agent = createAgent({ model, tools: [note] })
  const one = await agent.run('Go')
  const copy = structuredClone(one.messages)
  const two = await agent.run([...one.messages, user('And?')])
  expect(copy[1]).toEqual(first)
  expect(model.requests[2]?.messages).toEqual([...copy, user('And?')])
  expect(two.messages.slice(0, copy.length + 1)).toEqual([...copy, user('And?')])
  expect(two).toMatchObject({ text: 'Two.', steps: 2 })
  expect(one.messages).toEqual(copy)
})

test('a history after a round trip through JSON is a valid input, too (B18)', async () => {
  const model = scriptedModel([
    respond(think('Hm.'), call('note', { text: 'a' })),
    respond(say('One.')),
    respond(say('Two.')),
  ])
  const agent = createAgent({ model, tools: [note] })
  const one = await agent.run('Go')
  const stored = JSON.parse(JSON.stringify(one.messages)) as Message[]
  await agent.run([...stored, user('And?')])
  expect(model.requests[2]?.messages).toEqual([...one.messages, user('And?')])
})

test('ids are unique within a run, its input history included (G10)', async () => {
  const model = scriptedModel([
    respond(call('note', { text: 'b' }, { id: 'x' }), call('note', { text: 'c' }, { id: 'x' })),
    respond(call('note', { text: 'd' }, { id: '' }), call('note', { text: 'e' }, { id: 'x' })),
    respond(say('done')),
  ])
  const agent = createAgent({ model, tools: [note] })
  const { events, result: done } = await collect(agent.stream([user('Go'), asking('x'), result('x'), user('And?')]))
  const messages = done?.messages ?? []
  const ids = messages.flatMap((message) =>
    message.role === 'assistant' ? message.content.flatMap((part) => (part.type === 'tool-call' ? [part.id] : [])) : [],
  )
  expect(ids).toHaveLength(5)
  expect(new Set(ids).size).toBe(5)
  expect(ids[0]).toBe('x')
  expect(ids).not.toContain('')
  const results = messages.flatMap((message) => (message.role === 'tool' ? [[message.callId, message.content]] : []))
  const texts = ['x', 'b', 'c', 'd', 'e'].map((text) => [{ type: 'text', text: `noted ${text}` }])
  expect(results).toEqual(ids.map((id, i) => [id, texts[i]]))
  const made = ids.slice(1)
  for (const type of ['tool-input-start', 'tool-call', 'tool-start', 'tool-end']) {
    const seen = events.flatMap((event) => {
      if (event.type !== type) return []
      if ('call' in event) return [event.call.id]
      return 'callId' in event ? [event.callId] : 'id' in event ? [event.id] : []
    })
    expect([type, seen]).toEqual([type, made])
  }
  expect(model.requests[2]?.messages).toEqual(messages.slice(0, -1))
})

test('a call that the provider has run is never run by us and needs no result from us (G16)', async () => {
  const executed: string[] = []
  const search = tool({
    name: 'search',
    description: 'Searches.',
    input: z.any(),
    execute: (_, { callId }) => executed.push(callId),
  })
  const ran: ToolCall = { type: 'tool-call', id: 'p', name: 'search', input: { q: 'a' }, providerResult: { hits: [] } }
  const ours: ToolCall = { type: 'tool-call', id: 'q', name: 'search', input: { q: 'b' } }
  const model = modelOf(
    { role: 'assistant', content: [ran, ours], finishReason: 'tool-calls' },
    {
      role: 'assistant',
      content: [
        { ...ran, id: 'r' },
        { type: 'text', text: 'Nothing.' },
      ],
      finishReason: 'stop',
    },
    answer('Nothing more.'),
  )
  const agent = createAgent({ model, tools: [search] })
  const { events, result: done } = await collect(agent.stream('Go'))
  expect(executed).toEqual(['q'])
  expect(done).toMatchObject({ status: 'completed', stopReason: 'answer', text: 'Nothing.', steps: 2 })
  expect(callIdsOf(done?.messages ?? [])).toEqual(['call p', 'call q', 'result q', 'call r'])
  expect(model.requests[1]?.messages[1]).toMatchObject({ content: [ran, ours] })
  expect(events.flatMap((event) => (event.type === 'tool-start' ? [event.callId] : []))).toEqual(['q'])

  const next = await agent.run([...(done?.messages ?? []), user('And?')])
  expect(next.text).toBe('Nothing more.')
})

test('calls that a provider runs itself do not count when calls are forbidden (G16)', async () => {
  const ran: ToolCall = { type: 'tool-call', id: 'p', name: 'search', input: {}, providerResult: 'none' }
  const model = modelOf({ role: 'assistant', content: [ran, { type: 'text', text: 'Non' }], finishReason: 'length' })
  const done = await createAgent({ model, maxSteps: 1 }).run('Go')
  expect(done).toMatchObject({ text: 'Non', finishReason: 'length' })
  expect(callIdsOf(done.messages)).toEqual(['call p'])
})
