import { call, collect, end, fail, respond, say, scriptedModel, think } from '@meanwhile/assemble/testing'
import { keptOf } from '@meanwhile/tests/garbage'
import { postedBy } from '@meanwhile/tests/own-thread'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { askAgain } from '../../test/again.ts'
import { startingEarly } from '../../test/early-calls.ts'
import {
  type AgentOptions,
  type AssistantMessage,
  createAgent,
  DEFAULT_FEEDBACK,
  type Message,
  type Middleware,
  type Model,
  ModelError,
  type Run,
  textOf,
  tool,
  type Usage,
} from '../index.ts'

const add = tool({
  name: 'add',
  description: 'Adds',
  effect: 'read',
  input: z.object({ a: z.number(), b: z.number() }),
  execute: ({ a, b }) => a + b,
})

const final = tool({
  name: 'final',
  description: 'Says it all',
  returnDirect: true,
  input: z.object({ text: z.string() }),
  execute: ({ text }) => text,
})

const early = startingEarly({ at: 'tool-input-closed' })

/** A model with these answers, one for each request; an error is thrown. */
function answering(...answers: readonly (AssistantMessage | ModelError)[]): Model {
  let count = 0
  return {
    provider: 'own',
    id: 'own-1',
    async *stream() {
      const answer = answers[count++]
      if (!answer) throw new Error('asked too often')
      if (answer instanceof ModelError) throw answer
      return answer
    },
  }
}

function answer(text: string, usage?: Usage): AssistantMessage {
  return { role: 'assistant', content: [{ type: 'text', text }], finishReason: 'stop', ...(usage && { usage }) }
}

test.each([
  ['that calls a tool', [respond(say('Well'), call('add', { a: 1, b: 2 })), respond(say('It is 3'))], []],
  ['whose tools start early', [respond(say('Well'), call('add', { a: 1, b: 2 })), respond(say('It is 3'))], [early]],
  ['that is retried', [respond(say('Well'), fail()), respond(say('It is 3'))], [askAgain]],
  ['whose tool result is the answer', [respond(call('final', { text: 'It is 3' }))], []],
])('agent.run returns a run %s with the same result as agent.stream (B14)', async (_, script, middleware) => {
  const options = { tools: [add, final], middleware }
  const run = await createAgent({ ...options, model: scriptedModel(script) }).run('go')
  const stream = createAgent({ ...options, model: scriptedModel(script) }).stream('go')
  expect(run).toEqual(await stream.result)
  expect(run.text).toBe('It is 3')
})

test('agent.run fails as agent.stream does (B14)', async () => {
  const agent = () => createAgent({ model: scriptedModel([respond(say('Well'), fail())]) })
  const error = await agent()
    .run('go')
    .catch((error: unknown) => error)
  expect(error).toBeInstanceOf(ModelError)
  expect(
    await agent()
      .stream('go')
      .result.catch((error: unknown) => error),
  ).toEqual(error)
})

test('agent.run keeps no events, but an unread stream does (B14)', async () => {
  const eventsKept = async (most: number, start: (options: AgentOptions) => Promise<unknown>) => {
    const data: WeakRef<object>[] = []
    let kept: number | undefined
    const emitting: Middleware = {
      name: 'emitting',
      beforeModel(_, run) {
        const large = { large: 'x'.repeat(1_000) }
        data.push(new WeakRef(large))
        run.emit({ name: 'large', data: large })
      },
      async afterModel() {
        kept = await keptOf(() => data, most)
      },
    }
    await start({ model: scriptedModel([respond(say('Hi'))]), middleware: [emitting] })
    return kept
  }
  expect(await eventsKept(1, (options) => createAgent(options).stream('go').result)).toBe(1)
  expect(await eventsKept(0, (options) => createAgent(options).run('go'))).toBe(0)
})

// V8 treats a function that is created where it is assigned to a member as old: what it holds stays until a full garbage collection.
test('a run that is over is garbage like any other, also inside a wrapAgent: no full collection is needed (A4)', async () => {
  // In its own thread, because V8 also decides that by what became old in earlier tests of the process.
  const bytes = await postedBy(new URL('../../test/young-garbage.ts', import.meta.url), { few: 6_000 })
  const few = expect.toSatisfy((one: number) => one < 6_000)
  expect(bytes).toEqual({ plain: few, wrapped: few })
})

