import { call, collect, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { resolveAliases } from '../calls.ts'
import {
  type AgentOptions,
  ConfigError,
  createAgent,
  type Message,
  type Middleware,
  type Tool,
  type ToolAliases,
  type ToolCall,
  type ToolMessage,
  tool,
} from '../index.ts'

const aliases: ToolAliases = { names: ['cat', 'open_file'], input: { path: ['file', 'filename'] } }

function reader(inputs: unknown[] = []) {
  return tool({
    name: 'read_file',
    description: 'Reads.',
    input: z.looseObject({ path: z.string() }),
    aliases,
    execute(input) {
      inputs.push(input)
      return 'text'
    },
  })
}

function asked(name: string, input: unknown): ToolCall {
  return { type: 'tool-call', id: 'c', name, input }
}

const results = (messages: readonly Message[] = []) => messages.filter((message) => message.role === 'tool')

test('the history keeps the names from the model; wraps, events, spans and the tool see the names of the tool (M9)', async () => {
  const inputs: unknown[] = []
  const wrapped: unknown[] = []
  const wrap: Middleware = {
    name: 'wrap',
    async *wrapToolCall(call, next) {
      const message = yield* next(call)
      wrapped.push([call.name, call.input, message.name])
      return message
    },
  }
  const exporter = new InMemorySpanExporter()
  const tracerProvider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })
  const model = scriptedModel([respond(call('cat', { file: 'a.txt', n: 1 }, { id: 'c1' })), respond(say('done'))])
  const agent = createAgent({ model, tools: [reader(inputs)], middleware: [wrap], telemetry: { tracerProvider } })
  const { events, result } = await collect(agent.stream('Go'))

  const own = { path: 'a.txt', n: 1 }
  expect(inputs).toEqual([own])
  expect(wrapped).toEqual([['read_file', own, 'read_file']])
  const message = { role: 'tool', callId: 'c1', content: [{ type: 'text', text: 'text' }], output: 'text' }
  expect(events.filter((event) => 'callId' in event)).toEqual([
    {
      runId: result && events[0]?.runId,
      step: 1,
      type: 'tool-start',
      callId: 'c1',
      toolName: 'read_file',
      call: { ...asked('read_file', own), id: 'c1' },
    },
    { runId: events[0]?.runId, step: 1, type: 'tool-entered', callId: 'c1', toolName: 'read_file', attempt: 1 },
    {
      runId: events[0]?.runId,
      step: 1,
      type: 'tool-end',
      callId: 'c1',
      toolName: 'read_file',
      message: { ...message, name: 'read_file' },
    },
  ])
  expect(exporter.getFinishedSpans().map(({ name }) => name)).toContain('execute_tool read_file')
  expect(result?.messages.slice(1, 3)).toMatchObject([
    { content: [{ name: 'cat', input: { file: 'a.txt', n: 1 } }] },
    { ...message, name: 'cat' },
  ])
  expect(model.requests[1]?.messages.slice(1)).toEqual(result?.messages.slice(1, 3))
})

const mapped: readonly (readonly [what: string, input: unknown, own: unknown])[] = [
  ['an alias', { file: 'a' }, { path: 'a' }],
  ['the tool’s own key', { path: 'a' }, { path: 'a' }],
  ['a key that is no alias', { fil: 'a' }, { fil: 'a' }],
  ['the tool’s own key with an alias', { file: 'a', path: 'b' }, { path: 'b' }],
  ['the tool’s own key, null, with an alias', { file: 'a', path: null }, { path: null }],
  ['two aliases', { filename: 'a', file: 'b' }, { path: 'b' }],
  ['an alias further down', { path: { file: 'a' } }, { path: { file: 'a' } }],
  ['a list', [{ file: 'a' }], [{ file: 'a' }]],
  ['a text', '{"file":"a"}', '{"file":"a"}'],
  ['null', null, null],
]

