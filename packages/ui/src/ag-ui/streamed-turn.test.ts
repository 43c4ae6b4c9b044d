import { call, fail, respond, say, scriptedModel, think } from '@meanwhile/assemble/testing'
import { type AssistantMessage, createAgent, type Tool, textOf, tool } from '@meanwhile/core'
import {
  createThreads,
  memoryThreads,
  type ThreadEventBody,
  type ThreadState,
  type Threads,
  type Turn,
} from '@meanwhile/threads'
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { Client, serve } from '../../test/ag-ui.ts'
import { expectEqual, JSON_BODY, look, SECRET, stage } from '../../test/ag-ui-stage.ts'
import { gate } from '../../test/gate.ts'
import { agUiHandler } from './index.ts'

// The client warns about everything that it cannot use.
beforeEach(() => {
  vi.spyOn(console, 'warn').mockImplementation((...words) => expect.unreachable(words.join(' ')))
})

afterEach(() => void vi.restoreAllMocks())

test('text, reasoning, calls and results are streamed, and the client has the messages of the thread (UI1, UI2, UI5)', async () => {
  const { client, threads } = await stage([
    respond(think('Hm.', { deltas: 1 }), say('I look.', { deltas: 1 }), call('look', { at: 'x' }, { deltas: 1 })),
    respond(say('Done.', { deltas: 1 })),
  ])
  const one = client()
  await one.say('Look', 'm1')
  const [turn] = (await threads.read('t')).turns
  const id = `${turn?.id}-1`
  const toolCallId = `${turn?.id}-call_1_1`
  expect(one.messages).toEqual([
    { id: 'm1', role: 'user', content: 'Look' },
    { id: `${id}-reasoning-1`, role: 'reasoning', content: 'Hm.' },
    { id, role: 'assistant', content: 'I look.', toolCalls: [{ id: toolCallId, name: 'look', input: { at: 'x' } }] },
    { id: `${toolCallId}-result`, role: 'tool', toolCallId, content: '{"seen":"x"}' },
    { id: `${turn?.id}-2`, role: 'assistant', content: 'Done.' },
  ])
  expect(one.events.find(({ type }) => type === 'TOOL_CALL_START')).toMatchObject({ parentMessageId: id })
  await expectEqual(one, threads)
  expect(await one.say('Again')).toContain('RUN_ERROR')
  await expectEqual(one, threads)
})

test('the client keeps nothing of a failed attempt, including its reasoning (UI2)', async () => {
  const { client, threads } = await stage([
    respond(think('Wrong'), say('No'), call('look', { at: 'y' }), fail({ status: 500 })),
    respond(say('Yes.', { deltas: 1 })),
    respond(think('Hm.'), say('More.')),
  ])
  const one = client()
  await one.say('Hello')
  await expectEqual(one, threads)
  await one.say('More')
  await expectEqual(one, threads)
  expect(one.agent.messages.map(({ content }) => content)).toEqual(['Hello', 'Yes.', 'More', 'Hm.', 'More.'])
})

