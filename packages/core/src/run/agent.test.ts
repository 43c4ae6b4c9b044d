import { call, end, respond, type ScriptResponse, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { afterEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { echo } from '../../test/tools.ts'
import {
  type AgentOptions,
  type AgentSetup,
  ConfigError,
  type ContentPart,
  createAgent,
  DEFAULT_INPUT_LIMITS,
  InputError,
  type Message,
  type Middleware,
  type Model,
  type ModelRequest,
  memoryStore,
  type Run,
  runLocal,
  type Tool,
  textOf,
  tool,
} from '../index.ts'

afterEach(() => {
  vi.useRealTimers()
})

test('an agent needs only a model (A1)', async () => {
  const model = scriptedModel([respond(say('Hello.'))])
  const result = await createAgent({ model }).run('Hi')
  expect(result.text).toBe('Hello.')
  expect(model.requests).toEqual([
    {
      model,
      instructions: '',
      messages: [{ role: 'user', content: 'Hi' }],
      tools: [],
      toolChoice: 'auto',
      settings: {},
      inputLimits: DEFAULT_INPUT_LIMITS,
      takenIds: expect.objectContaining({ size: 0 }),
      signal: expect.any(AbortSignal),
    },
  ])
})

test('without a limit in its options an agent has 20 steps (A1)', async () => {
  const model = scriptedModel(Array.from({ length: 30 }, () => respond(call('echo', { text: 'again' }))))
  const agent = createAgent({ model, tools: [echo] })
  await expect(agent.run('Go on')).rejects.toMatchObject({ name: 'MaxStepsError', maxSteps: 20 })
  expect(model.requests).toHaveLength(20)
})

test('all calls of one response run at the same time (A1)', async () => {
  vi.useFakeTimers()
  let atWork = 0
  let most = 0
  const slow = tool({
    name: 'slow',
    description: 'Takes a second.',
    input: z.object({}),
    async execute() {
      most = Math.max(most, ++atWork)
      await new Promise((resolve) => setTimeout(resolve, 1_000))
      atWork--
    },
  })
  const calls = Array.from({ length: 40 }, () => call('slow'))
  const running = createAgent({ model: scriptedModel([respond(...calls), respond(say('done'))]), tools: [slow] }).run(
    'Go',
  )
  await vi.advanceTimersByTimeAsync(1_000)
  expect((await running).text).toBe('done')
  expect(most).toBe(40)
})

const model = scriptedModel([])
const noModel = JSON.parse('{}') as AgentOptions
const cannotStream = JSON.parse('{"provider":"x","id":"y"}') as Model
const named = (name: string): Tool => ({ ...echo, name })

const drops: Tool = { ...echo, ...JSON.parse('{"concurrency":{"limit":1,"whenFull":"drop"}}') }

const wrongOptions: readonly (readonly [problem: string, option: string, options: AgentOptions])[] = [
  ['no options', 'model', undefined as never],
  ['no model', 'model', noModel],
  ['a model that cannot stream', 'model', { model: cannotStream }],
  ['maxSteps 0', 'maxSteps', { model, maxSteps: 0 }],
  ['maxSteps -1', 'maxSteps', { model, maxSteps: -1 }],
  ['maxSteps 1.5', 'maxSteps', { model, maxSteps: 1.5 }],
  ['maxSteps NaN', 'maxSteps', { model, maxSteps: Number.NaN }],
  ['maxSteps -Infinity', 'maxSteps', { model, maxSteps: Number.NEGATIVE_INFINITY }],
  ['toolConcurrency 0', 'toolConcurrency', { model, toolConcurrency: 0 }],
  ['toolConcurrency -3', 'toolConcurrency', { model, toolConcurrency: -3 }],
  ['toolConcurrency 0.5', 'toolConcurrency', { model, toolConcurrency: 0.5 }],
  ['toolConcurrency NaN', 'toolConcurrency', { model, toolConcurrency: Number.NaN }],
  ['a list of tools that is none', 'tools', { model, ...JSON.parse('{"tools":{"length":1}}') }],
  ['a null for a tool', 'tools', { model, ...JSON.parse('{"tools":[null]}') }],
  ['an empty tool name', 'tools', { model, tools: [named('')] }],
  ['a tool name with a space', 'tools', { model, tools: [named('read file')] }],
  ['a tool name with a dot', 'tools', { model, tools: [named('fs.read')] }],
  ['a tool name that ends with a line break', 'tools', { model, tools: [named('read\n')] }],
  ['a tool name of 65 characters', 'tools', { model, tools: [named('n'.repeat(65))] }],
  ['a tool name with an umlaut', 'tools', { model, tools: [named('läs')] }],
  ['a time limit of 0', 'tools.echo.timeout', { model, tools: [{ ...echo, timeout: 0 }] }],
  ['a time limit that is no number', 'tools.echo.timeout', { model, tools: [{ ...echo, timeout: Number.NaN }] }],
  ['a limit of 0 at once', 'tools.echo.concurrency', { model, tools: [{ ...echo, concurrency: 0 }] }],
  ['a limit of 1.5 at once', 'tools.echo.concurrency', { model, tools: [{ ...echo, concurrency: { limit: 1.5 } }] }],
  [
    'a null for a limit',
    'tools.echo.concurrency',
    { model, tools: [{ ...echo, ...JSON.parse('{"concurrency":null}') }] },
  ],
  ['a whenFull of another word', 'tools.echo.concurrency.whenFull', { model, tools: [drops] }],
  [
    'a cancelable that is no boolean',
    'tools.echo.cancelable',
    { model, tools: [{ ...echo, ...JSON.parse('{"cancelable":"no"}') }] },
  ],
  ['a negative statusFor', 'statusFor', { model, statusFor: -1 }],
  ['a choice of a tool there is not', 'toolChoice', { model, tools: [echo], toolChoice: { tool: 'nope' } }],
  ['a tool itself as the choice', 'toolChoice', { model, tools: [echo], toolChoice: { tool: echo as never } }],
  ['a choice of another word', 'toolChoice', { model, ...JSON.parse('{"toolChoice":"echo"}') }],
  ['a name that is no text', 'name', { model, ...JSON.parse('{"name":5}') }],
  ['instructions that are no text', 'instructions', { model, ...JSON.parse('{"instructions":["Be kind."]}') }],
  ['a prepareInput that is not a function', 'prepareInput', { model, ...JSON.parse('{"prepareInput":{}}') }],
  ['an unknownTool that is not a function', 'unknownTool', { model, ...JSON.parse('{"unknownTool":"none"}') }],
  ['a store that is none', 'checkpoints', { model, ...JSON.parse('{"checkpoints":{}}') }],
  ['a store that was not made', 'checkpoints', { model, checkpoints: memoryStore as never }],
  [
    'an execute that is not a function',
    'tools.echo.execute',
    { model, tools: [{ ...echo, ...JSON.parse('{"execute":"x"}') }] },
  ],
  [
    'a tool without a description',
    'tools.echo.description',
    { model, tools: [{ ...echo, description: undefined as never }] },
  ],
  [
    'a generator that is not async',
    'tools.echo.execute',
    {
      model,
      tools: [
        {
          ...echo,
          *execute() {
            yield { progress: 1 }
          },
        } as Tool,
      ],
    },
  ],
  [
    'a returnDirect that is a text',
    'tools.echo.returnDirect',
    { model, tools: [{ ...echo, ...JSON.parse('{"returnDirect":"yes"}') }] },
  ],
  ['aliases that are no object', 'tools', { model, tools: [{ ...echo, ...JSON.parse('{"aliases":["say"]}') }] }],
  ['an alias that is no list', 'tools', { model, tools: [{ ...echo, aliases: { names: 'say' as never } }] }],
  [
    'a key’s alias that is no list',
    'tools',
    { model, tools: [{ ...echo, aliases: { input: { text: 'said' as never } } }] },
  ],
  ['telemetry that is off', 'telemetry', { model, ...JSON.parse('{"telemetry":false}') }],
  ['a tracer provider that is none', 'telemetry.tracerProvider', { model, telemetry: { tracerProvider: {} as never } }],
  ['a meter provider that is none', 'telemetry.meterProvider', { model, telemetry: { meterProvider: {} as never } }],
  [
    'attributes that are a list',
    'telemetry.attributes',
    { model, ...JSON.parse('{"telemetry":{"attributes":["a"]}}') },
  ],
  ['settings that hold a function', 'settings', { model, settings: { providerOptions: { own: { sign: () => '' } } } }],
  [
    'settings that hold bytes',
    'settings',
    { model, settings: { providerOptions: { own: { key: new Uint8Array(1) } } } },
  ],
  ['settings that are no object', 'settings', { model, ...JSON.parse('{"settings":"fast"}') }],
  ['inputLimits that are no object', 'inputLimits', { model, ...JSON.parse('{"inputLimits":1000}') }],
  ['an input limit there is not', 'inputLimits.chars', { model, ...JSON.parse('{"inputLimits":{"chars":3}}') }],
  ['an order that is no object', 'middleware', { model, middleware: [{ name: 'a', order: 'outside' as never }] }],
  [
    'an order with a name alone',
    'middleware',
    { model, middleware: [{ name: 'a', order: { outside: 'b' as never } }] },
  ],
  ['a reversible tool that cannot be undone', 'tools', { model, tools: [{ ...echo, effect: 'reversible' }] }],
]

test.for(wrongOptions)('%s is refused by a ConfigError that names %s (A2)', ([, option, options]) => {
  const make = () => createAgent(options)
  expect(make).toThrow(ConfigError)
  expect(make).toThrow(expect.objectContaining({ name: 'ConfigError', option }))
})

test('the limits of what construction accepts are accepted (A2)', () => {
  const undone = { ...echo, name: 'undone', effect: 'reversible', compensate: () => undefined } as const
  const endless = Number.POSITIVE_INFINITY
  const limited = { ...named('limited'), timeout: 0.5, cancelable: false, concurrency: { limit: endless } }
  const tools = [named('n'.repeat(64)), named('A-z_09'), undone, limited, { ...limited, name: 'l', timeout: endless }]
  expect(createAgent({ model, tools, maxSteps: 1, toolConcurrency: 1 }).name).toBeUndefined()
  expect(createAgent({ model, name: 'any', maxSteps: endless, toolConcurrency: endless }).name).toBe('any')
  for (const toolChoice of ['auto', 'none', 'required', { tool: 'n'.repeat(64) }, JSON.parse('null')] as const)
    expect(() => createAgent({ model, tools, toolChoice })).not.toThrow()
})

const wrongSetups: readonly (readonly [option: string, change: Partial<AgentSetup>])[] = [
  ['model', { model: cannotStream }],
  ['maxSteps', { maxSteps: 0 }],
  ['toolConcurrency', { toolConcurrency: 1.5 }],
  ['tools', { tools: undefined as never }],
  ['tools', JSON.parse('{"tools":"echo"}')],
  ['tools', JSON.parse('{"tools":[null]}')],
  ['tools', { tools: [named('no name')] }],
  ['tools', { tools: [named('twice'), named('twice')] }],
  ['tools', { tools: [{ ...echo, effect: 'reversible' }] }],
  ['instructions', JSON.parse('{"instructions":5}')],
]

const places = [
  ['beforeAgent', (change: Change): Omit<Middleware, 'name'> => ({ beforeAgent: change })],
  ['wrapAgent', (change: Change): Omit<Middleware, 'name'> => ({ wrapAgent: (setup, next) => next(change(setup)) })],
] as const
type Change = (setup: AgentSetup) => AgentSetup

test.for(places.flatMap(([place, by]) => wrongSetups.map(([option, wrong]) => [option, place, wrong, by] as const)))(
  'a wrong %s from %s ends only that run, before its first model call, with an error of that middleware (A3, P16)',
  async ([option, hook, wrong, by]) => {
    const model = scriptedModel([respond(say('fine'))])
    let isWrong = true
    const changes = by((setup) => (isWrong ? { ...setup, ...wrong } : setup))
    const agent = createAgent({ model, middleware: [{ name: 'changes', ...changes }] })
    await expect(agent.run('Hi')).rejects.toMatchObject({
      name: 'MiddlewareError',
      middleware: 'changes',
      hook,
      cause: { name: 'ConfigError', option },
      messages: [{ content: 'Hi' }],
    })
    expect(model.requests).toHaveLength(0)
    isWrong = false
    expect((await agent.run('Hi')).text).toBe('fine')
  },
)

test.for(places)('a tool that must be called may come from %s (A2, A3)', async ([, by]) => {
  const model = scriptedModel([respond(say('fine'))])
  const adds = by((setup) => ({ ...setup, tools: [echo] }))
  const agent = createAgent({ model, toolChoice: { tool: 'echo' }, middleware: [{ name: 'adds', ...adds }] })
  expect((await agent.run('Hi')).text).toBe('fine')
  expect(model.requests[0]?.toolChoice).toEqual({ tool: 'echo' })
})

test('a tool that must be called may be known only to a wrapModel (A2)', async () => {
  const model = scriptedModel([respond(say('fine'))])
  const definition = { name: 'own', description: 'o', inputSchema: { type: 'object' } }
  const adds: Middleware = {
    name: 'adds',
    wrapModel: (request, next) => next({ ...request, tools: [...request.tools, definition] }),
  }
  const agent = createAgent({ model, toolChoice: { tool: 'own' }, middleware: [adds] })
  expect((await agent.run('Hi')).text).toBe('fine')
})

test('a misspelt tool that must be called ends the run before its first model call, if nothing has added it (A2, W26)', async () => {
  const model = scriptedModel([])
  const looking: Middleware = {
    name: 'looking',
    beforeAgent: (setup) => ({ ...setup, tools: [...setup.tools, { ...echo, name: 'search' }] }),
    wrapModel: (request, next) => next(request),
  }
  const run = (tool: string) =>
    createAgent({ model, tools: [echo], toolChoice: { tool }, middleware: [looking] }).run('Hi')
  const told = { name: 'ConfigError', option: 'toolChoice' }
  await expect(run('serch')).rejects.toMatchObject({
    ...told,
    message: 'toolChoice: there is no tool "serch"; did you mean search?',
  })
  await expect(run('fly')).rejects.toMatchObject({ ...told, message: 'toolChoice: there is no tool "fly"' })
  expect(model.requests).toEqual([])
})

test('if a wrapModel chooses a misspelt tool, the run ends before the model is called (A2, W26)', async () => {
  const model = scriptedModel([])
  const choosing: Middleware = {
    name: 'choosing',
    wrapModel: (request, next) => next({ ...request, toolChoice: { tool: 'ecko' } }),
  }
  await expect(createAgent({ model, tools: [echo], middleware: [choosing] }).run('Hi')).rejects.toMatchObject({
    message: 'toolChoice: there is no tool "ecko"; did you mean echo?',
  })
  expect(model.requests).toEqual([])
})

test('changing the options afterwards changes nothing (A4)', async () => {
  const model = scriptedModel([respond(say('one')), respond(say('two'))])
  const other = scriptedModel([])
  const seen: string[] = []
  const tools: Tool[] = [echo]
  const middleware = [{ name: 'first', beforeModel: () => void seen.push('first') }]
  const stopSequences = ['END']
  const providerOptions = { scripted: { tier: 'slow' } }
  const toolChoice = { tool: 'echo' }
  const inputLimits = { depth: 9 }
  const options = {
    model,
    instructions: 'Be kind.',
    tools,
    middleware,
    maxSteps: 3,
    settings: { temperature: 0.5, stopSequences, providerOptions },
    toolChoice,
    inputLimits,
  }
  const agent = createAgent(options)
  await agent.run('Hi')

  Object.assign(options, { model: other, instructions: 'Be rude.', maxSteps: 0, settings: {} })
  tools.push(named('late'))
  middleware.push({ name: 'late', beforeModel: () => void seen.push('late') })
  stopSequences.push('STOP')
  providerOptions.scripted.tier = 'fast'
  toolChoice.tool = 'late'
  inputLimits.depth = 1
  await agent.run('Hi')

  const [before, after] = model.requests
  const { signal: _, ...first } = before as ModelRequest
  expect(after).toEqual({ ...first, signal: expect.any(AbortSignal) })
  expect(after).toMatchObject({
    settings: { stopSequences: ['END'], providerOptions: { scripted: { tier: 'slow' } } },
    toolChoice: { tool: 'echo' },
    inputLimits: { depth: 9 },
  })
  expect(seen).toEqual(['first', 'first'])
})

test('an agent cannot be changed, and a hook cannot change its tools (A4)', async () => {
  const agent = createAgent({
    model: scriptedModel([respond(say('no'))]),
    tools: [echo],
    middleware: [
      {
        name: 'vandal',
        beforeAgent(setup) {
          expect(() => (setup.tools as Tool[]).push(echo)).toThrow(TypeError)
          expect(() => Object.assign(setup, { maxSteps: 1 })).toThrow(TypeError)
        },
      },
    ],
  })
  expect(() => Object.assign(agent, { run: undefined })).toThrow(TypeError)
  expect((await agent.run('Hi')).text).toBe('no')
})

test('40 parallel runs of one agent keep their own history, steps, usage and run-local values (A4)', async () => {
  vi.useFakeTimers()
  const own = runLocal(() => ({ calls: 0 }))
  const count = tool({
    name: 'count',
    description: 'Counts the calls of a run.',
    input: z.object({ n: z.number() }),
    async execute({ n }, { run }) {
      await new Promise((resolve) => setTimeout(resolve, (n * 37) % 101))
      own(run as Run).calls++
      return `${n}: ${own(run as Run).calls}`
    },
  })
  // Run n makes n % 5 calls, one per step.
  const reply = ({ messages }: ModelRequest): ScriptResponse => {
    const n = Number(textOf(messages[0] as Message))
    const usage = end({ usage: { inputTokens: n } })
    const asked = messages.filter((message) => message.role === 'tool').length
    const pause = wait((n * 13) % 29)
    return asked < n % 5 ? respond(pause, call('count', { n }), usage) : respond(pause, say(`I am ${n}.`), usage)
  }
  const model = scriptedModel(Array.from({ length: 120 }, () => reply))
  const agent = createAgent({ model, tools: [count] })
  const running = Promise.all(Array.from({ length: 40 }, (_, n) => agent.run(String(n))))
  await vi.advanceTimersByTimeAsync(1_000)
  const results = await running

  for (const [n, result] of results.entries()) {
    const calls = n % 5
    expect(result).toMatchObject({ text: `I am ${n}.`, steps: calls + 1, usage: { inputTokens: n * (calls + 1) } })
    expect(result.messages.map(textOf)).toEqual([
      String(n),
      ...Array.from({ length: calls }, (_, i) => ['', `${n}: ${i + 1}`]).flat(),
      `I am ${n}.`,
    ])
  }
})

test('a text is one user message, and comes first in the history (A5)', async () => {
  const model = scriptedModel([respond(say('Hello.'))])
  const result = await createAgent({ model }).run('Hi')
  expect(model.requests[0]?.messages).toEqual([{ role: 'user', content: 'Hi' }])
  expect(result.messages).toEqual([{ role: 'user', content: 'Hi' }, result.message])
})

test('messages are used as given, never changed, and come first in the history (A5)', async () => {
  const input: Message[] = [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'See:' },
        { type: 'file', mediaType: 'image/png', data: 'AAAA', filename: 'a.png', providerMetadata: { x: { y: 1 } } },
      ],
    },
    { role: 'assistant', content: [{ type: 'text', text: 'Nice.' }], finishReason: 'stop', usage: { outputTokens: 1 } },
    { role: 'user', content: 'And now?', origin: 'somebody' },
  ]
  const copy = structuredClone(input)
  const model = scriptedModel([respond(say('Now this.'))])
  const result = await createAgent({ model }).run(input)
  expect(model.requests[0]?.messages).toEqual(copy)
  expect(result.messages).toEqual([...copy, result.message])
  expect(input).toEqual(copy)
  expect(Object.isFrozen(input) || input.some((message) => Object.isFrozen(message))).toBe(false)

  input[0] = { role: 'user', content: 'changed by its owner' }
  Object.assign(input[1] as Message, { content: [] })
  expect(result.messages.slice(0, 3)).toEqual(copy)
})

