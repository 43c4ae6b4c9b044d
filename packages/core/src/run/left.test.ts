import { call, fail, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { unhandledRejections } from '@meanwhile/tests/rejections'
import { beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { sleep } from '../../test/clock.ts'
import { startingEarly } from '../../test/early-calls.ts'
import { type AgentOptions, createAgent, interrupt, type Middleware, type Run, type Tool, tool } from '../index.ts'

// Hooks, wraps and tools that make one call after another, and continue when nothing waits for them any more.

unhandledRejections()

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

const input = z.object({})

const slow = tool({ name: 'slow', description: 's', input, effect: 'read', execute: () => sleep(5) }) as Tool
const quick = tool({ name: 'quick', description: 'q', input, effect: 'read', execute: () => 'done' }) as Tool

/** Makes calls until one is refused. Returns the error. */
async function forEver(run: Run, asked: (run: Run, n: number) => Promise<unknown> = calling): Promise<unknown> {
  for (let n = 0; ; n++) {
    try {
      await asked(run, n)
    } catch (error) {
      return error
    }
  }
}

const calling = (run: Run, n: number) => run.callTool({ type: 'tool-call', id: `side ${n}`, name: 'slow', input: {} })

const asking = (run: Run) => run.callModel({ model: answering(), messages: [{ role: 'user', content: 'Hm?' }] })

const answering = () => scriptedModel([respond(say('Hm.'))], { pace: { firstToken: 5, betweenTokens: 0 } })

async function whileWanted(run: Run): Promise<unknown> {
  for (let n = 0; !run.signal.aborted; n++) await calling(run, n)
  return 'stopped by its signal'
}

/** Each place in which a middleware does something, and waits for it. */
const places: Readonly<Record<string, (act: (run: Run) => Promise<unknown>) => Omit<Middleware, 'name'>>> = {
  beforeModel: (act) => ({ beforeModel: async (_, run) => void (await act(run)) }),
  afterModel: (act) => ({ afterModel: async (_, run) => void (await act(run)) }),
  beforeFinalAnswer: (act) => ({ beforeFinalAnswer: async (_, run) => void (await act(run)) }),
  wrapModel: (act) => ({
    async *wrapModel(request, next, run) {
      await act(run)
      return yield* next(request)
    },
  }),
  wrapToolCall: (act) => ({
    async *wrapToolCall(one, next, run) {
      if (one.name === 'quick') await act(run)
      return yield* next(one)
    },
  }),
  wrapAgent: (act) => ({
    async *wrapAgent(setup, next, run) {
      await act(run)
      return yield* next(setup)
    },
  }),
}

const late = () => sleep(100).then(() => Promise.reject(new Error('late')))

/** Leaves what is inside it after 100 ms. */
const impatient: Middleware = {
  name: 'impatient',
  async *wrapAgent(setup, next) {
    const flow = next(setup)
    const limit = late()
    for (;;) {
      const step = await Promise.race([flow.next(), limit])
      if (step.done) return step.value
      yield step.value
    }
  },
}

const twoSteps = () => scriptedModel([respond(call('quick', {}, { id: 'quick' })), respond(say('Done'))])

function start(options: Partial<AgentOptions>) {
  const begin = performance.now()
  const run = createAgent({ model: twoSteps(), tools: [quick, slow], grace: 50, ...options }).stream('Go')
  const outcome = run.result.then(
    ({ status }) => status,
    (error: Error) => error.message,
  )
  return outcome.then((outcome) => ({ outcome, after: performance.now() - begin }))
}

async function ended<Result>(result: Promise<Result>): Promise<Result | 'it hangs'> {
  const all = Promise.race([result, sleep(2_000).then(() => 'it hangs' as const)])
  await vi.advanceTimersByTimeAsync(2_000)
  return all
}

const inTime = { outcome: 'middleware impatient, wrapAgent: threw late', after: 100 }

test.each(Object.keys(places))('%s makes calls until a wrap leaves it, and not one more (P9, C15)', async (hook) => {
  const inside = (act: (run: Run) => Promise<unknown>) => ({ name: 'inside', ...places[hook]?.(act) })
  let why: unknown
  const act = async (run: Run) => {
    why = await forEver(run)
  }
  expect(await ended(start({ middleware: [impatient, inside(act)] }))).toEqual(inTime)
  const refused = {
    name: 'MiddlewareError',
    message: `middleware inside, ${hook}: callTool was called after an outer wrap had ended it`,
    cause: { message: hook === 'wrapAgent' ? 'late' : 'the wrap that started this has ended' },
  }
  // A call that is aborted throws its signal's reason.
  expect(why).toMatchObject(hook === 'wrapToolCall' ? refused.cause : refused)
})

test.each(Object.keys(places))('%s makes side calls until a wrap leaves it (P9, C15)', async (hook) => {
  let why: unknown
  const act = async (run: Run) => {
    why = await forEver(run, async (run) => {
      const { aborted } = run.signal
      await asking(run).catch((error: unknown) => {
        // The side call that was running then.
        if (aborted) throw error
      })
    })
  }
  const inside = { name: 'inside', ...places[hook]?.(act) }
  expect(await ended(start({ middleware: [impatient, inside] }))).toEqual(inTime)
  await vi.advanceTimersByTimeAsync(1_000)
  // A call that is aborted throws its signal's reason.
  expect((why as Error).name).toBe(hook === 'wrapToolCall' ? 'Error' : 'MiddlewareError')
})

test.each(Object.keys(places))('the signal of %s aborts when a wrap leaves it (P9, C15)', async (hook) => {
  let why: unknown
  const act = async (run: Run) => {
    why = await whileWanted(run)
  }
  const inside = { name: 'inside', ...places[hook]?.(act) }
  expect(await ended(start({ middleware: [impatient, inside] }))).toEqual(inTime)
  expect(why).toBe('stopped by its signal')
})

test.each(Object.keys(places))(
  'calls that %s continues to make and nothing awaits end with the run (P9, A23)',
  async (hook) => {
    const whys: unknown[] = []
    const act = async (run: Run) => {
      void forEver(run, (run, n) => calling(run, n + 1_000 * whys.length)).then((why) => whys.push(why))
    }
    const inside = { name: 'inside', ...places[hook]?.(act) }
    for (const [model, outcome] of [
      [twoSteps(), 'completed'],
      [
        scriptedModel([respond(call('quick', {})), respond(say('so'), fail({ status: 400 }))]),
        expect.stringContaining('400'),
      ],
    ] as const) {
      whys.length = 0
      expect(await ended(start({ model, middleware: [inside] }))).toMatchObject({ outcome })
      // The gate receives no answer of a model that fails.
      expect(whys.length > 0).toBe(outcome === 'completed' || hook !== 'beforeFinalAnswer')
      for (const why of whys) expect(why).toMatchObject({ name: 'TypeError', message: 'the run has ended' })
    }
  },
)

test('a tool that has settled makes no call for a run that pauses: that is interrupted as usual (P9, P7)', async () => {
  const busy = tool({
    name: 'quick',
    description: 'q',
    input,
    effect: 'read',
    execute: (_, { run }) => void (run && forEver(run)),
  }) as Tool
  const asks: Middleware = { name: 'asks', beforeModel: (_, run) => (run.step === 2 ? interrupt('May I?') : undefined) }
  for (const middleware of [[asks], [asks, startingEarly()]])
    expect(await ended(start({ tools: [busy, slow], middleware }))).toMatchObject({ outcome: 'interrupted' })
})

test('side calls of a wrap that was left are aborted, although its run goes on (P9, C15)', async () => {
  const stopped: number[] = []
  const begin = performance.now()
  const long = tool({
    name: 'long',
    description: 'l',
    input,
    execute: (_, { signal }) => {
      signal.addEventListener('abort', () => stopped.push(performance.now() - begin))
      return sleep(1_000)
    },
  }) as Tool
  const again: Middleware = {
    name: 'again',
    async *wrapModel(request, next) {
      const first = next(request)
      await Promise.race([first.next(), sleep(100)])
      return yield* next(request)
    },
  }
  let times = 0
  const inside: Middleware = {
    name: 'inside',
    async *wrapModel(request, next, run) {
      if (times++ === 0) await run.callTool({ type: 'tool-call', id: 'long', name: 'long', input: {} })
      return yield* next(request)
    },
  }
  const model = scriptedModel([respond(say('Done'))])
  expect(await ended(start({ model, tools: [long], middleware: [again, inside] }))).toMatchObject({
    outcome: 'completed',
  })
  expect(stopped).toEqual([100])
})

const noResult = 'the wrap returned no result; return what next(…) returned'

test.each([
  ['throws', 'polite', 'threw left', 10],
  ['throws', 'deaf', 'threw left', 60],
  ['breaks off', 'polite', noResult, 10],
  ['breaks off', 'deaf', noResult, 60],
])(
  'a wrapAgent that %s between two events stops a %s tool that is running (P9, C15)',
  async (how, kind, why, after) => {
    const stops: unknown[] = []
    const works = tool({
      name: 'quick',
      description: 'q',
      input,
      execute: (_, { signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => {
            stops.push(signal.reason)
            if (kind === 'polite') reject(signal.reason)
          })
        }),
    }) as Tool
    const leaver: Middleware = {
      name: 'leaver',
      async *wrapAgent(setup, next) {
        const flow = next(setup)
        for await (const event of flow) {
          yield event
          if (event.type !== 'tool-start') continue
          await sleep(10)
          if (how === 'throws') throw new Error('left')
          break
        }
        const { value } = await flow.next()
        return value as never
      },
    }
    const outcome = `middleware leaver, wrapAgent: ${why}`
    expect(await ended(start({ tools: [works], middleware: [leaver] }))).toEqual({ outcome, after })
    expect(stops).toMatchObject([{ message: 'the wrap that started this has ended' }])
  },
)
