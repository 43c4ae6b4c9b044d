import { call, collect, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { expect, test } from 'vitest'
import { z } from 'zod'
import {
  AgentError,
  type AgentOptions,
  type AssistantMessage,
  type ContentPart,
  createAgent,
  interrupt,
  type Middleware,
  type Model,
  type Tool,
  type ToolCall,
  type ToolMessage,
  tool,
} from '../index.ts'

type Step = ReturnType<typeof call>

/** Lets the model make these calls in one step, then answer; returns the results that the model read. */
async function resultsOf(calls: readonly Step[], options: Omit<AgentOptions, 'model'>) {
  const model = scriptedModel([respond(...calls), respond(say('done'))])
  const { events, result, error } = await collect(createAgent({ model, ...options }).stream('Go'))
  if (error) throw error
  const messages = model.requests[1]?.messages.slice(2) as readonly ToolMessage[]
  return {
    messages,
    events,
    result,
    texts: messages.map(({ content }) => content.map((part) => 'text' in part && part.text)),
  }
}

const textContent = (text: string): readonly ContentPart[] => [{ type: 'text', text }]

function returning(output: unknown, toContent?: (output: unknown) => readonly ContentPart[]) {
  return tool({
    name: 'give',
    description: 'Gives something.',
    input: z.object({}),
    execute: () => output,
    ...(toContent && { toContent }),
  })
}

function throwing(thrown: unknown) {
  return tool({
    name: 'fail',
    description: 'Fails.',
    input: z.object({}),
    execute: () => {
      throw thrown
    },
  })
}

const note = tool({
  name: 'note',
  description: 'Notes something.',
  input: z.object({ text: z.string() }),
  execute: ({ text }) => `noted ${text}`,
})

const hostileMessage = Object.defineProperty(new Error('x'), 'message', {
  get() {
    throw new Error('no message for you')
  },
})
const hostile = {
  toString() {
    throw new Error('no text for you')
  },
  toJSON() {
    throw new Error('no JSON for you')
  },
}
const cyclic: { self?: unknown } = {}
cyclic.self = cyclic
const ownMember = new AggregateError([])
ownMember.errors.push(ownMember)

const throws: readonly (readonly [string, unknown, string])[] = [
  ['an Error', new TypeError('no such file'), 'no such file'],
  ['an Error without message', new RangeError(), 'RangeError'],
  ['several Errors', new AggregateError([new Error('no IPv6'), new Error('no IPv4')]), 'no IPv6; no IPv4'],
  ['several Errors with a message', new AggregateError([new Error('no IPv6')], 'no network'), 'no network'],
  ['an Error with a code alone', Object.assign(new Error(), { code: 'ECONNREFUSED' }), 'ECONNREFUSED'],
  ['none of several Errors', new AggregateError([]), 'AggregateError'],
  ['a text', 'just words', 'just words'],
  ['an object', { code: 7 }, '{"code":7}'],
  ['a number', 404, '404'],
  ['null', null, 'null'],
  ['undefined', undefined, 'undefined'],
  ['a symbol', Symbol('s'), 'symbol'],
  ['an Error whose message throws', hostileMessage, 'unknown error'],
  [
    'an Error whose message is an object that has no text',
    Object.assign(new Error(), { message: hostile }),
    'unknown error',
  ],
  ['an object that has no text', hostile, 'unknown error'],
  ['an object in a circle', cyclic, 'unknown error'],
  ['several Errors in a circle', ownMember, 'unknown error'],
]

test.for(throws)(
  'a tool that throws %s has an error result, and the other calls and the run go on (A11)',
  async ([, thrown, text]) => {
    const tools = [throwing(thrown), note]
    const calls = [call('note', { text: 'a' }), call('fail'), call('note', { text: 'b' })]
    const { messages, result } = await resultsOf(calls, { tools })
    const name = 'note'
    expect(messages).toEqual([
      { role: 'tool', callId: 'call_1_1', name, content: textContent('noted a'), output: 'noted a' },
      { role: 'tool', callId: 'call_1_2', name: 'fail', content: textContent(text), isError: true },
      { role: 'tool', callId: 'call_1_3', name, content: textContent('noted b'), output: 'noted b' },
    ])
    expect(result).toMatchObject({ status: 'completed', text: 'done', steps: 2 })
  },
)

test('a tool that rejects, at once or between two yields, has the same error result (A11)', async () => {
  const rejects = tool({
    name: 'rejects',
    description: 'Rejects.',
    input: z.object({}),
    execute: () => Promise.reject(new Error('no such file')),
  })
  const streams = tool({
    name: 'streams',
    description: 'Fails halfway.',
    input: z.object({}),
    async *execute() {
      yield { progress: 0.5 }
      throw new Error('no such file')
    },
  })
  const { messages } = await resultsOf([call('rejects'), call('streams')], { tools: [rejects, streams] })
  expect(messages).toEqual([
    { role: 'tool', callId: 'call_1_1', name: 'rejects', content: textContent('no such file'), isError: true },
    { role: 'tool', callId: 'call_1_2', name: 'streams', content: textContent('no such file'), isError: true },
  ])
})

function strictTool() {
  const inputs: unknown[] = []
  const strict = tool({
    name: 'strict',
    description: 'Wants just this.',
    input: z.object({ text: z.string(), at: z.object({ line: z.number() }) }),
    execute: (input) => void inputs.push(input),
  })
  return { inputs, strict }
}

const noNumber = 'at.line: Invalid input: expected number, received undefined'
const noText = 'text: Invalid input: expected string, received number'
test('a streaming tool that yields something other than progress is closed, and has an error result (A11)', async () => {
  let closed = false
  const streams = tool({
    name: 'streams',
    description: 'Yields null.',
    input: z.object({}),
    async *execute() {
      try {
        yield JSON.parse('null') as { progress: number }
        return 'done'
      } finally {
        closed = true
      }
    },
  })
  const { messages } = await resultsOf([call('streams')], { tools: [streams] })
  expect(messages).toMatchObject([{ isError: true }])
  expect(closed).toBe(true)
})

const wrongInputs: readonly (readonly [string, unknown, string])[] = [
  ['a missing member', { text: 'a', at: {} }, noNumber],
  ['two issues', { text: 1, at: {} }, `${noText}; ${noNumber}`],
  ['a text instead of an object', '"a"', 'Invalid input: expected object, received string'],
  ['an array instead of an object', '[]', 'Invalid input: expected object, received array'],
]

test.for(wrongInputs)(
  '%s in the input produces an error result with path and message, and the tool does not run (A13)',
  async ([, input, text]) => {
    const { inputs, strict } = strictTool()
    const { messages } = await resultsOf([call('strict', input)], { tools: [strict] })
    const content = textContent(`invalid input for strict: ${text}`)
    expect(messages).toEqual([{ role: 'tool', callId: 'call_1_1', name: 'strict', content, isError: true }])
    expect(inputs).toEqual([])
  },
)

test('a tool receives what its schema returns, also from an async schema (A13)', async () => {
  const inputs: unknown[] = []
  const schema = z.object({ text: z.string().trim(), times: z.number().default(1) })
  const trim = tool({
    name: 'trim',
    description: 'Trims.',
    input: schema,
    execute: (input) => void inputs.push(input),
  })
  const later = { ...trim, name: 'later', input: schema.refine(async () => true) }
  await resultsOf([call('trim', { text: ' a ', more: true }), call('later', { text: 'b ' })], { tools: [trim, later] })
  expect(inputs).toEqual([
    { text: 'a', times: 1 },
    { text: 'b', times: 1 },
  ])
})

test('input that is not JSON stays the text it was, and the tool does not run (A13)', async () => {
  const { inputs, strict } = strictTool()
  const { result, messages } = await resultsOf([call('strict', '{"text":"a", at')], { tools: [strict] })
  expect(result?.messages[1]).toMatchObject({ content: [{ type: 'tool-call', input: '{"text":"a", at' }] })
  const [{ content, ...message }] = messages as [ToolMessage]
  expect(message).toEqual({ role: 'tool', callId: 'call_1_1', name: 'strict', isError: true })
  expect(content).toEqual([
    { type: 'text', text: expect.stringMatching(/^invalid input for strict: arguments are not valid JSON: /) },
  ])
  expect(inputs).toEqual([])
})

test('with input that is not JSON not even a tool that takes any text runs (A13)', async () => {
  const inputs: unknown[] = []
  const any = tool({
    name: 'any',
    description: 'Takes anything.',
    input: z.any(),
    execute: (input) => void inputs.push(input),
  })
  const { messages } = await resultsOf([call('any', 'not JSON'), call('any', '"JSON"')], { tools: [any] })
  expect(messages.map(({ isError }) => isError)).toEqual([true, undefined])
  expect(inputs).toEqual(['JSON'])
})

test('a schema that throws produces an error result, and the tool does not run (A13)', async () => {
  const { inputs, strict } = strictTool()
  const schema = (validate: () => Promise<never>) => ({ '~standard': { ...strict.input['~standard'], validate } })
  const throws = schema(() => {
    throw new Error('no check today')
  })
  const rejects = schema(() => Promise.reject(new Error('no check today either')))
  const tools = [
    { ...strict, name: 'throws', input: throws },
    { ...strict, name: 'rejects', input: rejects },
  ]
  const { texts } = await resultsOf([call('throws'), call('rejects')], { tools })
  expect(texts).toEqual([['no check today'], ['no check today either']])
  expect(inputs).toEqual([])
})

test('unparsed input of a model is handled like any wrong input (A13)', async () => {
  const { inputs, strict } = strictTool()
  const asked: ToolCall = { type: 'tool-call', id: 'one', name: 'strict', input: '{"te' }
  const first: AssistantMessage = { role: 'assistant', content: [asked], finishReason: 'tool-calls' }
  const answer: AssistantMessage = {
    role: 'assistant',
    content: [{ type: 'text', text: 'done' }],
    finishReason: 'stop',
  }
  const model: Model = {
    provider: 'own',
    id: 'own-1',
    stream: async function* ({ messages }) {
      return messages.length === 1 ? first : answer
    },
  }
  const { messages } = await createAgent({ model, tools: [strict] }).run('Go')
  const text = 'invalid input for strict: Invalid input: expected object, received string'
  expect(messages[2]).toEqual({
    role: 'tool',
    callId: 'one',
    name: 'strict',
    content: textContent(text),
    isError: true,
  })
  expect(inputs).toEqual([])
})

const outputs: readonly (readonly [string, unknown, string])[] = [
  ['a text', 'as it is: "}{', 'as it is: "}{'],
  ['an empty text', '', ''],
  ['an object', { a: [1, null], b: { c: 'd' } }, '{"a":[1,null],"b":{"c":"d"}}'],
  ['an array', [1, 'b'], '[1,"b"]'],
  ['a number', 4.5, '4.5'],
  ['a boolean', false, 'false'],
  ['null', null, 'null'],
]

test.for(outputs)(
  'a model reads %s as text or JSON, and the caller has it as output (M12)',
  async ([, output, text]) => {
    const { messages } = await resultsOf([call('give')], { tools: [returning(output)] })
    expect(messages).toEqual([{ role: 'tool', callId: 'call_1_1', name: 'give', content: textContent(text), output }])
  },
)

test('a model reads undefined as empty text, and there is no output (M12)', async () => {
  const { messages } = await resultsOf([call('give')], { tools: [returning(undefined)] })
  expect(messages).toEqual([{ role: 'tool', callId: 'call_1_1', name: 'give', content: textContent('') }])
})

test('an output is kept as the JSON that the model read, whatever its tool does with it later (M12)', async () => {
  const list = [1, 2]
  const when = { at: new Date(0), none: undefined, list }
  const { messages } = await resultsOf([call('give')], { tools: [returning(when)] })
  list.push(3)
  const text = '{"at":"1970-01-01T00:00:00.000Z","list":[1,2]}'
  const output = { at: '1970-01-01T00:00:00.000Z', list: [1, 2] }
  expect(messages).toEqual([{ role: 'tool', callId: 'call_1_1', name: 'give', content: textContent(text), output }])
})

test.each([600, 2_500])(
  'an output of %i levels is read by the model, and its run can be saved (M12, L13)',
  async (levels) => {
    const text = '['.repeat(levels) + ']'.repeat(levels)
    const ask = tool({ name: 'ask', description: 'Asks.', input: z.object({}), execute: () => interrupt('go on?') })
    const model = scriptedModel([respond(call('give')), respond(call('ask')), respond(say('done'))])
    const agent = createAgent({ model, tools: [returning(JSON.parse(text)), ask] })
    const { status, messages } = await agent.run('Go')
    expect(status).toBe('interrupted')
    expect(messages[2]).toEqual({ role: 'tool', callId: 'call_1_1', name: 'give', content: textContent(text) })
  },
)

const noJson: readonly (readonly [string, unknown, RegExp])[] = [
  ['a function', () => 1, /^give has run, but returned a function, which is not JSON; return its result, or /],
  ['a symbol', Symbol('s'), /^give has run, but returned a symbol, which is not JSON; give the tool a toContent$/],
  [
    'a bigint',
    1n,
    /^give has run, but its result cannot be written as JSON \(.*BigInt\): return plain data, or give the tool a toContent$/,
  ],
  [
    'an object that is nothing as JSON',
    { toJSON: () => undefined },
    /^give has run, but returned an object, which is not JSON; give the tool a toContent$/,
  ],
  ['a circle', cyclic, /^give has run, .*\(Converting circular structure to JSON\)/],
  ['an object whose toJSON throws', hostile, /^give has run, .*\(no JSON for you\)/],
]

test.for(noJson)('%s as output is an error result (M12)', async ([, output, text]) => {
  const { messages } = await resultsOf([call('give')], { tools: [returning(output)] })
  const content = [{ type: 'text', text: expect.stringMatching(text) }]
  expect(messages).toEqual([{ role: 'tool', callId: 'call_1_1', name: 'give', content, isError: true }])
})

test.for(noJson)('with toContent %s may be an output, which the caller does not have (M12)', async ([, output]) => {
  const seen: unknown[] = []
  const toContent = (output: unknown) => {
    seen.push(output)
    return textContent('something')
  }
  const { messages } = await resultsOf([call('give')], { tools: [returning(output, toContent)] })
  expect(messages).toEqual([{ role: 'tool', callId: 'call_1_1', name: 'give', content: textContent('something') }])
  expect(seen).toEqual([output])
})

test('toContent decides what the model reads, and the output stays what it was (M12)', async () => {
  const image = { type: 'file', mediaType: 'image/png', data: 'AAAA' } as const
  const toContent = () => [...textContent('A picture:'), image]
  const { messages } = await resultsOf([call('give')], { tools: [returning({ id: 7 }, toContent)] })
  expect(messages).toEqual([
    {
      role: 'tool',
      callId: 'call_1_1',
      name: 'give',
      content: [...textContent('A picture:'), image],
      output: { id: 7 },
    },
  ])
})

test('content that is not JSON is an error result (M12)', async () => {
  const part = { type: 'file', mediaType: 'image/png', data: 'AAAA' } as const
  const give = returning(1, () => [Object.assign({ ...part }, { data: new Uint8Array([1]) })])
  const { messages } = await resultsOf([call('give')], { tools: [give] })
  expect(messages).toMatchObject([{ callId: 'call_1_1', isError: true }])
})

test('an AgentError or a question in toContent, or in a toJSON, has its usual effect (A12, L1)', async () => {
  class Fatal extends AgentError {}
  const fatal = new Fatal('enough')
  const throws = (error?: Error) => () => {
    throw error ?? interrupt('?')
  }
  const run = (give: Tool) => createAgent({ model: scriptedModel([respond(call('give'))]), tools: [give] }).run('Go')
  await expect(run(returning(1, throws(fatal)))).rejects.toBe(fatal)
  await expect(run(returning({ toJSON: throws(fatal) }))).rejects.toBe(fatal)
  expect(await run(returning(1, throws()))).toMatchObject({ status: 'interrupted' })
})

test('a toContent that returns no list of parts is an error result (M12)', async () => {
  for (const given of [() => 'text', () => Promise.reject(new Error('late'))]) {
    const { messages } = await resultsOf([call('give')], { tools: [returning(1, given as never)] })
    expect(messages).toMatchObject([
      { content: textContent('give has run, but its toContent did not return a list of parts'), isError: true },
    ])
  }
})

test('a toContent that returns an invalid part is an error result that explains what a part is (M12)', async () => {
  const toContent = () => [{ type: 'image', image: 'AAAA' }]
  const { messages } = await resultsOf([call('give')], { tools: [returning(1, toContent as never)] })
  const text = expect.stringMatching(
    /^give has run, but its toContent returned something that is not a part: a part is \{ type: 'text', text \}/,
  )
  expect(messages).toMatchObject([{ content: [{ text }], isError: true }])
})

test('a throw in toContent is an error result (M12)', async () => {
  const toContent = () => {
    throw new Error('cannot say it')
  }
  const { messages } = await resultsOf([call('give'), call('note', { text: 'a' })], {
    tools: [returning(1, toContent), note],
  })
  expect(messages).toMatchObject([
    { content: textContent('give has run, but its toContent threw: cannot say it'), isError: true },
    { content: textContent('noted a') },
  ])
})

const recorder = (log: unknown[]): Middleware => ({
  name: 'recorder',
  async *wrapToolCall(call, next) {
    log.push(['in', call.name, call.input])
    try {
      return yield* next(call)
    } finally {
      log.push(['out', call.name])
    }
  },
})

test('a call of an unknown tool passes the wraps like any other, and its result lists the tools (M8)', async () => {
  const log: unknown[] = []
  const exporter = new InMemorySpanExporter()
  const tracerProvider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })
  const { messages, events } = await resultsOf([call('nope', { a: 1 })], {
    tools: [note, returning(1)],
    middleware: [recorder(log)],
    telemetry: { tracerProvider },
  })
  const content = textContent('There is no tool named "nope". Available tools: note, give.')
  const message = { role: 'tool', callId: 'call_1_1', name: 'nope', content, isError: true }
  expect(messages).toEqual([message])
  expect(log).toEqual([
    ['in', 'nope', { a: 1 }],
    ['out', 'nope'],
  ])
  const asked = { type: 'tool-call', id: 'call_1_1', name: 'nope', input: { a: 1 } }
  expect(events.filter((event) => 'callId' in event).map(({ runId: _, step: __, ...event }) => event)).toEqual([
    { type: 'tool-start', callId: 'call_1_1', toolName: 'nope', call: asked },
    { type: 'tool-end', callId: 'call_1_1', toolName: 'nope', message },
  ])
  const [span] = exporter.getFinishedSpans().filter(({ name }) => name.startsWith('execute_tool'))
  expect(span?.attributes).toMatchObject({ 'gen_ai.tool.call.id': 'call_1_1', 'error.type': 'unknown_tool' })
})