test('a frozen message is accepted without being changed below its surface (A5, A16)', async () => {
  const parts = [{ type: 'text' as const, text: 'Hi' }]
  const message = Object.freeze({ role: 'user' as const, content: parts })
  const result = await createAgent({ model: scriptedModel([respond(say('Hello.'))]) }).run([message])
  parts.push({ type: 'text', text: 'more' })
  expect(result.messages[0]).toEqual({ role: 'user', content: [{ type: 'text', text: 'Hi' }] })
})

/** A message that the types would not allow. */
function said(content: readonly unknown[], more: object = {}): readonly Message[] {
  return [{ role: 'user', content: content as ContentPart[], ...more }]
}

const noPart = {
  problem: 'malformed',
  index: 0,
  message: expect.stringMatching(
    /is not a message; a part of its content is .* or \{ type: 'file', mediaType, data \}/,
  ) as string,
}

const wrongInputs: readonly (readonly [string, string | readonly Message[], object])[] = [
  ['an empty text', '', { problem: 'empty' }],
  ['an empty list', [], { problem: 'empty' }],
  ['null', JSON.parse('null') as string, { problem: 'malformed' }],
  ['a number', JSON.parse('1') as string, { problem: 'malformed' }],
  ['an object', JSON.parse('{"role":"user","content":"Hi"}') as string, { problem: 'malformed' }],
  ['a list of no messages', JSON.parse('[null]') as Message[], { problem: 'malformed', index: 0 }],
  [
    'a list with what is no message',
    JSON.parse('[{"role":"user","content":"Hi"},{"role":"user"}]') as Message[],
    { problem: 'malformed', index: 1 },
  ],
  [
    'a system message',
    JSON.parse('[{"role":"system","content":"Be kind."}]') as Message[],
    { problem: 'malformed', index: 0, message: expect.stringMatching(/index 0 is not a message; .*instructions$/) },
  ],
  ['an image as other libraries have it', said([{ type: 'image', image: 'aGk=' }]), noPart],
  ['a text without text', said([{ type: 'text' }]), noPart],
  ['a part that is a text', said(['Hi']), noPart],
  ['a file without a media type', said([{ type: 'file', data: 'aGk=' }]), noPart],
  ['a file of bytes', said([{ type: 'file', mediaType: 'image/png', data: new Uint8Array([1]) }]), noPart],
  ['bytes beside the parts', said([], { extra: new Uint8Array([1]) }), { problem: 'malformed', index: 0 }],
  [
    'a function in a message',
    said([], { extra: () => undefined }),
    { problem: 'malformed', index: 0, message: expect.stringMatching(/index 0 cannot be written as JSON$/) },
  ],
  [
    'a model’s message that is a text',
    JSON.parse('[{"role":"assistant","content":"Hi"}]') as Message[],
    {
      problem: 'malformed',
      index: 0,
      message: expect.stringMatching(/not a message; .*: text, reasoning and tool-call$/),
    },
  ],
  [
    'a call without an id',
    JSON.parse('[{"role":"assistant","content":[{"type":"tool-call","name":"echo"}]}]') as Message[],
    { problem: 'malformed', index: 0 },
  ],
]

