import { expect, test } from 'vitest'
import { z } from 'zod'
import {
  type AgentEvent,
  type AssistantMessage,
  createAgent,
  type FinishReason,
  type Flow,
  type Middleware,
  type Model,
  ModelError,
  type ModelEvent,
  map,
  RunAbortedError,
  tool,
} from '../index.ts'
import { call, collect, cut, end, fail, respond, say, scriptedModel, think } from '../testing.ts'

function setup() {
  const executed: string[] = []
  const note = tool({
    name: 'note',
    description: 'Notes something.',
    input: z.object({ text: z.string() }),
    execute: ({ text }) => void executed.push(text),
  })
  return { executed, note }
}

function ofCalls(events: readonly AgentEvent[]) {
  return events
    .filter((event) => 'callId' in event)
    .map(({ type, ...event }) => [type, 'callId' in event && event.callId])
}

test('calls of a response cut off at its length are not run; the model reads why and goes on (A17)', async () => {
  const { executed, note } = setup()
  const model = scriptedModel([
    respond(
      say('Two of them:'),
      call('note', { text: 'a' }, { id: 'one' }),
      call('note', '{"text":"b', { id: 'two' }),
      end({ finishReason: 'length' }),
    ),
    respond(say('Then not.')),
  ])
  const { events, result } = await collect(createAgent({ model, tools: [note] }).stream('Go'))
  expect(executed).toEqual([])
  const text = 'No result: the response was cut off at its token limit before it was complete.'
  const refused = { role: 'tool', name: 'note', content: [{ type: 'text', text }], isError: true }
  expect(model.requests[1]?.messages.slice(2)).toEqual([
    { ...refused, callId: 'one' },
    { ...refused, callId: 'two' },
  ])
  expect(ofCalls(events)).toEqual([
    ['tool-end', 'one'],
    ['tool-end', 'two'],
  ])
  expect(result).toMatchObject({ text: 'Then not.', steps: 2 })
})

test('a response cut off at its length without calls is an answer whose finish reason says so (A17)', async () => {
  const model = scriptedModel([respond(say('Once upon a'), end({ finishReason: 'length' }))])
  const result = await createAgent({ model }).run('A tale')
  expect(result).toMatchObject({ stopReason: 'answer', text: 'Once upon a', finishReason: 'length', steps: 1 })
})

const stopped: readonly (readonly [FinishReason, string])[] = [
  ['content-filter', 'No result: the response was stopped by a content filter.'],
  ['other', 'No result: the response ended for a reason that does not allow tool calls.'],
]

test.for(stopped)(
  'calls of a response that ends with %s are not run, and it is the answer (A18)',
  async ([finishReason, text]) => {
    const { executed, note } = setup()
    const model = scriptedModel([
      respond(
        say('Well.'),
        call('note', { text: 'a' }, { id: 'one' }),
        call('note', { text: 'b' }, { id: 'two' }),
        end({ finishReason }),
      ),
    ])
    const { events, result } = await collect(createAgent({ model, tools: [note] }).stream('Go'))
    expect(executed).toEqual([])
    const refused = { role: 'tool', name: 'note', content: [{ type: 'text', text }], isError: true }
    expect(result).toMatchObject({ status: 'completed', stopReason: 'answer', text: 'Well.', finishReason, steps: 1 })
    expect(result?.messages).toEqual([
      { role: 'user', content: 'Go' },
      result?.message,
      { ...refused, callId: 'one' },
      { ...refused, callId: 'two' },
    ])
    expect(ofCalls(events)).toEqual([
      ['tool-end', 'one'],
      ['tool-end', 'two'],
    ])
  },
)

