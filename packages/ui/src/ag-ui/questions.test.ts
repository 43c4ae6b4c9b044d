import { call, fail, respond, say } from '@meanwhile/assemble/testing'
import { interrupt, type Tool, tool } from '@meanwhile/core'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { comparable } from '../../test/ag-ui.ts'
import { answerOf, expectEqual, stage } from '../../test/ag-ui-stage.ts'
import { toAgUiMessages } from './index.ts'

// The client warns about everything that it cannot use.
beforeEach(() => {
  vi.spyOn(console, 'warn').mockImplementation((...words) => expect.unreachable(words.join(' ')))
})

afterEach(() => void vi.restoreAllMocks())

test('an approval is an interrupt with a schema, and the run that answers it streams only what is new (UI1, UI3)', async () => {
  const { client, threads } = await stage([
    respond(say('I write.'), call('look', { at: 'x' }), call('mail', { to: 'ada' })),
    respond(say('Done.', { deltas: 1 })),
  ])
  const one = client()
  await one.say('Write')
  expect(one.agent.pendingInterrupts).toMatchObject([
    {
      reason: 'tool_call',
      message: 'May mail run?',
      toolCallId: expect.stringMatching(/-call_1_2$/),
      responseSchema: { properties: { approved: { type: 'boolean' } }, required: ['approved'] },
      metadata: { payload: { tool: 'mail', input: { to: 'ada' } } },
    },
  ])
  await expectEqual(one, threads)
  // A late client does not receive the progress of tools.
  expect((await one.answer({ approved: true })).filter((type) => type !== 'CUSTOM')).toEqual([
    'RUN_STARTED',
    'TOOL_CALL_RESULT',
    'STEP_STARTED',
    'TEXT_MESSAGE_START',
    'TEXT_MESSAGE_CONTENT',
    'TEXT_MESSAGE_END',
    'STEP_FINISHED',
    'STATE_DELTA',
    'RUN_FINISHED',
  ])
  expect(one.agent.pendingInterrupts).toEqual([])
  await expectEqual(one, threads)
})

test.for([
  [{ approved: true, editedArgs: { to: 'bob' } }, 'This call ran with another input: {"to":"bob"}.\nSent to bob.'],
  [{ decision: 'allow' }, 'Sent to ada.'],
  [{ approved: false, reason: 'too late' }, 'This call was denied.'],
] as const)('an approval answered with %j leads to "%s" (UI3, W5)', async ([payload, result]) => {
  const script = [respond(call('mail', { to: 'ada' })), respond(say('Done.'))]
  const { client, threads } = await stage(script, { edits: true })
  const one = client()
  await one.say('Write')
  await one.answer(payload)
  expect(one.agent.messages.find(({ role }) => role === 'tool')).toMatchObject({ content: result })
  await expectEqual(one, threads)
})

test('a cancelled approval is denied, any other cancelled question stops the turn (UI3)', async () => {
  const { client, threads } = await stage([
    respond(call('mail', { to: 'ada' })),
    respond(say('Then I ask.'), call('ask')),
    respond(say('Hello.')),
  ])
  const one = client()
  await one.say('Write')
  const cancelled = () =>
    one.agent.pendingInterrupts.map(({ id }) => ({ interruptId: id, status: 'cancelled' as const }))
  await one.run({ resume: cancelled() })
  await expectEqual(one, threads)
  expect(one.agent.pendingInterrupts).toMatchObject([
    { reason: 'input_required', message: 'How many?', responseSchema: { required: ['count'] } },
  ])
  await one.run({ resume: cancelled() })
  expect(one.events.at(-1)).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'cancelled' } })
  await expectEqual(one, threads)
  expect(await one.say('Hello')).toContain('RUN_FINISHED')
  await expectEqual(one, threads)
})

test('an answer that does not match the schema is refused, and the question stays open (UI3)', async () => {
  const { client, threads } = await stage([respond(call('ask')), respond(say('Done.'))])
  const one = client()
  await one.say('Ask')
  await one.answer({ count: 'many' })
  expect(one.events.at(-1)).toEqual({
    type: 'RUN_ERROR',
    message: expect.stringMatching(
      /^The answer to interrupt_\w+ must match \{.*"count":\{"type":"number"\}.*\}\.$/,
    ) as string,
    code: 'AnswerError',
  })
  expect(one.agent.pendingInterrupts).toHaveLength(1)
  await expectEqual(one, threads)
  const [question] = one.agent.pendingInterrupts
  await one.answer({ count: 3 })
  await expectEqual(one, threads)
  await one.run({ resume: [{ interruptId: question?.id ?? '', status: 'resolved', payload: { count: 4 } }] })
  expect(one.events.at(-1)).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'success' } })
  await expectEqual(one, threads)
})

