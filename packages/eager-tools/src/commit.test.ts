import {
  AgentError,
  type AssistantPart,
  createAgent,
  type Middleware,
  type Tool,
  ToolDiscardedError,
  tool,
} from '@meanwhile/core'
import {
  call,
  collect,
  cut,
  end,
  fail,
  respond,
  type ScriptResponse,
  say,
  scriptedModel,
  wait,
} from '@meanwhile/core/testing'
import { played } from '@meanwhile/tests/clock'
import { unhandledRejections } from '@meanwhile/tests/rejections'
import { beforeEach, expect, test, vi } from 'vitest'
import { bare, outline, results, toolOutline } from '../test/outline.ts'
import { type Moment, sayDone, tellingModel } from '../test/telling-model.ts'
import { after, input, workshop } from '../test/workshop.ts'
import { eagerTools } from './index.ts'

unhandledRejections()

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

const done = respond(say('Done.'))
/** A run of these responses by an agent with the workshop's tools and eagerTools. */
async function ran(
  responses: readonly ScriptResponse[],
  more: { tools?: Tool[]; middleware?: Middleware[]; grace?: number } = {},
) {
  const { log, tools, contexts } = workshop()
  const { middleware = [], ...options } = more
  const agent = createAgent({
    model: scriptedModel(responses),
    ...options,
    tools: [...tools, ...(more.tools ?? [])],
    middleware: [...middleware, eagerTools()],
  })
  const begin = performance.now()
  const collected = collect(agent.stream('Go')).then((all) => ({ ...all, took: Math.round(performance.now() - begin) }))
  return { ...(await played(collected)), log, contexts }
}

/** Closed at 100 ms as `{"n":1,"ms":500}`, sealed at 200 ms with this text; the stream ends at 300. */
const changing = (final: string, name = 'look'): (readonly Moment[])[] => [
  [
    [100, (to) => to.call(0, { id: 'c1', name, delta: '{"n":1,"ms":500}' })],
    [200, (to) => to.seal(0, final)],
    [300, (to) => to.finish('tool-calls')],
  ],
  sayDone,
]

async function changed(final: string) {
  const { log, tools } = workshop()
  const agent = createAgent({ model: tellingModel(changing(final)), tools, middleware: [eagerTools()] })
  const { events, result } = await played(collect(agent.stream('Go')))
  return { log, lines: toolOutline(events), results: results(result?.messages) }
}

test('arguments that change after they closed discard the early run; the call runs once with the final ones (H8)', async () => {
  const { log, lines, results } = await changed('{"n":2}')
  expect(log).toEqual(['100 look 1', '200 look 1 aborted', '200 look 2'])
  expect(lines).toEqual([
    'tool-start c1 provisional',
    'tool-discarded c1 arguments_changed',
    'tool-start c1 provisional',
    'tool-committed c1',
    'tool-end c1',
  ])
  expect(results.map(({ callId, output }) => [callId, output])).toEqual([['c1', 'look 2']])
})

test('invalid final arguments discard the early run, and the call gets its error result (H8)', async () => {
  const { log, lines, results } = await changed('{"n":"two"}')
  expect(log).toEqual(['100 look 1', '200 look 1 aborted'])
  expect(lines).toEqual([
    'tool-start c1 provisional',
    'tool-discarded c1 arguments_changed',
    'tool-start c1',
    'tool-end c1 error',
  ])
  expect(results[0]?.content).toEqual([{ type: 'text', text: expect.stringContaining('invalid input for look') }])
})

test('different white space, key order and escapes are not a change (H8)', async () => {
  const { log, lines } = await changed('{ "ms": 5e2, "\\u006e": 1 }')
  expect(log).toEqual(['100 look 1'])
  expect(lines).toEqual(['tool-start c1 provisional', 'tool-committed c1', 'tool-end c1'])
})

