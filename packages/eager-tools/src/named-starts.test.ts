import { collect } from '@meanwhile/assemble/testing'
import {
  createAgent,
  type Message,
  type Middleware,
  ModelError,
  memoryStore,
  type NeedsContext,
  type Tool,
  tool,
} from '@meanwhile/core'
import { played } from '@meanwhile/tests/clock'
import { unhandledRejections } from '@meanwhile/tests/rejections'
import { propertyRuns } from '@meanwhile/tests/size'
import fc from 'fast-check'
import { beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { accounts } from '../test/accounts.ts'
import { outline, toolOutline } from '../test/outline.ts'
import { retrying } from '../test/retrying.ts'
import { type Moment, sayDone, tellingModel } from '../test/telling-model.ts'
import { after, workshop } from '../test/workshop.ts'
import { eagerTools, type Policy } from './index.ts'

// Tools that need no member of their input: they start when their name is known.

const unhandled = unhandledRejections()

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

const question = z.object({ q: z.string(), top: z.number() })

interface Work {
  /** How long it works before it awaits its input. */
  readonly ms?: number
  /** Whether it awaits its input at all. */
  readonly awaits?: boolean
  /** How long it works with its input. */
  readonly msAfter?: number
}

/**
 * A tool that opens an index, then searches it, and records what it does and when. The times in `log` are relative to
 * now.
 */
function archive({ ms = 0, awaits = true, msAfter = 0 }: Work = {}, more: Partial<Tool> = {}) {
  const begin = performance.now()
  const log: string[] = []
  const contexts: NeedsContext<z.infer<typeof question>>[] = []
  const note = (line: string) => log.push(`${Math.round(performance.now() - begin)} ${line}`)
  const search = tool({
    name: 'search',
    description: 'Searches.',
    input: question,
    effect: 'read',
    needs: [],
    async execute(needed, context) {
      contexts.push(context)
      note(`open ${JSON.stringify(needed)}`)
      try {
        if (ms > 0) await after(ms, context.signal)
        if (!awaits) return 'opened'
        const { q, top } = await context.rest
        note(`search ${q} ${top}`)
        if (msAfter > 0) await after(msAfter, context.signal)
        return `${top} of ${q}`
      } catch (error) {
        note(`closed: ${(error as Error).message}`)
        throw error
      }
    },
  })
  return { log, contexts, search: { ...search, ...more } as Tool }
}

const DELTAS = ['{"q":"owls', '","top"', ':3}']

/**
 * A call of `search`: its name at once, a piece of its arguments every 100 ms, sealed with the last; the response ends
 * 100 ms later.
 */
function searching(deltas: readonly string[] = DELTAS, { id = 'c1', final }: { id?: string; final?: string } = {}) {
  const end = deltas.length * 100
  const moments: Moment[] = [
    [0, (to) => to.call(0, { id, name: 'search' })],
    ...deltas.map((delta, index): Moment => [(index + 1) * 100, (to) => to.call(0, { delta })]),
    [end, (to) => to.seal(0, final)],
    [end + 100, (to) => to.finish('tool-calls')],
  ]
  return moments
}

interface Options extends Work {
  readonly responses?: readonly (readonly Moment[])[]
  readonly middleware?: readonly Middleware[]
  readonly tools?: readonly Tool[]
  readonly more?: Partial<Tool>
  readonly eager?: boolean
  readonly policy?: Policy
  readonly toolConcurrency?: number
  readonly maxSteps?: number
}

/** A run in which the model calls `search`, and its result. */
async function ran(options: Options = {}) {
  const { responses = [searching()], middleware = [], tools = [], eager = true, policy, more, ...rest } = options
  const { ms, awaits, msAfter, ...limits } = rest
  const work = { ...(ms !== undefined && { ms }), ...(awaits !== undefined && { awaits }) }
  const { log, contexts, search } = archive({ ...work, ...(msAfter !== undefined && { msAfter }) }, more)
  const begin = performance.now()
  const agent = createAgent({
    ...limits,
    model: tellingModel([...responses, sayDone]),
    tools: [search, ...tools],
    middleware: [...middleware, ...(eager ? [eagerTools(policy ? { policy } : {})] : [])],
  })
  const running = collect(agent.stream('Go')).then((all) => ({ ...all, took: performance.now() - begin }))
  const { events, result, error, took } = await played(running)
  return {
    events,
    result,
    error,
    log,
    contexts,
    took,
    lines: toolOutline(events),
    results: resultsOf(result?.messages),
  }
}

const resultsOf = (messages: readonly Message[] = []) =>
  messages.flatMap((message) =>
    message.role === 'tool' ? [[message.callId, ...message.content.map((part) => 'text' in part && part.text)]] : [],
  )

const told = ({ events }: Pick<Awaited<ReturnType<typeof ran>>, 'events'>) => {
  const { calls, others } = accounts(events)
  return { calls, others }
}

test('a tool that needs no member starts when its name is known, and awaits its input (Q5)', async () => {
  const { log, results, events } = await ran({ ms: 50 })
  expect(log).toEqual(['0 open {}', '300 search owls 3'])
  expect(results).toEqual([['c1', '3 of owls']])
  const waiting = await ran({ ms: 50, eager: false })
  expect(waiting.log).toEqual(['400 open {}', '450 search owls 3'])
  expect(told({ events })).toEqual(told(waiting))
})

test('the reader gets its start event when its input is complete (Q5, H16)', async () => {
  const { events, lines } = await ran()
  expect(outline(events).slice(3, 9)).toEqual([
    'tool-input-start c1',
    'tool-input-ready c1',
    'tool-input-delta c1',
    'tool-input-delta c1',
    'tool-input-delta c1',
    'tool-input-closed c1',
  ])
  expect(lines).toEqual(['tool-start c1 provisional', 'tool-committed c1', 'tool-end c1'])
  const start = events.find(({ type }) => type === 'tool-start')
  expect(start).toMatchObject({ call: { input: { q: 'owls', top: 3 } } })
})

test('a name that may become longer starts nothing until it is certain; then the tool with the final name starts at once (Q5, P2)', async () => {
  const growing: Moment[] = [
    [0, (to) => to.call(0, { id: 'c1', name: 'sea', nameMayGrow: true })],
    [100, (to) => to.call(0, { name: 'search', nameMayGrow: true })],
    [200, (to) => to.call(0, { name: 'search', delta: '{"q":"owls"' })],
    [300, (to) => to.call(0, { delta: ',"top":3}' })],
    [400, (to) => to.finish('tool-calls')],
  ]
  expect((await ran({ responses: [growing] })).log).toEqual(['200 open {}', '300 search owls 3'])
})

test('it has the result of warm, and one call warms up once (Q5, H33)', async () => {
  const warmed: unknown[] = []
  const warm = async () => {
    warmed.push('warm')
    await after(120)
    return 'index'
  }
  const { contexts, log } = await ran({ more: { warm } })
  expect(log).toEqual(['0 open {}', '300 search owls 3'])
  expect(warmed).toEqual(['warm'])
  expect(await contexts[0]?.warmed).toBe('index')
})

test.each([
  ['fails the schema', ['{"q":"owls"', ',"top":"many"}']],
  ['lacks a member', ['{"q":"owls"', '}']],
  ['is no JSON', ['{"q":"owls"', ',top']],
])(
  'a whole input that %s discards the early start, and the call gets its ordinary error result (Q5, H32)',
  async (_, deltas) => {
    for (const ms of [0, 1_000]) {
      const eager = await ran({ responses: [searching(deltas)], ms })
      expect(eager.log).toEqual([
        '0 open {}',
        expect.stringMatching(/^(200|300) closed: call c1 was discarded: arguments_changed$/),
      ])
      expect(eager.lines.slice(0, 2)).toEqual(['tool-start c1 provisional', 'tool-discarded c1 arguments_changed'])
      expect(eager.lines.at(-1)).toBe('tool-end c1 error')
      expect(told(eager)).toEqual(told(await ran({ responses: [searching(deltas)], ms, eager: false })))
    }
  },
)

test('a schema checks only the whole input, so none prevents the start (Q5)', async () => {
  const asked: unknown[] = []
  const vague: typeof question = Object.create(question, {
    '~standard': {
      value: {
        ...question['~standard'],
        validate(value: object) {
          asked.push(value)
          return 'q' in value ? { value } : { issues: [{ message: 'something is missing' }] }
        },
      },
    },
  })
  expect((await ran({ more: { input: vague } })).log).toEqual(['0 open {}', '300 search owls 3'])
  expect(asked).toEqual([{ q: 'owls', top: 3 }])
})

test('a result that was there before the input counts only if the input is valid (Q5, H32)', async () => {
  expect((await ran({ awaits: false })).results).toEqual([['c1', 'opened']])
  const wrong = await ran({ awaits: false, responses: [searching(['{"q":1,', '"top":2}'])] })
  expect(wrong.results).toEqual([['c1', expect.stringContaining('invalid input for search: q')]])
})

test('arguments that change after they had closed do not affect what it has started with (Q5, H8, H35)', async () => {
  const { log, results, result } = await ran({
    responses: [searching(['{"q":"owls","top":3}', ' '], { final: '{"q":"bats","top":4}' })],
  })
  expect(log.slice(0, 2)).toEqual(['0 open {}', '100 search owls 3'])
  expect(results).toEqual([['c1', '4 of bats']])
  expect(result?.warnings.map(({ code }) => code)).toEqual([])
})

test('if a response breaks off, or ends before the call is complete, its input rejects and the call is discarded (Q5, H18, H21, H32)', async () => {
  const short = searching(DELTAS.slice(0, 2)).slice(0, -2)
  const cut = await ran({ responses: [short] })
  expect(cut.error).toMatchObject({ name: 'ModelError' })
  expect(cut.log).toEqual(['0 open {}', '200 closed: call c1 was discarded: stream_truncated'])
  const failing: Moment[] = [
    ...short,
    [
      250,
      () => {
        throw new Error('gone')
      },
    ],
  ]
  const failed = await ran({ responses: [failing] })
  expect(failed.log).toEqual(['0 open {}', '250 closed: call c1 was discarded: stream_error'])
  expect(failed.lines).toEqual(['tool-start c1 provisional', 'tool-discarded c1 stream_error'])
  const length = await ran({ responses: [[...short, [300, (to) => to.finish('length')]]] })
  expect(length.lines).toEqual(['tool-start c1 provisional', 'tool-discarded c1 stream_truncated', 'tool-end c1 error'])
})

test('a failed attempt keeps no call with incomplete input, and a call that may be a kept one waits for its input to join it (Q5, H22, H32)', async () => {
  const middleware = [retrying()]
  const broken = await ran({ responses: [searching().slice(0, -3), searching(DELTAS, { id: 'd1' })], middleware })
  expect(broken.log).toEqual([
    '0 open {}',
    '200 closed: call c1 was discarded: stream_truncated',
    '200 open {}',
    '500 search owls 3',
  ])
  expect(broken.results).toEqual([['d1', '3 of owls']])
  const whole = searching().slice(0, -1)
  const again = await ran({ responses: [whole, searching(DELTAS, { id: 'd1' })], middleware, ms: 2_000 })
  expect(again.log).toEqual(['0 open {}', '2000 search owls 3'])
  expect(again.lines).toContain('tool-committed d1 started as c1')
  const others = searching(['{"q":"bats"', ',"top":4}'], { id: 'd1' })
  const other = await ran({ responses: [whole, others], middleware, ms: 2_000 })
  expect(other.log).toEqual([
    '0 open {}',
    '500 open {}',
    expect.stringMatching(/^600 closed: call c1 was discarded: call_withdrawn$/),
    '2500 search bats 4',
  ])
  expect(other.results).toEqual([['d1', '4 of bats']])
})

test('two calls of one response each start with their name, and each gets its own input (Q5, H11)', async () => {
  const twice: Moment[] = [
    [0, (to) => to.call(0, { id: 'c1', name: 'search' })],
    [50, (to) => to.call(1, { id: 'c2', name: 'search' })],
    [100, (to) => to.call(1, { delta: '{"q":"bats","top":4}' })],
    [200, (to) => to.call(0, { delta: '{"q":"owls","top":3}' })],
    [300, (to) => to.finish('tool-calls')],
  ]
  const { log, results } = await ran({ responses: [twice] })
  expect(log).toEqual(['0 open {}', '50 open {}', '100 search bats 4', '200 search owls 3'])
  expect(results).toEqual([
    ['c1', '3 of owls'],
    ['c2', '4 of bats'],
  ])
})

test('with one slot it keeps its place, and nothing waits forever (Q5, A22)', async () => {
  const look = workshop().make('look', 'read')
  const two: Moment[] = [
    ...searching().slice(0, -1),
    [350, (to) => to.call(1, { id: 'c2', name: 'search' })],
    [350, (to) => to.call(2, { id: 'c3', name: 'look', delta: '{"n":1}' })],
    [450, (to) => to.call(1, { delta: '{"q":"bats","top":4}' })],
    [500, (to) => to.finish('tool-calls')],
  ]
  const { log, results } = await ran({ responses: [two], toolConcurrency: 1, ms: 400, tools: [look] })
  expect(log).toEqual(['0 open {}', '400 search owls 3', '400 open {}', '800 search bats 4'])
  expect(results.map(([id]) => id)).toEqual(['c1', 'c2', 'c3'])
  const one = await ran({ responses: [two], more: { concurrency: 1 }, ms: 400, tools: [look] })
  expect(one.log).toEqual(log)
})

test('it does not start before an earlier call that may change something has finished, nor in the last step (Q5, H5, H14)', async () => {
  const { tools } = workshop()
  const behind: Moment[] = [[0, (to) => to.call(1, { id: 'w', name: 'send', delta: '{"n":1}' })], ...searching()]
  expect((await ran({ responses: [behind], tools })).log).toEqual(['400 open {}', '400 search owls 3'])
  expect((await ran({ maxSteps: 1 })).log).toEqual([])
})

test('a tool with the effect calls starts with its name, too, and its calls no earlier than their own effects allow (Q5, Q1)', async () => {
  const made = async (eager: boolean, moments: readonly Moment[]) => {
    const { log, tools, make } = workshop()
    const calling = async (_: unknown, { run, rest, callId }: NeedsContext<z.infer<typeof question>>) => {
      const callOf = (name: string, n: number) =>
        run?.callTool({ type: 'tool-call', id: `${callId}/${name}`, name, input: { n } })
      await callOf('look', 1)
      await callOf('put', (await rest).top)
    }
    const plan = make('search', 'calls', { input: question, needs: [], execute: calling } as object)
    const middleware = eager ? [eagerTools()] : []
    const agent = createAgent({ model: tellingModel([moments, sayDone]), tools: [plan, ...tools], middleware })
    const { events } = await played(collect(agent.stream('Go')))
    return { log, told: told({ events }) }
  }
  const eager = await made(true, searching())
  const waiting = await made(false, searching())
  expect(eager.log).toEqual(['0 look 1', '400 put 3'])
  expect(waiting.log).toEqual(['400 look 1', '400 put 3'])
  expect(eager.told).toEqual(waiting.told)
  // A discarded call has only read.
  expect((await made(true, searching(['{"q":"owls"', ',"top":"many"}']))).log).toEqual(['0 look 1'])
})

test.each<[string, Partial<Tool>, string]>([
  ['names resource keys', { reads: ({ q }: { q: string }) => [q] } as Partial<Tool>, '300 open {}'],
  ['works in the background', { background: true }, '400 open {}'],
])(
  'a tool that %s does not start with its name, and gets its input in the same way (Q5, H14)',
  async (_, more, first) => {
    expect((await ran({ more })).log).toEqual([first, first.replace('open {}', 'search owls 3')])
  },
)

test('the policy decides about the name only, and about the whole input before the tool gets it (Q5, H3)', async () => {
  const asked: unknown[] = []
  const policy: Policy = ({ input }, { evidence }) => void asked.push([evidence, input])
  expect((await ran({ policy })).log).toEqual(['0 open {}', '300 search owls 3'])
  expect(asked).toEqual([
    ['prefix', {}],
    ['closed', { q: 'owls', top: 3 }],
  ])
  const waits: Policy = (_, { evidence }) => (evidence === 'prefix' ? 'wait' : undefined)
  expect((await ran({ policy: waits })).log).toEqual(['300 open {}', '300 search owls 3'])
})

test('it is entered by its id, and gets its key when its input is complete (Q5, H25)', async () => {
  const keys: string[] = []
  const execute = async (_: unknown, context: NeedsContext<unknown>) => {
    keys.push(context.idempotencyKey)
    await context.rest
    keys.push(context.idempotencyKey)
  }
  const more = { execute: execute as Tool['execute'] } as Partial<Tool>
  const { events } = await ran({ more, eager: false })
  const ofRun = keys.splice(0).map((key) => key.replace(events[0]?.runId ?? '', ''))
  const eager = await ran({ more })
  expect(keys.map((key) => key.replace(eager.events[0]?.runId ?? '', ''))).toEqual(['/c1', ofRun[1]])
})

test('no checkpoint contains a call with incomplete input: a resume makes it again (Q5, H27)', async () => {
  const { log, search } = archive()
  const store = memoryStore()
  const agent = createAgent({
    model: tellingModel([searching(DELTAS, { id: 'first' }), searching(DELTAS, { id: 'second' }), sayDone]),
    tools: [search],
    middleware: [eagerTools()],
    checkpoints: store,
  })
  const run = agent.stream('Go')
  await vi.advanceTimersByTimeAsync(150)
  void run.cancel({ at: 'now' })
  const { checkpoint } = await played(run.result)
  if (!checkpoint) throw new Error('no checkpoint')
  expect(log).toEqual(['0 open {}', expect.stringMatching(/^150 closed/)])
  expect(JSON.stringify(checkpoint)).not.toContain('first')
  const resumed = await played(agent.resume(checkpoint).result)
  expect(resultsOf(resumed.messages)).toEqual([['second', '3 of owls']])
})

/** Arguments as models may write them: complete, wrong, or cut, in any pieces. */
const written = fc
  .record({
    text: fc.constantFrom(
      '{"q":"a","top":1}',
      '{"top":1,"q":"a"}',
      '{"q":"b","top":2}',
      '{"q":"a","q":"b","top":1}',
      '{"q":1,"top":1}',
      '{"q":"a"}',
      '{}',
      '{"q":"a","top":1} junk',
      '{"q":',
    ),
    cuts: fc.array(fc.nat({ max: 25 }), { maxLength: 4 }),
    final: fc.constantFrom(undefined, undefined, '{"q":"a","top":1}', '{"q":"c","top":3}'),
  })
  .map(({ text, cuts, final }) => {
    const places = [...new Set(cuts.filter((cut) => cut < text.length))].sort((a, b) => a - b)
    const deltas = [0, ...places].map((from, index) => text.slice(from, places[index])).filter((delta) => delta !== '')
    return { deltas, final }
  })

const response = fc
  .record({
    calls: fc.array(written, { minLength: 1, maxLength: 3 }),
    share: fc.constantFrom(1, 1, 0.5),
    end: fc.constantFrom('tool-calls', 'tool-calls', 'tool-calls', 'length', 'fails', 'cut'),
  })
  .map(({ calls, share, end }) => (prefix: string): Moment[] => {
    const tells = calls.flatMap(({ deltas, final }, label): Moment[1][] => [
      (to) => to.call(label, { id: `${prefix}${label}`, name: 'search' }),
      ...deltas.map(
        (delta): Moment[1] =>
          (to) =>
            to.call(label, { delta }),
      ),
      (to) => to.seal(label, final),
    ])
    const said = tells.slice(0, Math.ceil(tells.length * (end === 'tool-calls' ? 1 : share)))
    const last: Moment[1] = (to) => {
      if (end === 'fails') throw new ModelError('gone', { code: 'gone', retryable: true })
      if (end !== 'cut') to.finish(end)
    }
    return [...said, last].map((tell, index) => [index * 10, tell])
  })

test('whatever a model writes, and however it fails, starting with the name gives the same history and the same events (Q5, H16)', async () => {
  const starts = ({ log }: { readonly log: readonly string[] }) => log.filter((line) => line.includes('open')).length
  await fc.assert(
    fc.asyncProperty(
      fc.array(response, { minLength: 1, maxLength: 3 }),
      fc.record({ ms: fc.constantFrom(0, 25), awaits: fc.boolean(), msAfter: fc.constantFrom(0, 15) }),
      fc.constantFrom(1, 2, Number.POSITIVE_INFINITY),
      fc.boolean(),
      async (made, work, toolConcurrency, retries) => {
        const responses = made.map((response, index) => response(`r${index}c`))
        const options = { ...work, responses, toolConcurrency, middleware: retries ? [retrying()] : [] }
        const eager = await ran(options)
        const waiting = await ran({ ...options, eager: false })
        expect(told(eager)).toEqual(told(waiting))
        expect(eager.result?.messages).toEqual(waiting.result?.messages)
        expect(eager.error).toEqual(waiting.error)
        const discarded = eager.events.filter(({ type }) => type === 'tool-discarded').length
        expect(starts(eager) - starts(waiting)).toBeLessThanOrEqual(discarded)
        expect(unhandled).toEqual([])
      },
    ),
    propertyRuns({ small: 7, middle: 10, whole: 20_000 }),
  )
}, 120_000)

test('the predicted saving is the extra time of the same run without eagerTools, however long a tool works before it awaits its input (Q7, H34)', async () => {
  const works = fc.record({
    ms: fc.nat({ max: 500 }),
    awaits: fc.boolean(),
    msAfter: fc.nat({ max: 300 }),
  })
  await fc.assert(
    fc.asyncProperty(works, fc.constantFrom(1, Number.POSITIVE_INFINITY), async (work, toolConcurrency) => {
      const two: Moment[] = [
        ...searching().slice(0, -1),
        [320, (to) => to.call(1, { id: 'c2', name: 'search' })],
        [370, (to) => to.call(1, { delta: '{"q":"bats","top":4}' })],
        [600, (to) => to.finish('tool-calls')],
      ]
      const eager = await ran({ ...work, toolConcurrency, responses: [two] })
      const waiting = await ran({ ...work, toolConcurrency, responses: [two], eager: false })
      expect(eager.result?.savings?.savedMs).toBeCloseTo(waiting.took - eager.took, 2)
    }),
    propertyRuns({ small: 7, middle: 10, whole: 5_000 }),
  )
})

test.each<[string, Work, object]>([
  ['awaits it at once', {}, { durationMs: 300, waitedMs: 300 }],
  ['works for a part of that time', { ms: 100 }, { durationMs: 300, waitedMs: 200 }],
  ['works longer than its input takes', { ms: 350 }, { durationMs: 350 }],
  ['never awaits it', { ms: 350, awaits: false }, { durationMs: 350 }],
  ['also works after it', { ms: 100, msAfter: 60 }, { durationMs: 360, waitedMs: 200 }],
])('for a tool that %s, the savings count its time before awaiting the input as work (Q7)', async (...row) => {
  const [, work, times] = row
  const [step] = (await ran(work)).result?.savings?.steps ?? []
  const { durationMs, waitedMs = 0 } = { waitedMs: 0, ...times } as { durationMs: number; waitedMs?: number }
  const certainMs = 300
  const call = { callId: 'c1', tool: 'search', certainMs, startedMs: 0, evidence: 'prefix', outcome: 'committed' }
  expect(step?.calls).toEqual([{ ...call, ...times }])
  const worked = durationMs - waitedMs
  expect(step).toMatchObject({ parallelMs: 400 + worked, savedMs: 400 + worked - Math.max(400, durationMs) })
})

test('the time a discarded call waited for its input is not wasted, and does not count against its tool’s budget (Q7, H34, H36)', async () => {
  const long = ['{"q":"owls"', ...Array.from({ length: 30 }, () => ' '), ',"top":"many"}']
  const wasteful = await ran({ ms: 500, responses: [searching(long)] })
  expect(wasteful.result?.savings).toMatchObject({
    wastedMs: 500,
    steps: [{ calls: [{ outcome: 'failed' }, { outcome: 'discarded', durationMs: 3_200, waitedMs: 2_700 }] }, {}],
  })
  const budget = eagerTools({ budget: { toleranceMs: 1_000 } })
  const responses = [searching(long), searching()]
  const starts = async (ms: number) => {
    const { log } = await ran({ ms, responses, eager: false, middleware: [budget] })
    return log.filter((line) => line.includes('open')).map((line) => Number.parseInt(line, 10))
  }
  expect(await starts(500)).toEqual([0, 3_300])
  expect(await starts(2_000)).toEqual([0, 3_700])
})
