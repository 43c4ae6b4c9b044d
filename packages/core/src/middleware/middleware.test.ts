import { afterEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { sleep } from '../../test/clock.ts'
import { echo } from '../../test/tools.ts'
import {
  type AgentEvent,
  type AgentSetup,
  type AssistantMessage,
  createAgent,
  type Message,
  type Middleware,
  map,
  type Run,
  type ToolCall,
  type ToolMessage,
  textOf,
  tool,
} from '../index.ts'
import { call, collect, respond, say, scriptedModel, wait } from '../testing.ts'

afterEach(() => void vi.useRealTimers())

const user = (content: string): Message => ({ role: 'user', content })

const answer = (text: string): AssistantMessage => ({
  role: 'assistant',
  content: [{ type: 'text', text }],
  finishReason: 'stop',
})

const toolCall = (id: string, name: string, input: unknown): ToolCall => ({ type: 'tool-call', id, name, input })

/** The parts of events that do not differ from run to run. */
const comparable = (events: readonly AgentEvent[]) =>
  events.map(({ runId: _, ...event }) => (event.type === 'tool-progress' ? { ...event, timestamp: 0 } : event))

const texts = (messages: readonly Message[]) => messages.map(textOf)

test('a middleware with only a name changes no event, request or message (C1)', async () => {
  const run = async (middleware: readonly Middleware[]) => {
    const model = scriptedModel([respond(say('Let me see.'), call('echo', { text: 'a' })), respond(say('It is a.'))])
    const collected = await collect(createAgent({ model, tools: [echo], middleware }).stream('Go'))
    const requests = model.requests.map(({ signal: _, model: __, ...request }) => request)
    return { events: comparable(collected.events), requests, messages: collected.result?.messages }
  }
  const [without, with_] = [await run([]), await run([{ name: 'quiet' }, { name: 'still' }])]
  expect(without.messages).toHaveLength(4)
  expect(with_).toEqual(without)
})

test('each hook sees what the one before it left: before… first to last, after… last to first (C2)', async () => {
  const model = scriptedModel([respond(say('said'))])
  const adding = (name: string): Middleware => ({
    name,
    beforeAgent: (setup) => ({ ...setup, instructions: `${setup.instructions}${name}` }),
    beforeModel: ({ messages }) => ({ messages: [...messages, user(`before ${name}`)] }),
    afterModel({ messages }) {
      const last = messages.at(-1)
      return { messages: [...messages.slice(0, -1), answer(`${last && textOf(last)} after ${name}`)] }
    },
    beforeFinalAnswer({ messages }) {
      const last = messages.at(-1)
      return { accept: true, message: answer(`${last && textOf(last)} gate ${name}`) }
    },
  })
  const result = await createAgent({ model, middleware: ['A', 'B', 'C'].map(adding) }).run('Go')
  expect(model.requests[0]?.instructions).toBe('ABC')
  expect(texts(result.messages)).toEqual([
    'Go',
    'before A',
    'before B',
    'before C',
    'said after C after B after A gate A gate B gate C',
  ])
})

test('each wrap sees the request of the outer one and the result of the inner one (C2)', async () => {
  const model = scriptedModel([respond(call('echo', { text: '' })), respond(say('said'))])
  const adding = (name: string): Middleware => ({
    name,
    async *wrapAgent(setup, next) {
      const result = yield* next({ ...setup, instructions: `${setup.instructions}${name}` })
      return { ...result, text: `${result.text} agent ${name}` }
    },
    async *wrapModel(request, next) {
      const message = yield* next({ ...request, messages: [...request.messages, user(name)] })
      return { ...message, content: [...message.content, { type: 'text', text: ` model ${name}` }] }
    },
    async *wrapToolCall(call, next) {
      const { text } = z.object({ text: z.string() }).parse(call.input)
      const message = yield* next({ ...call, input: { text: `${text}${name}` } })
      return { ...message, content: [...message.content, { type: 'text', text: ` tool ${name}` }] }
    },
  })
  const result = await createAgent({ model, tools: [echo], middleware: ['A', 'B'].map(adding) }).run('Go')
  expect(model.requests[0]?.instructions).toBe('AB')
  expect(model.requests.map(({ messages }) => texts(messages))).toEqual([
    ['Go', 'A', 'B'],
    ['Go', ' model B model A', 'AB tool B tool A', 'A', 'B'],
  ])
  expect(result.text).toBe('said model B model A agent B agent A')
})

test('beforeAgent runs once per run, before any model call, and its changes apply only to that run (C6)', async () => {
  vi.useFakeTimers()
  const own = scriptedModel([respond(say('own'))])
  const other = scriptedModel(
    [respond(...['a', 'b', 'c'].map((text) => call('slow', { text }))), respond(call('slow', { text: 'd' }))],
    { id: 'other' },
  )
  let executing = 0
  let most = 0
  const slow = tool({
    ...echo,
    name: 'slow',
    async execute() {
      most = Math.max(most, ++executing)
      await sleep(10)
      executing--
      return 'done'
    },
  })
  const setups: AgentSetup[] = []
  const agent = createAgent({
    model: own,
    instructions: 'one',
    tools: [echo],
    middleware: [
      {
        name: 'sets up',
        beforeAgent(setup, run) {
          setups.push(setup)
          expect([run.step, own.requests.length, other.requests.length]).toEqual([0, 0, setups.length - 1 ? 2 : 0])
          if (setups.length > 1) return
          return { ...setup, model: other, instructions: 'two', tools: [slow], maxSteps: 2, toolConcurrency: 2 }
        },
      },
    ],
  })
  const first = collect(agent.stream('Go'))
  await vi.runAllTimersAsync()
  expect(await first).toMatchObject({ error: { name: 'MaxStepsError', maxSteps: 2 } })
  expect(other.requests).toHaveLength(2)
  expect(other.requests[0]).toMatchObject({ model: other, instructions: 'two', tools: [{ name: 'slow' }] })
  expect(most).toBe(2)

  expect((await agent.run('Go')).text).toBe('own')
  expect(setups).toHaveLength(2)
  expect(setups[1]).toEqual(setups[0])
  expect(own.requests[0]).toMatchObject({ model: own, instructions: 'one', tools: [{ name: 'echo' }] })
})

test('the set-up that beforeAgent left applies in every hook, wrap and tool of the run (C6)', async () => {
  const seen: [string, string][] = []
  const see = (where: string, setup: AgentSetup) => void seen.push([where, setup.instructions])
  const looks = tool({
    name: 'looks',
    description: 'Looks at the set-up.',
    input: z.object({}),
    execute: (_, { run }) => see('tool', (run as Run).setup),
  })
  const agent = createAgent({
    model: scriptedModel([respond(call('looks')), respond(say('done'))]),
    tools: [looks],
    instructions: 'one',
    middleware: [
      {
        name: 'looks',
        beforeAgent: (setup) => ({ ...setup, instructions: 'two' }),
        beforeModel: (_, run) => see('beforeModel', run.setup),
        afterModel: (_, run) => see('afterModel', run.setup),
        beforeFinalAnswer: (_, run) => see('beforeFinalAnswer', run.setup),
        async *wrapAgent(setup, next, run) {
          see('wrapAgent', setup)
          see('wrapAgent run', run.setup)
          return yield* next(setup)
        },
        async *wrapModel(request, next, run) {
          see('wrapModel', run.setup)
          return yield* next(request)
        },
        async *wrapToolCall(call, next, run) {
          see('wrapToolCall', run.setup)
          return yield* next(call)
        },
      },
    ],
  })
  await agent.run('Go')
  expect(seen.map(([where]) => where)).toEqual([
    'wrapAgent',
    'wrapAgent run',
    'beforeModel',
    'wrapModel',
    'afterModel',
    'wrapToolCall',
    'tool',
    'beforeModel',
    'wrapModel',
    'afterModel',
    'beforeFinalAnswer',
  ])
  expect(new Set(seen.map(([, instructions]) => instructions))).toEqual(new Set(['two']))
})

test('what beforeModel and afterModel return is kept; returning nothing keeps the state (C7)', async () => {
  const model = scriptedModel([
    respond(call('echo', { text: 'a' })),
    respond(call('echo', { text: 'b' })),
    respond(say('c')),
  ])
  const agent = createAgent({
    model,
    tools: [echo],
    middleware: [
      {
        name: 'adds once',
        beforeModel: ({ messages }, run) => (run.step === 2 ? { messages: [...messages, user('hint')] } : undefined),
        afterModel({ messages }, run) {
          if (run.step !== 1) return
          const [first, ...rest] = messages
          return { messages: [user(`${first && textOf(first)}!`), ...rest] }
        },
      },
    ],
  })
  const result = await agent.run('Go')
  expect(model.requests.map(({ messages }) => texts(messages))).toEqual([
    ['Go'],
    ['Go!', '', 'a', 'hint'],
    ['Go!', '', 'a', 'hint', '', 'b'],
  ])
  expect(texts(result.messages)).toEqual(['Go!', '', 'a', 'hint', '', 'b', 'c'])
})

test('what a wrap passes to next lasts for that call; the message it returns enters the history (C8)', async () => {
  const model = scriptedModel([respond(call('echo', { text: 'a' })), respond(say('b'))])
  const agent = createAgent({
    model,
    tools: [echo],
    middleware: [
      {
        name: 'changes one call',
        async *wrapModel(request, next, run) {
          if (run.step > 1) return yield* next(request)
          const changed = {
            ...request,
            instructions: 'new',
            messages: [user('other')],
            toolChoice: 'required' as const,
          }
          const message = yield* next({ ...changed, settings: { temperature: 1 } })
          return { ...message, content: [{ type: 'text', text: 'Hm.' }, ...message.content] }
        },
        async *wrapToolCall(call, next) {
          const message = yield* next({ ...call, input: { text: 'changed' } })
          return { ...message, content: [...message.content, { type: 'text', text: '!' }] }
        },
      },
    ],
  })
  const result = await agent.run('Go')
  expect(model.requests[0]).toMatchObject({
    instructions: 'new',
    messages: [user('other')],
    toolChoice: 'required',
    settings: { temperature: 1 },
  })
  expect(model.requests[1]).toMatchObject({ instructions: '', toolChoice: 'auto', settings: {} })
  const call1 = toolCall('call_1_1', 'echo', { text: 'a' })
  expect(model.requests[1]?.messages).toEqual([
    user('Go'),
    { role: 'assistant', content: [{ type: 'text', text: 'Hm.' }, call1], finishReason: 'tool-calls' },
    {
      role: 'tool',
      callId: 'call_1_1',
      name: 'echo',
      content: [
        { type: 'text', text: 'changed' },
        { type: 'text', text: '!' },
      ],
      output: 'changed',
    },
  ])
  expect(result.messages.slice(0, 3)).toEqual(model.requests[1]?.messages)
})

test('a change of a wrap to an event only reaches the reader: the message stays (C8, C10)', async () => {
  const agent = createAgent({
    model: scriptedModel([respond(say('hello', { deltas: ['hel', 'lo'] }))]),
    middleware: [
      {
        name: 'loud',
        async *wrapModel(request, next) {
          return yield* map(next(request), (event) =>
            event.type === 'text-delta' ? { ...event, delta: event.delta.toUpperCase() } : event,
          )
        },
      },
    ],
  })
  const { events, result } = await collect(agent.stream('Go'))
  expect(events.flatMap((event) => (event.type === 'text-delta' ? [event.delta] : []))).toEqual(['HEL', 'LO'])
  expect(result?.text).toBe('hello')
})

test('a call that afterModel adds runs, one it edits runs as edited, one it removes does not run (C9)', async () => {
  const ran: string[] = []
  const work = tool({
    ...echo,
    execute: ({ text }) => {
      ran.push(text)
      return text
    },
  })
  const model = scriptedModel([
    respond(call('echo', { text: 'stays' }), call('echo', { text: 'goes' }), call('echo', { text: 'is edited' })),
    respond(say('done')),
  ])
  const agent = createAgent({
    model,
    tools: [work],
    middleware: [
      {
        name: 'edits',
        afterModel({ messages }, run) {
          const last = messages.at(-1)
          if (run.step > 1 || last?.role !== 'assistant') return
          const [stays, , edited] = last.content
          if (!stays || edited?.type !== 'tool-call') throw new Error('not what was scripted')
          const content = [
            stays,
            { ...edited, input: { text: 'edited' } },
            toolCall('added', 'echo', { text: 'added' }),
          ]
          return { messages: [...messages.slice(0, -1), { ...last, content }] }
        },
      },
    ],
  })
  const { events, result } = await collect(agent.stream('Go'))
  expect(ran).toEqual(['stays', 'edited', 'added'])
  const results = (result?.messages ?? []).filter((message): message is ToolMessage => message.role === 'tool')
  expect(results.map(({ callId, output }) => [callId, output])).toEqual([
    ['call_1_1', 'stays'],
    ['call_1_3', 'edited'],
    ['added', 'added'],
  ])
  const started = events.flatMap((event) => (event.type === 'tool-start' ? [event.call] : []))
  expect(started).toEqual([
    toolCall('call_1_1', 'echo', { text: 'stays' }),
    toolCall('call_1_3', 'echo', { text: 'edited' }),
    toolCall('added', 'echo', { text: 'added' }),
  ])
  expect(model.requests[1]?.messages).toEqual(result?.messages.slice(0, -1))
})

test('removing all calls makes an answer, adding one makes a tool step (C9, A8)', async () => {
  const model = scriptedModel([respond(say('first')), respond(say('Wait. '), call('echo', { text: 'no' }))])
  const agent = createAgent({
    model,
    tools: [echo],
    middleware: [
      {
        name: 'turns',
        afterModel({ messages }, run) {
          const last = messages.at(-1)
          if (last?.role !== 'assistant') return
          const text = last.content.filter(({ type }) => type === 'text')
          const content = run.step === 1 ? [...text, toolCall('mine', 'echo', { text: 'yes' })] : text
          return { messages: [...messages.slice(0, -1), { ...last, content }] }
        },
      },
    ],
  })
  const result = await agent.run('Go')
  expect(texts(result.messages)).toEqual(['Go', 'first', 'yes', 'Wait. '])
  expect(result).toMatchObject({ steps: 2, stopReason: 'answer' })
})

test('no later call of the model gets an id that a hook gave to a call (C9, G10)', async () => {
  const model = scriptedModel([
    respond(say('first')),
    respond(call('echo', { text: 'b' }, { id: 'mine' })),
    respond(say('c')),
  ])
  const agent = createAgent({
    model,
    tools: [echo],
    middleware: [
      {
        name: 'adds',
        afterModel({ messages }, run) {
          if (run.step > 1) return
          const content = [toolCall('mine', 'echo', { text: 'a' })]
          return { messages: [...messages.slice(0, -1), { ...answer(''), content }] }
        },
      },
    ],
  })
  const result = await agent.run('Go')
  const results = result.messages.flatMap((message) =>
    message.role === 'tool' ? [[message.callId, message.output]] : [],
  )
  expect(results).toEqual([
    ['mine', 'a'],
    ['mine_1', 'b'],
  ])
})

test('the reader’s model events show the output after all wrapModels and before afterModel (C10)', async () => {
  const adding = (name: string): Middleware => ({
    name,
    async *wrapModel(request, next) {
      const message = yield* map(next(request), (event) =>
        event.type === 'text-delta' ? { ...event, delta: `${event.delta} ${name}` } : event,
      )
      yield { type: 'reasoning-delta', delta: `${name} has it` }
      return message
    },
    afterModel: ({ messages }) => ({ messages: [...messages.slice(0, -1), answer('nothing of this')] }),
  })
  const model = scriptedModel([respond(say('said'))])
  const { events, result } = await collect(createAgent({ model, middleware: [adding('A'), adding('B')] }).stream('Go'))
  const inStep = comparable(events).filter(({ type }) => !type.startsWith('run-') && type !== 'step-end')
  expect(inStep).toEqual([
    { type: 'step-start', step: 1 },
    { type: 'attempt-start', attempt: 1, model: { provider: 'scripted', id: 'scripted-1' }, step: 1 },
    { type: 'text-delta', delta: 'said B A', step: 1, attempt: 1 },
    { type: 'reasoning-delta', delta: 'B has it', step: 1, attempt: 1 },
    { type: 'reasoning-delta', delta: 'A has it', step: 1, attempt: 1 },
    { type: 'message', message: answer('said'), step: 1 },
    { type: 'history-replaced', messages: result?.messages, step: 1 },
    { type: 'history-replaced', messages: result?.messages, step: 1 },
  ])
  expect(result?.text).toBe('nothing of this')
})

test('tool-end shows the result after all wrapToolCalls (C10)', async () => {
  const adding = (name: string): Middleware => ({
    name,
    async *wrapToolCall(call, next) {
      const message = yield* next(call)
      return { ...message, content: [...message.content, { type: 'text', text: ` ${name}` }] }
    },
  })
  const agent = createAgent({
    model: scriptedModel([respond(call('echo', { text: 'a' })), respond(say('b'))]),
    tools: [echo],
    middleware: [adding('A'), adding('B')],
  })
  const { events, result } = await collect(agent.stream('Go'))
  const ends = events.flatMap((event) => (event.type === 'tool-end' ? [event.message] : []))
  expect(texts(ends)).toEqual(['a B A'])
  expect(ends).toEqual([result?.messages[2]])
})

test('next is lazy: nothing is requested or executed before its flow is pulled (C11)', async () => {
  vi.useFakeTimers()
  const model = scriptedModel([respond(call('slow', { text: 'a' })), respond(say('b'))])
  const executed: number[] = []
  const slow = tool({
    ...echo,
    name: 'slow',
    execute: () => `execution ${executed.push(performance.now())}`,
  })
  const start = performance.now()
  const seen: string[] = []
  const agent = createAgent({
    model,
    tools: [slow],
    middleware: [
      {
        name: 'waits',
        async *wrapAgent(setup, next) {
          const flow = next(setup)
          await sleep(100)
          seen.push(`model calls: ${model.requests.length}`)
          return yield* flow
        },
        async *wrapModel(request, next) {
          const flow = next(request)
          await sleep(100)
          seen.push(`model calls: ${model.requests.length}`)
          return yield* flow
        },
        async *wrapToolCall(call, next) {
          const flow = next(call)
          await sleep(100)
          return yield* flow
        },
      },
    ],
  })
  const collecting = collect(agent.stream('Go'))
  await vi.advanceTimersByTimeAsync(150)
  expect(model.requests).toHaveLength(0)
  await vi.runAllTimersAsync()
  const { events } = await collecting
  expect(seen).toEqual(['model calls: 0', 'model calls: 0', 'model calls: 1'])
  expect(executed).toEqual([start + 300])
  expect(events.filter(({ type }) => type === 'attempt-start')).toHaveLength(2)
})

test('a flow of next that is never pulled makes no request, and is not an attempt (C11, C12)', async () => {
  const model = scriptedModel([])
  const agent = createAgent({
    model,
    middleware: [
      {
        name: 'changes its mind',
        async *wrapModel(request, next) {
          next(request)
          return answer('without you')
        },
      },
    ],
  })
  const { events, result } = await collect(agent.stream('Go'))
  expect(result?.text).toBe('without you')
  expect(model.requests).toHaveLength(0)
  expect(events.map(({ type }) => type)).toEqual(['run-start', 'step-start', 'message', 'step-end', 'run-end'])
})

test('a wrap that never calls next answers itself: its message passes afterModel, calls, gate and history (C12)', async () => {
  const seen: string[] = []
  const agent = createAgent({
    model: scriptedModel([]),
    tools: [echo],
    middleware: [
      {
        name: 'hooks',
        afterModel: ({ messages }, run) =>
          void seen.push(`afterModel ${run.step}: ${texts(messages.slice(-1)).join()}`),
        beforeFinalAnswer: ({ messages }) => void seen.push(`gate: ${texts(messages.slice(-1)).join()}`),
      },
      {
        name: 'answers',
        async *wrapModel(request) {
          if (request.messages.length > 1) return answer('done')
          return { ...answer('one moment'), content: [toolCall('mine', 'echo', { text: 'a' })] }
        },
      },
    ],
  })
  const { events, result } = await collect(agent.stream('Go'))
  expect(seen).toEqual(['afterModel 1: ', 'afterModel 2: done', 'gate: done'])
  expect(result).toMatchObject({ text: 'done', steps: 2, usage: {} })
  expect(texts(result?.messages ?? [])).toEqual(['Go', '', 'a', 'done'])
  const mine = { callId: 'mine', toolName: 'echo' }
  expect(comparable(events).slice(0, 8)).toEqual([
    { type: 'run-start' },
    { type: 'step-start', step: 1 },
    { type: 'message', message: result?.messages[1], step: 1 },
    { type: 'tool-start', ...mine, call: toolCall('mine', 'echo', { text: 'a' }), step: 1 },
    { type: 'tool-entered', ...mine, attempt: 1, step: 1 },
    { type: 'tool-end', ...mine, message: result?.messages[2], step: 1 },
    { type: 'message', message: result?.messages[2], step: 1 },
    { type: 'step-end', messages: result?.messages.slice(1, 3), step: 1 },
  ])
})

test('a message of a wrap that answers itself must follow the rules of the history (C12, A15)', async () => {
  const agent = createAgent({
    model: scriptedModel([]),
    tools: [echo],
    middleware: [
      {
        name: 'repeats itself',
        async *wrapModel() {
          return { ...answer(''), content: [toolCall('same', 'echo', { text: 'a' })] }
        },
      },
    ],
  })
  await expect(agent.run('Go')).rejects.toMatchObject({ name: 'HistoryError', callIds: ['same'] })
})

test('a wrap that answers a call itself executes nothing; its message replaces the result (C12)', async () => {
  const execute = vi.fn(({ text }: { text: string }) => text)
  const agent = createAgent({
    model: scriptedModel([respond(call('echo', { text: 'a' })), respond(say('b'))]),
    tools: [tool({ ...echo, execute })],
    middleware: [
      {
        name: 'cached',
        async *wrapToolCall({ id, name }) {
          return { role: 'tool', callId: id, name, content: [{ type: 'text', text: 'cached' }] }
        },
      },
    ],
  })
  const { events, result } = await collect(agent.stream('Go'))
  expect(execute).not.toHaveBeenCalled()
  const message = { role: 'tool', callId: 'call_1_1', name: 'echo', content: [{ type: 'text', text: 'cached' }] }
  expect(result?.messages[2]).toEqual(message)
  expect(events.flatMap((event) => (event.type === 'tool-end' ? [event.message] : []))).toEqual([message])
})

test('wrapToolCall receives its own call for each of several parallel calls of one tool (C19)', async () => {
  vi.useFakeTimers()
  const slow = tool({
    name: 'slow',
    description: 'Takes its time.',
    input: z.object({ ms: z.number() }),
    async execute({ ms }) {
      await sleep(ms)
      return `${ms} ms`
    },
  })
  const seen: [ToolCall, ToolMessage][] = []
  const agent = createAgent({
    model: scriptedModel([respond(...[30, 10, 20].map((ms) => call('slow', { ms }))), respond(say('done'))]),
    tools: [slow],
    middleware: [
      {
        name: 'looks',
        async *wrapToolCall(call, next) {
          const message = yield* next(call)
          seen.push([call, message])
          return message
        },
      },
    ],
  })
  const running = agent.run('Go')
  await vi.runAllTimersAsync()
  await running
  expect(seen.map(([call, { callId, output }]) => [call, callId, output])).toEqual([
    [toolCall('call_1_2', 'slow', { ms: 10 }), 'call_1_2', '10 ms'],
    [toolCall('call_1_3', 'slow', { ms: 20 }), 'call_1_3', '20 ms'],
    [toolCall('call_1_1', 'slow', { ms: 30 }), 'call_1_1', '30 ms'],
  ])
})

test('wrapAgent receives the accepted result once, after every other hook, and the run returns what it returns (C20, C8)', async () => {
  const seen: string[] = []
  const agent = createAgent({
    model: scriptedModel([respond(say('no')), respond(say('yes'))]),
    middleware: [
      {
        name: 'whole',
        async *wrapAgent(setup, next) {
          const result = yield* next(setup)
          seen.push(`wrapAgent: ${result.text}`)
          return { ...result, text: result.text.toUpperCase() }
        },
        afterModel: () => void seen.push('afterModel'),
        beforeFinalAnswer({ messages }) {
          const last = messages.at(-1)
          seen.push(`gate: ${last && textOf(last)}`)
          return last && textOf(last) === 'no' ? { accept: false, feedback: 'Really?' } : { accept: true }
        },
      },
    ],
  })
  const { events, result } = await collect(agent.stream('Go'))
  expect(seen).toEqual(['afterModel', 'gate: no', 'afterModel', 'gate: yes', 'wrapAgent: yes'])
  expect(result?.text).toBe('YES')
  expect(events.at(-1)).toEqual({ type: 'run-end', runId: events[0]?.runId, result })
})

test('a failure reaches wrapAgent as a throw, and its finally has run before the result settles (C20)', async () => {
  vi.useFakeTimers()
  const seen: string[] = []
  const failed = new Error('no network')
  const agent = createAgent({
    model: {
      provider: 'own',
      id: 'own-1',
      async *stream() {
        throw failed
      },
    },
    middleware: [
      {
        name: 'whole',
        async *wrapAgent(setup, next) {
          try {
            return yield* next(setup)
          } catch (error) {
            seen.push(`caught ${error instanceof Error && error.message}`)
            throw error
          } finally {
            await sleep(100)
            seen.push('finally')
          }
        },
      },
    ],
  })
  const running = collect(agent.stream('Go')).then(({ error }) => void seen.push(`settled ${String(error)}`))
  await vi.runAllTimersAsync()
  await running
  expect(seen).toEqual(['caught no network', 'finally', 'settled ModelError: no network'])
})

test('an abort reaches wrapAgent as a throw, and its finally has run before the result settles (C20)', async () => {
  vi.useFakeTimers()
  const seen: string[] = []
  const agent = createAgent({
    model: scriptedModel([respond(wait(10_000), say('late'))]),
    middleware: [
      {
        name: 'whole',
        async *wrapAgent(setup, next) {
          try {
            return yield* next(setup)
          } catch (error) {
            seen.push(`caught ${String(error)}`)
            throw error
          } finally {
            await sleep(100)
            seen.push('finally')
          }
        },
      },
    ],
  })
  const controller = new AbortController()
  const running = agent
    .run('Go', { signal: controller.signal })
    .catch((error) => void seen.push(`settled ${String(error)}`))
  await vi.advanceTimersByTimeAsync(500)
  controller.abort()
  await vi.advanceTimersByTimeAsync(500)
  await running
  expect(seen).toEqual(['caught AbortError: the run was aborted', 'finally', 'settled AbortError: the run was aborted'])
})