test('if the arguments change during an input check, neither the old nor the new check result starts anything (H8, H4)', async () => {
  const begin = performance.now()
  const log: string[] = []
  const slow = tool({
    name: 'slow',
    description: 'Checks 1 for long, and would only read it.',
    input: input.refine(({ n }) => (n === 1 ? after(150).then(() => true) : true)),
    effect: ({ n }) => (n === 1 ? 'read' : 'external'),
    execute: ({ n }) => void log.push(`${Math.round(performance.now() - begin)} slow ${n}`),
  })
  const model = tellingModel(changing('{"n":2}', 'slow'))
  const agent = createAgent({ model, tools: [slow as Tool], middleware: [eagerTools()] })
  const { events } = await played(collect(agent.stream('Go')))
  expect(log).toEqual(['300 slow 2'])
  expect(toolOutline(events)).toEqual(['tool-start c1', 'tool-end c1'])
})

test('later output of a discarded call is not attributed to the call that replaces it (H20, D7)', async () => {
  const { log } = workshop()
  const deaf = tool({
    name: 'deaf',
    description: 'Goes on whatever happens, and speaks up.',
    input,
    effect: 'read',
    async *execute({ n }, { run }) {
      await after(150)
      log.push(`deaf ${n}`)
      run?.emit({ name: `emitted by ${n}`, data: null })
      yield { message: `progress of ${n}` }
      return n
    },
  })
  const model = tellingModel(changing('{"n":2}', 'deaf'))
  const agent = createAgent({ model, tools: [deaf as Tool], middleware: [eagerTools()] })
  const { events, result } = await played(collect(agent.stream('Go')))
  expect(log).toEqual(['deaf 1', 'deaf 2'])
  expect(toolOutline(events)).toEqual([
    'tool-start c1 provisional',
    'tool-discarded c1 arguments_changed',
    'tool-start c1 provisional',
    'tool-committed c1',
    'custom emitted by 2',
    'tool-progress c1 progress of 2',
    'tool-end c1',
  ])
  expect(results(result?.messages).map(({ output }) => output)).toEqual([2])
})

test('a finish reason that forbids calls commits nothing: early runs are discarded, and no call runs (H18, A17, A18)', async () => {
  for (const finishReason of ['length', 'content-filter', 'other'] as const) {
    const script = respond(
      call('look', { n: 1, ms: 500 }, { id: 'c1', deltas: 1 }),
      wait(100),
      call('send', { n: 2 }, { id: 'c2', deltas: 1 }),
      end({ finishReason }),
    )
    const { log, events, result } = await ran([script, done])
    expect(log).toEqual(['0 look 1', '100 look 1 aborted'])
    expect(toolOutline(events)).toEqual([
      'tool-start c1 provisional',
      'tool-discarded c1 stream_truncated',
      'tool-end c1 error',
      'tool-end c2 error',
    ])
    const waiting = await played(
      createAgent({ model: scriptedModel([script, done]), tools: workshop().tools }).run('Go'),
    )
    expect({ ...result, savings: undefined }).toEqual(waiting)
  }
})

test('a stream without an end commits nothing: its calls are discarded as truncated, and the error is the same as without eager tools (H18, H21)', async () => {
  const script = respond(call('look', { n: 1, ms: 500 }, { id: 'c1', deltas: 1 }), wait(100), cut())
  const { log, events, error } = await ran([script])
  expect(log).toEqual(['0 look 1', '100 look 1 aborted'])
  expect(toolOutline(events)).toEqual(['tool-start c1 provisional', 'tool-discarded c1 stream_truncated'])
  expect(error).toMatchObject({ name: 'ModelError', code: 'stream_truncated' })
})

test('if the stream fails finally, all its early calls are discarded and nothing more starts (H21)', async () => {
  const script = respond(
    call('look', { n: 1 }, { id: 'c1', deltas: 1 }),
    call('look', { n: 2, ms: 500 }, { id: 'c2', deltas: 1 }),
    call('send', { n: 3 }, { id: 'c3', deltas: 1 }),
    wait(100),
    fail({ status: 400, code: 'bad_request', message: 'no' }),
  )
  const { log, events, error, took } = await ran([script])
  expect(log).toEqual(['0 look 1', '0 look 2', '100 look 2 aborted'])
  expect(toolOutline(events)).toEqual([
    'tool-start c1 provisional',
    'tool-start c2 provisional',
    'tool-discarded c1 stream_error',
    'tool-discarded c2 stream_error',
  ])
  expect(error).toMatchObject({ name: 'ModelError', code: 'bad_request', status: 400, message: 'no' })
  expect(took).toBe(100)
  const waiting = await played(
    collect(createAgent({ model: scriptedModel([script]), tools: workshop().tools }).stream('Go')),
  )
  expect(bare(events).filter((event) => !('callId' in event))).toEqual(bare(waiting.events))
})

