import { assemble, type CallPiece } from '@meanwhile/assemble'
import { call, collect, end, fail, respond, say, scriptedModel, think } from '@meanwhile/assemble/testing'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { askAgain } from '../../test/again.ts'
import { sleep } from '../../test/clock.ts'
import {
  type AgentEvent,
  type AgentEventBody,
  type AgentOptions,
  type AssistantMessage,
  createAgent,
  type Middleware,
  type Model,
  ModelError,
  type ToolCall,
  type ToolMessage,
  textOf,
  tool,
} from '../index.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

/** Takes some milliseconds and reports progress half-way. */
const work = tool({
  name: 'work',
  description: 'Takes some time',
  input: z.object({ ms: z.number() }),
  async *execute({ ms }) {
    await sleep(ms / 2)
    yield { progress: 0.5 }
    await sleep(ms / 2)
    return `${ms} ms`
  },
})

const passThrough = (name: string): Middleware => ({
  name,
  async *wrapModel(request, next) {
    return yield* next(request)
  },
})

async function eventsOf(options: AgentOptions): Promise<readonly AgentEvent[]> {
  const reading = collect(createAgent(options).stream('go'))
  await vi.runAllTimersAsync()
  return (await reading).events
}

/** Events without what differs from run to run. */
function plain(events: readonly AgentEvent[]): object[] {
  return events.map((event) => {
    const { runId: _, ...rest } = event
    if (rest.type === 'tool-progress') return { ...rest, timestamp: 0 }
    return rest
  })
}

function toolCall(id: string, name: string, input: unknown): ToolCall {
  return { type: 'tool-call', id, name, input }
}

function toolMessage({ id, name }: ToolCall, text: string): ToolMessage {
  return { role: 'tool', callId: id, name, content: [{ type: 'text', text }], output: text }
}

function types(events: readonly AgentEvent[]): string[] {
  return events.map((event) => event.type)
}

function only<Type extends AgentEventBody['type']>(events: readonly AgentEvent[], type: Type) {
  return events.filter((event): event is Extract<AgentEvent, { type: Type }> => event.type === type)
}

const scripted = { provider: 'scripted', id: 'scripted-1' }

test('a run without retry, rejection, warning and custom events has exactly these events (B1, B2, B3, B9, CC2, CC7)', async () => {
  const model = scriptedModel([
    respond(think('Hm', { deltas: 1 }), say('Let me see', { deltas: 2 }), call('work', { ms: 10 }, { deltas: 2 })),
    respond(say('Done', { deltas: 1 })),
  ])
  const run = createAgent({ model, tools: [work] }).stream('go')
  const reading = collect(run)
  await vi.runAllTimersAsync()
  const { events, result } = await reading

  const asked = toolCall('call_1_1', 'work', { ms: 10 })
  const ofCall = { callId: 'call_1_1', toolName: 'work' }
  const first: AssistantMessage = {
    role: 'assistant',
    content: [{ type: 'reasoning', text: 'Hm' }, { type: 'text', text: 'Let me see' }, asked],
    finishReason: 'tool-calls',
  }
  const answer: AssistantMessage = {
    role: 'assistant',
    content: [{ type: 'text', text: 'Done' }],
    finishReason: 'stop',
  }
  expect(plain(events)).toEqual([
    { type: 'run-start' },
    { type: 'step-start', step: 1 },
    { type: 'attempt-start', step: 1, attempt: 1, model: scripted },
    { type: 'reasoning-delta', step: 1, attempt: 1, delta: 'Hm' },
    { type: 'text-delta', step: 1, attempt: 1, delta: 'Let m' },
    { type: 'text-delta', step: 1, attempt: 1, delta: 'e see' },
    { type: 'tool-input-start', step: 1, attempt: 1, id: 'call_1_1', name: 'work' },
    { type: 'tool-input-delta', step: 1, attempt: 1, id: 'call_1_1', delta: '{"ms"' },
    { type: 'tool-input-delta', step: 1, attempt: 1, id: 'call_1_1', delta: ':10}' },
    { type: 'tool-input-closed', step: 1, attempt: 1, call: asked },
    { type: 'tool-call', step: 1, attempt: 1, call: asked },
    { type: 'message', step: 1, message: first },
    { type: 'tool-start', step: 1, ...ofCall, call: asked },
    { type: 'tool-entered', step: 1, ...ofCall, attempt: 1 },
    { type: 'tool-progress', step: 1, ...ofCall, timestamp: 0, cancelable: true, progress: 0.5 },
    { type: 'tool-end', step: 1, ...ofCall, message: toolMessage(asked, '10 ms') },
    { type: 'message', step: 1, message: toolMessage(asked, '10 ms') },
    { type: 'step-end', step: 1, attempt: 1, messages: [first, toolMessage(asked, '10 ms')] },
    { type: 'step-start', step: 2 },
    { type: 'attempt-start', step: 2, attempt: 1, model: scripted },
    { type: 'text-delta', step: 2, attempt: 1, delta: 'Done' },
    { type: 'message', step: 2, message: answer },
    { type: 'step-end', step: 2, attempt: 1, messages: [answer] },
    { type: 'run-end', result },
  ])
  expect(new Set(events.map(({ runId }) => runId))).toEqual(new Set([run.id]))
})

