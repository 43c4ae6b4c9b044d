import { call, collect, end, fail, respond, type ScriptResponse, say, scriptedModel } from '@meanwhile/assemble/testing'
import {
  type AgentEvent,
  ConfigError,
  createAgent,
  MaxStepsError,
  type Middleware,
  OutputError,
  type TelemetryOptions,
  type Tool,
  textOf,
  tool,
} from '@meanwhile/core'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { DEFAULT_INSTRUCTION } from './closing-call.ts'
import { earlyStop } from './early-stop.ts'

interface RanOptions {
  readonly maxSteps?: number
  readonly tools?: readonly Tool[]
  readonly telemetry?: TelemetryOptions
}

async function ran(responses: readonly ScriptResponse[], middleware: readonly Middleware[], options: RanOptions = {}) {
  const made: string[] = []
  const look = tool({
    name: 'look',
    description: 'Looks.',
    input: z.object({ n: z.number() }),
    execute: ({ n }) => {
      made.push(`look ${n}`)
      return `seen ${n}`
    },
  })
  const model = scriptedModel(responses)
  const agent = createAgent({ model, middleware, maxSteps: 2, ...options, tools: options.tools ?? [look as Tool] })
  const collected = await collect(agent.stream('Go'))
  return { ...collected, requests: model.requests, made }
}

const looking = (n: number) => respond(call('look', { n }, { id: `c${n}` }))
const answer = respond(say('So much for that.'))

const bare = (events: readonly AgentEvent[]) => events.map(({ runId: _, ...event }) => event)

test('without earlyStop the limit is an error, after exactly maxSteps model calls (F1, A9)', async () => {
  const { error, requests, made } = await ran([looking(1), looking(2), answer], [])
  expect(error).toMatchObject({ name: 'MaxStepsError', maxSteps: 2 })
  expect(requests).toHaveLength(2)
  expect(made).toEqual(['look 1'])
})

test('with it the calls of the last step are made, and one more model call answers (F2, N16)', async () => {
  const { result, requests, made } = await ran([looking(1), looking(2), answer], [earlyStop()])
  expect(made).toEqual(['look 1', 'look 2'])
  expect(requests).toHaveLength(3)
  expect(result).toMatchObject({
    status: 'completed',
    stopReason: 'early-stop',
    text: 'So much for that.',
    finishReason: 'stop',
    steps: 3,
  })
  expect(result?.messages.slice(-3)).toEqual([
    { role: 'tool', callId: 'c2', name: 'look', content: [{ type: 'text', text: 'seen 2' }], output: 'seen 2' },
    { role: 'user', content: DEFAULT_INSTRUCTION, origin: 'early-stop' },
    { role: 'assistant', content: [{ type: 'text', text: 'So much for that.' }], finishReason: 'stop' },
  ])
})

test('there are never more than maxSteps + 1 model calls, with one step or many (N16)', async () => {
  for (const maxSteps of [1, 3, 7]) {
    const calls = Array.from({ length: maxSteps }, (_, n) => looking(n))
    const { result, requests } = await ran([...calls, answer, answer], [earlyStop()], { maxSteps })
    expect(result?.stopReason).toBe('early-stop')
    expect(requests).toHaveLength(maxSteps + 1)
  }
})

test('only the closing request ends with the instruction as a user message, and the history keeps it with its origin (F3)', async () => {
  const { requests, result } = await ran([looking(1), looking(2), answer], [earlyStop({ instruction: 'Say it now.' })])
  const instruction = { role: 'user', content: 'Say it now.', origin: 'early-stop' }
  expect(requests.map(({ messages }) => messages.filter(({ role }) => role === 'user'))).toEqual([
    [{ role: 'user', content: 'Go' }],
    [{ role: 'user', content: 'Go' }],
    [{ role: 'user', content: 'Go' }, instruction],
  ])
  expect(requests[2]?.messages.at(-1)).toEqual(instruction)
  expect(result?.messages).toContainEqual(instruction)
})

test('an empty instruction adds no message, anything but a string is a ConfigError (F3)', async () => {
  const { requests, result } = await ran([looking(1), looking(2), answer], [earlyStop({ instruction: '' })])
  expect(requests[2]?.messages.at(-1)).toMatchObject({ role: 'tool', callId: 'c2' })
  expect(result?.stopReason).toBe('early-stop')

  const wrong = { instruction: 7 } as object
  expect(() => earlyStop(wrong)).toThrow(ConfigError)
  expect(() => earlyStop(wrong)).toThrow(expect.objectContaining({ option: 'instruction' }))
})