test('a check that is still running when the stream fails starts nothing (H21)', async () => {
  const { log } = workshop()
  const slow = tool({
    name: 'slow',
    description: 'Checks its input for long.',
    input: input.refine(() => after(200).then(() => true)),
    effect: 'read',
    execute: () => void log.push('slow'),
  })
  // The response fails at 100 ms, the repeat runs from 100 to 600; the check ends in between.
  const again: Middleware = {
    name: 'again',
    async *wrapModel(request, next) {
      try {
        return yield* next(request)
      } catch {
        return yield* next(request)
      }
    },
  }
  const { events } = await ran(
    [
      respond(call('slow', { n: 1 }, { id: 'c1', deltas: 1 }), wait(100), fail()),
      respond(wait(500), say('Nothing to be done.')),
    ],
    { tools: [slow as Tool], middleware: [again] },
  )
  expect(log).toEqual([])
  expect(toolOutline(events)).toEqual([])
})

test('an early tool that throws gives the same error result as without eager tools, is not run again, and does not affect other calls (H19, H26)', async () => {
  const attempts: number[] = []
  const failing = tool({
    name: 'failing',
    description: 'Fails.',
    input,
    effect: 'read',
    async execute({ ms }) {
      attempts.push(ms)
      await after(ms)
      throw new Error(`failed after ${ms}`)
    },
  }) as Tool
  const script = respond(
    call('failing', { n: 1, ms: 10 }, { id: 'c1', deltas: 1 }),
    call('failing', { n: 2, ms: 200 }, { id: 'c2', deltas: 1 }),
    call('look', { n: 3, ms: 20 }, { id: 'c3', deltas: 1 }),
    wait(100),
    say('So.'),
  )
  const { result, log } = await ran([script, done], { tools: [failing] })
  expect(attempts).toEqual([10, 200])
  expect(log).toEqual(['0 look 3'])
  expect(results(result?.messages).map(({ content, isError }) => [content, isError])).toEqual([
    [[{ type: 'text', text: 'failed after 10' }], true],
    [[{ type: 'text', text: 'failed after 200' }], true],
    [[{ type: 'text', text: 'look 3' }], undefined],
  ])
  const waiting = createAgent({ model: scriptedModel([script, done]), tools: [...workshop().tools, failing] })
  expect({ ...result, savings: undefined }).toEqual(await played(waiting.run('Go')))
})

test('an early call that fails after its discard causes no unhandled rejection (H19)', async () => {
  const failing = tool({
    name: 'failing',
    description: 'Fails when it is aborted, and late.',
    input,
    effect: 'read',
    async execute(_, { signal }) {
      await after(1_000_000, signal).catch(() => after(50))
      throw new Error('too late')
    },
  }) as Tool
  const script = respond(call('failing', { n: 1 }, { deltas: 1 }), wait(100), fail({ status: 400 }))
  const { error } = await ran([script], { tools: [failing] })
  expect(error).toMatchObject({ name: 'ModelError', status: 400 })
})

test('an AgentError of an early tool ends the run when the loop executes the call, not before (H19, A12)', async () => {
  class Fatal extends AgentError {}
  const fatal = new Fatal('over')
  const deadly = tool({
    name: 'deadly',
    description: 'Ends the run.',
    input,
    effect: 'read',
    execute: () => {
      throw fatal
    },
  }) as Tool
  const script = respond(call('deadly', { n: 1 }, { id: 'c1', deltas: 1 }), wait(100), say('Listen.'))
  const { error, took, events } = await ran([script], { tools: [deadly] })
  expect(error).toBe(fatal)
  expect(took).toBe(100)
  expect(outline(events).filter((line) => line.startsWith('text'))).toEqual(['text-delta'])
})

test('an AgentError of an early tool whose response is not accepted is dropped (H19, H21)', async () => {
  class Fatal extends AgentError {}
  const deadly = tool({
    name: 'deadly',
    description: 'Ends the run.',
    input,
    effect: 'read',
    execute: () => {
      throw new Fatal('over')
    },
  }) as Tool
  const script = respond(call('deadly', { n: 1 }, { deltas: 1 }), wait(100), end({ finishReason: 'length' }))
  const { result } = await ran([script, done], { tools: [deadly] })
  expect(result?.text).toBe('Done.')
})

