import { call, fail, respond, type ScriptStep, say, scriptedModel, think } from '@meanwhile/assemble/testing'
import { type AgentEvent, type AssistantMessage, createAgent, type Tool, type ToolMessage, tool } from '@meanwhile/core'
import { retryModel } from '@meanwhile/middleware'
import { createThreads, memoryThreads, type ThreadEventBody } from '@meanwhile/threads'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { type ReadEvent, type ReaderOptions, TurnReader } from './turn-reader.ts'
import type { TurnUpdate } from './turn-update.ts'
import { turnUpdates } from './turn-updates.ts'

const look = tool({
  name: 'look',
  description: 'Looks.',
  input: z.object({ at: z.string() }),
  effect: 'read',
  async *execute({ at }) {
    yield { progress: 0.5, message: 'half' }
    return `seen ${at}`
  },
}) as Tool

async function told(events: AsyncIterable<ReadEvent>, options = {}): Promise<readonly TurnUpdate[]> {
  const updates: TurnUpdate[] = []
  for await (const update of turnUpdates(events, options)) updates.push(update)
  return updates
}

/** Updates in short form: type, and step, text and call if present. */
const inShort = (updates: readonly TurnUpdate[]) =>
  updates.map((update) => {
    if (update.type === 'part-delta') return `${update.part} ${update.delta}`
    if (update.type === 'call-delta') return `delta ${update.delta}`
    if (update.type === 'step-start' || update.type === 'step-end') return `${update.type} ${update.step}`
    if (update.type === 'call') return `call ${update.call.id}`
    if (update.type === 'call-result') return `result ${update.message.callId}`
    return update.type === 'turn-end' ? `turn-end ${update.status}` : update.type
  })

const firstTry: AssistantMessage = {
  role: 'assistant',
  content: [{ type: 'text', text: 'Hi' }],
  finishReason: 'stop',
}

function read(...bodies: readonly object[]) {
  const reader = new TurnReader()
  return bodies.flatMap((body) => reader.read({ runId: 'r', ...body } as AgentEvent | ThreadEventBody))
}

test('a turn is sent as steps with their parts, calls and results, each once (UI1, UI3)', async () => {
  const model = scriptedModel([
    respond(think('Hm', { deltas: 1 }), say('I look.', { deltas: 1 }), call('look', { at: 'x' }, { deltas: 1 })),
    respond(say('Done.', { deltas: 1 })),
  ])
  const threads = createThreads({ agent: createAgent({ model, tools: [look] }), store: memoryThreads() })
  const turn = await threads.send('t', 'Look', { messageId: 'm1' })
  const updates = await told(turn.events())
  const callId = 'call_1_1'
  const result: ToolMessage = {
    role: 'tool',
    callId,
    name: 'look',
    content: [{ type: 'text', text: 'seen x' }],
    output: 'seen x',
  }
  const id = (step: number, part: number) => `${turn.id}-${step}-${part}`
  expect(updates).toEqual([
    { type: 'turn-start', turn: turn.id, messageId: 'm1', message: { role: 'user', content: 'Look' } },
    { type: 'step-start', step: 1 },
    { type: 'part-start', part: 'reasoning', id: id(1, 1) },
    { type: 'part-delta', part: 'reasoning', id: id(1, 1), delta: 'Hm' },
    { type: 'part-end', part: 'reasoning', id: id(1, 1) },
    { type: 'part-start', part: 'text', id: id(1, 2) },
    { type: 'part-delta', part: 'text', id: id(1, 2), delta: 'I look.' },
    { type: 'part-end', part: 'text', id: id(1, 2) },
    { type: 'call-start', callId, toolName: 'look' },
    { type: 'call-delta', callId, delta: '{"at":"x"}' },
    { type: 'call', call: { type: 'tool-call', id: callId, name: 'look', input: { at: 'x' } } },
    { type: 'call-entered', callId, toolName: 'look', isEarly: false },
    { type: 'call-progress', callId, toolName: 'look', progress: { progress: 0.5, message: 'half' }, isEarly: false },
    { type: 'call-result', message: result },
    { type: 'step-end', step: 1 },
    { type: 'step-start', step: 2 },
    { type: 'part-start', part: 'text', id: id(2, 1) },
    { type: 'part-delta', part: 'text', id: id(2, 1), delta: 'Done.' },
    { type: 'part-end', part: 'text', id: id(2, 1) },
    { type: 'step-end', step: 2 },
    { type: 'turn-end', status: 'completed', finishReason: 'stop' },
  ])
})

