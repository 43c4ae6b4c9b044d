import { call, collect, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { afterEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { sleep } from '../../test/clock.ts'
import { comparable } from '../../test/comparable-events.ts'
import { answer, texts, toolCall, user } from '../../test/messages.ts'
import { echo } from '../../test/tools.ts'
import { createAgent, type Middleware, map, type ToolCall, type ToolMessage, tool } from '../index.ts'

afterEach(() => void vi.useRealTimers())

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
    ['Go', ' model B model A', 'This call ran with another input: {"text":"AB"}.\nAB tool B tool A', 'A', 'B'],
  ])
  expect(result.text).toBe('said model B model A agent B agent A')
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
        { type: 'text', text: 'This call ran with another input: {"text":"changed"}.\n' },
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
