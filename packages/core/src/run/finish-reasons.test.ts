import { call, collect, cut, end, fail, respond, say, scriptedModel, think } from '@meanwhile/assemble/testing'
import type { ReadableSpan } from '@opentelemetry/sdk-trace'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { observed } from '../../test/observed.ts'
import {
  type AgentEvent,
  type AgentState,
  type AssistantMessage,
  createAgent,
  type FinishReason,
  type Flow,
  type Message,
  type Middleware,
  type Model,
  ModelError,
  type ModelEvent,
  map,
  RunAbortedError,
  tool,
} from '../index.ts'

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

test('calls of a response cut off at its length do not run; the model reads why and goes on (A17)', async () => {
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

test('a response cut off at its length without calls is an answer with that finish reason (A17)', async () => {
  const model = scriptedModel([respond(say('Once upon a'), end({ finishReason: 'length' }))])
  const result = await createAgent({ model }).run('A tale')
  expect(result).toMatchObject({ stopReason: 'answer', text: 'Once upon a', finishReason: 'length', steps: 1 })
})

const stopped: readonly (readonly [FinishReason, string])[] = [
  ['content-filter', 'No result: the response was stopped by a content filter.'],
  ['other', 'No result: the response ended for a reason that allows no tool calls.'],
]

test.for(stopped)(
  'calls of a response that ends with %s do not run, and it is the answer (A18)',
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

test('calls that are refused for an unknown finish reason leave a warning with its word, as long as a name may be (A18)', async () => {
  const { note } = setup()
  const model = scriptedModel([respond(say('Well.'), call('note', { text: 'a' }), end({ finishReason: 'other' }))])
  const paused = 'pause_turn'.repeat(1_000)
  const agent = createAgent({
    model: {
      ...model,
      async *stream(request) {
        return { ...(yield* model.stream(request)), response: { finishReason: paused } }
      },
    },
    tools: [note],
  })
  const { events, result } = await collect(agent.stream('Go'))
  const message = /^the finish reason pause_turn[a-z_]{0,200} is unknown, so the calls of the response were not run$/
  const warning = { code: 'unknown-finish-reason', message: expect.stringMatching(message), source: 'core' }
  expect(result?.warnings).toEqual([warning])
  expect(events.filter(({ type }) => type === 'warning')).toMatchObject([warning])
})

test('calls that are refused for a known finish reason leave no warning (A18)', async () => {
  const { note } = setup()
  const model = scriptedModel([respond(call('note', { text: 'a' }), end({ finishReason: 'content-filter' }))])
  expect((await createAgent({ model, tools: [note] }).run('Go')).warnings).toEqual([])
})

test.for(['content-filter', 'other'] as const)(
  'a response that ends with %s passes the gate (A18)',
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

test('an answer that replaces one whose calls did not run leaves every result its call (A14, A18)', async () => {
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

/** A model that streams what a function returns. */
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
  '%s is a ModelError that ends the run, and what had arrived is not in the history (A19, A20)',
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

test('calls of a failed response do not run, not even sealed ones (A19)', async () => {
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
  const warning = { code: 'empty-answer', source: 'core', message: 'the model returned neither text nor a tool call' }
  expect(result?.warnings).toEqual([warning])
  expect(events.filter(({ type }) => type === 'warning')).toMatchObject([warning])
})

test('an answer with text has no warning (A20)', async () => {
  const result = await createAgent({ model: scriptedModel([respond(say('So.'))]) }).run('Well?')
  expect(result.warnings).toEqual([])
})

test.each([
  ['was refused', respond(call('note', { text: 'a' }), end({ finishReason: 'length' }))],
  ['returned the output', respond(call('final_answer', { text: 'a' }))],
])('a call that %s has one end, even if the run is aborted while a wrap holds it (A14, B6)', async (_, response) => {
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

/** Everything with the finish reason `tool-calls` and no calls: messages, results, answers on spans. */
function misfits(value: unknown): unknown[] {
  if (typeof value !== 'object' || value === null) return []
  const { role, content, message, finishReason = 'none' } = value as Partial<AssistantMessage & { message: unknown }>
  const parts = role === 'assistant' ? content : (message as AssistantMessage | undefined)?.content
  const isMisfit = finishReason === 'tool-calls' && !parts?.some(({ type }) => type === 'tool-call')
  return [...(isMisfit ? [value] : []), ...Object.values(value).flatMap(misfits)]
}

const RESPONSE = { id: 'r1', model: 'own-1', finishReason: 'tool_use' }

/** Streams the script, as a provider with its own name for the finish reason. */
function wordy(responses: Parameters<typeof scriptedModel>[0]): Model {
  const scripted = scriptedModel(responses)
  return {
    ...scripted,
    async *stream(request) {
      const message = yield* scripted.stream(request)
      return message.finishReason === 'tool-calls' ? { ...message, response: RESPONSE } : message
    },
  }
}

/** Removes the calls and nothing else. */
function withoutCalls(message: AssistantMessage): AssistantMessage {
  return { ...message, content: message.content.filter(({ type }) => type !== 'tool-call') }
}

function lastOf({ messages }: AgentState): AssistantMessage {
  return messages.at(-1) as AssistantMessage
}

const seen: string[] = []

const takers: readonly (readonly [string, readonly Middleware[]])[] = [
  [
    'an afterModel',
    [
      {
        name: 'taker',
        afterModel: (state) => ({ messages: [...state.messages.slice(0, -1), withoutCalls(lastOf(state))] }),
      },
    ],
  ],
  [
    'a wrapModel',
    [
      {
        name: 'looks',
        async *wrapModel(request, next) {
          const message = yield* next(request)
          seen.push(message.finishReason)
          return message
        },
      },
      {
        name: 'taker',
        async *wrapModel(request, next) {
          return withoutCalls(yield* next(request))
        },
      },
    ],
  ],
  [
    'a wrapModel that answers itself',
    [
      {
        name: 'taker',
        async *wrapModel() {
          const content = [{ type: 'text', text: 'So.' }] as const
          return { role: 'assistant', content, finishReason: 'tool-calls', response: RESPONSE }
        },
      },
    ],
  ],
]

test.for(takers)('a message whose calls %s removes has the finish reason stop (P18)', async ([, middleware]) => {
  seen.length = 0
  const { executed, note } = setup()
  const { telemetry, spans } = observed()
  const model = wordy([respond(say('So.'), call('note', { text: 'a' }))])
  const agent = createAgent({ model, tools: [note], middleware, telemetry })
  const { events, result } = await collect(agent.stream('Go'))
  expect(executed).toEqual([])
  const message = {
    role: 'assistant',
    content: [{ type: 'text', text: 'So.' }],
    finishReason: 'stop',
    response: { id: 'r1', model: 'own-1' },
  }
  expect(result).toMatchObject({ stopReason: 'answer', finishReason: 'stop' })
  expect(result?.messages).toEqual([{ role: 'user', content: 'Go' }, message])
  expect(result?.message).toEqual(message)
  expect(misfits(events)).toEqual([])
  expect(seen.every((reason) => reason === 'stop')).toBe(true)
  // The response of an attempt had its calls.
  const chat = spans().filter(({ name }) => name.startsWith('chat'))
  expect(chat.map(reasonsOf)).toEqual(chat.map(() => ['tool_use']))
  expect(
    spans()
      .filter(({ name }) => name.startsWith('invoke_agent'))
      .map(reasonsOf),
  ).toEqual([['stop']])
})

function reasonsOf({ attributes }: ReadableSpan): unknown {
  return attributes['gen_ai.response.finish_reasons']
}

test('a response with the reason tool-calls but no calls has stopped, in results, events and spans (P18, A8)', async () => {
  const { telemetry, spans } = observed()
  for (const said of [[say('So.')], []]) {
    const model = wordy([respond(...said, end({ finishReason: 'tool-calls' }))])
    const { events, result } = await collect(createAgent({ model, telemetry }).stream('Go'))
    expect(result).toMatchObject({ finishReason: 'stop', message: { finishReason: 'stop' } })
    expect(misfits(events)).toEqual([])
  }
  expect(spans().map(reasonsOf)).toEqual([['stop'], ['stop'], ['stop'], ['stop']])
})

test('an answer with which the gate or a wrapAgent replaces a direct result has stopped (P18, E7)', async () => {
  const direct = tool({ ...setup().note, name: 'direct', returnDirect: true, execute: () => 'raw' })
  const message = {
    role: 'assistant',
    content: [{ type: 'text', text: 'Better.' }],
    finishReason: 'tool-calls',
  } as const
  const told: unknown[] = []
  const gates: readonly Middleware[] = [
    { name: 'replaces', beforeFinalAnswer: () => ({ accept: true, message }) },
    { name: 'looks', beforeFinalAnswer: ({ finishReason }) => void told.push(finishReason) },
  ]
  const wraps: readonly Middleware[] = [
    {
      name: 'replaces',
      async *wrapAgent(setup, next) {
        return { ...(yield* next(setup)), message }
      },
    },
  ]
  for (const middleware of [gates, wraps]) {
    const model = scriptedModel([respond(call('direct', { text: 'a' }))])
    const { events, result } = await collect(createAgent({ model, tools: [direct], middleware }).stream('Go'))
    expect(result).toMatchObject({ finishReason: 'stop', message: { ...message, finishReason: 'stop' } })
    expect(misfits(events)).toEqual([])
  }
  expect(told).toEqual(['stop'])
})

test('a hook that removes calls from older messages leaves no reason behind; messages of the input stay as given (P18, A5)', async () => {
  const { note } = setup()
  const odd: AssistantMessage = {
    role: 'assistant',
    content: [{ type: 'text', text: 'Odd.' }],
    finishReason: 'tool-calls',
  }
  const forgets: Middleware = {
    name: 'forgets',
    beforeModel: ({ messages }, run) =>
      run.step === 1
        ? undefined
        : {
            messages: messages.flatMap((message): Message[] => {
              if (message.role === 'tool') return []
              return [message === messages[1] || message.role === 'user' ? message : withoutCalls(message)]
            }),
          },
  }
  const model = scriptedModel([respond(say('Let me see.'), call('note', { text: 'a' })), respond(say('Done.'))])
  const agent = createAgent({ model, tools: [note], middleware: [forgets] })
  const input = [{ role: 'user', content: 'Go' }, odd, { role: 'user', content: 'And?' }] as const
  const { messages } = await agent.run(input)
  expect(messages.slice(0, 3)).toEqual(input)
  expect(messages.slice(3)).toMatchObject([
    { content: [{ text: 'Let me see.' }], finishReason: 'stop' },
    { content: [{ text: 'Done.' }], finishReason: 'stop' },
  ])
})

test('a side call that requested no calls has stopped (P18)', async () => {
  const model = scriptedModel([respond(say('A summary.'), end({ finishReason: 'tool-calls' })), respond(say('Done.'))])
  const reasons: unknown[] = []
  const asks: Middleware = {
    name: 'asks',
    async beforeModel(state, run) {
      reasons.push((await run.callModel({ messages: state.messages })).finishReason)
    },
  }
  await createAgent({ model, middleware: [asks] }).run('Go')
  expect(reasons).toEqual(['stop'])
})