test.for(mapped)('%s in the input becomes the name or value of the tool (M9)', ([, input, own]) => {
  const resolved = resolveAliases(asked('open_file', input), [reader()])
  expect(resolved).toEqual(asked('read_file', own))
})

test('a call that needs no change is returned as the same object, and so is one of an unknown tool (M9)', () => {
  for (const call of [asked('read_file', { path: 'a' }), asked('nothing', { file: 'a' }), asked('', {})]) {
    expect(resolveAliases(call, [reader()])).toBe(call)
  }
})

test('an own __proto__ of the input stays one, and changes no prototype (M9, G14)', () => {
  const resolved = resolveAliases(asked('cat', JSON.parse('{"__proto__":{"a":1},"file":"b"}')), [reader()])
  expect(JSON.stringify(resolved.input)).toBe('{"__proto__":{"a":1},"path":"b"}')
  expect(Object.getPrototypeOf(resolved.input)).toBe(Object.prototype)
})

test('for any input, resolving twice equals resolving once, and no other key changes (M9)', () => {
  const key = fc.constantFrom('path', 'file', 'filename', 'n', 'm')
  fc.assert(
    fc.property(fc.dictionary(key, fc.jsonValue()), (input) => {
      const once = resolveAliases(asked('cat', input), [reader()])
      expect(resolveAliases(once, [reader()])).toBe(once)
      const { path, file, filename, ...rest } = input
      const value = 'path' in input ? path : 'file' in input ? file : filename
      expect(once.input).toEqual(
        Object.keys(input).length === Object.keys(rest).length ? rest : { ...rest, path: value },
      )
    }),
  )
})

test('aliases come first, then prepareInput and the wraps, whose own names are not mapped again (M10, M9)', async () => {
  const log: unknown[] = []
  const wrap: Middleware = {
    name: 'wrap',
    async *wrapToolCall(call, next) {
      log.push(call.input)
      return yield* next({ ...call, input: { path: 'b', file: 'c' } })
    },
  }
  const model = scriptedModel([respond(call('cat', { file: 'a' })), respond(say('done'))])
  await createAgent({
    model,
    tools: [reader(log)],
    middleware: [wrap],
    prepareInput(input, { name }) {
      log.push([name, input])
      return { ...(input as object), prepared: true }
    },
  }).run('Go')
  expect(log).toEqual([['read_file', { path: 'a' }], { path: 'a', prepared: true }, { path: 'b', file: 'c' }])
})

test('a call by an alias that fails the schema, or is not made, has a result with the name from the model (M9, A14)', async () => {
  const model = scriptedModel([respond(call('cat', { file: 7 })), respond(call('cat', { file: 'a' }))])
  const { error, events } = await collect(createAgent({ model, tools: [reader()], maxSteps: 2 }).stream('Go'))
  expect(results((error as { messages: Message[] }).messages)).toMatchObject([
    { name: 'cat', isError: true, content: [{ text: expect.stringContaining('invalid input for read_file: path') }] },
    { name: 'cat', isError: true, content: [{ text: expect.stringContaining('Not run') }] },
  ])
  const ended = events.flatMap((event) => (event.type === 'tool-end' ? [event.message.name] : []))
  expect(ended).toEqual(['read_file', 'read_file'])
})

test('a call with which run.callTool is called may also have aliases, and the call has the names of the tool (M9, A23)', async () => {
  const inputs: unknown[] = []
  const got: ToolMessage[][] = []
  const early: Middleware = {
    name: 'early',
    async *wrapModel(request, next, run) {
      const message = yield* next(request)
      const [call] = message.content
      if (call?.type === 'tool-call') {
        got.push(
          await Promise.all([run.callTool(call), run.callTool({ ...call, name: 'read_file', input: { path: 'a' } })]),
        )
      }
      return message
    },
  }
  const model = scriptedModel([respond(call('cat', { file: 'a' })), respond(say('done'))])
  const result = await createAgent({ model, tools: [reader(inputs)], middleware: [early] }).run('Go')
  expect(inputs).toEqual([{ path: 'a' }])
  expect(got[0]?.[0]).toBe(got[0]?.[1])
  expect(got[0]?.[0]?.name).toBe('read_file')
  expect(results(result.messages)).toMatchObject([{ name: 'cat', output: 'text' }])
})