test('the result of an answer is complete (B15, B16)', async () => {
  const model = scriptedModel([
    respond(call('add', { a: 1, b: 2 }), end({ usage: { inputTokens: 10, outputTokens: 5 } })),
    respond(say('It is 3'), end({ usage: { inputTokens: 20, outputTokens: 2 } })),
  ])
  const result = await createAgent({ model, tools: [add] }).run('go')
  const asked = { type: 'tool-call', id: 'call_1_1', name: 'add', input: { a: 1, b: 2 } }
  const message = { ...answer('It is 3'), usage: { inputTokens: 20, outputTokens: 2 } }
  expect(result).toEqual({
    status: 'completed',
    stopReason: 'answer',
    message,
    text: 'It is 3',
    finishReason: 'stop',
    messages: [
      { role: 'user', content: 'go' },
      {
        role: 'assistant',
        content: [asked],
        finishReason: 'tool-calls',
        usage: { inputTokens: 10, outputTokens: 5 },
      },
      { role: 'tool', callId: 'call_1_1', name: 'add', content: [{ type: 'text', text: '3' }], output: 3 },
      message,
    ],
    steps: 2,
    usage: { inputTokens: 30, outputTokens: 7 },
    warnings: [],
  })
})

test('the result of a tool whose result is the answer is complete (B15, B16)', async () => {
  const model = scriptedModel([respond(call('final', { text: 'Here' }), call('add', { a: 1, b: 2 }))])
  const result = await createAgent({ model, tools: [add, final] }).run('go')
  const message = {
    role: 'tool',
    callId: 'call_1_1',
    name: 'final',
    content: [{ type: 'text', text: 'Here' }],
    output: 'Here',
  }
  expect(result).toMatchObject({ status: 'completed', stopReason: 'return-direct', text: 'Here', steps: 1 })
  expect(result.finishReason).toBe('tool-calls')
  expect(result.message).toEqual(message)
  expect(result.messages[2]).toEqual(message)
  expect(result.messages).toHaveLength(4)
})

test('the finish reason of an answer is that of its response (B15)', async () => {
  const model = scriptedModel([respond(say('It is'), end({ finishReason: 'length' }))])
  expect(await createAgent({ model }).run('go')).toMatchObject({
    stopReason: 'answer',
    text: 'It is',
    finishReason: 'length',
  })
})

test('each warning is in the result and an event, with its source (B15)', async () => {
  const warning: Middleware = {
    name: 'warning',
    beforeAgent: (_, run) => run.warn({ code: 'first', message: 'One' }),
    async *wrapModel(request, next, run) {
      const message = yield* next(request)
      run.warn({ code: 'second', message: 'Two' })
      return message
    },
    async *wrapAgent(setup, next, run) {
      const result = yield* next(setup)
      run.warn({ code: 'last', message: 'Four' })
      return result
    },
  }
  const { events, result } = await collect(
    createAgent({ model: scriptedModel([respond()]), middleware: [warning] }).stream('go'),
  )
  expect(result?.warnings).toEqual([
    { code: 'first', message: 'One', source: 'warning' },
    { code: 'second', message: 'Two', source: 'warning' },
    { code: 'empty-answer', message: expect.any(String), source: 'core' },
    { code: 'last', message: 'Four', source: 'warning' },
  ])
  const shown = events.flatMap((event) =>
    event.type === 'warning' ? [{ code: event.code, message: event.message, source: event.source }] : [],
  )
  expect(shown).toEqual(result?.warnings)
})

