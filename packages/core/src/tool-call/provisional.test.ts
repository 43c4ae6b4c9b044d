import { call, collect, cut, end, fail, respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { propertyRuns } from '@meanwhile/tests/size'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { askAgain } from '../../test/again.ts'
import { sleep } from '../../test/clock.ts'
import { early, startingEarly, withdrawing } from '../../test/early-calls.ts'
import { AgentError, type AgentEvent, type AgentEventBody, createAgent, type Middleware, tool } from '../index.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

/** Reports twice in the given number of milliseconds, once with each kind of event. */
const look = tool({
  name: 'look',
  description: 'Looks for some time',
  effect: 'read',
  input: z.object({ ms: z.number() }),
  async *execute({ ms }, { run }) {
    run?.emit({ name: 'looking', data: ms })
    await sleep(ms)
    yield { message: 'seen' }
    return ms
  },
})

const atClosed = startingEarly({ at: 'tool-input-closed' })

async function eventsOf(options: Parameters<typeof createAgent>[0]): Promise<readonly AgentEvent[]> {
  const reading = collect(createAgent(options).stream('go'))
  await vi.runAllTimersAsync()
  return (await reading).events
}

/** What the reader sees of calls, in short: the event, the call's id, and what is special about it. */
function ofCalls(events: readonly AgentEvent[]): string[] {
  return events.flatMap((event) => {
    const words = inShort(event)
    return words.length > 0 ? [words.filter((word) => word !== undefined).join(' ')] : []
  })
}

function inShort(event: AgentEventBody): (string | false | undefined)[] {
  switch (event.type) {
    case 'tool-input-closed':
    case 'tool-call':
      return [event.type, event.call.id]
    case 'tool-start':
    case 'tool-progress':
    case 'custom':
      return [event.type, event.callId, event.provisional && 'provisional']
    case 'tool-committed':
      return [event.type, event.callId, event.startedAs && `started as ${event.startedAs}`]
    case 'tool-discarded':
      return [event.type, event.callId, event.cause]
    case 'tool-end':
      return [event.type, event.callId]
    case 'text-delta':
    case 'step-end':
    case 'attempt-failed':
      return [event.type]
    default:
      return []
  }
}

test('events of a call before its model call succeeds are provisional, and are then committed (B8)', async () => {
  const model = scriptedModel([
    respond(call('look', { ms: 30 }), wait(20), say('and', { deltas: 1 })),
    respond(say('Done', { deltas: 1 })),
  ])
  expect(ofCalls(await eventsOf({ model, tools: [look], middleware: [atClosed] }))).toEqual([
    'tool-input-closed call_1_1',
    'tool-start call_1_1 provisional',
    'custom call_1_1 provisional',
    'tool-call call_1_1',
    'text-delta',
    'tool-committed call_1_1',
    'tool-progress call_1_1',
    'tool-end call_1_1',
    'step-end',
    'text-delta',
    'step-end',
  ])
})

test('the tool-end of a call that settled early waits for the commit, and for nothing else (B7, B8)', async () => {
  const model = scriptedModel([
    respond(call('look', { ms: 10 }), call('look', { ms: 100 }), wait(50), say('and', { deltas: 1 })),
    respond(say('Done', { deltas: 1 })),
  ])
  expect(ofCalls(await eventsOf({ model, tools: [look], middleware: [atClosed] })).slice(6)).toEqual([
    'custom call_1_2 provisional',
    'tool-call call_1_2',
    'tool-progress call_1_1 provisional',
    'text-delta',
    'tool-committed call_1_1',
    'tool-end call_1_1',
    'tool-committed call_1_2',
    'tool-progress call_1_2',
    'tool-end call_1_2',
    'step-end',
    'text-delta',
    'step-end',
  ])
})

test('a call that the response does not request is discarded: nothing else follows (B8)', async () => {
  const model = scriptedModel([respond(say('Hm', { deltas: 1 }), call('look', { ms: 30 }))])
  const events = await eventsOf({ model, tools: [look], middleware: [atClosed, withdrawing('look')] })
  expect(ofCalls(events)).toEqual([
    'text-delta',
    'tool-input-closed call_1_1',
    'tool-start call_1_1 provisional',
    'custom call_1_1 provisional',
    'tool-call call_1_1',
    'tool-discarded call_1_1 call_withdrawn',
    'step-end',
  ])
})

/** Makes side calls according to its input, and logs their outcomes. */
function caller(act: (look: (ms: number) => Promise<void>) => Promise<void>, log: unknown[]) {
  return tool({
    name: 'caller',
    description: 'Calls',
    effect: 'read',
    input: z.object({ what: z.string() }),
    execute: (_, { run }) =>
      act(async (ms) => {
        const side = { type: 'tool-call', id: 'side', name: 'look', input: { ms } } as const
        await run?.callTool(side).then(
          ({ output }) => log.push(output),
          (error: Error) => log.push(error.name),
        )
      }),
  })
}

test.each([
  ['early', [atClosed]],
  ['not eager', []],
])(
  'an inner call with an id that its maker has used for another input is refused, and the first is kept: %s (A23, H16)',
  async (_, middleware) => {
    const log: unknown[] = []
    const twice = caller(async (look) => {
      await Promise.all([look(10), look(20)])
    }, log)
    const model = scriptedModel([respond(call('caller', { what: 'side' }), wait(50), say('and')), respond(say('Done'))])
    await eventsOf({ model, tools: [look, twice], middleware })
    expect(log).toEqual(['ToolDiscardedError', 10])
  },
)

test('an inner call that a discarded call makes after it has settled is refused (K13)', async () => {
  const log: unknown[] = []
  const leaves = caller(async (look) => {
    setTimeout(() => void look(10), 100)
  }, log)
  const model = scriptedModel([
    respond(call('caller', { what: 'side' }), wait(20), cut()),
    respond(wait(50), call('look', { ms: 200 })),
    respond(say('Done')),
  ])
  const events = await eventsOf({ model, tools: [look, leaves], middleware: [atClosed, askAgain] })
  expect(log).toEqual(['ToolDiscardedError'])
  expect(ofCalls(events).filter((word) => word.includes('side'))).toEqual([])
})

test('a call of a response that must not be used is discarded before its tool-end (B6, B7, B8)', async () => {
  const model = scriptedModel([respond(call('look', { ms: 30 }), wait(10), end({ finishReason: 'content-filter' }))])
  expect(ofCalls(await eventsOf({ model, tools: [look], middleware: [atClosed] }))).toEqual([
    'tool-input-closed call_1_1',
    'tool-start call_1_1 provisional',
    'custom call_1_1 provisional',
    'tool-call call_1_1',
    'tool-discarded call_1_1 stream_truncated',
    'tool-end call_1_1',
    'step-end',
  ])
})

test('a call of a stream that fails for good is discarded (B8)', async () => {
  const model = scriptedModel([respond(call('look', { ms: 30 }), wait(10), fail())])
  expect(ofCalls(await eventsOf({ model, tools: [look], middleware: [atClosed] }))).toEqual([
    'tool-input-closed call_1_1',
    'tool-start call_1_1 provisional',
    'custom call_1_1 provisional',
    'tool-call call_1_1',
    'attempt-failed',
    'tool-discarded call_1_1 stream_error',
  ])
})

test('a call of an aborted run is discarded (B8)', async () => {
  const model = scriptedModel([respond(call('look', { ms: 30 }), wait(1_000))])
  const agent = createAgent({ model, tools: [look], middleware: [atClosed] })
  const controller = new AbortController()
  const reading = collect(agent.stream('go', { signal: controller.signal }))
  await vi.advanceTimersByTimeAsync(10)
  controller.abort()
  await vi.runAllTimersAsync()
  expect(ofCalls((await reading).events)).toEqual([
    'tool-input-closed call_1_1',
    'tool-start call_1_1 provisional',
    'custom call_1_1 provisional',
    'tool-call call_1_1',
    'tool-discarded call_1_1 run_aborted',
    'attempt-failed',
  ])
})

test.each([
  ['outside', [atClosed, askAgain]],
  ['inside', [askAgain, atClosed]],
])('started %s of a retry, the call is committed with its id in the accepted attempt (B8)', async (_, middleware) => {
  const model = scriptedModel([
    respond(call('look', { ms: 30 }, { id: 'a' }), wait(10), fail()),
    respond(call('look', { ms: 30 }, { id: 'b' }), wait(10)),
    respond(say('Done', { deltas: 1 })),
  ])
  expect(ofCalls(await eventsOf({ model, tools: [look], middleware }))).toEqual([
    'tool-input-closed a',
    'tool-start a provisional',
    'custom a provisional',
    'tool-call a',
    'attempt-failed',
    'tool-input-closed b',
    'tool-call b',
    'tool-committed b started as a',
    'tool-progress b',
    'tool-end b',
    'step-end',
    'text-delta',
    'step-end',
  ])
})

test('a call that the next attempt does not repeat is discarded when that attempt is accepted (B8)', async () => {
  const model = scriptedModel([
    respond(call('look', { ms: 5 }, { id: 'a' }), wait(10), fail()),
    respond(call('look', { ms: 7 }, { id: 'b' }), wait(10)),
    respond(say('Done', { deltas: 1 })),
  ])
  expect(ofCalls(await eventsOf({ model, tools: [look], middleware: [askAgain, atClosed] }))).toEqual([
    'tool-input-closed a',
    'tool-start a provisional',
    'custom a provisional',
    'tool-call a',
    'tool-progress a provisional',
    'attempt-failed',
    'tool-input-closed b',
    'tool-start b provisional',
    'custom b provisional',
    'tool-call b',
    'tool-progress b provisional',
    'tool-discarded a call_withdrawn',
    'tool-committed b',
    'tool-end b',
    'step-end',
    'text-delta',
    'step-end',
  ])
})

test('a number that is too large for a double differs from the null that JSON would write for it: the call is another one (H22)', async () => {
  const given: unknown[] = []
  const weigh = tool({
    name: 'weigh',
    description: 'Weighs',
    effect: 'read',
    input: z.record(z.string(), z.unknown()),
    execute: ({ grams }) => void given.push(grams),
  })
  const model = scriptedModel([
    respond(call('weigh', '{"grams":1e400}', { id: 'a' }), wait(10), fail()),
    respond(call('weigh', '{"grams":null}', { id: 'b' })),
    respond(say('Done')),
  ])
  const events = await eventsOf({ model, tools: [weigh], middleware: [askAgain, early] })
  expect(given).toEqual([Number.POSITIVE_INFINITY, null])
  expect(ofCalls(events)).toEqual(expect.arrayContaining(['tool-discarded a call_withdrawn', 'tool-end b']))
})

test('no event of a call comes before the one that announced it, even if a wrap delays that one (B7)', async () => {
  const holding: Middleware = {
    name: 'holding',
    async *wrapModel(request, next) {
      const flow = next(request)
      for (;;) {
        const step = await flow.next()
        if (step.done) return step.value
        if (step.value.type === 'tool-input-closed') await sleep(20)
        yield step.value
      }
    },
  }
  const model = scriptedModel([respond(call('look', { ms: 10 })), respond(say('Done', { deltas: 1 }))])
  expect(ofCalls(await eventsOf({ model, tools: [look], middleware: [holding, atClosed] })).slice(0, 4)).toEqual([
    'tool-input-closed call_1_1',
    'tool-start call_1_1 provisional',
    'custom call_1_1 provisional',
    'tool-progress call_1_1 provisional',
  ])
})

test.each([
  ['committed', 'stop', ['tool-start call_1_1 provisional', 'custom call_1_1 provisional', 'tool-committed call_1_1']],
  ['discarded, with only its end', 'other', ['tool-end call_1_1']],
] as const)(
  'a call whose announcement a wrap dropped appears when it is %s (B7, B8)',
  async (_, finishReason, story) => {
    const swallowing: Middleware = {
      name: 'swallowing',
      async *wrapModel(request, next) {
        const flow = next(request)
        for (;;) {
          const step = await flow.next()
          if (step.done) return step.value
          if (step.value.type === 'text-delta') yield step.value
        }
      },
    }
    const model = scriptedModel([
      respond(call('look', { ms: 50 }), wait(10), say('and', { deltas: 1 }), end({ finishReason })),
      respond(say('Done', { deltas: 1 })),
    ])
    const events = await eventsOf({ model, tools: [look], middleware: [swallowing, atClosed] })
    expect(ofCalls(events).slice(0, story.length + 1)).toEqual(['text-delta', ...story])
  },
)

test('a call that starts after its announcement was read appears when it starts, not when it is sealed (B7, B8)', async () => {
  // Like a wrap that has to look something up first.
  const later = startingEarly({ at: 'tool-input-closed', delay: 10 })
  const model = scriptedModel(
    [respond(call('look', { ms: 5 }), call('look', '{"ms":7}', { deltas: 8 })), respond(say('Done', { deltas: 1 }))],
    { pace: { firstToken: 0, betweenTokens: 20 } },
  )
  const run = createAgent({ model, tools: [look], middleware: [later] }).stream('go')
  const start = Date.now()
  const at: [number, string][] = []
  const reading = (async () => {
    for await (const event of run) for (const line of ofCalls([event])) at.push([Date.now() - start, line])
  })()
  await vi.runAllTimersAsync()
  await reading
  expect(at.filter(([, line]) => line.includes('call_1_1'))).toEqual([
    [40, 'tool-input-closed call_1_1'],
    [40, 'tool-call call_1_1'],
    [50, 'tool-start call_1_1 provisional'],
    [50, 'custom call_1_1 provisional'],
    [55, 'tool-progress call_1_1 provisional'],
    [220, 'tool-committed call_1_1'],
    [220, 'tool-end call_1_1'],
  ])
})

test('the reader sees one complete story of each call, however its run goes (B6, B7, B8)', async () => {
  const input = fc.record({ ms: fc.integer({ min: 0, max: 12 }) })
  const attempt = fc.record({
    steps: fc.array(
      fc.oneof(
        input.map((input) => call('look', input, { deltas: 1 })),
        fc.constant(call('nowhere', { here: true }, { deltas: 1 })),
        fc.integer({ min: 0, max: 9 }).map(wait),
        fc.constant(say('well', { deltas: 1 })),
      ),
      { maxLength: 5 },
    ),
    end: fc.constantFrom(
      end({}),
      end({}),
      fail(),
      cut(),
      end({ finishReason: 'length' }),
      end({ finishReason: 'other' }),
    ),
  })
  const at = fc.constantFrom('tool-input-closed', 'tool-call')
  const abortAt = fc.option(fc.integer({ min: 0, max: 40 }))
  await fc.assert(
    fc.asyncProperty(
      fc.array(attempt, { minLength: 1, maxLength: 4 }),
      fc.record({
        at,
        delay: fc.integer({ min: 0, max: 6 }),
        withdraw: fc.boolean(),
        retryInside: fc.boolean(),
        abortAt,
      }),
      async (attempts, { at, delay, withdraw, retryInside, abortAt }) => {
        const starting = startingEarly({ at, delay })
        const taking: Middleware = {
          name: 'taking',
          afterModel({ messages }) {
            const last = messages.at(-1)
            if (!withdraw || last?.role !== 'assistant') return
            return { messages: [...messages.slice(0, -1), { ...last, content: last.content.slice(1) }] }
          },
        }
        const model = scriptedModel(
          [...attempts.map(({ steps, end }) => respond(...steps, end)), respond(say('Done'))],
          { pace: { firstToken: 1, betweenTokens: 1 } },
        )
        const middleware = retryInside ? [starting, askAgain, taking] : [askAgain, starting, taking]
        const controller = new AbortController()
        const run = createAgent({ model, tools: [look], middleware }).stream('go', { signal: controller.signal })
        if (abortAt !== null) setTimeout(() => controller.abort(), abortAt)
        const reading = collect(run)
        await vi.runAllTimersAsync()
        const { events, result, error } = await reading

        for (const story of stories(events)) expect(story).toMatch(STORY)
        const messages = result?.messages ?? (error instanceof AgentError ? error.messages : undefined) ?? []
        const ends = events.flatMap((event) => (event.type === 'tool-end' ? [event.message] : []))
        const results = messages.filter((message) => message.role === 'tool')
        expect(new Set(ends)).toEqual(new Set(results))
        expect(ends).toHaveLength(results.length)
      },
    ),
    propertyRuns({ small: 12, middle: 19, whole: 10_000 }),
  )
})

/**
 * Announced by the model; then either begun early (`S`), with provisional events (`p`), and discarded (`d`) or committed (`c`), or
 * begun late (`s`); later events are not provisional (`n`); its end (`e`). A call that was not run has only its end,
 * and a discarded one has an end if it is in the history.
 */
const STORY = /^a+(Sa*(p|a)*(da*e?|ca*n*e)|sn*e|e)?$/

/** What the reader sees of each logical call, one letter per event. */
function stories(events: readonly AgentEvent[]): string[] {
  const stories = new Map<string, string>()
  const joined = new Map<string, string>()
  for (const event of events)
    if (event.type === 'tool-committed' && event.startedAs) joined.set(event.callId, event.startedAs)
  const tell = (id: string, letter: string) => {
    const first = joined.get(id) ?? id
    stories.set(first, (stories.get(first) ?? '') + letter)
  }
  for (const event of events) {
    if (event.type === 'tool-input-start') tell(event.id, 'a')
    else if (event.type === 'tool-start') tell(event.callId, event.provisional ? 'S' : 's')
    else if (event.type === 'tool-progress') tell(event.callId, event.provisional ? 'p' : 'n')
    else if (event.type === 'custom') tell(String(event.callId), event.provisional ? 'p' : 'n')
    else if (event.type === 'tool-discarded') tell(event.callId, 'd')
    else if (event.type === 'tool-committed') tell(event.callId, 'c')
    else if (event.type === 'tool-end') tell(event.callId, 'e')
  }
  return [...stories.values()]
}

test('a call that a wrap makes up without a model goes through the commit gate like any other (B8, C12)', async () => {
  const made = { type: 'tool-call', id: 'made', name: 'look', input: { ms: 1 } } as const
  const cached: Middleware = {
    name: 'cached',
    async *wrapModel(_, __, run) {
      if (run.step > 1) return { role: 'assistant', content: [{ type: 'text', text: 'Done.' }], finishReason: 'stop' }
      yield { type: 'tool-call', call: made }
      return { role: 'assistant', content: [made], finishReason: 'length' }
    },
  }
  const model = scriptedModel([])
  const collected = collect(createAgent({ model, tools: [look], middleware: [early, cached] }).stream('go'))
  await vi.runAllTimersAsync()
  const { events, result } = await collected
  const told = events.filter((event) => event.type.startsWith('tool-') && event.type !== 'tool-call')
  expect(told).toMatchObject([
    { type: 'tool-start', callId: 'made', provisional: true },
    { type: 'tool-entered', callId: 'made', provisional: true },
    { type: 'tool-discarded', callId: 'made', cause: 'stream_truncated' },
    { type: 'tool-end', callId: 'made', message: { isError: true } },
  ])
  expect(result?.text).toBe('Done.')
})