test('a turn that fails keeps its committed messages after a snapshot, and reveals nothing of the error (UI2, UI4)', async () => {
  const { client, threads, sent } = await stage([
    respond(say('I look.'), call('look', { at: 'x' })),
    respond(say('Then'), fail({ status: 400, message: SECRET })),
  ])
  const one = client()
  const types = await one.say('Look')
  expect(types.slice(-2)).toEqual(['MESSAGES_SNAPSHOT', 'RUN_ERROR'])
  expect(one.events.at(-1)).toEqual({ type: 'RUN_ERROR', message: 'Something went wrong.' })
  expect(one.agent.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool'])
  await expectEqual(one, threads)
  expect(sent()).not.toContain('hunter2')
})

test("the plan is state, next to the client's own state (UI2)", async () => {
  const { client } = await stage([
    respond(call('task_create', { subject: 'Read' })),
    respond(
      call('task_create', { subject: 'Write', addBlockedBy: [1] }),
      call('task_update', { id: 1, status: 'in_progress' }),
    ),
    respond(call('task_update', { id: 1, status: 'deleted' })),
    respond(say('Done.')),
  ])
  const one = client()
  one.agent.setState({ colour: 'red' })
  await one.say('Plan')
  const changes = one.events.flatMap(({ type, delta }) => (type === 'STATE_DELTA' ? (delta as readonly object[]) : []))
  const plans = changes.map(Object).flatMap(({ path, value }) => (path === '/plan' ? [value] : []))
  const plan = [{ id: 2, subject: 'Write', description: '', status: 'pending', blockedBy: [], blocks: [] }]
  expect(plans).toHaveLength(4)
  expect(plans[1]).toMatchObject([
    { id: 1, status: 'pending', blocks: [2] },
    { id: 2, blockedBy: [1] },
  ])
  expect(plans[2]).toMatchObject([
    { id: 1, status: 'in_progress', blocks: [2] },
    { id: 2, blockedBy: [1] },
  ])
  expect(one.agent.state).toMatchObject({ colour: 'red', plan })
  const late = client()
  await late.run()
  expect(late.agent.state).toMatchObject({ plan })
})

test('a turn that is faster than the thread can be read is streamed once (UI1, UI2)', async () => {
  const agent = createAgent({
    model: scriptedModel([respond(call('look', { at: 'x' })), respond(say('Done.'))]),
    tools: [look],
  })
  const real = createThreads({ agent, store: memoryThreads() })
  let result: Promise<unknown> | undefined
  const send: Threads['send'] = async (...said) => {
    const turn = await real.send(...said)
    result = turn.result
    return turn
  }
  const read: Threads['read'] = async (id) => {
    await result
    return real.read(id)
  }
  const turn: Threads['turn'] = (...of) => real.turn(...of)
  const threads: Threads = Object.create(real, { send: { value: send }, read: { value: read }, turn: { value: turn } })
  const { url, close } = await serve(agUiHandler({ threads, open: () => undefined }))
  onTestFinished(close)
  const one = new Client(`${url}/api/ag-ui`, 't')
  await one.say('Look')
  await expectEqual(one, real)
  expect(one.events.filter(({ type }) => type === 'TOOL_CALL_RESULT')).toHaveLength(1)
})

test('when steps are invalid after the end of a process, the client gets the valid ones instead (UI1, UI2)', async () => {
  const said = { role: 'user', content: 'Go' } as const
  const answer = (text: string): AssistantMessage => ({
    role: 'assistant',
    content: [{ type: 'text', text }],
    finishReason: 'stop',
  })
  const message = (step: number, id: string, text: string) =>
    ({ type: 'message', runId: 'r', step, messageId: id, message: answer(text) }) as const
  const bodies: readonly ThreadEventBody[] = [
    { type: 'turn-start', message: said, messageId: 'm1' },
    message(1, 'a', 'First.'),
    { type: 'text-delta', runId: 'r', step: 2, attempt: 1, delta: 'Sec' },
    { type: 'turn-resumed', cause: 'recovery', messages: ['m1'] },
    message(1, 'b', 'Again.'),
    { type: 'turn-end', status: 'completed' },
  ]
  const events = bodies.map((body, index) => ({ ...body, turn: 'r', cursor: `${index + 1}.tag` }))
  const first = { id: 'm1', turn: 'r', message: said }
  const turns = [{ id: 'r', status: 'running', messageId: 'm1', createdAt: new Date() }] as const
  const state = { id: 't', status: 'running', interrupts: [], settled: [], decisions: [], queued: [], turns } as const
  const states: ThreadState[] = [
    { ...state, messages: [first], cursor: '1.tag' },
    { ...state, messages: [first], cursor: '4.tag' },
  ]
  // Events that became invalid are streamed only to readers that were present.
  const tellings = [events, events.filter((_, index) => index !== 1 && index !== 2)]
  const turn = {
    id: 'r',
    async *events() {
      yield* tellings.shift() ?? []
    },
  }
  const threads: Threads = Object.create(
    createThreads({ agent: createAgent({ model: scriptedModel([]) }), store: memoryThreads() }),
    {
      read: { value: async () => states.shift() },
      turn: { value: async () => turn },
    },
  )
  const { url, close } = await serve(agUiHandler({ threads, open: () => undefined }))
  onTestFinished(close)
  const one = new Client(`${url}/api/ag-ui`, 't')
  expect(await one.run()).toContain('MESSAGES_SNAPSHOT')
  expect(one.events.at(-1)).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'success' } })
  expect(one.messages).toEqual([
    { id: 'm1', role: 'user', content: 'Go' },
    { id: 'r-1', role: 'assistant', content: 'Again.' },
  ])
})

test('a client keeps nothing of a thread that is deleted while it streams (UI2)', async () => {
  const { opened: deleted, open: isDeleted } = gate()
  const wait = tool({ name: 'wait', description: 'Waits.', input: z.object({}), execute: () => deleted }) as Tool
  const { client, threads } = await stage([respond(say('I wait.'), call('wait'))], { tools: [wait] })
  const one = client()
  one.agent.addMessage({ id: 'm1', role: 'user', content: 'Wait' })
  await one.run({}, { onToolCallEndEvent: () => void threads.delete('t').then(isDeleted) })
  expect(one.events.at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'ThreadDeletedError' })
  expect(one.messages).toEqual([])
})

test('a client that disconnects stops nothing, and nothing more is read for it (UI1)', async () => {
  let isReading = 0
  const { opened, open } = gate()
  const wait = tool({ name: 'wait', description: 'Waits.', input: z.object({}), execute: () => opened }) as Tool
  const model = scriptedModel([respond(say('I wait.'), call('wait')), respond(say('Done.'))])
  const real = createThreads({ agent: createAgent({ model, tools: [wait] }), store: memoryThreads() })
  const watched = (turn: Turn | undefined): Turn | undefined =>
    turn && {
      ...turn,
      result: turn.result,
      async *events(options) {
        isReading++
        try {
          yield* turn.events(options)
        } finally {
          isReading--
        }
      },
    }
  const threads: Threads = Object.create(real, {
    send: { value: real.send.bind(real) },
    read: { value: real.read.bind(real) },
    turn: { value: async (...of: Parameters<Threads['turn']>) => watched(await real.turn(...of)) },
  })
  const handler = agUiHandler({ threads, open: () => undefined })
  const body = JSON.stringify({ threadId: 't', runId: 'r', messages: [{ id: 'm1', role: 'user', content: 'Wait' }] })
  const response = await handler(
    new Request('http://chat.test/api/ag-ui', { method: 'POST', headers: JSON_BODY, body }),
  )
  const reader = response.body?.getReader()
  const decoder = new TextDecoder()
  for (let told = ''; !told.includes('running'); told = decoder.decode((await reader?.read())?.value));
  expect(isReading).toBe(1)
  // It waits for the next event.
  const waits = reader?.read()
  await new Promise((resolve) => setImmediate(resolve))
  await reader?.cancel()
  expect([isReading, await waits]).toEqual([0, { done: true, value: undefined }])
  open()
  await (await real.turn('t'))?.result
  expect((await real.read('t')).messages.map(({ message }) => textOf(message)).at(-1)).toBe('Done.')
})