test('the result of an unknown call in an agent without tools states that there are no tools (M8)', async () => {
  const { texts } = await resultsOf([call('nope')], {})
  expect(texts).toEqual([['There is no tool named "nope". There are no tools.']])
})

test('unknownTool answers for tools that do not exist, and never for an existing one (M8)', async () => {
  const asked: ToolCall[] = []
  const { messages } = await resultsOf([call('nope', { a: 1 }), call('note', { text: 'a' })], {
    tools: [note],
    async unknownTool(call) {
      asked.push(call)
      return `try another than ${call.name}`
    },
  })
  expect(asked).toEqual([{ type: 'tool-call', id: 'call_1_1', name: 'nope', input: { a: 1 } }])
  expect(messages).toMatchObject([
    { role: 'tool', callId: 'call_1_1', name: 'nope', content: textContent('try another than nope') },
    { content: textContent('noted a') },
  ])
  expect(messages[0]?.isError).toBeUndefined()
})

test('an unknownTool that throws produces an error result (M8)', async () => {
  const { messages } = await resultsOf([call('nope')], {
    unknownTool: () => {
      throw new Error('nor do I')
    },
  })
  expect(messages).toMatchObject([{ content: textContent('nor do I'), isError: true }])
})

test('input passes prepareInput, the wraps and the schema before it reaches the tool (M10)', async () => {
  const log: unknown[] = []
  const shout = tool({
    name: 'shout',
    description: 'Shouts.',
    input: z.object({ text: z.string() }).transform(({ text }) => {
      log.push(['check', text])
      return `${text}!`
    }),
    execute: (input) => void log.push(['execute', input]),
  })
  const wrap: Middleware = {
    name: 'wrap',
    async *wrapToolCall(call, next) {
      log.push(['wrap', call.input])
      return yield* next({ ...call, input: { text: 'from the wrap' } })
    },
  }
  const { result } = await resultsOf([call('shout', { text: 'from the model' })], {
    tools: [shout],
    middleware: [wrap],
    async prepareInput(input, call) {
      log.push(['prepare', input, call])
      return { text: 'prepared' }
    },
  })
  const asked = { type: 'tool-call', id: 'call_1_1', name: 'shout', input: { text: 'from the model' } }
  expect(log).toEqual([
    ['prepare', { text: 'from the model' }, asked],
    ['wrap', { text: 'prepared' }],
    ['check', 'from the wrap'],
    ['execute', 'from the wrap!'],
  ])
  expect(result?.messages[1]).toMatchObject({ content: [asked] })
})