test('nothing that happens later changes a result: no event, other call, nested agent or abandoned tool (B15)', async () => {
  const runs: Run[] = []
  const slow = tool({
    name: 'slow',
    description: 'Ends last',
    input: z.object({}),
    async execute(_, { run }) {
      runs.push(run as Run)
      const nested = createAgent({ model: scriptedModel([respond(say('Nested'), end({ usage: { inputTokens: 7 } }))]) })
      await nested.run('go')
      await new Promise((resolve) => {
        setTimeout(resolve, 5)
      })
      run?.emit({ name: 'nearly', data: null })
      return 'slow'
    },
  })
  const model = scriptedModel([respond(call('slow'), call('final', { text: 'Here' }), call('slow'))])
  const talking: Middleware = {
    name: 'talking',
    async *wrapAgent(setup, next, run) {
      const result = yield* next(setup)
      run.emit({ name: 'over', data: 'Not the answer' })
      return result
    },
  }
  const result = await createAgent({ model, tools: [slow, final], middleware: [talking] }).run('go')
  expect(result).toMatchObject({ text: 'Here', stopReason: 'return-direct', usage: {}, warnings: [] })
  const before = structuredClone(result)
  for (const run of runs) {
    run.warn({ code: 'late', message: 'too late' })
    await run.callTool({ type: 'tool-call', id: 'late', name: 'slow', input: {} }).catch(() => undefined)
  }
  expect(result).toEqual(before)
  expect(() => Object.assign(result, { text: 'Mine' })).toThrow(TypeError)
})

const ENDS: Record<string, [options: Partial<AgentOptions>, error: string]> = {
  'a failed model call': [{ model: scriptedModel([respond(fail())]) }, 'ModelError'],
  'the step limit': [{ model: scriptedModel([respond(call('add', { a: 1, b: 2 }))]), maxSteps: 1 }, 'MaxStepsError'],
  'a hook that throws': [
    {
      middleware: [
        {
          name: 'throwing',
          beforeModel() {
            throw new Error('no')
          },
        },
      ],
    },
    'MiddlewareError',
  ],
  'a tool that ends the run': [
    {
      model: scriptedModel([respond(call('ending'))]),
      tools: [
        tool({
          name: 'ending',
          description: 'Ends the run',
          input: z.object({}),
          execute() {
            throw new ModelError('no', { code: 'unknown', retryable: false })
          },
        }),
      ],
    },
    'ModelError',
  ],
  'a history with unmatched calls': [
    { middleware: [{ name: 'unpairing', beforeModel: () => ({ messages: unpaired }) }] },
    'HistoryError',
  ],
}
const unpaired: readonly Message[] = [{ role: 'tool', callId: 'nobody', name: 'add', content: [] }]

test.each(Object.keys(ENDS))('a run that ends by %s has no status: it rejects (B16)', async (way) => {
  const [options, name] = ENDS[way] ?? []
  const agent = createAgent({ model: scriptedModel([]), tools: [add], ...options })
  const { events, result, error } = await collect(agent.stream('go'))
  expect(result).toBeUndefined()
  expect(error).toMatchObject({ name })
  expect(events.map(({ type }) => type)).not.toContain('run-end')
})

test('usage adds up every attempt that reported any, failed ones included, once each (B17)', async () => {
  const partial: AssistantMessage = {
    ...answer('Half', { inputTokens: 100, cacheReadTokens: 50 }),
    finishReason: 'error',
  }
  const model = answering(
    new ModelError('cut', { code: 'stream_truncated', retryable: true, partial }),
    {
      ...answer('', { inputTokens: 10, outputTokens: 5 }),
      content: [{ type: 'tool-call', id: 'a', name: 'add', input: { a: 1, b: 2 } }],
    },
    new ModelError('down', { code: 'connection', retryable: true }),
    answer('It is 3', { inputTokens: 1, outputTokens: 2, reasoningTokens: 0 }),
  )
  const seen: Usage[] = []
  const counting: Middleware = { name: 'counting', beforeModel: (_, run) => void seen.push(run.usage) }
  const result = await createAgent({ model, tools: [add], middleware: [counting, askAgain] }).run('go')
  expect(result.usage).toEqual({ inputTokens: 111, outputTokens: 7, cacheReadTokens: 50, reasoningTokens: 0 })
  expect(seen).toEqual([{}, { inputTokens: 110, outputTokens: 5, cacheReadTokens: 50 }])
})

test('of two successful attempts both count; a message that no attempt returned does not (B17)', async () => {
  const rewriting: Middleware = {
    name: 'rewriting',
    async *wrapModel(request, next) {
      yield* next(request)
      yield* next(request)
      return answer('Mine', { inputTokens: 1_000 })
    },
  }
  const model = answering(answer('One', { inputTokens: 1 }), answer('Two', { inputTokens: 2 }))
  const result = await createAgent({ model, middleware: [rewriting] }).run('go')
  expect(result.usage).toEqual({ inputTokens: 3 })
})

