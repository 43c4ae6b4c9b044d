import {
  call,
  fail,
  respond,
  type ScriptedResponse,
  type ScriptStep,
  say,
  scriptedModel,
  think,
  wait,
} from '@meanwhile/assemble/testing'
import { type AgentEvent, createAgent, type Message, type ModelRequest, type Tool, tool } from '@meanwhile/core'
import { eagerTools } from '@meanwhile/eager-tools'
import { retryModel } from '@meanwhile/middleware'
import { createThreads, memoryThreads, type ThreadEvent } from '@meanwhile/threads'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { Client } from '../../test/ag-ui.ts'
import type { ReadEvent } from '../turn/turn-reader.ts'
import {
  type AgUiEvent,
  type AgUiStreamOptions,
  fromAgUiMessages,
  toAgUiMessages,
  toAgUiStream,
  toAgUiStreamResponse,
} from './index.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const look = tool({
  name: 'look',
  description: 'Looks.',
  input: z.object({ at: z.string() }),
  effect: 'read',
  async *execute({ at }) {
    yield { progress: 0.5, message: 'half' }
    return { seen: at }
  },
}) as Tool

const photo = tool({
  name: 'photo',
  description: 'Takes a photo.',
  input: z.object({}),
  effect: 'read',
  execute: () => 'taken',
  toContent: () => [
    { type: 'text', text: 'A photo:' },
    { type: 'file', mediaType: 'image/png', data: 'iVBORw0KGgo=' },
  ],
}) as Tool

const ids = { threadId: 't', runId: 'r' }

async function told(events: AsyncIterable<ReadEvent>, options: Partial<AgUiStreamOptions> = {}) {
  const list: AgUiEvent[] = []
  const reading = (async () => {
    for await (const event of toAgUiStream(events, { ...ids, ...options })) list.push(event)
  })()
  await vi.runAllTimersAsync()
  await reading
  return list
}

function open(...script: readonly ScriptedResponse[]) {
  const middleware = [retryModel({ maxRetries: 1, jitter: 0 })]
  const agent = createAgent({ model: scriptedModel(script), tools: [look, photo], middleware })
  return createThreads({ agent, store: memoryThreads() })
}

test('a turn is an AG-UI run: its steps, text, reasoning, calls, progress and results (UI1, UI3)', async () => {
  const threads = open(
    respond(think('Hm.', { deltas: 1 }), say('I look.', { deltas: 1 }), call('look', { at: 'x' }, { deltas: 1 })),
    respond(say('Done.', { deltas: 1 })),
  )
  const turn = await threads.send('t', 'Look', { messageId: 'm1' })
  const messageId = `${turn.id}-1`
  const reasoning = `${turn.id}-1-reasoning-1`
  const toolCallId = `${turn.id}-call_1_1`
  const progress = { progress: 0.5, message: 'half' }
  expect(await told(turn.events())).toEqual([
    { type: 'RUN_STARTED', threadId: 't', runId: 'r', protocolVersion: '1.0' },
    { type: 'STEP_STARTED', stepName: 'step 1' },
    { type: 'REASONING_START', messageId: reasoning },
    { type: 'REASONING_MESSAGE_START', messageId: reasoning, role: 'reasoning' },
    { type: 'REASONING_MESSAGE_CONTENT', messageId: reasoning, delta: 'Hm.' },
    { type: 'REASONING_MESSAGE_END', messageId: reasoning },
    { type: 'REASONING_END', messageId: reasoning },
    { type: 'TEXT_MESSAGE_START', messageId, role: 'assistant' },
    { type: 'TEXT_MESSAGE_CONTENT', messageId, delta: 'I look.' },
    { type: 'TEXT_MESSAGE_END', messageId },
    { type: 'TOOL_CALL_START', toolCallId, toolCallName: 'look', parentMessageId: messageId },
    { type: 'TOOL_CALL_ARGS', toolCallId, delta: '{"at":"x"}' },
    { type: 'TOOL_CALL_END', toolCallId },
    { type: 'CUSTOM', name: 'tool-state', value: { toolCallId, state: 'running', isEarly: false } },
    {
      type: 'ACTIVITY_SNAPSHOT',
      messageId: `${toolCallId}-progress`,
      activityType: 'tool-progress',
      content: { toolCallId, toolCallName: 'look', progress },
    },
    {
      type: 'TOOL_CALL_RESULT',
      messageId: `${toolCallId}-result`,
      toolCallId,
      content: '{"seen":"x"}',
      role: 'tool',
    },
    { type: 'STEP_FINISHED', stepName: 'step 1' },
    { type: 'STEP_STARTED', stepName: 'step 2' },
    { type: 'TEXT_MESSAGE_START', messageId: `${turn.id}-2`, role: 'assistant' },
    { type: 'TEXT_MESSAGE_CONTENT', messageId: `${turn.id}-2`, delta: 'Done.' },
    { type: 'TEXT_MESSAGE_END', messageId: `${turn.id}-2` },
    { type: 'STEP_FINISHED', stepName: 'step 2' },
    { type: 'RUN_FINISHED', threadId: 't', runId: 'r', outcome: { type: 'success' } },
  ])
})