test('writing a message instead of an answer closes the question (UI2)', async () => {
  const { client, threads } = await stage([respond(say('I ask.'), call('ask')), answerOf])
  const one = client()
  await one.say('Ask')
  const two = client()
  await two.run()
  two.agent.pendingInterrupts = []
  expect(await two.say('Never mind')).toContain('MESSAGES_SNAPSHOT')
  await expectEqual(two, threads)
})

test('a tool of the client ends the run with its call, and the turn continues with its result (UI3)', async () => {
  const { client, threads } = await stage([respond(call('choose', { of: ['a', 'b'] })), answerOf])
  const one = client()
  await one.say('Choose')
  const toolCallId = `${(await threads.read('t')).turns[0]?.id}-call_1_1`
  expect(one.events.at(-1)).toMatchObject({ outcome: { type: 'success', pendingToolCallIds: [toolCallId] } })
  await expectEqual(one, threads)
  one.agent.addMessage({ id: 'r', role: 'tool', toolCallId, content: '{"chosen":"b"}' })
  await one.run()
  expect(one.agent.messages.at(-1)).toMatchObject({ content: 'So: {"chosen":"b"}' })
  await expectEqual(one, threads)
})

test('a late answer has no effect, and the client drops its question and continues (UI2, UI3)', async () => {
  for (const end of ['answered', 'failed', 'written'] as const) {
    const second = end === 'failed' ? respond(fail({ status: 400, message: 'no' })) : respond(say('Done.'))
    const { client, threads } = await stage([respond(call('mail', { to: 'ada' })), second, respond(say('Hello.'))])
    const [one, late] = [client(), client()]
    await one.say('Write')
    await late.run()
    expect(late.agent.pendingInterrupts).toHaveLength(1)
    if (end === 'written') await (await threads.send('t', 'Never mind')).result
    else await one.answer({ approved: true })
    await late.answer({ approved: false })
    expect([end, late.events.at(-1)?.type, late.agent.pendingInterrupts]).toEqual([end, 'RUN_FINISHED', []])
    expect(late.messages).toEqual(comparable([...toAgUiMessages(await threads.read('t'))]))
    expect((await late.say('Hello')).at(-1)).toBe('RUN_FINISHED')
    await expectEqual(late, threads)
  }
})

test('of two answers at the same time one counts, and both clients have the same messages (UI2, UI3)', async () => {
  const { client, threads } = await stage([respond(call('mail', { to: 'ada' })), respond(say('Done.'))])
  const [one, two] = [client(), client()]
  await one.say('Write')
  await two.run()
  await Promise.all([one.answer({ approved: true }), two.answer({ approved: true })])
  for (const { agent, events } of [one, two]) {
    expect(events.at(-1)).toMatchObject({ type: 'RUN_FINISHED' })
    expect(agent.pendingInterrupts).toEqual([])
  }
  await expectEqual(one, threads)
  await expectEqual(two, threads)
})

test('a question of a tool is never an approval, whatever its payload looks like (UI3)', async () => {
  const asks = (name: string, payload: object) =>
    tool({ name, description: 'Asks.', input: z.object({}), execute: () => interrupt(payload) }) as Tool
  const tools = [
    asks('approves', { tool: 'mail', callId: 'call_1_1', input: {} }),
    asks('calls', { type: 'tool-call', id: 'call_1_2', name: 'mail', input: {} }),
  ]
  const { client, threads } = await stage([respond(call('approves'), call('calls'))], { tools })
  const one = client()
  await one.say('Go')
  expect(one.agent.pendingInterrupts.map(({ reason }) => reason)).toEqual(['input_required', 'input_required'])
  await one.run({
    resume: one.agent.pendingInterrupts.map(({ id }) => ({ interruptId: id, status: 'cancelled' })),
  })
  expect(one.events.at(-1)).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'cancelled' } })
  await expectEqual(one, threads)
})