test('a discard aborts the signal of only that call (H20)', async () => {
  const withdraw: Middleware = {
    name: 'withdraw',
    afterModel: ({ messages }) => {
      const last = messages.at(-1)
      if (last?.role !== 'assistant') return
      const content = last.content.filter((part) => part.type !== 'tool-call' || part.id !== 'c1')
      return { messages: [...messages.slice(0, -1), { ...last, content }] }
    },
  }
  const script = respond(
    call('look', { n: 1, ms: 500 }, { id: 'c1', deltas: 1 }),
    call('look', { n: 2, ms: 500 }, { id: 'c2', deltas: 1 }),
    wait(100),
    say('So.'),
  )
  const { log, contexts, result } = await ran([script, done], { middleware: [withdraw] })
  expect(log).toEqual(['0 look 1', '0 look 2', '100 look 1 aborted'])
  expect(contexts.map(({ signal }) => signal.aborted)).toEqual([true, false])
  expect(contexts[0]?.signal.reason).toEqual(new ToolDiscardedError('c1', 'call_withdrawn'))
  expect(results(result?.messages).map(({ callId }) => callId)).toEqual(['c2'])
})

test('a call that is discarded while its input is being checked does not start (H20)', async () => {
  const begun: string[] = []
  const slow = tool({
    name: 'slow',
    description: 'Checks its input for long: 50 ms before it starts, and again when it has.',
    input: input.refine(() => after(50).then(() => true)),
    effect: 'read',
    execute: () => void begun.push('slow'),
  }) as Tool
  const script = respond(call('slow', { n: 1 }, { id: 'c1', deltas: 1 }), wait(70), end({ finishReason: 'length' }))
  const { events } = await ran([script, respond(wait(100), say('Done.'))], { tools: [slow] })
  expect(toolOutline(events)).toEqual([
    'tool-start c1 provisional',
    'tool-discarded c1 stream_truncated',
    'tool-end c1 error',
  ])
  expect(begun).toEqual([])
})

test('a discarded tool that ignores its signal is waited for at most the grace time and reported as abandoned (H20, K12)', async () => {
  const script = respond(
    call('look', { n: 1, ms: 60_000, deaf: true }, { id: 'c1', deltas: 1 }),
    wait(100),
    end({ finishReason: 'other' }),
  )
  const { result, took } = await ran([script], { grace: 300 })
  expect(took).toBe(400)
  expect(result?.abandoned).toEqual(['c1'])
})

test('an abandoned call releases its slot, and what it does later has no effect on the run (H13, H20)', async () => {
  const deaf = tool({
    name: 'deaf',
    description: 'Goes on whatever happens.',
    input,
    effect: 'read',
    async *execute({ n }, { run }) {
      await after(2_000)
      run?.emit({ name: `emitted by ${n}`, data: null })
      yield { message: `progress of ${n}` }
      await run?.callTool({ type: 'tool-call', id: 'side', name: 'look', input: { n: 9 } })
      return n
    },
  }) as Tool
  const { log, tools } = workshop()
  const model = scriptedModel([
    respond(call('deaf', { n: 1 }, { id: 'c1', deltas: 1 }), end({ finishReason: 'length' })),
    respond(call('look', { n: 2, ms: 2_000 }, { id: 'c2', deltas: 1 })),
    done,
  ])
  const agent = createAgent({
    model,
    tools: [...tools, deaf],
    middleware: [eagerTools()],
    toolConcurrency: 1,
    grace: 300,
  })
  const { events, result } = await played(collect(agent.stream('Go')))
  expect(log).toEqual(['300 look 2'])
  expect(toolOutline(events)).toEqual([
    'tool-start c1 provisional',
    'tool-discarded c1 stream_truncated',
    'tool-end c1 error',
    'tool-start c2 provisional',
    'tool-committed c2',
    'tool-end c2',
  ])
  expect(result?.abandoned).toEqual(['c1'])
})