test('every event is JSON, errors included (B2)', async () => {
  const model = scriptedModel([
    respond(say('Half'), fail({ status: 529, code: 'overloaded_error', message: 'too many', retryAfter: 5 })),
    respond(call('work', { ms: 10 }), call('work', 'not JSON'), call('nowhere')),
    respond(),
    respond(say('Done')),
  ])
  const again: Middleware = {
    name: 'again',
    async *wrapModel(request, next, run) {
      run.emit({ name: 'asking', data: { step: run.step } })
      try {
        return yield* next(request)
      } catch {
        return yield* next(request)
      }
    },
    beforeFinalAnswer: ({ messages }) =>
      messages.some((message) => textOf(message) === 'Done') ? { accept: true } : { accept: false, feedback: 'Say it' },
  }
  const events = await eventsOf({ model, tools: [work], middleware: [again] })
  expect(new Set(types(events))).toEqual(
    new Set([
      'run-start',
      'step-start',
      'attempt-start',
      'attempt-failed',
      'text-delta',
      'tool-input-start',
      'tool-input-delta',
      'tool-input-closed',
      'tool-call',
      'message',
      'tool-start',
      'tool-entered',
      'tool-progress',
      'tool-end',
      'step-end',
      'warning',
      'custom',
      'answer-rejected',
      'run-end',
    ]),
  )
  const failed = {
    name: 'ModelError',
    message: 'too many',
    code: 'overloaded_error',
    status: 529,
    retryable: true,
    retryAfter: 5,
  }
  const json = events.map((event) => (event.type === 'attempt-failed' ? { ...event, error: failed } : event))
  expect(JSON.parse(JSON.stringify(events))).toStrictEqual(json)
})

test('every event contains the run, inside a step the step, from a model the attempt, from a tool the call (B2)', async () => {
  const model = scriptedModel([respond(think('Hm'), say('Now'), call('work', { ms: 2 })), respond(say('Done'))])
  const events = await eventsOf({ model, tools: [work] })
  const steps = events.filter(({ type }) => type !== 'run-start' && type !== 'run-end').map(({ step }) => step)
  expect(steps).toEqual([...steps.filter((step) => step === 1), ...steps.filter((step) => step === 2)])
  for (const event of events) {
    if (/^(attempt|text|reasoning|tool-input|tool-call)/.test(event.type)) expect(event).toHaveProperty('attempt', 1)
    if (/^tool-(start|progress|end)/.test(event.type)) expect(event).toHaveProperty('callId', 'call_1_1')
  }
})

test('a failed run has no run-end: the iteration throws the error with which the result rejects (B3)', async () => {
  const run = createAgent({ model: scriptedModel([respond(say('Half'), fail())]) }).stream('go')
  const { events, error } = await collect(run)
  expect(types(events)).toEqual(['run-start', 'step-start', 'attempt-start', 'text-delta', 'attempt-failed'])
  expect(error).toBeInstanceOf(ModelError)
  await expect(run.result).rejects.toBe(error)
})

test('run-end is last and contains the same result object (B3)', async () => {
  const run = createAgent({ model: scriptedModel([respond(say('Hi'))]) }).stream('go')
  const { events } = await collect(run)
  const ends = only(events, 'run-end')
  expect(ends).toHaveLength(1)
  expect(events.at(-1)).toBe(ends[0])
  expect(ends[0]?.result).toBe(await run.result)
  expect(types(events).filter((type) => type === 'run-start')).toEqual(['run-start'])
  expect(events[0]?.type).toBe('run-start')
})

