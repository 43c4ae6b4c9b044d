import { call, respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { beforeEach, expect, test, vi } from 'vitest'
import { anything, bare, brief, checkpointIn, working } from '../../test/conversation.ts'
import { early } from '../../test/early-calls.ts'
import { settled as played } from '../../test/played-runs.ts'
import { answersTo } from '../../test/results.ts'
import { createAgent, interrupt, type Middleware, type Tool, tool } from '../index.ts'

beforeEach(() => {
  vi.useFakeTimers({ now: 0 })
  return () => vi.useRealTimers()
})

test('tool-entered comes when the function is called, once for each attempt, and after an approval (CC7, C5, C14)', async () => {
  const flaky = tool({
    name: 'flaky',
    description: 'f',
    input: anything,
    async execute(_, { attempt, run }) {
      run?.emit({ name: 'trying', data: attempt })
      if (attempt < 3) throw new Error('no')
      return 'yes'
    },
  }) as Tool
  const approving: Middleware = {
    name: 'approving',
    async *wrapToolCall(call, next, run) {
      if (run.answers.length === 0) throw interrupt('May it?')
      for (;;) {
        try {
          return yield* next(call)
        } catch {}
      }
    },
  }
  const model = scriptedModel([respond(call('flaky', {}, { id: 'a' })), respond(say('Well'))])
  const agent = createAgent({ model, tools: [flaky], middleware: [approving] })
  const first = await played(agent.stream('Go'))
  expect(brief(first.events).slice(-3)).toEqual(['tool-start a', 'question a', 'run-end'])
  const second = await played(agent.resume(checkpointIn(first.result), answersTo(first.result)))
  const ofCall = { step: 1, callId: 'a', toolName: 'flaky' }
  const custom = (data: number) => ({ type: 'custom', ...ofCall, name: 'trying', data, source: 'flaky' })
  expect(bare(second.events).filter((event) => 'callId' in event)).toEqual([
    { type: 'tool-start', ...ofCall, call: { type: 'tool-call', id: 'a', name: 'flaky', input: {} } },
    { type: 'tool-entered', ...ofCall, attempt: 1 },
    custom(1),
    { type: 'tool-entered', ...ofCall, attempt: 2 },
    custom(2),
    { type: 'tool-entered', ...ofCall, attempt: 3 },
    custom(3),
    { type: 'tool-end', ...ofCall, message: expect.objectContaining({ output: 'yes' }) },
  ])
})

test('tool-settled shows that early work has ended, with its result; each event of a call has the name of its tool (CC7, B8)', async () => {
  const model = scriptedModel([
    respond(call('look', {}, { id: 'a' }), call('look', {}, { id: 'b' }), wait(50), call('look', {}, { id: 'c' })),
    respond(say('Well')),
  ])
  const dropping: Middleware = {
    name: 'dropping',
    afterModel({ messages }) {
      const answer = messages.at(-1)
      if (answer?.role !== 'assistant' || messages.length > 2) return
      return { messages: [...messages.slice(0, -1), { ...answer, content: answer.content.slice(1) }] }
    },
  }
  const agent = createAgent({ model, tools: [working('look', 10)], middleware: [dropping, early] })
  const { events } = await played(agent.stream('Go'))
  expect(brief(events).filter((one) => /^tool-(?!call)/.test(one))).toEqual([
    'tool-start a',
    'tool-entered a',
    'tool-start b',
    'tool-entered b',
    'tool-settled a',
    'tool-settled b',
    'tool-start c',
    'tool-entered c',
    'tool-discarded a',
    'tool-committed b',
    'tool-end b',
    'tool-committed c',
    'tool-end c',
  ])
  expect(bare(events).find(({ type }) => type === 'tool-settled')).toEqual({
    type: 'tool-settled',
    step: 1,
    callId: 'a',
    toolName: 'look',
    message: expect.objectContaining({ role: 'tool', callId: 'a' }),
    provisional: true,
  })
  const names = events.flatMap((event) => ('callId' in event ? [event.toolName] : []))
  expect(new Set(names)).toEqual(new Set(['look']))
})