test('the closing request forbids calls, and contains tools only if the history has tool messages (F4)', async () => {
  const called = await ran([looking(1), looking(2), answer], [earlyStop()])
  expect(called.requests.map(({ toolChoice, tools }) => [toolChoice, tools.map(({ name }) => name)])).toEqual([
    ['auto', ['look']],
    ['auto', ['look']],
    ['none', ['look']],
  ])

  const rejecting: Middleware = {
    name: 'rejecting',
    beforeFinalAnswer: (_, run) => (run.step < 2 ? { accept: false, feedback: 'No.' } : { accept: true }),
  }
  const talked = await ran([answer, answer], [rejecting, earlyStop()], { maxSteps: 1 })
  expect(talked.requests.map(({ toolChoice, tools }) => [toolChoice, tools.map(({ name }) => name)])).toEqual([
    ['auto', ['look']],
    ['none', []],
  ])
})

test('calls in the closing answer are removed: none runs, none is reported, no id dangles, the text stays, and the finish reason is stop (F5, P18)', async () => {
  const closing = respond(say('Well: '), call('look', { n: 9 }, { id: 'closing' }), say('nothing.'))
  const { result, events, made } = await ran([looking(1), looking(2), closing], [earlyStop()])
  expect(made).toEqual(['look 1', 'look 2'])
  expect(result?.message).toEqual({
    role: 'assistant',
    content: [
      { type: 'text', text: 'Well: ' },
      { type: 'text', text: 'nothing.' },
    ],
    finishReason: 'stop',
  })
  expect(result).toMatchObject({ text: 'Well: nothing.', stopReason: 'early-stop', finishReason: 'stop' })
  expect(JSON.stringify(events)).not.toContain('closing')
  // The history is a valid input.
  const next = createAgent({ model: scriptedModel([respond(say('Hello again.'))]) })
  const again = await next.run([...(result?.messages ?? []), { role: 'user', content: 'And?' }])
  expect(again.text).toBe('Hello again.')
})

test('spans and events of a closing answer, accepted or not, have the finish reason stop (P18, O12)', async () => {
  const closing = respond(say('Nothing.'), call('look', { n: 9 }))
  const rejecting: Middleware = { name: 'rejecting', beforeFinalAnswer: () => ({ accept: false, feedback: 'No.' }) }
  for (const middleware of [[earlyStop()], [earlyStop(), rejecting]]) {
    const exporter = new InMemorySpanExporter()
    const tracerProvider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })
    const { result, events } = await ran([looking(1), closing], middleware, {
      maxSteps: 1,
      telemetry: { tracerProvider },
    })
    expect(result).toMatchObject({ stopReason: 'early-stop', finishReason: 'stop', message: { finishReason: 'stop' } })
    const ends = events.flatMap((event) => (event.type === 'step-end' ? event.messages : []))
    expect(ends.map((message) => message.role === 'assistant' && message.finishReason).filter(Boolean)).toEqual([
      'tool-calls',
      'stop',
    ])
    const run = exporter.getFinishedSpans().find(({ name }) => name.startsWith('invoke_agent'))
    expect(run?.attributes['gen_ai.response.finish_reasons']).toEqual(['stop'])
  }
})

test('a run that ends within maxSteps has exactly the same requests and events as without earlyStop (F6)', async () => {
  const runs = [
    [answer],
    [looking(1), answer],
    [looking(1), respond(call('look', '{"n"', { id: 'c2' })), answer],
    [looking(1), respond(say('Cut'), end({ finishReason: 'length' }))],
    [looking(1), respond(fail({ status: 400 }))],
  ]
  for (const responses of runs) {
    const closed = await ran(responses, [earlyStop()], { maxSteps: 3 })
    const open = await ran(responses, [], { maxSteps: 3 })
    expect(bare(closed.events)).toEqual(bare(open.events))
    const plain = (requests: typeof open.requests) => requests.map(({ model: _, signal: __, ...request }) => request)
    expect(plain(closed.requests)).toEqual(plain(open.requests))
    expect(closed.result).toEqual(open.result)
    expect(closed.error).toEqual(open.error)
  }
})

test('a returnDirect result of the last step ends the run as usual (F6)', async () => {
  const direct = tool({
    name: 'direct',
    description: 'Answers.',
    input: z.object({}),
    returnDirect: true,
    execute: () => 'directly',
  }) as Tool
  const { result, requests } = await ran([respond(call('direct'))], [earlyStop()], { maxSteps: 1, tools: [direct] })
  expect(result).toMatchObject({ stopReason: 'return-direct', text: 'directly' })
  expect(requests).toHaveLength(1)
})

test('an agent without a step limit is unchanged (F6)', async () => {
  const calls = Array.from({ length: 30 }, (_, n) => looking(n))
  const { result } = await ran([...calls, answer], [earlyStop()], { maxSteps: Number.POSITIVE_INFINITY })
  expect(result).toMatchObject({ stopReason: 'answer', steps: 31 })
})