test('the reader has a delta before the model sends the next, through any number of wraps (B4)', async () => {
  const words = ['One', ' two', ' three']
  const seen: string[] = []
  let got = () => {}
  /** Sends a word only when the reader has received the one before it. */
  const model: Model = {
    ...scripted,
    async *stream() {
      for (const delta of words) {
        const taken = new Promise<void>((resolve) => {
          got = resolve
        })
        yield { type: 'text-delta', delta }
        await taken
      }
      return { role: 'assistant', content: [{ type: 'text', text: words.join('') }], finishReason: 'stop' }
    },
  }
  const middleware = Array.from({ length: 25 }, (_, index) => passThrough(`wrap-${index}`))
  const run = createAgent({ model, middleware }).stream('go')
  for await (const event of run) {
    if (event.type !== 'text-delta') continue
    seen.push(event.delta)
    got()
  }
  expect(seen).toEqual(words)
  expect((await run.result).text).toBe(words.join(''))
})

test('deltas reach the reader when they arrive, and those of the accepted attempt make up the text (B4, B9)', async () => {
  const pace = { firstToken: 100, betweenTokens: 50 }
  const model = scriptedModel([respond(say('Wrong way'), fail()), respond(say('The right way'))], { pace })
  const run = createAgent({ model, middleware: [askAgain] }).stream('go')
  const start = Date.now()
  const deltas: [at: number, attempt: number, delta: string][] = []
  let stood: number | undefined
  const reading = (async () => {
    for await (const event of run) {
      if (event.type === 'text-delta') deltas.push([Date.now() - start, event.attempt, event.delta])
      if (event.type === 'step-end') stood = event.attempt
    }
  })()
  await vi.runAllTimersAsync()
  await reading
  expect(deltas).toEqual([
    [100, 1, 'Wrong'],
    [150, 1, ' way'],
    [250, 2, 'The'],
    [300, 2, ' right'],
    [350, 2, ' way'],
  ])
  const text = deltas.flatMap(([, attempt, delta]) => (attempt === stood ? [delta] : [])).join('')
  expect(text).toBe((await run.result).text)
})

test('the events of one call are in the order start, deltas, closed, call, whatever comes between (B5)', async () => {
  /** Pieces of three interleaved calls: the second never closes, the third is empty. */
  const pieces: readonly (readonly [label: number, piece: CallPiece | 'seal'])[] = [
    [0, { id: 'a', name: 'work', delta: '{"ms"' }],
    [1, { id: 'b', name: 'work', delta: '"text' }],
    [0, { delta: ':1}' }],
    [2, { id: 'c', name: 'work' }],
    [1, { delta: '"' }],
    [1, 'seal'],
    [0, 'seal'],
  ]
  let asked = false
  const model: Model = {
    ...scripted,
    async *stream(request) {
      if (asked) return yield* scriptedModel([respond(say('Done'))]).stream(request)
      asked = true
      async function* chunks() {
        yield* pieces
      }
      return yield* assemble(request, chunks(), ([label, piece], to) => {
        to.finish('tool-calls')
        if (piece === 'seal') to.seal(label)
        else to.call(label, piece)
      })
    },
  }
  const events = await eventsOf({ model, tools: [work], middleware: [passThrough('wrap')] })
  const of = (id: string) =>
    types(
      events.filter(
        (event) =>
          ('id' in event && event.id === id) || ('call' in event && 'attempt' in event && event.call.id === id),
      ),
    )
  expect(of('a')).toEqual([
    'tool-input-start',
    'tool-input-delta',
    'tool-input-delta',
    'tool-input-closed',
    'tool-call',
  ])
  expect(of('b')).toEqual(['tool-input-start', 'tool-input-delta', 'tool-input-delta', 'tool-call'])
  expect(of('c')).toEqual(['tool-input-start', 'tool-call'])
  expect(only(events, 'tool-call').map((event) => event.call.id)).toEqual(['b', 'a', 'c'])
})

test('a call that was not sealed has no tool-call event, and one that was cut off does not run (B5, B6)', async () => {
  const chunks = [{ id: 'a', name: 'work', delta: '{"ms":1' }]
  const model: Model = {
    ...scripted,
    stream: (request) =>
      assemble(
        request,
        (async function* () {
          yield* chunks
        })(),
        (chunk, to) => {
          to.call(0, chunk)
          to.finish('content-filter')
        },
      ),
  }
  const events = await eventsOf({ model, tools: [work] })
  expect(types(events)).toEqual([
    'run-start',
    'step-start',
    'attempt-start',
    'tool-input-start',
    'tool-input-delta',
    'message',
    'tool-end',
    'message',
    'step-end',
    'run-end',
  ])
})