test('a failed attempt is removed, within the same step (UI1)', async () => {
  const model = scriptedModel([respond(say('Wrong', { deltas: 1 }), fail()), respond(say('Right', { deltas: 1 }))])
  const agent = createAgent({ model, middleware: [retryModel({ baseDelay: 1 })] })
  const threads = createThreads({ agent, store: memoryThreads() })
  const turn = await threads.send('t', 'Go')
  expect(inShort(await told(turn.events()))).toEqual([
    'turn-start',
    'step-start 1',
    'part-start',
    'text Wrong',
    'step-reset',
    'part-start',
    'text Right',
    'part-end',
    'step-end 1',
    'turn-end completed',
  ])
})

test('a step whose message differs from the sent parts is sent again (UI1, UI2)', () => {
  const updates = read(
    { type: 'turn-start', turn: 't', message: { role: 'user', content: 'x' }, messageId: 'm' },
    { type: 'step-start', step: 1 },
    { type: 'text-delta', step: 1, attempt: 1, delta: 'Hello' },
    { type: 'message', step: 1, message: firstTry, messageId: 'a' },
    { type: 'step-end', step: 1, messages: [] },
    { type: 'turn-end', status: 'completed' },
  )
  expect(inShort(updates)).toEqual([
    'turn-start',
    'step-start 1',
    'part-start',
    'text Hello',
    'step-reset',
    'part-start',
    'text Hi',
    'part-end',
    'step-end 1',
    'turn-end completed',
  ])
})

test('after a crash the open step and messages that are no longer valid are removed; after an answer nothing is (UI1)', () => {
  const begin = [
    { type: 'turn-start', turn: 't', message: { role: 'user', content: 'x' }, messageId: 'm' },
    { type: 'step-start', step: 1 },
    { type: 'text-delta', step: 1, attempt: 1, delta: 'Hi' },
  ]
  const again = [
    { type: 'step-start', step: 1, resumed: true },
    { type: 'message', step: 1, message: firstTry, messageId: 'a' },
    { type: 'turn-end', status: 'completed' },
  ]
  const whole = ['turn-start', 'step-start 1', 'part-start', 'text Hi']
  const afterwards = ['part-start', 'text Hi', 'part-end', 'step-end 1', 'turn-end completed']
  const crash = { type: 'turn-resumed', cause: 'recovery', messages: ['m'] }
  expect(inShort(read(...begin, crash, ...again))).toEqual([...whole, 'turn-resumed', 'step-reset', ...afterwards])
  const stood = { type: 'message', step: 1, message: firstTry, messageId: 'a' }
  expect(inShort(read(...begin, stood, crash, ...again))).toEqual([
    ...whole,
    'part-end',
    'turn-resumed',
    'step-reset',
    ...afterwards,
  ])
  const answer = { type: 'turn-resumed', cause: 'answer', messages: ['m', 'a'] }
  const on = [
    { type: 'step-start', step: 1, resumed: true },
    { type: 'turn-end', status: 'completed' },
  ]
  expect(inShort(read(...begin, stood, answer, ...on))).toEqual([
    ...whole,
    'part-end',
    'turn-resumed',
    'step-end 1',
    'turn-end completed',
  ])
})