test('a snapshot removes a failed attempt at once, and the next one follows with the same ids (UI1, UI2)', async () => {
  const threads = open(
    respond(say('No', { deltas: 1 }), call('look', { at: 'y' }, { deltas: 1 }), fail({ status: 500 })),
    respond(say('Yes.', { deltas: 1 })),
  )
  const turn = await threads.send('t', 'Hi', { messageId: 'm1' })
  const messageId = `${turn.id}-1`
  const toolCallId = `${turn.id}-call_1_1`
  expect(await told(turn.events())).toEqual([
    expect.objectContaining({ type: 'RUN_STARTED' }),
    { type: 'STEP_STARTED', stepName: 'step 1' },
    { type: 'TEXT_MESSAGE_START', messageId, role: 'assistant' },
    { type: 'TEXT_MESSAGE_CONTENT', messageId, delta: 'No' },
    { type: 'TEXT_MESSAGE_END', messageId },
    { type: 'TOOL_CALL_START', toolCallId, toolCallName: 'look', parentMessageId: messageId },
    { type: 'TOOL_CALL_ARGS', toolCallId, delta: '{"at":"y"}' },
    { type: 'TOOL_CALL_END', toolCallId },
    expect.objectContaining({ type: 'MESSAGES_SNAPSHOT', messages: [{ id: 'm1', role: 'user', content: 'Hi' }] }),
    { type: 'TEXT_MESSAGE_START', messageId, role: 'assistant' },
    { type: 'TEXT_MESSAGE_CONTENT', messageId, delta: 'Yes.' },
    { type: 'TEXT_MESSAGE_END', messageId },
    { type: 'STEP_FINISHED', stepName: 'step 1' },
    expect.objectContaining({ type: 'RUN_FINISHED' }),
  ])
})

test('after a state only new events are streamed (UI1)', async () => {
  const threads = open(respond(say('I look.'), call('look', { at: 'x' })), respond(say('Done.', { deltas: 1 })))
  const turn = await threads.send('t', 'Look')
  const events: ThreadEvent[] = []
  const reading = (async () => {
    for await (const event of turn.events()) events.push(event)
  })()
  await vi.runAllTimersAsync()
  await reading
  const result = events.find((event) => event.type === 'message' && event.message.role === 'tool')
  const state = await threads.read('t')
  const held = { ...state, messages: state.messages.slice(0, 3), cursor: result?.cursor ?? '' }
  async function* again() {
    yield* events
  }
  expect((await told(again(), { state: held })).map(({ type }) => type)).toEqual([
    'RUN_STARTED',
    'STEP_STARTED',
    'TEXT_MESSAGE_START',
    'TEXT_MESSAGE_CONTENT',
    'TEXT_MESSAGE_END',
    'STEP_FINISHED',
    'RUN_FINISHED',
  ])
})

test('a snapshot corrects input that the model wrote differently (UI2)', async () => {
  const written = { runId: 'r', step: 1, attempt: 1 }
  const input = { at: 'x' }
  const own = { type: 'tool-call', id: 'c', name: 'look', input } as const
  const events: readonly AgentEvent[] = [
    { ...written, type: 'run-start' },
    { ...written, type: 'step-start' },
    { ...written, type: 'tool-input-start', id: 'c', name: 'look' },
    { ...written, type: 'tool-input-delta', id: 'c', delta: '{"at":"x","at2"' },
    { ...written, type: 'message', message: { role: 'assistant', content: [own], finishReason: 'tool-calls' } },
  ]
  async function* read() {
    yield* events
  }
  const list = await told(read())
  expect(list.find(({ type }) => type === 'MESSAGES_SNAPSHOT')).toMatchObject({
    messages: [{ id: 'r-1', toolCalls: [{ id: 'c', function: { name: 'look', arguments: '{"at":"x"}' } }] }],
  })
})

