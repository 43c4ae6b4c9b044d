import { call, collect, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { byTurns } from '@meanwhile/tests/size'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { early } from '../../test/early-calls.ts'
import {
  type AgentOptions,
  type AgentResult,
  type AssistantMessage,
  createAgent,
  interrupt,
  type Message,
  type Middleware,
  type Model,
  memoryStore,
  type Tool,
  type ToolCall,
  type ToolMessage,
  textOf,
  tool,
} from '../index.ts'

function nested(levels: number): object {
  let value: object = {}
  for (let n = 1; n < levels; n++) value = { a: value }
  return value
}

const ring: { self?: unknown } = {}
ring.self = [ring]

let graph: object = { leaf: true }
for (let n = 0; n < 40; n++) graph = { a: graph, b: graph }

const inputs: Readonly<Record<string, object>> = {
  '513 levels': nested(513),
  '5,000 levels': nested(5_000),
  '20,000 levels': nested(20_000),
  'a circle': ring,
  'more paths than can be walked': graph,
}

const TOO_LARGE = /^invalid input for take: arguments are (nested deeper than 512 levels|longer than \d+ characters)$/

function taking(taken: unknown[], more: Omit<Partial<Tool>, 'needs'> = {}): Tool {
  return tool({
    name: 'take',
    description: 'Takes anything',
    input: z.looseObject({}),
    effect: 'read',
    execute: (input) => `taken ${taken.push(input)}`,
    ...more,
  }) as Tool
}

function calling(input: unknown, more: Partial<ToolCall> = {}): ToolCall {
  return { type: 'tool-call', id: 't', name: 'take', input, ...more }
}

function asking(one: ToolCall): AssistantMessage {
  return { role: 'assistant', content: [one], finishReason: 'tool-calls' }
}

/** A model without the assembler, which passes its arguments on unchanged: first this call, then an answer. */
function own(one: ToolCall, isTold = true): Model {
  let requests = 0
  return {
    provider: 'own',
    id: 'own-1',
    async *stream() {
      if (requests++ > 0) return { role: 'assistant', content: [{ type: 'text', text: 'Done' }], finishReason: 'stop' }
      if (isTold) {
        yield { type: 'tool-input-start', id: one.id, name: one.name }
        yield { type: 'tool-input-closed', call: one }
        yield { type: 'tool-call', call: one }
      }
      return asking(one)
    },
  }
}

const scripted = (input: unknown = {}) =>
  scriptedModel([respond(call('take', input, { id: 't' })), respond(say('Done'))])

/** The ways in which arguments can enter a call. */
const ways: Readonly<Record<string, (input: object) => Partial<AgentOptions> & Pick<AgentOptions, 'model'>>> = {
  'a model': (input) => ({ model: own(calling(input)) }),
  'a model whose calls start early': (input) => ({ model: own(calling(input)), middleware: [early] }),
  'a model that tells of nothing but its message': (input) => ({ model: own(calling(input), false) }),
  'a wrapModel that answers itself': (input) => {
    let calls = 0
    const answers: Middleware = {
      name: 'answers',
      async *wrapModel(request, next) {
        if (calls++ > 0) return yield* next(request)
        yield { type: 'tool-call', call: calling(input) }
        return asking(calling(input))
      },
    }
    return { model: scriptedModel([respond(say('Done'))]), middleware: [answers, early] }
  },
  'an afterModel': (input) => {
    const changes: Middleware = {
      name: 'changes',
      afterModel: ({ messages }) =>
        messages.length > 2 ? undefined : { messages: [...messages.slice(0, -1), asking(calling(input))] },
    }
    return { model: scripted(), middleware: [changes] }
  },
  prepareInput: (input) => ({ model: scripted(), prepareInput: () => input }),
  'a wrapToolCall': (input) => {
    const hands: Middleware = { name: 'hands', wrapToolCall: (one, next) => next({ ...one, input }) }
    const compares: Middleware = { name: 'compares', wrapToolCall: (one, next) => next({ ...one }) }
    return { model: scripted(), middleware: [hands, compares] }
  },
  'a wrapToolCall round a background call': (input) => ({
    model: scripted(),
    tools: [taking([], { background: true })],
    middleware: [{ name: 'hands', wrapToolCall: (one, next) => next({ ...one, input }) }],
  }),
}

const LIMITS = [{}, { depth: Number.POSITIVE_INFINITY, characters: Number.POSITIVE_INFINITY }]

/** In small runs each with one of the limits, by turns: as the number of inputs is odd, each input and each way has both. */
const places = Object.keys(ways)
  .flatMap((way) => Object.keys(inputs).map((what) => ({ way, what })))
  .map((place, at) => ({ ...place, limits: byTurns(LIMITS, { small: 1, middle: 1, whole: 2 }, at) }))

test.for(places)('$what in the arguments of $way are an error result (P11)', async ({ way, what, limits }) => {
  const taken: unknown[] = []
  const store = memoryStore()
  const exporter = new InMemorySpanExporter()
  const tracerProvider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })
  const telemetry = { tracerProvider, captureContent: true }
  for (const inputLimits of limits) {
    const options = { tools: [taking(taken)], checkpoints: store, telemetry, inputLimits }
    const agent = createAgent({ ...options, ...ways[way]?.(inputs[what] as object) } as AgentOptions)
    const { result, error, events } = await collect(agent.stream('Go'))
    expect(error).toBeUndefined()
    expect(result).toMatchObject({ status: 'completed', text: 'Done' })
    expect(result).not.toHaveProperty('checkpointError')
    const results = (result as AgentResult).messages.filter(({ role }) => role === 'tool')
    expect(results).toMatchObject([{ callId: 't', isError: true }])
    expect(results.map(textOf)).toEqual([expect.stringMatching(TOO_LARGE)])
    expect(events.length).toBeLessThan(20)
    // All of it can be written, as a store does.
    expect(JSON.stringify(await store.load(events[0]?.runId ?? ''))).not.toContain('call stack')
  }
  expect(taken).toEqual([])
})

