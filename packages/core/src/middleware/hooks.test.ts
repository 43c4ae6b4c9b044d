import { call, collect, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { afterEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { sleep } from '../../test/clock.ts'
import { comparable } from '../../test/comparable-events.ts'
import { answer, texts, toolCall, user } from '../../test/messages.ts'
import { echo } from '../../test/tools.ts'
import { type AgentSetup, createAgent, type Middleware, type Run, type ToolMessage, textOf, tool } from '../index.ts'

afterEach(() => void vi.useRealTimers())

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