test('another result for the same call replaces the first (UI2, UI3)', async () => {
  const at = { runId: 'r', step: 1 }
  const own = { type: 'tool-call', id: 'c', name: 'look', input: {} } as const
  const result = (text: string) =>
    ({ role: 'tool', callId: 'c', name: 'look', content: [{ type: 'text', text }] }) as const
  const events: readonly AgentEvent[] = [
    { ...at, type: 'run-start' },
    { ...at, type: 'message', message: { role: 'assistant', content: [own], finishReason: 'tool-calls' } },
    { ...at, type: 'tool-end', callId: 'c', toolName: 'look', message: result('one') },
    { ...at, type: 'message', message: result('one') },
    { ...at, type: 'message', message: result('two') },
  ]
  async function* read() {
    yield* events
  }
  const list = await told(read())
  expect(list.filter(({ type }) => type === 'TOOL_CALL_RESULT')).toHaveLength(1)
  expect(list.find(({ type }) => type === 'MESSAGES_SNAPSHOT')).toMatchObject({
    messages: [{ id: 'r-1' }, { id: 'c-result', content: 'two' }],
  })
})

test('a steering message is a user message, and one with a file comes in a snapshot (UI2)', async () => {
  const at = { runId: 'r' }
  const answer = (text: string) =>
    ({ role: 'assistant', content: [{ type: 'text', text }], finishReason: 'stop' }) as const
  const file = { type: 'file', mediaType: 'image/png', data: 'AAAA' } as const
  const events: readonly ReadEvent[] = [
    { type: 'turn-start', turn: 'r', message: { role: 'user', content: 'Go' }, messageId: 'm1' },
    { ...at, type: 'message', step: 1, message: answer('One.') },
    { ...at, type: 'message', message: { role: 'user', content: 'Wait' }, messageId: 'm2' },
    { ...at, type: 'message', step: 2, message: answer('Two.') },
    { ...at, type: 'message', message: { role: 'user', content: [file] }, messageId: 'm3' },
    { ...at, type: 'message', step: 3, message: answer('Three.') },
    { type: 'turn-end', status: 'completed' },
  ]
  async function* read() {
    yield* events
  }
  const list = await told(read())
  const steering = list.filter((event) => 'messageId' in event && event.messageId === 'm2')
  expect(steering).toEqual([
    { type: 'TEXT_MESSAGE_START', messageId: 'm2', role: 'user' },
    { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm2', delta: 'Wait' },
    { type: 'TEXT_MESSAGE_END', messageId: 'm2' },
  ])
  const image = { type: 'image', source: { type: 'data', value: 'AAAA', mimeType: 'image/png' } }
  expect(list.find(({ type }) => type === 'MESSAGES_SNAPSHOT')).toMatchObject({
    messages: [{ id: 'm1' }, { id: 'r-1' }, { id: 'm2' }, { id: 'r-2' }, { id: 'm3', content: [image] }],
  })
  expect(list.filter(({ type }) => type === 'STEP_FINISHED')).toHaveLength(3)
})

test('the early start of a call is reported, and its result only when its message is committed (UI3)', async () => {
  const script = [respond(call('look', { at: 'x' }), wait(5), say('Then.')), respond(say('Done.'))]
  const agent = createAgent({ model: scriptedModel(script), tools: [look], middleware: [eagerTools()] })
  const turn = await createThreads({ agent, store: memoryThreads() }).send('t', 'Look')
  const list = await told(turn.events())
  const heard = list.flatMap((event) => (event.type === 'CUSTOM' ? [event.value] : []))
  const toolCallId = `${turn.id}-call_1_1`
  expect(heard).toEqual([
    { toolCallId, state: 'running', isEarly: true },
    { toolCallId, state: 'settled', isEarly: true },
  ])
  const types = list.map(({ type }) => type)
  expect(types.indexOf('TOOL_CALL_RESULT')).toBeGreaterThan(types.lastIndexOf('CUSTOM'))
  expect(types.filter((type) => type === 'TOOL_CALL_RESULT')).toHaveLength(1)
})

test('the id of a call in AG-UI has its turn, because a model may reuse an id in another turn (UI2, W51)', async () => {
  const threads = open(
    respond(call('look', { at: 'x' }, { id: 'c' })),
    respond(say('Done.')),
    respond(call('look', { at: 'y' }, { id: 'd' })),
    respond(say('Done.')),
  )
  await told((await threads.send('t', 'Look')).events())
  await told((await threads.send('t', 'Look')).events())
  const state = await threads.read('t')
  const again = JSON.parse(JSON.stringify(state).replaceAll('"d"', '"c"'))
  const results = toAgUiMessages(again).flatMap((message) => (message.role === 'tool' ? [message.toolCallId] : []))
  expect(results).toEqual(state.turns.map(({ id }) => `${id}-c`))
})

test('files of users and of tools are parts with their bytes (UI2)', async () => {
  const threads = open(respond(call('photo')), respond(say('Done.')))
  const content = [
    { type: 'text', text: 'Like this:' },
    { type: 'file', mediaType: 'application/pdf', data: { url: 'https://example.org/a.pdf' } },
  ] as const
  const list = await told((await threads.send('t', { role: 'user', content })).events())
  const image = { type: 'image', source: { type: 'data', value: 'iVBORw0KGgo=', mimeType: 'image/png' } }
  expect(list.find(({ type }) => type === 'TOOL_CALL_RESULT')).toMatchObject({
    content: [{ type: 'text', text: 'A photo:' }, image],
  })
  expect(toAgUiMessages(await threads.read('t'))[0]).toMatchObject({
    content: [
      { type: 'text', text: 'Like this:' },
      { type: 'document', source: { type: 'url', value: 'https://example.org/a.pdf', mimeType: 'application/pdf' } },
    ],
  })
})

test('without a thread the messages of the client are the input of the run, and the client keeps them (UI2, UI5)', async () => {
  vi.useRealTimers()
  const asked: (readonly Message[])[] = []
  const noted =
    (...steps: readonly ScriptStep[]) =>
    (request: ModelRequest) => {
      asked.push(request.messages)
      return respond(...steps)
    }
  const script = [
    noted(think('Hm.'), say('I look.'), call('look', { at: 'x' })),
    noted(say('Done.')),
    noted(say('Bye.')),
  ]
  const agent = createAgent({ model: scriptedModel(script), tools: [look] })
  const client = new Client('http://chat.test', 't')
  client.agent.fetch = async (_, { body }) => {
    const { threadId, runId, messages } = JSON.parse(typeof body === 'string' ? body : '')
    return toAgUiStreamResponse(agent.stream(fromAgUiMessages(messages)), { threadId, runId, messages })
  }
  await client.say('Hello')
  await client.say('And now?')
  const said = client.agent.messages.filter(({ role }) => role !== 'activity')
  expect(said.map(({ role }) => role)).toEqual([
    'user',
    'reasoning',
    'assistant',
    'tool',
    'assistant',
    'user',
    'assistant',
  ])
  expect(asked[2]).toEqual([
    { role: 'user', content: 'Hello' },
    {
      role: 'assistant',
      content: [
        { type: 'text', text: 'I look.' },
        { type: 'tool-call', id: 'call_1_1', name: 'look', input: { at: 'x' } },
      ],
      finishReason: 'tool-calls',
    },
    { role: 'tool', callId: 'call_1_1', name: 'look', content: [{ type: 'text', text: '{"seen":"x"}' }] },
    { role: 'assistant', content: [{ type: 'text', text: 'Done.' }], finishReason: 'stop' },
    { role: 'user', content: 'And now?' },
  ])
})

test('only the presentable part of output and progress is streamed (UI4)', async () => {
  const threads = open(respond(call('look', { at: 'x' })), respond(say('Done.')))
  const turn = await threads.send('t', 'Look')
  const list = await told(turn.events(), { output: (_, { isProgress }) => (isProgress ? 'at work' : 'hidden') })
  expect(list.find(({ type }) => type === 'ACTIVITY_SNAPSHOT')).toMatchObject({ content: { progress: 'at work' } })
  expect(list.find(({ type }) => type === 'TOOL_CALL_RESULT')).toMatchObject({ content: 'hidden' })
  expect(JSON.stringify(list)).not.toMatch(/seen|half/)
})

test('a run without a thread is streamed, too, and one that fails reveals nothing of its error (UI1, UI4)', async () => {
  const agent = createAgent({
    model: scriptedModel([respond(say('Hi.')), respond(fail({ status: 400, message: 'secret' }))]),
  })
  expect((await told(agent.stream('Hello'))).at(-1)).toMatchObject({ type: 'RUN_FINISHED' })
  const list = await told(agent.stream('Hello'))
  expect(list.at(-1)).toEqual({ type: 'RUN_ERROR', message: 'Something went wrong.' })
  expect(JSON.stringify(list)).not.toContain('secret')
  const held = { id: 'm1', role: 'user', content: 'Hello' } as const
  const later = await told(agent.stream('Hello'), { messages: [held] })
  expect(later.at(-2)).toMatchObject({ type: 'MESSAGES_SNAPSHOT', messages: [held] })
  const shown = await told(agent.stream('Hello'), { errorText: ({ of }) => `The ${of} has failed.` })
  expect(shown.at(-1)).toEqual({ type: 'RUN_ERROR', message: 'The turn has failed.' })
})
