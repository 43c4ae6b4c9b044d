import { call, collect, respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { agentTool, createAgent, type Run, type Tool, tool } from '@meanwhile/core'
import { played } from '@meanwhile/tests/clock'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { tellingModel } from '../test/telling-model.ts'
import { type Workshop, workshop } from '../test/workshop.ts'
import { createToolExecutor, type EagerToolsOptions, eagerTools } from './index.ts'

// Tools with the effect `calls` and eager tools.

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const done = respond(say('Done.'))

/** Makes these calls one after the other and returns their results. */
function calling(shop: Workshop, names: readonly string[], more: Partial<Tool<{ n: number }, string>> = {}): Tool {
  return shop.make('plan', 'calls', {
    async execute({ n }, { run, callId }) {
      const given: string[] = []
      for (const name of names) given.push(await callOf(run, name, n, `${callId}/${name}`))
      return given.join(', ')
    },
    ...more,
  } as Partial<Tool<never, string>>)
}

async function callOf(run: Run | undefined, name: string, n: number, id: string): Promise<string> {
  const message = await run?.callTool({ type: 'tool-call', id, name, input: { n } })
  return String(message?.output)
}

test('a tool with the effect calls starts when its arguments are closed, and its calls no earlier than their own effects allow (Q1)', async () => {
  const made = async (middleware: ReturnType<typeof eagerTools>[]) => {
    const shop = workshop()
    const model = tellingModel([
      [
        [100, (to) => to.call(0, { id: 'c1', name: 'plan', delta: '{"n":1}' })],
        [200, (to) => to.seal(0)],
        [300, (to) => to.finish('tool-calls')],
      ],
      [
        [0, (to) => to.text('Done.')],
        [0, (to) => to.finish('stop')],
      ],
    ])
    const tools = [calling(shop, ['look', 'put', 'move', 'send']), ...shop.tools]
    const { result } = await played(collect(createAgent({ model, tools, middleware }).stream('Go')))
    return { log: shop.log, messages: result?.messages }
  }
  const eager = await made([eagerTools()])
  const waiting = await made([])
  expect(eager.log).toEqual(['100 look 1', '300 put 1', '300 move 1', '300 send 1'])
  expect(waiting.log).toEqual(['300 look 1', '300 put 1', '300 move 1', '300 send 1'])
  expect(eager.messages).toEqual(waiting.messages)
})

test('the policy decides about a call with the effect calls, and may make it wait (Q1, H3)', async () => {
  const shop = workshop()
  const asked: string[] = []
  const policy: EagerToolsOptions['policy'] = (one, { effect, evidence }) => {
    asked.push(`${one.name} ${effect} ${evidence}`)
    return 'wait'
  }
  const model = scriptedModel([respond(wait(100), call('plan', { n: 1 }, { deltas: 1 }), wait(100), say('So.')), done])
  const tools = [calling(shop, ['look']), ...shop.tools]
  await played(createAgent({ model, tools, middleware: [eagerTools({ policy })] }).run('Go'))
  expect(asked.slice(0, 1)).toEqual(['plan calls closed'])
  expect(shop.log).toEqual(['200 look 1'])
})

test('a call with the effect calls whose response breaks off has made only reads (Q1)', async () => {
  const shop = workshop()
  const model = tellingModel([
    [
      [100, (to) => to.call(0, { id: 'c1', name: 'plan', delta: '{"n":1}' })],
      [100, (to) => to.seal(0)],
    ],
  ])
  const tools = [calling(shop, ['look', 'put', 'send']), ...shop.tools]
  const { error, events } = await played(
    collect(createAgent({ model, tools, middleware: [eagerTools()] }).stream('Go')),
  )
  expect(error).toBeInstanceOf(Error)
  expect(shop.log).toEqual(['100 look 1', '100 look 1 aborted'])
  expect(events.flatMap((event) => (event.type === 'tool-discarded' ? [event.callId] : []))).toContain('c1')
})

const pair = (first: string, second: string) =>
  respond(
    call(first, { n: 1, ms: 10 }, { id: 'c1', deltas: 1 }),
    call(second, { n: 2 }, { id: 'c2', deltas: 1 }),
    wait(100),
    say('So.'),
  )

test.each([
  ['look', 'plan', ['0 look 1', '0 look 2']],
  ['plan', 'look', ['0 look 1', '100 look 2']],
  ['plan', 'plan', ['0 look 1', '100 look 2']],
  ['send', 'plan', ['100 look 2', '100 send 1']],
])(
  'a call with the effect calls is a barrier, and does not start after one: %s, %s (Q2, H14)',
  async (first, second, expected) => {
    const shop = workshop()
    const tools = [calling(shop, ['look']), ...shop.tools]
    await played(
      createAgent({ model: scriptedModel([pair(first, second), done]), tools, middleware: [eagerTools()] }).run('Go'),
    )
    expect(shop.log.toSorted()).toEqual(expected)
  },
)

test('a call with the effect calls that is independent, or declares keys, is not a barrier, and its keys keep call order (Q2, H14)', async () => {
  const lift = async (options: EagerToolsOptions, more: Partial<Tool>, names = ['plan', 'look']) => {
    const shop = workshop()
    const key = ({ n }: { readonly n: number }) => [`${n === 3 ? 1 : n}`]
    const tools = [
      calling(shop, ['look', 'send'], more as Partial<Tool<{ n: number }, string>>),
      shop.make('fetch', 'read', { reads: key }),
      ...shop.tools,
    ]
    const calls = names.map((name, index) => call(name, { n: index + 1 }, { id: `c${index}`, deltas: 1 }))
    const model = scriptedModel([respond(...calls, wait(100), say('So.')), done])
    await played(createAgent({ model, tools, middleware: [eagerTools(options)] }).run('Go'))
    return shop.log
  }
  const writes = { writes: ({ n }: { readonly n: number }) => [`${n}`] }
  expect(await lift({ independent: ['plan'] }, {})).toEqual(['0 look 1', '0 look 2', '100 send 1'])
  expect(await lift({}, writes as Partial<Tool>)).toEqual(['0 look 1', '0 look 2', '100 send 1'])
  // The third call reads the key of the first and waits until that has finished.
  expect(await lift({}, writes as Partial<Tool>, ['plan', 'fetch', 'fetch'])).toEqual([
    '0 look 1',
    '0 fetch 2',
    '100 send 1',
    '100 fetch 3',
  ])
})

test('a tool with the effect calls starts with the members it needs (Q4, H31)', async () => {
  const shop = workshop()
  const plan = tool({
    name: 'plan',
    description: 'p',
    input: z.object({ n: z.number(), then: z.string() }),
    effect: 'calls',
    needs: ['n'],
    async execute({ n }, { run, rest }) {
      const looked = await callOf(run, 'look', n, 'look')
      const sent = callOf(run, 'send', n, 'send')
      const { then } = await rest
      return `${looked}, ${await sent}, ${then}`
    },
  }) as Tool
  const model = tellingModel([
    [
      [0, (to) => to.call(0, { id: 'c1', name: 'plan', delta: '{"n":1,' })],
      [100, (to) => to.call(0, { delta: '"then":"so"}' })],
      [200, (to) => to.finish('tool-calls')],
    ],
    [
      [0, (to) => to.text('Done.')],
      [0, (to) => to.finish('stop')],
    ],
  ])
  const agent = createAgent({ model, tools: [plan, ...shop.tools], middleware: [eagerTools()] })
  const { result } = await played(collect(agent.stream('Go')))
  expect(shop.log).toEqual(['0 look 1', '200 send 1'])
  expect(result?.messages.find(({ role }) => role === 'tool')).toMatchObject({ output: 'look 1, send 1, so' })
})

test('an agent with the effect calls starts early; its calls that do more than read wait until the response is accepted (Q4, Q1)', async () => {
  const shop = workshop()
  const responses = [respond(call('look', { n: 1 })), respond(call('send', { n: 1 })), respond(say('Planned.'))]
  const inner = createAgent({
    name: 'plan',
    description: 'p',
    model: scriptedModel(responses),
    tools: shop.tools,
    middleware: [eagerTools()],
  })
  const plan = agentTool(inner, { effect: 'calls' }) as Tool
  const model = scriptedModel([respond(call('plan', { request: 'Go' }, { deltas: 1 }), wait(100), say('So.')), done])
  await played(createAgent({ model, tools: [plan], middleware: [eagerTools()] }).run('Go'))
  expect(shop.log).toEqual(['0 look 1', '100 send 1'])
})

test('the same applies in your own loop: inner calls wait until the response is finished (Q1, H37)', async () => {
  const shop = workshop()
  const executor = createToolExecutor({ tools: [calling(shop, ['look', 'send']), ...shop.tools] })
  const one = { type: 'tool-call', id: 'c1', name: 'plan', input: { n: 1 } } as const
  executor.push({ type: 'tool-input-start', id: 'c1', name: 'plan' })
  executor.push({ type: 'tool-call', call: one })
  await vi.advanceTimersByTimeAsync(50)
  expect(shop.log).toEqual(['0 look 1'])
  const { toolMessages } = await played(executor.finish())
  expect(shop.log).toEqual(['0 look 1', '50 send 1'])
  expect(toolMessages).toMatchObject([{ output: 'look 1, send 1' }])
})

test.for([
  { writes: undefined, reads: 'old' },
  { writes: 'other', reads: 'old' },
  { writes: 'file', reads: 'new' },
])(
  'after a call that may write $writes, inner calls of a calls tool read the same as without eager tools (Q2, H14)',
  async ({ writes, reads }) => {
    const made = async (middleware: ReturnType<typeof eagerTools>[]) => {
      let file = 'old'
      const input = z.object({})
      const write = tool({
        name: 'write',
        description: 'Writes',
        input,
        effect: writes ? 'external' : 'read',
        ...(writes && { writes: () => [writes] }),
        async execute() {
          await new Promise((resolve) => setTimeout(resolve, 10))
          if (writes === 'file') file = 'new'
          return 'ok'
        },
      })
      const look = tool({
        name: 'look',
        description: 'Reads',
        input,
        effect: 'read',
        reads: () => ['file'],
        execute: () => file,
      })
      const plan = tool({
        name: 'plan',
        description: 'Plans',
        input,
        effect: 'calls',
        execute: async (_, { run }) =>
          (await run?.callTool({ type: 'tool-call', id: 'r', name: 'look', input: {} }))?.output,
      })
      const model = scriptedModel([respond(call('write'), call('plan'), wait(40)), done])
      const agent = createAgent({ model, tools: [write, look, plan], middleware })
      const { result } = await played(collect(agent.stream('Go')))
      return result?.messages.flatMap((one) => (one.role === 'tool' ? [one.output] : []))
    }
    const eager = await made([eagerTools()])
    expect(eager).toEqual(await made([]))
    expect(eager).toEqual(['ok', reads])
  },
)
