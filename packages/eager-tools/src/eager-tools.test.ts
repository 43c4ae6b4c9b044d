import { call, collect, respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import {
  createAgent,
  type Message,
  type Middleware,
  type ModelEvent,
  map,
  type Run,
  runLocal,
  type Tool,
  tool,
} from '@meanwhile/core'
import { played } from '@meanwhile/tests/clock'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { outline, results, toolOutline } from '../test/outline.ts'
import { after, input, workshop } from '../test/workshop.ts'
import { eagerTools } from './index.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const done = respond(say('Done.'))

test('a read starts in the same turn of the event loop in which its closing delta is handled, while the stream is open (H6)', async () => {
  const { log, tools } = workshop()
  const turns: string[] = []
  const model = scriptedModel([respond(call('look', { n: 1 }, { id: 'c1', deltas: 1 }), wait(1), say('So.')), done])
  const seen: Middleware = {
    name: 'seen',
    wrapModel: (request, next) =>
      map(next(request), (event) => {
        if (event.type === 'tool-input-closed') {
          // The fake clock does not replace this function: it ends the turn, whatever the microtasks do.
          process.nextTick(() => queueMicrotask(() => turns.push(...log, 'turn over')))
        }
        return event
      }),
  }
  await played(createAgent({ model, tools, middleware: [eagerTools(), seen] }).run('Go'))
  expect(turns).toEqual(['0 look 1', 'turn over'])
})

test('an early call is the loop’s call: one execution, the tools of the set-up, one pass through the wraps, one result (H9, H15, A21)', async () => {
  const { log, contexts, make, tools } = workshop()
  const wrapped: string[] = []
  const setUp: Middleware = {
    name: 'set-up',
    beforeAgent: (setup) => ({ ...setup, tools: [...setup.tools, make('added', 'read')] }),
    async *wrapToolCall(call, next) {
      wrapped.push(`${call.id} in`)
      const message = yield* next(call)
      wrapped.push(`${call.id} out`)
      return { ...message, content: [{ type: 'text', text: `${String(message.output)}, wrapped` }] }
    },
  }
  const model = scriptedModel([
    respond(
      call('added', { n: 1, ms: 20 }, { id: 'c1', deltas: 1 }),
      call('look', { n: 2 }, { id: 'c2', deltas: 1 }),
      wait(100),
      say('So.'),
    ),
    done,
  ])
  const result = await played(createAgent({ model, tools, middleware: [setUp, eagerTools()] }).run('Go'))
  expect(log).toEqual(['0 added 1', '0 look 2'])
  expect(wrapped).toEqual(['c1 in', 'c2 in', 'c2 out', 'c1 out'])
  expect(results(result.messages)).toEqual([
    {
      role: 'tool',
      callId: 'c1',
      name: 'added',
      content: [{ type: 'text', text: 'added 1, wrapped' }],
      output: 'added 1',
    },
    {
      role: 'tool',
      callId: 'c2',
      name: 'look',
      content: [{ type: 'text', text: 'look 2, wrapped' }],
      output: 'look 2',
    },
  ])
  expect(contexts.map(({ callId, attempt, signal }) => [callId, attempt, signal.aborted])).toEqual([
    ['c1', 1, false],
    ['c2', 1, false],
  ])
  expect(Object.keys(contexts[0] ?? {}).sort()).toEqual([
    'answers',
    'attempt',
    'callId',
    'idempotencyKey',
    'messages',
    'run',
    'signal',
  ])
})

test('run-local values are the same for hooks and early tools (H9, D1)', async () => {
  const notes = runLocal((): string[] => [])
  const noting = tool({
    name: 'noting',
    description: 'Notes.',
    input,
    effect: 'read',
    execute: (_, { run }) => void notes(run as Run).push('tool'),
  })
  const read: string[][] = []
  const hook: Middleware = {
    name: 'hook',
    beforeModel: (_, run) => void notes(run).push('hook'),
    afterModel: (_, run) => void read.push([...notes(run)]),
  }
  const model = scriptedModel([respond(call('noting', { n: 1 }, { deltas: 1 }), wait(50), say('So.')), done])
  await played(createAgent({ model, tools: [noting as Tool], middleware: [hook, eagerTools()] }).run('Go'))
  expect(read).toEqual([
    ['hook', 'tool'],
    ['hook', 'tool', 'hook'],
  ])
})

test('a call that is announced twice starts once (H11)', async () => {
  const { log, tools } = workshop()
  const model = scriptedModel([respond(call('look', { n: 1 }, { id: 'c1', deltas: 1 }), wait(50), say('So.')), done])
  const twice: Middleware = {
    name: 'twice',
    async *wrapModel(request, next) {
      const flow = next(request)
      for (;;) {
        const step = await flow.next()
        if (step.done) return step.value
        yield step.value
        if (step.value.type === 'tool-call' || step.value.type === 'tool-input-closed') {
          // The same input again, from another parse.
          const copy: ModelEvent = structuredClone(step.value)
          yield { ...step.value, ...copy }
        }
      }
    },
  }
  const { events, result } = await played(
    collect(createAgent({ model, tools, middleware: [eagerTools(), twice] }).stream('Go')),
  )
  expect(log).toEqual(['0 look 1'])
  expect(result?.text).toBe('Done.')
  expect(toolOutline(events)).toEqual(['tool-start c1 provisional', 'tool-committed c1', 'tool-end c1'])
})

test('two equal calls of one response run twice, also without eager tools (H11)', async () => {
  for (const middleware of [[eagerTools()], []]) {
    const { log, contexts, tools } = workshop()
    const model = scriptedModel([
      respond(call('look', { n: 1 }, { deltas: 1 }), call('look', { n: 1 }, { deltas: 1 }), wait(50), say('So.')),
      done,
    ])
    const result = await played(createAgent({ model, tools, middleware }).run('Go'))
    expect(log.map((line) => line.replace(/^\d+ /, ''))).toEqual(['look 1', 'look 1'])
    expect(new Set(contexts.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(2)
    expect(results(result.messages)).toHaveLength(2)
  }
})

test('with one slot a call that may not start early holds back later calls (H12, A22)', async () => {
  const script = respond(
    call('look', { n: 1, ms: 30 }, { deltas: 1 }),
    call('send', { n: 2, ms: 30 }, { deltas: 1 }),
    call('look', { n: 3, ms: 30 }, { deltas: 1 }),
    wait(100),
    say('So.'),
  )
  const madeWith = async (toolConcurrency: number) => {
    const { log, tools } = workshop()
    const model = scriptedModel([script, done])
    const eager = eagerTools({ independent: ['send'] })
    await played(createAgent({ model, tools, middleware: [eager], toolConcurrency }).run('Go'))
    return log
  }
  expect(await madeWith(1)).toEqual(['0 look 1', '100 send 2', '130 look 3'])
  // With two slots it holds back none, because the user declared it independent.
  expect(await madeWith(2)).toEqual(['0 look 1', '0 look 3', '100 send 2'])
})

test('no slot is idle while a call that may start waits: a slow check of one input delays no other call (H13)', async () => {
  const { log, tools } = workshop()
  const slow = tool({
    name: 'slow',
    description: 'Checks its input for long.',
    input: z.object({ n: z.number().refine(() => after(40).then(() => true)) }),
    effect: 'read',
    execute: ({ n }) => void log.push(`slow ${n}`),
  })
  const model = scriptedModel([
    respond(call('slow', { n: 1 }, { deltas: 1 }), call('look', { n: 2 }, { deltas: 1 }), wait(100), say('So.')),
    done,
  ])
  await played(createAgent({ model, tools: [...tools, slow as Tool], middleware: [eagerTools()] }).run('Go'))
  expect(log).toEqual(['0 look 2', 'slow 1'])
})

test('the loop joins running and settled early calls and starts only calls that were not started (H15)', async () => {
  const { log, tools } = workshop()
  const model = scriptedModel([
    respond(
      call('look', { n: 1, ms: 10 }, { id: 'c1', deltas: 1 }),
      call('look', { n: 2, ms: 300 }, { id: 'c2', deltas: 1 }),
      call('send', { n: 3, ms: 10 }, { id: 'c3', deltas: 1 }),
      wait(100),
      say('So.'),
    ),
    done,
  ])
  const { events, result } = await played(
    collect(createAgent({ model, tools, middleware: [eagerTools()] }).stream('Go')),
  )
  expect(log).toEqual(['0 look 1', '0 look 2', '100 send 3'])
  expect(results(result?.messages).map(({ callId, output }) => [callId, output])).toEqual([
    ['c1', 'look 1'],
    ['c2', 'look 2'],
    ['c3', 'send 3'],
  ])
  expect(toolOutline(events)).toEqual([
    'tool-start c1 provisional',
    'tool-start c2 provisional',
    'tool-committed c1',
    'tool-end c1',
    'tool-committed c2',
    'tool-start c3',
    'tool-end c3',
    'tool-end c2',
  ])
})

/** Reports progress twice, 50 ms apart, and emits an event. */
const working = (schema = input) =>
  tool({
    name: 'working',
    description: 'Works.',
    input: schema,
    effect: 'read',
    async *execute(_, { run }) {
      yield { message: 'begun' }
      await after(50)
      run?.emit({ name: 'half', data: null })
      yield { message: 'halfway' }
      await after(100)
      return 'worked'
    },
  }) as Tool

test('progress of generator tools is streamed while the model streams (H17, B7, B8)', async () => {
  const model = scriptedModel([
    respond(call('working', { n: 1 }, { id: 'c1', deltas: 1 }), wait(100), say('So.'), wait(100), say('It goes.')),
    done,
  ])
  const { events } = await played(
    collect(createAgent({ model, tools: [working()], middleware: [eagerTools()] }).stream('Go')),
  )
  expect(outline(events)).toEqual([
    'run-start',
    'step-start',
    'attempt-start 1',
    'tool-input-start c1',
    'tool-input-delta c1',
    'tool-input-closed c1',
    'tool-start c1 provisional',
    'tool-progress c1 begun provisional',
    'tool-call c1',
    'custom half provisional',
    'tool-progress c1 halfway provisional',
    'text-delta',
    'text-delta',
    'text-delta',
    'tool-committed c1',
    'tool-end c1',
    'step-end',
    'step-start',
    'attempt-start 1',
    'text-delta',
    'step-end',
    'run-end',
  ])
})

test('events of a call are shown as they happen, also if it starts long after it was announced (B7, H17)', async () => {
  const schema = z.object({ ...input.shape, n: z.number().refine(() => after(20).then(() => true)) })
  const model = scriptedModel([
    respond(call('working', { n: 1 }, { id: 'c1', deltas: 1 }), wait(50), say('So.'), wait(300), say('Well.')),
    done,
  ])
  const { events } = await played(
    collect(createAgent({ model, tools: [working(schema)], middleware: [eagerTools()] }).stream('Go')),
  )
  const lines = outline(events)
  expect(lines.slice(lines.indexOf('tool-call c1'), lines.indexOf('step-end'))).toEqual([
    'tool-call c1',
    'tool-start c1 provisional',
    'tool-progress c1 begun provisional',
    'text-delta',
    'custom half provisional',
    'tool-progress c1 halfway provisional',
    'text-delta',
    'tool-committed c1',
    'tool-end c1',
  ])
})

test('file parts, toContent and returnDirect have the same results as without eager tools (H17)', async () => {
  const chart = tool({
    name: 'chart',
    description: 'Draws.',
    input: z.object({ of: z.string() }),
    effect: 'read',
    returnDirect: (output: { readonly png: string }) => output.png !== '',
    execute: ({ of }) => ({ png: of === 'nothing' ? '' : 'aGk=' }),
    toContent: ({ png }) => [
      { type: 'text', text: 'The chart:' },
      { type: 'file', mediaType: 'image/png', data: png },
    ],
  })
  const resultWith = (middleware: Middleware[]) => {
    const model = scriptedModel([
      respond(call('chart', { of: 'nothing' }, { id: 'c1' }), wait(50), say('So.')),
      respond(call('chart', { of: 'growth' }, { id: 'c2' }), wait(50), say('So.')),
    ])
    return played(createAgent({ model, tools: [chart as Tool], middleware }).run('Go'))
  }
  const result = await resultWith([eagerTools()])
  expect({ ...result, savings: undefined }).toEqual(await resultWith([]))
  expect(result.stopReason).toBe('return-direct')
  expect(result.message).toEqual({
    role: 'tool',
    callId: 'c2',
    name: 'chart',
    content: [
      { type: 'text', text: 'The chart:' },
      { type: 'file', mediaType: 'image/png', data: 'aGk=' },
    ],
    output: { png: 'aGk=' },
  })
})

test('a run without a reader is eager, too (B14)', async () => {
  const { log, tools } = workshop()
  const model = scriptedModel([respond(call('look', { n: 1 }, { deltas: 1 }), wait(50), say('So.')), done])
  await played(createAgent({ model, tools, middleware: [eagerTools()] }).run('Go'))
  expect(log).toEqual(['0 look 1'])
})

test('a returnDirect result made early passes the gate; if rejected, it stays in the history and is not made again (O1)', async () => {
  const { log, make } = workshop()
  const direct = make('direct', 'read', { returnDirect: true })
  const model = scriptedModel([
    respond(call('direct', { n: 1 }, { id: 'c1', deltas: 1 }), wait(50), say('So.')),
    respond(say('Then this.')),
  ])
  const asked: Message[] = []
  const gate: Middleware = {
    name: 'gate',
    beforeFinalAnswer({ messages }) {
      const last = messages.at(-1)
      if (last) asked.push(last)
      return asked.length === 1 ? { accept: false, feedback: 'In words, please.' } : { accept: true }
    },
  }
  const result = await played(createAgent({ model, tools: [direct], middleware: [gate, eagerTools()] }).run('Go'))
  expect(log).toEqual(['0 direct 1'])
  expect(asked.map(({ role }) => role)).toEqual(['tool', 'assistant'])
  expect(result.messages.slice(2)).toEqual([
    { role: 'tool', callId: 'c1', name: 'direct', content: [{ type: 'text', text: 'direct 1' }], output: 'direct 1' },
    { role: 'user', content: 'In words, please.', origin: 'gate' },
    { role: 'assistant', content: [{ type: 'text', text: 'Then this.' }], finishReason: 'stop' },
  ])
  expect(result.text).toBe('Then this.')
})