test('a user’s own middleware does the same with the public API (F7)', async () => {
  const closes = (run: { readonly step: number; readonly setup: { readonly maxSteps: number } }) =>
    run.step === run.setup.maxSteps
  const own: Middleware = {
    name: 'early-stop',
    beforeAgent: (setup) => ({ ...setup, maxSteps: setup.maxSteps + 1 }),
    beforeModel: (state, run) =>
      closes(run)
        ? { messages: [...state.messages, { role: 'user', content: DEFAULT_INSTRUCTION, origin: 'early-stop' }] }
        : undefined,
    async *wrapModel(request, next, run) {
      return yield* next(closes(run) ? { ...request, toolChoice: 'none' } : request)
    },
  }
  const mine = await ran([looking(1), looking(2), answer], [own])
  const theirs = await ran([looking(1), looking(2), answer], [earlyStop()])
  const said = ({ requests }: typeof mine) =>
    requests.map(({ messages, tools, toolChoice }) => [messages, tools, toolChoice])
  expect(said(mine)).toEqual(said(theirs))
  expect(mine.result?.messages).toEqual(theirs.result?.messages)
})

test('a closing answer without text ends the run with MaxStepsError, which contains the user’s limit (N17, F5)', async () => {
  for (const closing of [looking(9), respond(say('')), respond(say('  \n')), respond(call('nobody', {}))]) {
    const { error, requests, result } = await ran([looking(1), looking(2), closing], [earlyStop()])
    expect(result).toBeUndefined()
    expect(error).toBeInstanceOf(MaxStepsError)
    expect(error).toMatchObject({ maxSteps: 2 })
    expect(requests).toHaveLength(3)
  }
})

test('a closing answer that the gate rejects is still the result, with the feedback as a warning (O12)', async () => {
  const seen: string[] = []
  const rejecting: Middleware = {
    name: 'rejecting',
    beforeFinalAnswer({ messages }) {
      seen.push(messages.map(textOf).at(-1) ?? '')
      return { accept: false, feedback: 'No.' }
    },
  }
  const last = respond(say('At last.'))
  for (const middleware of [
    [rejecting, earlyStop()],
    [earlyStop(), rejecting],
  ]) {
    const { result, events, requests } = await ran([answer, last], middleware, { maxSteps: 1 })
    expect(requests).toHaveLength(2)
    expect(result).toMatchObject({ status: 'completed', stopReason: 'early-stop', text: 'At last.', steps: 2 })
    expect(result?.message).toBe(result?.messages.at(-1))
    expect(result?.warnings).toEqual([{ code: 'answer-rejected', message: 'No.', source: 'early-stop' }])
    const told = ['answer-rejected', 'message', 'step-end', 'warning', 'run-end']
    expect(events.slice(-5).map(({ type }) => type)).toEqual(told)
  }
  expect(seen).toEqual(['So much for that.', 'At last.', 'So much for that.', 'At last.'])
})

test('an error of the closing call is thrown unchanged (F2)', async () => {
  const { error } = await ran(
    [looking(1), looking(2), respond(fail({ status: 400, code: 'bad_request' }))],
    [earlyStop()],
  )
  expect(error).toMatchObject({ name: 'ModelError', code: 'bad_request' })
})

test('rejected answers use steps, and then one last answer is requested (F2, N16, N18)', async () => {
  const rejecting: Middleware = {
    name: 'rejecting',
    beforeFinalAnswer: (_, run) => (run.step <= 2 ? { accept: false, feedback: 'No.' } : { accept: true }),
  }
  const { result, requests } = await ran([answer, answer, respond(say('At last.'))], [rejecting, earlyStop()])
  expect(requests).toHaveLength(3)
  expect(result).toMatchObject({ text: 'At last.', stopReason: 'early-stop' })
})

test('the text of the closing answer is readable as it streams (B4)', async () => {
  const { events } = await ran([looking(1), looking(2), respond(say('a b c'))], [earlyStop()])
  expect(events.flatMap((event) => ('delta' in event && event.step === 3 ? [event.delta] : []))).toEqual([
    'a',
    ' b',
    ' c',
  ])
})

const output = z.object({ n: z.number() })
const given = (n: unknown) => respond(call('final_answer', { n }, { id: 'last' }))
const native = { structuredOutput: true }

async function closed(closing: ScriptResponse, model: { readonly structuredOutput?: boolean } = {}) {
  const asked = scriptedModel([looking(1), closing], model)
  const look = tool({ name: 'look', description: 'Looks.', input: z.object({ n: z.number() }), execute: () => 'seen' })
  const agent = createAgent({ model: asked, output, tools: [look], maxSteps: 1, middleware: [earlyStop()] })
  return { ...(await collect(agent.stream('Go'))), request: asked.requests[1] }
}