test('an alias call of a direct tool counts like any other, also in the last permitted step (M6, A10)', async () => {
  const model = scriptedModel([respond(call('cat', { file: 'a' }))])
  const direct: Tool = { ...(reader() as Tool), returnDirect: true }
  const result = await createAgent({ model, tools: [direct], maxSteps: 1 }).run('Go')
  expect(result).toMatchObject({ stopReason: 'return-direct', text: 'text', message: { name: 'cat' } })
})

const plain = (name: string, aliases?: ToolAliases, input: z.ZodObject = z.object({ path: z.string() })): Tool =>
  tool({ name, description: 'Does it.', input, execute: () => '', ...(aliases && { aliases }) })

const wrongTools: readonly (readonly [what: string, tools: readonly Tool[], names: RegExp])[] = [
  ['two tools of one name', [plain('a'), plain('a')], /^tools: two tools are called "a"$/],
  ['an alias that is another tool’s name', [plain('a', { names: ['b'] }), plain('b')], /"b": a and b$/],
  ['a name that is another tool’s alias', [plain('b'), plain('a', { names: ['b'] })], /"b": b and a$/],
  ['an alias of two tools', [plain('a', { names: ['x'] }), plain('b', { names: ['x'] })], /"x": a and b$/],
  ['an alias that is the tool’s own name', [plain('a', { names: ['a'] })], /"a": a and a$/],
  ['an empty name', [plain('a', { names: [''] })], /an alias of a is empty/],
  ['an empty key', [plain('a', { input: { path: [''] } })], /an alias of path is empty/],
  [
    'a key that is the property itself',
    [plain('a', { input: { path: ['path'] } })],
    /a: .*"path" of path already stands for path/,
  ],
  [
    'a key that is another property',
    [plain('a', { input: { path: ['n'] } }, z.object({ path: z.string(), n: z.number() }))],
    /a: .*"n" of path already stands for n/,
  ],
  [
    'a key that stands for two properties',
    [plain('a', { input: { path: ['x'], n: ['x'] } }, z.object({ path: z.string(), n: z.number() }))],
    /a: .*"x" of n already stands for path/,
  ],
]

test.for(wrongTools)('%s is a ConfigError that names both (M11)', ([, tools, names]) => {
  const make = () => createAgent({ model: scriptedModel([]), tools })
  expect(make).toThrow(ConfigError)
  expect(make).toThrow(expect.objectContaining({ option: 'tools', message: expect.stringMatching(names) }))
})

test('two middleware with one name are a ConfigError that names it (M11)', () => {
  const make = () =>
    createAgent({ model: scriptedModel([]), middleware: [{ name: 'm' }, { name: 'n' }, { name: 'm' }] })
  expect(make).toThrow(expect.objectContaining({ option: 'middleware', message: expect.stringContaining('"m"') }))
})

test.for(wrongTools)(
  '%s that beforeAgent adds fails the run before its first model call, as an error of that middleware (M11, A3, P16)',
  async ([, tools]) => {
    const model = scriptedModel([])
    const options: AgentOptions = {
      model,
      middleware: [{ name: 'brings', beforeAgent: (setup) => ({ ...setup, tools }) }],
    }
    const fault = { middleware: 'brings', hook: 'beforeAgent', cause: { name: 'ConfigError', option: 'tools' } }
    await expect(createAgent(options).run('Go')).rejects.toMatchObject({ name: 'MiddlewareError', ...fault })
    expect(model.requests).toEqual([])
  },
)