test('a figure that was not reported is absent, and an error contains the usage, too (B17)', async () => {
  const silent = await createAgent({ model: answering(answer('Hi')) }).run('go')
  expect(Object.keys(silent.usage)).toEqual([])
  const partial: AssistantMessage = { ...answer('Half', { outputTokens: 4 }), finishReason: 'error' }
  const failing = answering(new ModelError('cut', { code: 'stream_truncated', retryable: true, partial }))
  await expect(createAgent({ model: failing }).run('go')).rejects.toMatchObject({ usage: { outputTokens: 4 } })
})

test('the messages of a result with a further user message are the input of the next run, word for word (B18)', async () => {
  const providerMetadata = { own: { signature: 'c2ln', nested: { order: [3, 1, 2] } } }
  const first = answering(
    {
      ...answer('', { inputTokens: 1 }),
      content: [
        { type: 'reasoning', text: 'Hm', providerMetadata },
        { type: 'text', text: 'Well', providerMetadata },
        { type: 'tool-call', id: 'a', name: 'add', input: { a: 1, b: 2 }, providerMetadata },
        { type: 'tool-call', id: 'b', name: 'nowhere', input: 'no JSON', inputError: 'it is not JSON' },
      ],
      response: { id: 'resp_1', model: 'own-1-0', finishReason: 'tool_use' },
    },
    answer('No'),
    answer('It is 3'),
  )
  const gate: Middleware = {
    name: 'gate',
    beforeFinalAnswer: (_, run) => (run.step === 2 ? { accept: false, feedback: 'Really?' } : undefined),
  }
  const { messages } = await createAgent({ model: first, tools: [add], middleware: [gate] }).run('go')
  expect(messages.map(({ role }) => role)).toEqual([
    'user',
    'assistant',
    'tool',
    'tool',
    'assistant',
    'user',
    'assistant',
  ])
  const whole = structuredClone(messages)
  for (const old of [messages, JSON.parse(JSON.stringify(messages)) as readonly Message[]]) {
    const second = scriptedModel([respond(say('Fine')), respond(say('Fine'))])
    const { messages: all } = await createAgent({ model: second }).run([...old, { role: 'user', content: 'And now?' }])
    expect(second.requests[0]?.messages).toStrictEqual([...whole, { role: 'user', content: 'And now?' }])
    expect(all.slice(0, -1)).toStrictEqual(second.requests[0]?.messages)
  }
  expect(messages).toStrictEqual(whole)
})

test('messages that core or a middleware adds have an origin, messages of the caller do not (B19)', async () => {
  const feedback = ['Think again', [{ role: 'user', content: 'Look' }, answer('I looked')] as const, '', undefined]
  const gate: Middleware = {
    name: 'gate',
    beforeFinalAnswer(_, run) {
      const said = feedback[run.step - 1]
      return said === undefined ? undefined : { accept: false, feedback: said }
    },
  }
  const model = scriptedModel([respond(think('Hm'), say('1')), respond(say('2')), respond(say('3')), respond(say('4'))])
  const { messages } = await createAgent({ model, middleware: [gate] }).run([
    { role: 'user', content: 'go' },
    { role: 'user', content: 'now', origin: 'before' },
  ])
  const users = messages.flatMap((message) => (message.role === 'user' ? [[textOf(message), message.origin]] : []))
  expect(users).toEqual([
    ['go', undefined],
    ['now', 'before'],
    ['Think again', 'gate'],
    ['Look', 'gate'],
    [DEFAULT_FEEDBACK, 'gate'],
  ])
})

test('feedback that names its own origin keeps it (B19)', async () => {
  const gate: Middleware = {
    name: 'gate',
    beforeFinalAnswer: (_, run) =>
      run.step === 1 ? { accept: false, feedback: [{ role: 'user', content: 'Look', origin: 'judge' }] } : undefined,
  }
  const model = scriptedModel([respond(say('1')), respond(say('2'))])
  const { messages } = await createAgent({ model, middleware: [gate] }).run('go')
  expect(messages[2]).toEqual({ role: 'user', content: 'Look', origin: 'judge' })
})