test.for(Object.keys(inputs))('%s in the arguments of an inner call are its error result (P11)', async (what) => {
  const taken: unknown[] = []
  const makes = tool({
    name: 'makes',
    description: 'Makes a call',
    input: z.object({}),
    async execute(_, { run }) {
      const message = await run?.callTool(calling(inputs[what]))
      return textOf(message as ToolMessage)
    },
  }) as Tool
  const model = scriptedModel([respond(call('makes')), respond(say('Done'))])
  const { messages } = await createAgent({ model, tools: [taking(taken), makes] }).run('Go')
  expect(messages.filter(({ role }) => role === 'tool').map(textOf)).toEqual([expect.stringMatching(TOO_LARGE)])
  expect(taken).toEqual([])
})

test('the text of arguments that are too deep is kept, as that of arguments that came as text (P11)', async () => {
  const text = JSON.stringify(nested(600))
  for (const model of [own(calling(JSON.parse(text))), scripted(text), scripted(JSON.parse(text))]) {
    const { messages } = await createAgent({ model, tools: [taking([])] }).run('Go')
    const inputError = 'arguments are nested deeper than 512 levels'
    expect(messages[1]).toMatchObject({ content: [{ id: 't', input: text, inputError }] })
  }
})

test('arguments of the greatest allowed depth are accepted from every source, and the run is saved (P11, L13)', async () => {
  const deepest = nested(512)
  for (const [way, optionsOf] of Object.entries(ways)) {
    const taken: unknown[] = []
    const options = { tools: [taking(taken)], checkpoints: memoryStore(), ...optionsOf(deepest) }
    if (options.tools[0]?.background) continue
    const result = await createAgent(options).run('Go')
    expect([way, taken]).toEqual([way, [deepest]])
    expect(result).not.toHaveProperty('checkpointError')
    // Its result is the input of another run, also from a store.
    const again = createAgent({ model: scriptedModel([respond(say('Again'))]) })
    const messages = JSON.parse(JSON.stringify(result.messages)) as Message[]
    expect(await again.run([...messages, { role: 'user', content: 'And?' }])).toMatchObject({ text: 'Again' })
  }
})

test('more levels than 512 count as 512, and more characters than 64 Mi as 64 Mi (P11)', async () => {
  const model = scriptedModel([respond(say('Hi')), respond(say('Hi'))])
  const most = Number.POSITIVE_INFINITY
  await createAgent({ model, inputLimits: { depth: most, characters: most } }).run('Go')
  await createAgent({ model, inputLimits: { depth: 10, characters: 20 } }).run('Go')
  expect(model.requests.map(({ inputLimits }) => inputLimits)).toEqual([
    { depth: 512, characters: 64 * 1024 * 1024 },
    { depth: 10, characters: 20 },
  ])
})

test('arguments that a model returns as a value have the same limits as their text (G14, P11)', async () => {
  const inputLimits = { depth: 2, characters: 20 }
  const text = async (input: unknown) => {
    const { messages } = await createAgent({ model: own(calling(input)), tools: [taking([])], inputLimits }).run('Go')
    return textOf(messages[2] as Message)
  }
  expect(await text({ a: [] })).toBe('taken 1')
  expect(await text({ a: [[]] })).toBe('invalid input for take: arguments are nested deeper than 2 levels')
  expect(await text({ a: 'x'.repeat(12) })).toBe('taken 1')
  expect(await text({ a: 'x'.repeat(13) })).toBe('invalid input for take: arguments are longer than 20 characters')
  expect(await text('x'.repeat(21))).toBe('invalid input for take: arguments are longer than 20 characters')
})