const asking: AssistantMessage = {
  role: 'assistant',
  content: [{ type: 'tool-call', id: 'c', name: 'mail', input: {} }],
  finishReason: 'tool-calls',
}
const toAsk = [
  { type: 'turn-start', turn: 't', message: { role: 'user', content: 'x' }, messageId: 'm' },
  { type: 'step-start', step: 1 },
  { type: 'message', step: 1, message: asking, messageId: 'a' },
]
const resultOf = (text: string): ToolMessage => ({
  role: 'tool',
  callId: 'c',
  name: 'mail',
  content: [{ type: 'text', text }],
})
const resumed = (cause: string, ...messages: readonly string[]) => ({ type: 'turn-resumed', cause, messages })

test('a question is sent once, and a call that was answered is running again (UI1, UI3)', () => {
  const interrupt = { id: 'i', address: [{ agent: null }, { tool: 'mail', callId: 'c' }], payload: null }
  const updates = read(
    ...toAsk,
    { type: 'question', step: 1, ...interrupt, callId: 'c', toolName: 'mail' },
    { type: 'turn-waiting', interrupts: [interrupt], settled: [] },
    resumed('answer', 'm', 'a'),
    { type: 'tool-end', step: 1, callId: 'c', toolName: 'mail', message: resultOf('Sent.') },
    { type: 'message', step: 1, message: resultOf('Sent.'), messageId: 'b' },
  )
  const told = ['call c', 'question', 'turn-waiting', 'turn-resumed', 'call c', 'result c']
  expect(inShort(updates).slice(3)).toEqual(told)
  const question = { id: 'i', kind: 'other', payload: null, callId: 'c', toolName: 'mail' }
  expect(updates.find(({ type }) => type === 'question')).toEqual({ type: 'question', question })
  expect(updates.find(({ type }) => type === 'turn-waiting')).toEqual({ type: 'turn-waiting', questions: [question] })
})

test('a result that differs after a crash replaces the first (UI1, UI2)', () => {
  const end = (text: string) => ({ type: 'tool-end', callId: 'c', toolName: 'mail', message: resultOf(text) })
  const updates = read(...toAsk, end('one'), resumed('recovery', 'm', 'a'), end('one'), end('two'))
  expect(updates.filter(({ type }) => type === 'call-result')).toEqual([
    { type: 'call-result', message: resultOf('one') },
    { type: 'call-result', message: resultOf('two'), revised: true },
  ])
})

test('if an earlier step is no longer valid the turn must be read again (UI1)', async () => {
  const events = [
    ...toAsk,
    { type: 'message', step: 1, message: resultOf('Sent.'), messageId: 'b' },
    { type: 'step-end', step: 1, messages: [] },
    { type: 'step-start', step: 2 },
    { type: 'text-delta', step: 2, attempt: 1, delta: 'Hi' },
    resumed('recovery', 'm', 'a'),
    { type: 'turn-end', status: 'completed' },
  ]
  async function* source() {
    for (const event of events) yield { runId: 'r', ...event } as ReadEvent
  }
  expect(inShort(await told(source())).slice(-3)).toEqual(['text Hi', 'turn-resumed', 'turn-outdated'])
})

test('user messages during the turn are sent before the next step, and once, even if a crash removes the step (UI1, UI2)', () => {
  const said = (messageId: string) => ({ type: 'message', message: { role: 'user', content: 'Wait.' }, messageId })
  const stood = { type: 'message', step: 1, message: firstTry, messageId: 'a' }
  const start = toAsk.slice(0, 2)
  const again = [said('w'), { type: 'step-start', step: 2 }]
  const on = { type: 'text-delta', step: 2, attempt: 1, delta: 'Yes' }
  const updates = read(...start, stood, said('v'), resumed('recovery', 'm', 'a'), ...again, on)
  const told = ['turn-start', 'step-start 1', 'part-start', 'text Hi', 'part-end', 'step-end 1', 'turn-resumed']
  expect(inShort(updates)).toEqual([...told, 'user-message', 'step-start 2', 'part-start', 'text Yes'])
  const late = read(...start, stood, ...again, on, resumed('recovery', 'm', 'a'))
  expect(inShort(late).slice(-2)).toEqual(['turn-resumed', 'turn-outdated'])
})