test('input that a wrap or prepareInput made wrong is an error result of that call, and the tool does not run (M10)', async () => {
  const { inputs, strict } = strictTool()
  const right = { text: 'a', at: { line: 1 } }
  const wrap: Middleware = {
    name: 'wrap',
    async *wrapToolCall(call, next) {
      return yield* next(call.id === 'two' ? { ...call, input: {} } : call)
    },
  }
  const calls = ['one', 'two', 'three'].map((id) => call('strict', right, { id }))
  const { messages } = await resultsOf(calls, {
    tools: [strict],
    middleware: [wrap],
    prepareInput: (input, { id }) => (id === 'one' ? 'spoilt' : input),
  })
  expect(messages.map(({ callId, isError }) => [callId, isError])).toEqual([
    ['one', true],
    ['two', true],
    ['three', undefined],
  ])
  expect(inputs).toEqual([right])
})

test('the result of prepareInput is awaited, also if it is a thenable but not a Promise (M10)', async () => {
  const later = { then: (resolve: (input: unknown) => void) => resolve({ text: 'prepared' }) }
  const { messages } = await resultsOf([call('note', { text: 'as asked' })], {
    tools: [note],
    prepareInput: () => later,
  })
  expect(messages).toMatchObject([{ content: textContent('noted prepared') }])
})

test('a prepareInput that throws or rejects is an error result of that call, and no wrap sees the call (M10)', async () => {
  const log: unknown[] = []
  const calls = ['one', 'two', 'three'].map((id) => call('note', { text: id }, { id }))
  const { messages } = await resultsOf(calls, {
    tools: [note],
    middleware: [recorder(log)],
    prepareInput(input, { id }) {
      if (id === 'one') throw new Error('not this')
      return id === 'two' ? Promise.reject(new Error('nor this')) : input
    },
  })
  expect(messages).toMatchObject([
    { callId: 'one', content: textContent('not this'), isError: true },
    { callId: 'two', content: textContent('nor this'), isError: true },
    { callId: 'three', content: textContent('noted three') },
  ])
  expect(log).toEqual([
    ['in', 'note', { text: 'three' }],
    ['out', 'note'],
  ])
})
