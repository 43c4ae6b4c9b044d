import { call, collect, respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { keptOf } from '@meanwhile/tests/garbage'
import { unhandledRejections } from '@meanwhile/tests/rejections'
import { afterEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { early, startingEarly } from '../../test/early-calls.ts'
import {
  type AgentEvent,
  callsOf,
  createAgent,
  type Middleware,
  map,
  type Run,
  type ToolCall,
  ToolDiscardedError,
  type ToolMessage,
  tool,
} from '../index.ts'

unhandledRejections()

afterEach(() => {
  vi.useRealTimers()
})

function setup() {
  const executed: string[] = []
  const note = tool({
    name: 'note',
    description: 'Notes something.',
    input: z.object({ text: z.string(), n: z.number().optional() }),
    async execute({ text }, { callId }) {
      executed.push(callId)
      return `noted ${text}`
    },
  })
  const asking = (ask: (run: Run) => unknown) =>
    tool({ name: 'ask', description: 'Asks on.', input: z.object({}), execute: (_, { run }) => ask(run as Run) })
  return { executed, note, asking }
}

const noteCall = (id: string, input: unknown): ToolCall => ({ type: 'tool-call', id, name: 'note', input })

test('the same id with canonically equal input returns the same promise, before and after it settles (A23, MA14)', async () => {
  const { executed, note, asking } = setup()
  const promises: Promise<ToolMessage>[] = []
  const ask = asking(async (run) => {
    promises.push(run.callTool(noteCall('x', { text: 'a', n: 1 })))
    promises.push(run.callTool(noteCall('x', { n: 1, text: 'a' })))
    await promises[0]
    promises.push(run.callTool(noteCall('x', { n: 1.0, text: '\u0061' })))
  })
  const model = scriptedModel([respond(call('ask')), respond(say('done'))])
  await createAgent({ model, tools: [ask, note] }).run('Go')
  expect(promises).toHaveLength(3)
  expect(promises[1]).toBe(promises[0])
  expect(promises[2]).toBe(promises[0])
  expect(await promises[0]).toEqual({
    role: 'tool',
    callId: 'x',
    name: 'note',
    content: [{ type: 'text', text: 'noted a' }],
    output: 'noted a',
  })
  expect(executed).toEqual(['x'])
})

test('a value that is not a valid call is refused: two calls without an id would be the same call (A23)', async () => {
  const { executed, note, asking } = setup()
  const problems: unknown[] = []
  const ask = asking(async (run) => {
    for (const one of [
      'note',
      null,
      { name: 'note', input: { text: 'a' } },
      noteCall('', {}),
      { id: 'x' },
    ] as ToolCall[])
      problems.push(await run.callTool(one).catch((error: unknown) => error))
  })
  await createAgent({ model: scriptedModel([respond(call('ask')), respond(say('done'))]), tools: [ask, note] }).run(
    'Go',
  )
  const message = expect.stringMatching(/^callTool takes /)
  expect(problems).toEqual(Array.from({ length: 5 }, () => expect.objectContaining({ name: 'TypeError', message })))
  expect(executed).toEqual([])
})

test('a call starts at once, even if nothing awaits it (A23)', async () => {
  vi.useFakeTimers()
  const { executed, note } = setup()
  const model = scriptedModel([respond(call('note', { text: 'a' }, { id: 'x' }), wait(1_000)), respond(say('done'))])
  const running = createAgent({ model, tools: [note], middleware: [early] }).run('Go')
  await vi.advanceTimersByTimeAsync(0)
  expect(executed).toEqual(['x'])
  await vi.advanceTimersByTimeAsync(1_000)
  const result = await running
  expect(executed).toEqual(['x'])
  expect(result.messages[2]).toMatchObject({ callId: 'x', output: 'noted a' })
})

test('a call that the response did not request never enters the history, no matter what makes it (A23)', async () => {
  const { executed, note, asking } = setup()
  const heard: (string | undefined)[] = []
  const hear = async (run: Run, id: string) => {
    const message = await run.callTool(noteCall(id, { text: id }))
    heard.push(message.output as string)
  }
  const middleware: Middleware = {
    name: 'curious',
    beforeModel: (_, run) => hear(run, `before ${run.step}`),
    afterModel: (_, run) => hear(run, `after ${run.step}`),
    async *wrapModel(request, next, run) {
      await hear(run, `in ${run.step}`)
      return yield* next(request)
    },
    async *wrapToolCall(call, next, run) {
      if (call.name === 'ask') await hear(run, 'wrap')
      return yield* next(call)
    },
  }
  const ask = asking((run) => hear(run, 'tool'))
  const model = scriptedModel([respond(call('ask', {}, { id: 'one' })), respond(say('done'))])
  const agent = createAgent({ model, tools: [ask, note], middleware: [middleware] })
  const { events, result } = await collect(agent.stream('Go'))
  const ids = ['before 1', 'in 1', 'after 1', 'wrap', 'tool', 'before 2', 'in 2', 'after 2']
  expect(executed).toEqual(ids)
  expect(heard).toEqual(ids.map((id) => `noted ${id}`))
  expect(result?.messages).toEqual([
    { role: 'user', content: 'Go' },
    expect.objectContaining({ role: 'assistant' }),
    { role: 'tool', callId: 'one', name: 'ask', content: [{ type: 'text', text: '' }] },
    result?.message,
  ])
  const ended = events.filter((event) => event.type === 'tool-end').map(({ callId }) => callId)
  expect(ended).toEqual(['before 1', 'in 1', 'after 1', 'wrap', 'tool', 'one', 'before 2', 'in 2', 'after 2'])
})

test('a side call that fails is a message with isError, also for an unknown tool and wrong input (A23)', async () => {
  const { note, asking } = setup()
  const heard: ToolMessage[] = []
  const ask = asking(async (run) => {
    heard.push(await run.callTool({ type: 'tool-call', id: 'x', name: 'nope', input: {} }))
    heard.push(await run.callTool(noteCall('y', {})))
  })
  const model = scriptedModel([respond(call('ask')), respond(say('done'))])
  await createAgent({ model, tools: [ask, note] }).run('Go')
  expect(heard).toMatchObject([
    { callId: 'x', name: 'nope', isError: true },
    { callId: 'y', name: 'note', isError: true },
  ])
})

test('no later call of the model gets the id of a side call (A23, G10)', async () => {
  const { executed, note, asking } = setup()
  const ask = asking((run) => run.callTool(noteCall('call_2_1', { text: 'a' })))
  const model = scriptedModel([respond(call('ask')), respond(call('note', { text: 'a' })), respond(say('done'))])
  const result = await createAgent({ model, tools: [ask, note] }).run('Go')
  const [, , , asked, answered] = result.messages
  const id = asked?.role === 'assistant' && asked.content[0]?.type === 'tool-call' && asked.content[0].id
  expect(id).not.toBe('call_2_1')
  expect(executed).toEqual(['call_2_1', id])
  expect(answered).toMatchObject({ role: 'tool', callId: id, output: 'noted a' })
})

test('a call that the response did not request cannot be started once its response has ended (A23)', async () => {
  const { executed, note } = setup()
  const kept: ToolCall[] = []
  const outcomes: unknown[] = []
  const withdraws: Middleware = {
    name: 'withdraws',
    afterModel({ messages }, run) {
      const last = messages.at(-1)
      if (run.step > 1 || last?.role !== 'assistant') return
      kept.push(...callsOf(last))
      return { messages: [...messages.slice(0, -1), { ...last, content: last.content.slice(0, 1) }] }
    },
    async beforeModel(_, run) {
      for (const call of kept) outcomes.push(await run.callTool(call).catch((error: unknown) => error))
    },
  }
  const model = scriptedModel([
    respond(call('note', { text: 'a' }, { id: 'x' }), call('note', { text: 'b' }, { id: 'y' })),
    respond(say('done')),
  ])
  const result = await createAgent({ model, tools: [note], middleware: [withdraws] }).run('Go')
  expect(executed).toEqual(['x'])
  expect(outcomes).toEqual([result.messages[2], new ToolDiscardedError('y', 'call_withdrawn')])
  expect(outcomes[0]).toBe(result.messages[2])
})

test('a call of an earlier step is forgotten, and its id still returns its result (A23, I4, I6, MA13)', async () => {
  const { executed, note } = setup()
  const promises: Promise<ToolMessage>[] = []
  const held: WeakRef<object>[] = []
  const asked: unknown[] = []
  const early: Middleware = {
    name: 'early',
    wrapModel: (request, next, run) =>
      map(next(request), (event) => {
        if (event.type === 'tool-call') {
          const attributes = { step: run.step }
          held.push(new WeakRef(attributes))
          promises.push(run.callTool(event.call, { attributes }))
        }
        return event
      }),
    async beforeFinalAnswer(_, run) {
      asked.push(run.cancelTool('x'), run.toolStatus('x')?.state, await run.stood('x'))
      asked.push(run.callTool(noteCall('x', { text: 'a' })) === promises[0])
      asked.push(await run.callTool(noteCall('x', { text: 'b' })).catch((error: unknown) => error))
      asked.push([held.length, await keptOf(() => held)])
    },
  }
  const model = scriptedModel([
    respond(call('note', { text: 'a' }, { id: 'x' })),
    respond(call('note', { text: 'b' }, { id: 'y' })),
    respond(say('done')),
  ])
  await createAgent({ model, tools: [note], middleware: [early] }).run('Go')
  expect(executed).toEqual(['x', 'y'])
  expect(asked).toEqual([false, 'ok', 'x', true, new ToolDiscardedError('x', 'call_withdrawn'), [2, 0]])
})

test('changes to the call object after the call was made do not reach the call (A23)', async () => {
  const { note, asking } = setup()
  const ask = asking(async (run) => {
    const input = { text: 'before' }
    const made = run.callTool(noteCall('x', input))
    input.text = 'after'
    return (await made).output
  })
  const model = scriptedModel([respond(call('ask')), respond(say('done'))])
  const { events, result } = await collect(createAgent({ model, tools: [ask, note] }).stream('Go'))
  expect(result?.messages[2]).toMatchObject({ output: 'noted before' })
  expect(events.flatMap((event) => (event.type === 'tool-start' ? [event.call.input] : []))).toEqual([
    {},
    { text: 'before' },
  ])
})

test('a call that can no longer be made is refused, and the rejection need not be handled (A23, K13)', async () => {
  const { executed, note } = setup()
  let kept: Run | undefined
  const keep: Middleware = { name: 'keep', beforeAgent: (_, run) => void (kept = run) }
  await createAgent({ model: scriptedModel([respond(say('done'))]), tools: [note], middleware: [keep] }).run('Go')
  void kept?.callTool(noteCall('x', { text: 'a' }))
  expect(executed).toEqual([])
})

test('a run that has ended starts no more calls (A23)', async () => {
  const { executed, note } = setup()
  let kept: Run | undefined
  const keep: Middleware = { name: 'keep', beforeAgent: (_, run) => void (kept = run) }
  await createAgent({ model: scriptedModel([respond(say('done'))]), tools: [note], middleware: [keep] }).run('Go')
  await expect(kept?.callTool(noteCall('x', { text: 'a' }))).rejects.toThrow(TypeError)
  expect(executed).toEqual([])
})

test('an early call and the same call of the loop are one (A23)', async () => {
  const { executed, note } = setup()
  const early = startingEarly({ at: 'tool-input-closed' })
  const calls = [call('note', { text: 'a' }, { id: 'x' }), call('note', { text: 'a' }, { id: 'y' })]
  const model = scriptedModel([respond(...calls), respond(say('done'))])
  const { events, result } = await collect(createAgent({ model, tools: [note], middleware: [early] }).stream('Go'))
  expect(executed).toEqual(['x', 'y'])
  expect(result?.messages.slice(2, 4)).toMatchObject([{ callId: 'x' }, { callId: 'y' }])
  const count = (type: AgentEvent['type']) => events.filter((event) => event.type === type).length
  expect([count('tool-start'), count('tool-committed'), count('tool-end')]).toEqual([2, 2, 2])
})

test('in a tool and its wraps run.signal is also aborted when only their call is (O2)', async () => {
  const { asking } = setup()
  const signals: AbortSignal[] = []
  const hooks: AbortSignal[] = []
  const ask = asking(async (run) => {
    signals.push(run.signal)
    await new Promise((resolve) => run.signal.addEventListener('abort', resolve, { once: true }))
  })
  const withdrawing: Middleware = {
    name: 'withdrawing',
    async *wrapModel(request, next, run) {
      hooks.push(run.signal)
      const message = yield* next(request)
      for (const asked of callsOf(message)) run.callTool(asked).catch(() => undefined)
      return message
    },
    async afterModel({ messages }) {
      await new Promise((resolve) => setTimeout(resolve, 5))
      const last = messages.at(-1)
      if (last?.role !== 'assistant') return
      return { messages: [...messages.slice(0, -1), { ...last, content: [{ type: 'text', text: 'Never mind.' }] }] }
    },
    async *wrapToolCall(asked, next, run) {
      signals.push(run.signal)
      return yield* next(asked)
    },
  }
  const model = scriptedModel([respond(call('ask'))])
  const { text } = await createAgent({ model, tools: [ask], middleware: [withdrawing] }).run('Go')
  expect(text).toBe('Never mind.')
  expect(signals.map(({ aborted, reason }) => [aborted, reason])).toEqual([
    [true, expect.any(ToolDiscardedError)],
    [true, expect.any(ToolDiscardedError)],
  ])
  expect(hooks.map(({ aborted }) => aborted)).toEqual([false])
})