test('each call has one tool-end and, if it was begun, one tool-start, unknown and invalid ones included (B6)', async () => {
  const model = scriptedModel([
    respond(call('work', { ms: 10 }), call('nowhere', {}), call('work', { ms: 'ten' }), call('work', '{"ms":')),
    respond(say('Done')),
  ])
  const events = await eventsOf({ model, tools: [work] })
  const ids = ['call_1_1', 'call_1_2', 'call_1_3', 'call_1_4']
  expect(only(events, 'tool-start').map(({ callId }) => callId)).toEqual(ids)
  const ends = only(events, 'tool-end')
  expect(new Map(ends.map(({ callId, message }) => [callId, message.isError ?? false]))).toEqual(
    new Map([
      ['call_1_1', false],
      ['call_1_2', true],
      ['call_1_3', true],
      ['call_1_4', true],
    ]),
  )
  expect(ends).toHaveLength(4)
  const end = events.at(-1)
  const messages = end?.type === 'run-end' ? end.result.messages : []
  expect(new Set(messages.filter((message) => message.role === 'tool'))).toEqual(
    new Set(ends.map(({ message }) => message)),
  )
})

test.each([
  [
    'the response was cut off at its length',
    respond(call('work', { ms: 1 }), call('work', { ms: 2 }), end({ finishReason: 'length' })),
    2,
  ],
  [
    'the response was filtered',
    respond(call('work', { ms: 1 }), call('work', { ms: 2 }), end({ finishReason: 'content-filter' })),
    2,
  ],
  ['no step is left', respond(call('work', { ms: 1 }), call('work', { ms: 2 })), 1],
])('calls that do not run because %s have only a tool-end (B6)', async (_, response, maxSteps) => {
  const events = await eventsOf({ model: scriptedModel([response, respond(say('Done'))]), tools: [work], maxSteps })
  const ofTools = events.filter(({ type }) => /^tool-(start|progress|committed|discarded|end)/.test(type))
  expect(ofTools.map((event) => [event.type, 'callId' in event && event.callId])).toEqual([
    ['tool-end', 'call_1_1'],
    ['tool-end', 'call_1_2'],
  ])
})

test('each call of a failed run has a tool-end, too, because it has a message (B6)', async () => {
  const failing = tool({
    name: 'failing',
    description: 'Ends the run',
    input: z.object({}),
    async execute() {
      await sleep(5)
      throw new ModelError('over', { code: 'unknown', retryable: false })
    },
  })
  const heeding = tool({
    name: 'heeding',
    description: 'Ends when it is told to',
    input: z.object({}),
    execute: (_, { signal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason))
      }),
  })
  const model = scriptedModel([respond(call('work', { ms: 2 }), call('failing'), call('heeding'))])
  const reading = collect(createAgent({ model, tools: [work, failing, heeding] }).stream('go'))
  await vi.runAllTimersAsync()
  const { events, error } = await reading
  const history = error instanceof ModelError ? (error.messages ?? []) : []
  const results = history.filter((message) => message.role === 'tool')
  expect(results.map(({ callId, isError }) => [callId, isError ?? false])).toEqual([
    ['call_1_1', false],
    ['call_1_2', true],
    ['call_1_3', true],
  ])
  expect(only(events, 'tool-end').map(({ message }) => message)).toEqual(results)
})

test('calls that an error kept from starting have only a tool-end (B6)', async () => {
  const broken: Middleware = {
    name: 'broken',
    afterModel() {
      throw new Error('no')
    },
  }
  const model = scriptedModel([respond(call('work', { ms: 2 }))])
  const { events, error } = await collect(createAgent({ model, tools: [work], middleware: [broken] }).stream('go'))
  expect(types(events).slice(-4)).toEqual(['tool-call', 'message', 'tool-end', 'message'])
  expect(error).toHaveProperty('messages.2', only(events, 'tool-end')[0]?.message)
})

test('tool events come as they happen: no tool-end waits for a slower call (B7)', async () => {
  const model = scriptedModel([
    respond(call('work', { ms: 40 }), call('work', { ms: 10 }), call('work', { ms: 20 })),
    respond(say('Done')),
  ])
  const start = Date.now()
  const seen: [at: number, type: string, callId: string][] = []
  const run = createAgent({ model, tools: [work] }).stream('go')
  const reading = (async () => {
    for await (const event of run) {
      if (event.type === 'tool-start' || event.type === 'tool-progress' || event.type === 'tool-end') {
        seen.push([Date.now() - start, event.type, event.callId])
      }
    }
  })()
  await vi.runAllTimersAsync()
  await reading
  expect(seen).toEqual([
    [0, 'tool-start', 'call_1_1'],
    [0, 'tool-start', 'call_1_2'],
    [0, 'tool-start', 'call_1_3'],
    [5, 'tool-progress', 'call_1_2'],
    [10, 'tool-progress', 'call_1_3'],
    [10, 'tool-end', 'call_1_2'],
    [20, 'tool-progress', 'call_1_1'],
    [20, 'tool-end', 'call_1_3'],
    [40, 'tool-end', 'call_1_1'],
  ])
  const { messages } = await run.result
  expect(messages.flatMap((message) => (message.role === 'tool' ? [message.callId] : []))).toEqual([
    'call_1_1',
    'call_1_2',
    'call_1_3',
  ])
})