test('with an output tool the closing request allows only that one, and its call is the answer (F4, O13)', async () => {
  const closing = respond(
    say('So: '),
    call('look', { n: 9 }, { id: 'closing' }),
    call('final_answer', { n: 7 }, { id: 'last' }),
  )
  const { request, result, events } = await closed(closing)
  expect(request?.toolChoice).toEqual({ tool: 'final_answer' })
  expect(request?.tools.map(({ name }) => name)).toEqual(['look', 'final_answer'])
  expect(result).toMatchObject({ stopReason: 'early-stop', output: { n: 7 }, steps: 2 })
  expect(JSON.stringify(events)).not.toContain('closing"')
  const told = events.filter((event) => event.step === 2 && ('id' in event || 'call' in event || 'callId' in event))
  expect(new Set(told.map(({ type }) => type))).toEqual(
    new Set(['tool-input-start', 'tool-input-delta', 'tool-input-closed', 'tool-call', 'tool-end']),
  )
})

test('if the history has no tool messages, the closing request contains only the output tool (F4, O13)', async () => {
  const rejecting: Middleware = {
    name: 'rejecting',
    beforeFinalAnswer: (_, run) => (run.step < 2 ? { accept: false, feedback: 'No.' } : undefined),
  }
  const model = scriptedModel([respond(say('{"n":1}')), given(2)])
  const look = tool({ name: 'look', description: 'Looks.', input: z.object({}), execute: () => 'seen' })
  const agent = createAgent({ model, output, tools: [look], maxSteps: 1, middleware: [rejecting, earlyStop()] })
  expect((await agent.run('Go')).output).toEqual({ n: 2 })
  expect(model.requests[1]).toMatchObject({ toolChoice: { tool: 'final_answer' }, tools: [{ name: 'final_answer' }] })
})

test('a model with structured output closes with it, and calls nothing (F4, O13)', async () => {
  const { request, result } = await closed(respond(say('{"n":7}')), native)
  expect(request).toMatchObject({ toolChoice: 'none', tools: [{ name: 'look' }], output: { name: 'final_answer' } })
  expect(result).toMatchObject({ stopReason: 'early-stop', output: { n: 7 } })
})

const unfit: readonly (readonly [what: string, closing: ScriptResponse, model?: typeof native])[] = [
  ['a call that does not match', given('seven')],
  ['a call whose input is no JSON', respond(call('final_answer', '{"n"'))],
  ['a call that was cut off', respond(call('final_answer', { n: 7 }), end({ finishReason: 'length' }))],
  ['plain text in place of a call', respond(say('Seven.'))],
  ['another call', looking(9)],
  ['nothing', respond(say(''))],
  ['JSON that does not fit', respond(say('{"n":"seven"}')), native],
  ['text that is no JSON', respond(say('Seven.')), native],
  ['a call instead of text', looking(9), native],
]

test.for(unfit)('%s in the closing answer fails with OutputError (O13)', async ([, closing, model]) => {
  const { error, result } = await closed(closing, model)
  expect(result).toBeUndefined()
  expect(error).toBeInstanceOf(OutputError)
  expect(error).toMatchObject({ name: 'OutputError', issues: [{}], usage: {} })
  const { messages } = error as OutputError
  const next = createAgent({ model: scriptedModel([respond(say('Hello again.'))]) })
  expect((await next.run([...(messages ?? []), { role: 'user', content: 'And?' }])).text).toBe('Hello again.')
})

test('a closing output that a hook rejects is still MaxStepsError, because it did match (O13, N17)', async () => {
  const rejecting: Middleware = { name: 'rejecting', beforeFinalAnswer: () => ({ accept: false, feedback: 'No.' }) }
  const model = scriptedModel([given(1), given(2)])
  const agent = createAgent({ model, output, maxSteps: 1, middleware: [rejecting, earlyStop()] })
  await expect(agent.run('Go')).rejects.toMatchObject({ name: 'MaxStepsError', maxSteps: 1, feedback: 'No.' })
})

test('a user’s own middleware closes an agent with an output in the same way (F7, O13)', async () => {
  const own: Middleware = {
    name: 'own',
    beforeAgent: (setup) => ({ ...setup, maxSteps: setup.maxSteps + 1 }),
    async *wrapModel(request, next, run) {
      return yield* next(run.step === run.setup.maxSteps ? { ...request, toolChoice: 'none' } : request)
    },
  }
  const model = scriptedModel([looking(1), given(7)])
  const look = tool({ name: 'look', description: 'Looks.', input: z.object({}), execute: () => 'seen' })
  const agent = createAgent({ model, output, tools: [look], maxSteps: 1, middleware: [own] })
  expect((await agent.run('Go')).output).toEqual({ n: 7 })
  expect(model.requests[1]?.toolChoice).toEqual({ tool: 'final_answer' })
})