test('a call that a discarded tool tries to make afterwards is not made (H20, H24)', async () => {
  const begun: string[] = []
  const maker = tool({
    name: 'maker',
    description: 'Has another tool work for it.',
    input,
    effect: 'read',
    async execute({ n }, { run, signal }) {
      await after(10_000, signal).catch(() => undefined)
      await run?.callTool({ type: 'tool-call', id: `of ${n}`, name: 'noting', input: { n } })
      return n
    },
  }) as Tool
  const noting = tool({
    name: 'noting',
    description: 'Notes.',
    input,
    execute: ({ n }) => void begun.push(`noting ${n}`),
  }) as Tool
  const script = respond(call('maker', { n: 1 }, { id: 'c1', deltas: 1 }), wait(100), end({ finishReason: 'length' }))
  const { result } = await ran([script, respond(wait(100), say('Done.'))], { tools: [maker, noting] })
  expect(result?.text).toBe('Done.')
  expect(begun).toEqual([])
})

test('a call made by an early tool is aborted with it (H20, H39)', async () => {
  const maker = tool({
    name: 'maker',
    description: 'Has another tool work for it.',
    input,
    effect: 'read',
    execute: ({ n }, { run }) =>
      run?.callTool({ type: 'tool-call', id: `of ${n}`, name: 'look', input: { n, ms: 1_000 } }),
  }) as Tool
  const script = respond(call('maker', { n: 1 }, { id: 'c1', deltas: 1 }), wait(100), end({ finishReason: 'length' }))
  const { log, result } = await ran([script, done], { tools: [maker] })
  expect(log).toEqual(['0 look 1', '100 look 1 aborted'])
  expect(result?.text).toBe('Done.')
})

test('a discarded reversible call that succeeded is undone once, with its input and output, before the run ends (H23)', async () => {
  const undone: unknown[] = []
  const booked = workshop().make('book', 'reversible', {
    async compensate(input, output) {
      await after(50)
      undone.push([input, output])
    },
  })
  const script = respond(call('book', { n: 1 }, { id: 'c1', deltas: 1 }), wait(100), end({ finishReason: 'other' }))
  const { result, took } = await ran([script], { tools: [booked] })
  expect(undone).toEqual([[{ n: 1, ms: 0, deaf: false }, 'book 1']])
  expect(took).toBe(150)
  expect(result?.warnings).toEqual([])
})

test('a reversible call that is committed, failed or never finished is not undone (H23)', async () => {
  const committed = respond(call('move', { n: 1 }, { deltas: 1 }), wait(100), say('So.'))
  expect((await ran([committed, done])).log).toEqual(['0 move 1'])

  const cutOff = respond(call('move', { n: 1, ms: 500 }, { deltas: 1 }), wait(100), end({ finishReason: 'other' }))
  const { log, result } = await ran([cutOff])
  expect(log).toEqual(['0 move 1', '100 move 1 aborted'])
  expect(result?.warnings).toEqual([])
})

test('a compensation that fails is a warning and changes nothing else (H23)', async () => {
  const booked = workshop().make('book', 'reversible', {
    compensate: () => {
      throw new Error('sold out')
    },
  })
  const script = respond(call('book', { n: 1 }, { deltas: 1 }), wait(100), end({ finishReason: 'length' }))
  const { result } = await ran([script, respond(wait(50), say('Done.'))], { tools: [booked] })
  expect(result?.text).toBe('Done.')
  expect(result?.warnings).toEqual([{ code: 'compensation-failed', message: 'book: sold out', source: 'core' }])
})

test('an abort commits nothing more and discards every open early call (H24)', async () => {
  const { log, tools } = workshop()
  const model = scriptedModel([
    respond(
      call('look', { n: 1 }, { id: 'c1', deltas: 1 }),
      call('look', { n: 2, ms: 500 }, { id: 'c2', deltas: 1 }),
      wait(100),
      call('look', { n: 3 }, { id: 'c3', deltas: 1 }),
      say('So.'),
    ),
  ])
  const controller = new AbortController()
  const run = createAgent({ model, tools, middleware: [eagerTools()] }).stream('Go', { signal: controller.signal })
  const collected = collect(run)
  await vi.advanceTimersByTimeAsync(50)
  controller.abort(new Error('enough'))
  const { events, error } = await played(collected)
  expect(log).toEqual(['0 look 1', '0 look 2', '50 look 2 aborted'])
  expect(toolOutline(events)).toEqual([
    'tool-start c1 provisional',
    'tool-start c2 provisional',
    'tool-discarded c1 run_aborted',
    'tool-discarded c2 run_aborted',
  ])
  expect(error).toMatchObject({ name: 'AbortError', cause: new Error('enough') })
  expect(vi.getTimerCount()).toBe(0)
})