test('step-end names the attempt whose message the wraps returned, not the latest (B9)', async () => {
  const model = scriptedModel([respond(say('First')), respond(say('Second'))])
  const firstOfTwo: Middleware = {
    name: 'first-of-two',
    async *wrapModel(request, next) {
      const first = yield* next(request)
      yield* next(request)
      return first
    },
  }
  const [stood] = only(await eventsOf({ model, middleware: [firstOfTwo] }), 'step-end')
  expect(stood?.attempt).toBe(1)
  expect(stood?.messages.map(textOf)).toEqual(['First'])
})

test('step-end names the last attempt if a wrap made its message from it, and none if no model was called (B9)', async () => {
  const answer: AssistantMessage = {
    role: 'assistant',
    content: [{ type: 'text', text: 'Mine' }],
    finishReason: 'stop',
  }
  const rewriting: Middleware = {
    name: 'rewriting',
    async *wrapModel(request, next) {
      yield* next(request)
      yield* next(request)
      return answer
    },
  }
  const answering: Middleware = {
    name: 'answering',
    async *wrapModel() {
      return answer
    },
  }
  const model = scriptedModel([respond(say('First')), respond(say('Second'))])
  const [rewritten] = only(await eventsOf({ model, middleware: [rewriting] }), 'step-end')
  expect(rewritten).toMatchObject({ attempt: 2, messages: [answer] })
  const events = await eventsOf({ model: scriptedModel([]), middleware: [answering] })
  expect(plain(events).slice(0, -1)).toEqual([
    { type: 'run-start' },
    { type: 'step-start', step: 1 },
    { type: 'message', step: 1, message: answer },
    { type: 'step-end', step: 1, messages: [answer] },
  ])
})

test('step-end contains what the step added to the history, as afterModel left it, feedback included (B9)', async () => {
  const model = scriptedModel([respond(say('No'), call('work', { ms: 2 })), respond(say('No'))])
  const editing: Middleware = {
    name: 'editing',
    beforeModel: ({ messages }, { step }) =>
      step === 1 ? { messages: [...messages, { role: 'user', content: 'Hint', origin: 'editing' }] } : undefined,
    afterModel({ messages }) {
      const last = messages.at(-1)
      if (last?.role !== 'assistant') return
      const content = last.content.map((part) => (part.type === 'text' ? { ...part, text: 'Yes' } : part))
      return { messages: [...messages.slice(0, -1), { ...last, content }] }
    },
    beforeFinalAnswer: (_, { step }) => (step < 3 ? { accept: false, feedback: `Not in step ${step}` } : undefined),
  }
  const [first, second] = only(await eventsOf({ model, tools: [work], middleware: [editing] }), 'step-end')
  expect(first?.messages.map((message) => [message.role, textOf(message)])).toEqual([
    ['user', 'Hint'],
    ['assistant', 'Yes'],
    ['tool', '2 ms'],
  ])
  expect(second?.messages.map((message) => [message.role, textOf(message)])).toEqual([
    ['assistant', 'Yes'],
    ['user', 'Not in step 2'],
  ])
})

test('events of a step come before its step-end, warnings included (B1, B15)', async () => {
  const silent: Middleware = {
    name: 'silent',
    beforeFinalAnswer: (_, { step }) => (step === 1 ? { accept: false, feedback: '' } : undefined),
  }
  const model = scriptedModel([respond(say('No', { deltas: 1 })), respond(say('Yes', { deltas: 1 }))])
  const events = await eventsOf({ model, middleware: [silent] })
  expect(types(events)).toEqual([
    'run-start',
    'step-start',
    'attempt-start',
    'text-delta',
    'message',
    'warning',
    'answer-rejected',
    'message',
    'step-end',
    'step-start',
    'attempt-start',
    'text-delta',
    'message',
    'step-end',
    'run-end',
  ])
})