test('early progress of a tool is sent again when its message is committed (UI3)', () => {
  const updates = read(
    { type: 'turn-start', turn: 't', message: { role: 'user', content: 'x' }, messageId: 'm' },
    { type: 'step-start', step: 1 },
    { type: 'tool-input-start', step: 1, attempt: 1, id: 'c', name: 'mail' },
    { type: 'tool-progress', step: 1, callId: 'c', toolName: 'mail', progress: 0.5, provisional: true },
    { type: 'message', step: 1, message: asking, messageId: 'a' },
  )
  const progress = { type: 'call-progress', callId: 'c', toolName: 'mail', progress: { progress: 0.5 }, isEarly: true }
  expect(updates.slice(2)).toEqual([
    { type: 'call-start', callId: 'c', toolName: 'mail' },
    progress,
    { type: 'call', call: asking.content[0] },
    progress,
  ])
})

/** The updates after the events up to `message`, of a call whose tool has reported progress and returned before. */
function afterEarlyWork(options: ReaderOptions, ...bodies: readonly object[]) {
  const ofCall = { step: 1, callId: 'c', toolName: 'mail' }
  const reader = new TurnReader(options)
  const read = (body: object) => reader.read({ runId: 'r', ...body } as ReadEvent)
  for (const body of [
    ...toAsk.slice(0, 2),
    { type: 'tool-input-start', step: 1, attempt: 1, id: 'c', name: 'mail' },
    { type: 'tool-input-delta', step: 1, attempt: 1, id: 'c', delta: '{}' },
    { type: 'tool-input-closed', step: 1, attempt: 1, call: asking.content[0] },
    { type: 'tool-entered', ...ofCall, provisional: true },
    { type: 'tool-progress', ...ofCall, progress: 0.5, provisional: true },
    ...(options.early ? [{ type: 'tool-settled', ...ofCall, message: resultOf('Sent.'), provisional: true }] : []),
  ])
    read(body)
  return bodies.flatMap(read)
}
const committed = { type: 'message', step: 1, message: asking, messageId: 'a' }
const withdrawn = { type: 'tool-discarded', step: 1, callId: 'c', toolName: 'mail', cause: 'call_withdrawn' }
const otherCall = { type: 'tool-call', id: 'c', name: 'mail', input: { to: 'ada' } } as const
const changed = { ...committed, message: { ...asking, content: [otherCall] } }

test.each([
  ['result', true],
  ['progress', false],
])(
  'a call whose early work is discarded after its message is committed is sent again without the %s (W39)',
  (_, early) => {
    const updates = afterEarlyWork({ early }, committed, withdrawn)
    expect(updates.at(-1)).toEqual({ type: 'call', call: asking.content[0] })
    expect(afterEarlyWork({ early }, committed, withdrawn, withdrawn)).toEqual(updates)
  },
)

test.each([
  ['result', true],
  ['progress', false],
])(
  'a call that is committed with another input is sent once, without the early %s for the first input (W39)',
  (_, early) => {
    expect(afterEarlyWork({ early }, changed, withdrawn)).toEqual([{ type: 'call', call: otherCall }])
  },
)

test('early progress that is discarded before the message is committed is not sent again with the call (UI3)', () => {
  expect(afterEarlyWork({}, withdrawn, committed)).toEqual([{ type: 'call', call: asking.content[0] }])
})

test('a card of a call inside a call is sent again after its step was removed (UI1)', () => {
  const path = [
    { agent: 'mail', callId: 'b' },
    { agent: 'send', callId: 'i' },
  ]
  const inside = { type: 'inside', cards: [{ path, input: {}, state: 'asked' }] }
  const types = (...bodies: readonly object[]) => afterEarlyWork({ early: true }, ...bodies).map(({ type }) => type)
  expect(types(inside, inside)).toEqual(['inner-call'])
  expect(types(inside, withdrawn, inside)).toEqual([
    'inner-call',
    'step-reset',
    'call-start',
    'call-delta',
    'inner-call',
  ])
  const renamed = { ...committed, message: { ...asking, content: [{ ...otherCall, id: 'd' }] } }
  expect(types(inside, renamed, inside)).toEqual(['inner-call', 'step-reset', 'call-start', 'call', 'inner-call'])
})