test('no repeat of an early tool starts after an abort or a discard (H24, O2)', async () => {
  const { log, tools } = workshop()
  const again: Middleware = {
    name: 'again',
    async *wrapToolCall(call, next) {
      for (;;) {
        try {
          return yield* next(call)
        } catch {
          await after(10)
        }
      }
    },
  }
  const model = scriptedModel([
    respond(call('look', { n: 1, ms: 500 }, { deltas: 1 }), wait(100), end({ finishReason: 'length' })),
    respond(call('look', { n: 2, ms: 500 }, { deltas: 1 }), wait(1_000), say('So.')),
  ])
  const controller = new AbortController()
  const agent = createAgent({ model, tools, middleware: [again, eagerTools()], grace: 50 })
  const collected = collect(agent.stream('Go', { signal: controller.signal }))
  await vi.advanceTimersByTimeAsync(200)
  controller.abort()
  await vi.advanceTimersByTimeAsync(500)
  expect((await collected).error).toMatchObject({ name: 'AbortError' })
  expect(log).toEqual(['0 look 1', '100 look 1 aborted', '100 look 2', '200 look 2 aborted'])
})

/** Removes c1, edits c2, adds c9. */
const editor: Middleware = {
  name: 'editor',
  afterModel({ messages }) {
    const last = messages.at(-1)
    if (last?.role !== 'assistant' || last.finishReason !== 'tool-calls') return
    const kept = last.content.filter((part) => part.type !== 'tool-call' || part.id !== 'c1')
    const edit = (part: AssistantPart) =>
      part.type === 'tool-call' && part.id === 'c2' ? { ...part, input: { n: 22 } } : part
    const content = kept.map(edit)
    const added = { type: 'tool-call' as const, id: 'c9', name: 'look', input: { n: 9 } }
    return { messages: [...messages.slice(0, -1), { ...last, content: [...content, added] }] }
  },
}

test('a call that afterModel removes is discarded, an edited one runs as edited, an added one runs after the model call (O3)', async () => {
  const script = respond(
    call('look', { n: 1 }, { id: 'c1', deltas: 1 }),
    call('look', { n: 2 }, { id: 'c2', deltas: 1 }),
    call('look', { n: 3 }, { id: 'c3', deltas: 1 }),
    wait(100),
    say('So.'),
  )
  const { log, events, result } = await ran([script, done], { middleware: [editor] })
  expect(log).toEqual(['0 look 1', '0 look 2', '0 look 3', '100 look 22', '100 look 9'])
  expect(toolOutline(events)).toEqual([
    'tool-start c1 provisional',
    'tool-start c2 provisional',
    'tool-start c3 provisional',
    'tool-discarded c2 arguments_changed',
    'tool-discarded c1 call_withdrawn',
    'tool-start c2',
    'tool-committed c3',
    'tool-end c3',
    'tool-start c9',
    'tool-end c2',
    'tool-end c9',
  ])
  expect(results(result?.messages).map(({ callId, output }) => [callId, output])).toEqual([
    ['c2', 'look 22'],
    ['c3', 'look 3'],
    ['c9', 'look 9'],
  ])
})

test('a started call is not started again after an error in a hook (H26)', async () => {
  const clumsy: Middleware = {
    name: 'clumsy',
    afterModel() {
      throw new Error('tripped')
    },
  }
  const script = respond(call('put', { n: 1, ms: 500 }, { id: 'c1', deltas: 1 }), wait(100), say('So.'))
  const { log, error, events } = await ran([script], { middleware: [clumsy] })
  expect(log).toEqual(['0 put 1', '100 put 1 aborted'])
  expect(error).toMatchObject({ name: 'MiddlewareError', middleware: 'clumsy', hook: 'afterModel' })
  expect(toolOutline(events)).toEqual([
    'tool-start c1 provisional',
    expect.stringMatching('^tool-discarded c1 '),
    'tool-end c1 error',
  ])
})