test.for([
  ['a call', { providerMetadata: { own: nested(600) } }],
  ['a call', { providerMetadata: { own: ring } }],
  ['a call that the provider made', { providerResult: nested(5_000) }],
  ['a call that the provider made', { providerResult: graph }],
] as const)('other data that a provider sends with %s is bounded, too (P11)', async ([, more]) => {
  const agent = createAgent({ model: own(calling({}, more)), tools: [taking([])], checkpoints: memoryStore() })
  await expect(agent.run('Go')).rejects.toMatchObject({
    name: 'ModelError',
    message: expect.stringMatching(/^the response has data nested deeper than 512 levels, or longer than/),
  })
})

test.for([nested(600), nested(20_000), ring, 5n])(
  'a history that cannot be written is refused (P11, A5)',
  async (input) => {
    const agent = createAgent({ model: scriptedModel([respond(say('Hi'))]) })
    const history: Message[] = [
      { role: 'user', content: 'Go' },
      asking(calling(input)),
      { role: 'tool', callId: 't', name: 'take', content: [] },
    ]
    await expect(agent.run(history)).rejects.toMatchObject({ name: 'InputError', problem: 'malformed', index: 1 })
    const run = agent.stream('Go')
    const sent = { role: 'user', content: [{ type: 'text', text: '', providerMetadata: { own: input } }] } as const
    const message = 'a message to a run must be a text or a user message; this cannot be written as JSON'
    expect(() => run.send(sent)).toThrow(expect.objectContaining({ name: 'InputError', message }))
    await run.result
  },
)

test('a final answer of any depth is not an answer that fits (P11, M14)', async () => {
  const answers = [JSON.stringify({ text: 'Hi' })].map((text) => respond(say(text)))
  const deep = `{"text":${'['.repeat(20_000)}${']'.repeat(20_000)}}`
  const model = scriptedModel([respond(say(deep, { deltas: 5 })), ...answers], { structuredOutput: true })
  const output = z.looseObject({ text: z.any() })
  const { result, events } = await collect(createAgent({ model, output, checkpoints: memoryStore() }).stream('Go'))
  expect(result).toMatchObject({ output: { text: 'Hi' } })
  expect(result).not.toHaveProperty('checkpointError')
  expect(events).toContainEqual(
    expect.objectContaining({ type: 'answer-rejected', feedback: expect.stringContaining('it is not JSON') }),
  )
})

test('questions and answers that are too deep or too large to be saved are rejected (P11, L10)', async () => {
  for (const payload of [nested(600), ring, graph]) {
    const model = scriptedModel([respond(call('ask'))])
    const ask = tool({ name: 'ask', description: 'Asks', input: z.object({}), execute: () => interrupt(payload) })
    await expect(createAgent({ model, tools: [ask] }).run('Go')).rejects.toMatchObject({ name: 'ConfigError' })
  }
})

const LONG = 'n'.repeat(1_000_000)

test('results, events and spans contain at most 200 characters of the name of a call (P12)', async () => {
  const exporter = new InMemorySpanExporter()
  const tracerProvider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })
  const makes = tool({
    name: 'makes',
    description: 'Makes a call',
    input: z.object({}),
    async execute(_, { run }) {
      const message = (await run?.callTool({ type: 'tool-call', id: 'inner', name: LONG, input: {} })) as ToolMessage
      return { name: message.name, text: textOf(message) }
    },
  }) as Tool
  const model = scriptedModel([respond(call(LONG, {}, { id: 't' }), call('makes')), respond(say('Done'))])
  const options = { tools: [makes], telemetry: { tracerProvider, captureContent: true }, middleware: [early] }
  const { result, events, error } = await collect(createAgent({ model, ...options }).stream('Go'))
  expect(error).toBeUndefined()
  const name = LONG.slice(0, 200)
  const text = `There is no tool named "${name}". Available tools: makes.`
  const [unknown, made] = (result as AgentResult).messages.filter(
    (message): message is ToolMessage => message.role === 'tool',
  )
  expect(unknown).toEqual({ role: 'tool', callId: 't', name, content: [{ type: 'text', text }], isError: true })
  expect(made?.output).toEqual({ name, text })
  expect(events.flatMap((event) => (event.type === 'tool-input-start' ? [event.name] : []))).toEqual([name, 'makes'])
  for (const event of [...events, ...exporter.getFinishedSpans().map(({ attributes }) => attributes)])
    expect(JSON.stringify(event)).not.toContain('n'.repeat(201))
})

test('unknownTool receives the name of an unknown tool, as far as it is kept (P12, M8)', async () => {
  const model = scriptedModel([respond(call(LONG)), respond(say('Done'))])
  const unknownTool = ({ name }: ToolCall) => `${name.length}`
  const { messages } = await createAgent({ model, unknownTool }).run('Go')
  expect(messages.map(textOf)).toContain('200')
})