test('messages of a middleware to the model are not sent (UI2)', () => {
  const added = { role: 'user', content: 'Say more.', origin: 'gate' }
  const updates = read(
    ...toAsk,
    { type: 'message', step: 1, message: added, messageId: 'g' },
    { type: 'turn-end', status: 'completed' },
  )
  expect(inShort(updates)).not.toContain('user-message')
})

test('a turn that does not end in an answer ends in an empty step, whatever was removed before (UI1, UI2)', () => {
  const begin = [
    { type: 'turn-start', turn: 't', message: { role: 'user', content: 'x' }, messageId: 'm' },
    { type: 'step-start', step: 1 },
  ]
  const said = { type: 'text-delta', step: 1, attempt: 1, delta: 'Hi' }
  const end = { type: 'turn-end', status: 'failed', error: { name: 'E', message: 'm' } }
  const empty = ['step-end 1', 'turn-end failed']
  expect(inShort(read(...begin, end))).toEqual(['turn-start', 'step-start 1', ...empty])
  expect(inShort(read(...begin, said, end))).toEqual([
    'turn-start',
    'step-start 1',
    'part-start',
    'text Hi',
    'step-reset',
    ...empty,
  ])
})

test('with hold a step is sent when its message is committed, and nothing is removed (UI1)', async () => {
  const model = scriptedModel([respond(say('Wrong'), fail()), respond(say('Quite right'))])
  const agent = createAgent({ model, middleware: [retryModel({ baseDelay: 1 })] })
  const threads = createThreads({ agent, store: memoryThreads() })
  const turn = await threads.send('t', 'Go')
  expect(inShort(await told(turn.events(), { hold: true }))).toEqual([
    'turn-start',
    'step-start 1',
    'part-start',
    'text Quite right',
    'part-end',
    'step-end 1',
    'turn-end completed',
  ])
})

test('after a cursor only the start is sent of earlier events, and a cursor of another thread throws (UI1)', async () => {
  const model = scriptedModel([respond(call('look', { at: 'x' })), respond(say('Done.', { deltas: 1 }))])
  const threads = createThreads({ agent: createAgent({ model, tools: [look] }), store: memoryThreads() })
  const turn = await threads.send('t', 'Look')
  await turn.result
  const cursors: string[] = []
  for await (const { type, cursor } of turn.events()) if (type === 'message') cursors.push(cursor)
  expect(inShort(await told(turn.events(), { after: cursors[1] }))).toEqual([
    'turn-start',
    'step-end 1',
    'step-start 2',
    'part-start',
    'text Done.',
    'part-end',
    'step-end 2',
    'turn-end completed',
  ])
  for (const after of [`${cursors[1]?.split('.')[0]}.00000000`, 'nonsense'])
    await expect(told(turn.events(), { after })).rejects.toMatchObject({ name: 'CursorMismatchError' })
})

test('a run without a thread is sent as a turn, also if it fails or is stopped (UI1)', async () => {
  const run = (...steps: readonly ScriptStep[]) =>
    createAgent({ model: scriptedModel([respond(...steps)]) }).stream('Go', { id: 'run-1' })
  const said = ['turn-start', 'step-start 1', 'part-start', 'text Hi']
  expect(inShort(await told(run(say('Hi', { deltas: 1 }))))).toEqual([
    ...said,
    'part-end',
    'step-end 1',
    'turn-end completed',
  ])
  const failed = await told(run(say('Hi', { deltas: 1 }), fail({ message: 'no luck' })))
  expect(inShort(failed)).toEqual([...said, 'step-reset', 'step-end 1', 'turn-end failed'])
  expect(failed.at(-1)).toMatchObject({ error: { name: 'ModelError', message: 'no luck' } })
})