test.for(['content-filter', 'other'] as const)(
  'a response that ends with %s is put to the gate (A18)',
  async (finishReason) => {
    const { note } = setup()
    const asked: unknown[] = []
    const gate: Middleware = {
      name: 'gate',
      beforeFinalAnswer(state) {
        asked.push([state.finishReason, state.messages.at(-1)?.role])
        return asked.length === 1 ? { accept: false, feedback: 'Try again.' } : undefined
      },
    }
    const model = scriptedModel([
      respond(call('note', { text: 'a' }, { id: 'one' }), end({ finishReason })),
      respond(say('Fine.')),
    ])
    const result = await createAgent({ model, tools: [note], middleware: [gate] }).run('Go')
    expect(asked).toEqual([
      [finishReason, 'assistant'],
      ['stop', 'assistant'],
    ])
    expect(model.requests[1]?.messages.slice(1)).toMatchObject([
      { role: 'assistant', finishReason },
      { role: 'tool', callId: 'one', isError: true },
      { role: 'user', content: 'Try again.', origin: 'gate' },
    ])
    expect(result.text).toBe('Fine.')
  },
)

test('an answer put in the place of one whose calls were not run leaves every result its call (A14, A18)', async () => {
  const { note } = setup()
  const message: AssistantMessage = {
    role: 'assistant',
    content: [{ type: 'text', text: 'I may not say.' }],
    finishReason: 'stop',
  }
  const gate: Middleware = { name: 'gate', beforeFinalAnswer: () => ({ accept: true, message }) }
  const model = scriptedModel([
    respond(call('note', { text: 'a' }, { id: 'one' }), end({ finishReason: 'content-filter' })),
    respond(say('Next.')),
  ])
  const agent = createAgent({ model, tools: [note], middleware: [gate] })
  const result = await agent.run('Go')
  expect(result).toMatchObject({ message, text: 'I may not say.' })
  expect(result.messages).toContainEqual(message)
  const next = await agent.run([...result.messages, { role: 'user', content: 'And?' }])
  expect(next.messages.slice(0, result.messages.length)).toEqual(result.messages)
})

/** A model that says what a function says. */
function modelOf(stream: () => Flow<ModelEvent, AssistantMessage>): Model {
  return { provider: 'own', id: 'own-1', stream }
}

const said: AssistantMessage = { role: 'assistant', content: [{ type: 'text', text: 'So fa' }], finishReason: 'error' }
const boom = new TypeError('boom')

const failures: readonly (readonly [string, Model, object])[] = [
  [
    'finish reason error',
    scriptedModel([respond(say('So fa'), end({ finishReason: 'error', usage: { inputTokens: 3 } }))]),
    { code: 'finish_reason_error', retryable: true, partial: { ...said, usage: { inputTokens: 3 } } },
  ],
  [
    'finish reason error from a model of one’s own',
    modelOf(async function* () {
      yield { type: 'text-delta', delta: 'So fa' }
      return said
    }),
    { code: 'finish_reason_error', retryable: true, partial: said },
  ],
  [
    'a stream without terminal event',
    scriptedModel([respond(say('So fa'), cut())]),
    {
      code: 'stream_truncated',
      retryable: true,
      partial: said,
    },
  ],
  [
    'a stream with nothing at all',
    scriptedModel([respond(cut())]),
    {
      code: 'stream_truncated',
      retryable: true,
      partial: { ...said, content: [] },
    },
  ],
  [
    'a model of one’s own that returns no message',
    modelOf(async function* () {
      yield { type: 'text-delta', delta: 'So fa' }
      return JSON.parse('null') as AssistantMessage
    }),
    { code: 'stream_truncated', retryable: true },
  ],
  [
    'an HTTP status',
    scriptedModel([respond(fail({ status: 429, code: 'rate_limit', message: 'slow down', retryAfter: 2_000 }))]),
    { code: 'rate_limit', status: 429, retryable: true, retryAfter: 2_000, message: 'slow down' },
  ],
  [
    'an error inside the stream',
    scriptedModel([respond(say('So fa'), fail({ status: 400, code: 'bad', message: 'no' }))]),
    { code: 'bad', status: 400, retryable: false, partial: said },
  ],
  [
    'a throw before the first event',
    modelOf(() => {
      throw boom
    }),
    { code: 'unknown', retryable: false, message: 'boom', cause: boom },
  ],
  [
    'a throw in the middle',
    modelOf(async function* () {
      yield { type: 'text-delta', delta: 'So fa' }
      throw boom
    }),
    { code: 'unknown', retryable: false, message: 'boom', cause: boom },
  ],
  [
    'a throw of no Error',
    modelOf(async function* () {
      yield { type: 'text-delta', delta: 'So fa' }
      throw 'nothing to see'
    }),
    { code: 'unknown', retryable: false, message: 'nothing to see', cause: 'nothing to see' },
  ],
]