test.for(wrongInputs)(
  '%s rejects before any hook with an InputError that explains the problem (A5)',
  async ([, input, wrong]) => {
    const model = scriptedModel([])
    const hooks: string[] = []
    const agent = createAgent({
      model,
      middleware: [{ name: 'hook', beforeAgent: () => void hooks.push('beforeAgent') }],
    })
    const error = await agent.run(input).catch((error: unknown) => error)
    expect(error).toBeInstanceOf(InputError)
    expect(error).toMatchObject({ messages: [], usage: {}, given: 'input', ...wrong })
    expect('index' in (error as object)).toBe('index' in wrong)
    expect(hooks).toEqual([])
    expect(model.requests).toHaveLength(0)
  },
)

test('instructions reach the request verbatim, braces included, and are not a message (A6)', async () => {
  const instructions = ' Answer as {name}; {{y}} $1 %s\n'
  const model = scriptedModel([respond(call('echo', { text: 'a' })), respond(say('a'))])
  const result = await createAgent({ model, instructions, tools: [echo] }).run('Hi')
  expect(model.requests.map((request) => request.instructions)).toEqual([instructions, instructions])
  const said = JSON.stringify([model.requests.map(({ messages }) => messages), result.messages])
  expect(said).not.toContain('{name}')
  expect(result.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant'])
})

test('empty instructions are not sent (A6)', async () => {
  const model = scriptedModel([respond(say('Hello.'))])
  await createAgent({ model, instructions: '' }).run('Hi')
  expect(model.requests[0]).toMatchObject({ instructions: '', messages: [{ role: 'user', content: 'Hi' }] })
})

test('a tool added by beforeAgent is sent to the model and callable, in that run only (A21)', async () => {
  const model = scriptedModel([
    respond(call('late', { text: 'a' })),
    respond(say('done')),
    respond(call('late', { text: 'a' })),
    respond(say('done')),
  ])
  let added = true
  const agent = createAgent({
    model,
    tools: [echo],
    middleware: [
      {
        name: 'adds',
        beforeAgent: (setup) => (added ? { ...setup, tools: [...setup.tools, named('late')] } : undefined),
      },
    ],
  })
  const first = await agent.run('Go')
  added = false
  const second = await agent.run('Go')
  expect(model.requests.map(({ tools }) => tools.map(({ name }) => name))).toEqual([
    ['echo', 'late'],
    ['echo', 'late'],
    ['echo'],
    ['echo'],
  ])
  expect(first.messages[2]).toMatchObject({ role: 'tool', output: 'a' })
  expect(second.messages[2]).toMatchObject({ role: 'tool', isError: true })
})

test('a tool removed by beforeAgent is not sent and is unknown, in that run only (A21)', async () => {
  const model = scriptedModel([
    respond(call('echo', { text: 'a' })),
    respond(say('done')),
    respond(call('echo', { text: 'a' })),
    respond(say('done')),
  ])
  let removed = true
  const agent = createAgent({
    model,
    tools: [echo, named('other')],
    middleware: [
      {
        name: 'removes',
        beforeAgent: (setup) =>
          removed ? { ...setup, tools: setup.tools.filter(({ name }) => name !== 'echo') } : undefined,
      },
    ],
  })
  const first = await agent.run('Go')
  removed = false
  const second = await agent.run('Go')
  expect(model.requests.map(({ tools }) => tools.map(({ name }) => name))).toEqual([
    ['other'],
    ['other'],
    ['echo', 'other'],
    ['echo', 'other'],
  ])
  expect(first.messages[2]).toMatchObject({
    isError: true,
    content: [{ type: 'text', text: 'There is no tool named "echo". Available tools: other.' }],
  })
  expect(second.messages[2]).toMatchObject({ role: 'tool', output: 'a' })
})

test.each([
  ['an unknown effect', { effect: 'reads' }, 'reads'],
  ['an invalid background', { background: 'yes' }, 'background'],
  ['an unknown atEnd', { background: { atEnd: 'later' } }, 'background'],
  ['background on a tool that its caller executes', { background: true, execute: undefined }, 'background'],
])('%s is a ConfigError that names the tool (A2)', (_, wrong, text) => {
  const look = { name: 'look', description: 'l', input: z.object({}), execute: () => 'seen', ...wrong } as Tool
  expect(() => createAgent({ model: scriptedModel([]), tools: [look] })).toThrow(
    expect.objectContaining({ option: 'tools' }),
  )
  expect(() => createAgent({ model: scriptedModel([]), tools: [look] })).toThrow(new RegExp(`look.*${text}`))
})

test('a tool with the name of a tool that background tools add is refused by that name (M11, I16)', async () => {
  const taken = tool({ name: 'tool_status', description: 't', input: z.object({}), execute: () => 'mine' })
  const build = tool({ name: 'build', description: 'b', input: z.object({}), background: true, execute: () => 'built' })
  const model = scriptedModel([])
  const tools = [taken as Tool, build as Tool]
  expect(() => createAgent({ model, tools })).toThrow(/tool_status.*background/)
  const adds: Middleware = { name: 'adds', beforeAgent: (setup) => ({ ...setup, tools }) }
  await expect(createAgent({ model, middleware: [adds] }).run('Go')).rejects.toThrow(/tool_status.*background/)
})
