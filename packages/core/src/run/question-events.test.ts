import { call, respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { beforeEach, expect, test, vi } from 'vitest'
import { anything, asking, bare, brief, checkpointIn, interrupted, result, working } from '../../test/conversation.ts'
import { early, withdrawing } from '../../test/early-calls.ts'
import { settled as played } from '../../test/played-runs.ts'
import { agentTool, createAgent, interrupt, type Middleware, type Tool, tool } from '../index.ts'

beforeEach(() => {
  vi.useFakeTimers({ now: 0 })
  return () => vi.useRealTimers()
})

test('a question is emitted when it is asked, before the other calls have settled; their results are in the result (CC6, CC7)', async () => {
  const { events, result: outcome } = await interrupted({ tools: [working('look', 100), asking('ask')] })
  const [pending] = outcome?.interrupts ?? []
  const step = 1
  const a = { callId: 'a', toolName: 'look' }
  const b = { callId: 'b', toolName: 'ask' }
  const asked = (id: string, name: string) => ({ type: 'tool-call', id, name, input: {} })
  const message = {
    role: 'assistant',
    content: [{ type: 'text', text: 'Let me see' }, asked('a', 'look'), asked('b', 'ask')],
    finishReason: 'tool-calls',
  }
  expect(
    bare(events)
      .slice(3)
      .filter(({ type }) => !/delta|input/.test(type)),
  ).toEqual([
    { type: 'tool-call', step, attempt: 1, call: asked('a', 'look') },
    { type: 'tool-call', step, attempt: 1, call: asked('b', 'ask') },
    { type: 'message', step, message },
    { type: 'tool-start', step, ...a, call: asked('a', 'look') },
    { type: 'tool-start', step, ...b, call: asked('b', 'ask') },
    { type: 'tool-entered', step, ...a, attempt: 1 },
    { type: 'tool-entered', step, ...b, attempt: 1 },
    { type: 'question', step, ...b, ...pending },
    { type: 'tool-end', step, ...a, message: result('a', 'look') },
    { type: 'run-end', result: outcome },
  ])
  expect(outcome).toMatchObject({ status: 'interrupted', settled: [result('a', 'look')] })
  expect(outcome?.messages).toHaveLength(2)
})

test('a resume emits only its new questions, and shows that its step continues (CC6, CC7, L7)', async () => {
  const twice = tool({
    name: 'ask',
    description: 'a',
    input: anything,
    execute(_, { answers }) {
      if (answers.length < 2) throw interrupt({ nth: answers.length + 1 })
      return answers
    },
  }) as Tool
  const model = scriptedModel([
    respond(call('ask', {}, { id: 'a' }), call('ask', {}, { id: 'b' })),
    respond(say('Well', { deltas: 1 })),
  ])
  const agent = createAgent({ model, tools: [twice] })
  const first = await played(agent.stream('Go'))
  expect(brief(first.events)).toEqual([
    'run-start',
    'step-start',
    'attempt-start 1',
    'tool-call 1',
    'tool-call 1',
    'message',
    'tool-start a',
    'tool-start b',
    'tool-entered a',
    'tool-entered b',
    'question a',
    'question b',
    'run-end',
  ])
  const [a] = first.result?.interrupts ?? []
  const second = await played(agent.resume(checkpointIn(first.result), { [a?.id ?? '']: 'yes' }))
  expect(brief(second.events)).toEqual([
    'run-start',
    'step-start',
    'tool-start a',
    'tool-entered a',
    'question a',
    'run-end',
  ])
  expect(bare(second.events)[1]).toEqual({ type: 'step-start', step: 1, resumed: true })
  expect(bare(second.events)[3]).toEqual({ type: 'tool-entered', step: 1, callId: 'a', toolName: 'ask', attempt: 2 })
  expect(second.events.find(({ type }) => type === 'question')).toMatchObject({ payload: { nth: 2 } })
  expect(second.result?.interrupts).toHaveLength(2)
})

test('hooks and wraps ask without a call, and an agent inside a call asks by its whole address, once (CC6, L4, L9)', async () => {
  const hook: Middleware = {
    name: 'hook',
    beforeModel(_, run) {
      if (run.answers.length === 0) throw interrupt('May I?')
    },
  }
  const asked = await played(createAgent({ model: scriptedModel([]), middleware: [hook] }).stream('Go'))
  expect(bare(asked.events)).toEqual([
    { type: 'run-start' },
    { type: 'step-start', step: 1 },
    { type: 'question', step: 1, ...asked.result?.interrupts?.[0] },
    { type: 'run-end', result: asked.result },
  ])
  expect(asked.result?.interrupts).toMatchObject([
    { address: [{ agent: null }, { middleware: 'hook', hook: 'beforeModel' }] },
  ])

  for (const events of [true, false]) {
    const child = createAgent({
      name: 'child',
      description: 'c',
      model: scriptedModel([respond(call('ask', {}, { id: 'x' }))]),
      tools: [asking('ask')],
    })
    const nested = await played(
      createAgent({
        model: scriptedModel([respond(call('child', { request: 'Go' }, { id: 'c' }))]),
        tools: [agentTool(child, { events }) as Tool],
      }).stream('Go'),
    )
    const told = nested.events.filter(({ type }) => type === 'question')
    expect(bare(told)).toEqual([
      { type: 'question', step: 1, callId: 'c', toolName: 'child', ...nested.result?.interrupts?.[0] },
    ])
    expect(nested.result?.interrupts?.[0]?.address).toHaveLength(4)
  }
})

test('the question of a discarded early call is never emitted; that of a committed one comes after its commit (CC6, O7)', async () => {
  const responses = () => [respond(call('ask', {}, { id: 'a' }), wait(50)), respond(say('Well'))]
  const agentOf = (...middleware: readonly Middleware[]) =>
    createAgent({ model: scriptedModel(responses()), tools: [asking('ask')], middleware: [...middleware, early] })
  const taken = await played(agentOf(withdrawing()).stream('Go'))
  expect(taken.result?.status).toBe('completed')
  expect(brief(taken.events).filter((one) => /^(tool-(?!call)|question)/.test(one))).toEqual([
    'tool-start a',
    'tool-entered a',
    'tool-discarded a',
  ])
  const stood = await played(agentOf().stream('Go'))
  expect(brief(stood.events).slice(-4)).toEqual(['message', 'tool-committed a', 'question a', 'run-end'])
})