test.for(failures)(
  '%s is a ModelError that ends the run, and what had come is not in the history (A19, A20)',
  async ([, model, data]) => {
    const { events, error } = await collect(createAgent({ model }).stream('Go'))
    expect(error).toBeInstanceOf(ModelError)
    expect(error).toMatchObject({ name: 'ModelError', ...data })
    expect((error as ModelError).messages).toEqual([{ role: 'user', content: 'Go' }])
    expect(events.map(({ type }) => type).filter((type) => type !== 'text-delta')).toEqual([
      'run-start',
      'step-start',
      'attempt-start',
      'attempt-failed',
    ])
  },
)

test('calls of a response that failed are not run, even sealed ones (A19)', async () => {
  const { executed, note } = setup()
  const model = scriptedModel([respond(call('note', { text: 'a' }), cut())])
  const { events, error } = await collect(createAgent({ model, tools: [note] }).stream('Go'))
  expect(error).toMatchObject({ code: 'stream_truncated', messages: [{ role: 'user' }] })
  expect(events.some(({ type }) => type === 'tool-call')).toBe(true)
  expect(executed).toEqual([])
  expect(ofCalls(events)).toEqual([])
})

const empties = [
  ['nothing', respond()],
  ['reasoning alone', respond(think('Hm.'))],
  ['an empty text', respond(say('', { deltas: [''] }))],
] as const

test.for(empties)('%s and stop is an empty answer with a warning (A20)', async ([, response]) => {
  const { events, result } = await collect(createAgent({ model: scriptedModel([response]) }).stream('Well?'))
  expect(result).toMatchObject({ status: 'completed', text: '', finishReason: 'stop', steps: 1 })
  const warning = { code: 'empty-answer', source: 'core', message: 'the model answered with neither text nor call' }
  expect(result?.warnings).toEqual([warning])
  expect(events.filter(({ type }) => type === 'warning')).toMatchObject([warning])
})

test('an answer with text has no warning (A20)', async () => {
  const result = await createAgent({ model: scriptedModel([respond(say('So.'))]) }).run('Well?')
  expect(result.warnings).toEqual([])
})

test.each([
  ['was refused', respond(call('note', { text: 'a' }), end({ finishReason: 'length' }))],
  ['gave the output', respond(call('final_answer', { text: 'a' }))],
])('a call that %s has one end, though the run is aborted while a wrap has that (A14, B6)', async (_, response) => {
  const controller = new AbortController()
  const stopping: Middleware = {
    name: 'stopping',
    async *wrapAgent(setup, next) {
      return yield* map(next(setup), (event) => {
        if (event.type === 'tool-end') controller.abort()
        return event
      })
    },
  }
  const model = scriptedModel([response, respond(say('Done'))])
  const output = z.object({ text: z.string() })
  const agent = createAgent({ model, tools: [setup().note], output, middleware: [stopping] })
  const { events, error } = await collect(agent.stream('Go', { signal: controller.signal }))
  const ends = events.flatMap((event) => (event.type === 'tool-end' ? [event.message] : []))
  expect(error).toBeInstanceOf(RunAbortedError)
  expect(ends).toHaveLength(1)
  expect(error instanceof RunAbortedError && error.messages?.slice(2)).toEqual(ends)
})
