import { call, cut, fail, respond, type ScriptResponse, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { beforeEach, expect, test, vi } from 'vitest'
import { sleep } from '../../test/clock.ts'
import { early } from '../../test/early-calls.ts'
import { observed } from '../../test/observed.ts'
import { toolOf } from '../../test/tools.ts'
import {
  type AgentOptions,
  type AgentRun,
  type BackgroundHandle,
  createAgent,
  type Middleware,
  type Tool,
} from '../index.ts'

// Every span that begins ends once, whatever happens to the run.

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

const boom = () => {
  throw new RangeError('boom')
}

const tools: readonly Tool[] = [
  toolOf('look', () => sleep(50)),
  toolOf('stay', () => sleep(600)),
  toolOf('broken', boom),
  toolOf('late', () => sleep(600), { timeout: 100 }),
  toolOf('back', () => sleep(600), { background: { atEnd: 'detach' } }),
  toolOf('makes', ({ run }) => run?.callTool({ type: 'tool-call', id: 'side', name: 'stay', input: {} })),
]

const through: Middleware = {
  name: 'through',
  beforeAgent: () => undefined,
  beforeModel: () => undefined,
  wrapAgent: (setup, next) => next(setup),
  wrapModel: (request, next) => next(request),
  wrapToolCall: (call, next) => next(call),
  afterModel: () => undefined,
  beforeFinalAnswer: () => undefined,
}

/** look from 100 ms on, stay from 200 on; the stream ends at 400. */
const two = respond(wait(100), call('look'), wait(100), call('stay'), wait(200), say('.'))
const done = respond(wait(100), say('Done.'))
const asking = (...names: readonly string[]) =>
  respond(wait(100), ...names.map((name) => call(name)), wait(100), say('.'))

interface Ending extends Partial<AgentOptions> {
  readonly responses?: readonly ScriptResponse[]
  /** What its reader does. Absent: the run has no reader. */
  readonly reader?: (run: AgentRun) => Promise<unknown>
  /** Milliseconds after which it is aborted. */
  readonly abortAt?: number
  readonly meanwhile?: (run: AgentRun) => void
}

const reading =
  (upTo: string, leave: () => void = () => undefined) =>
  async (run: AgentRun) => {
    for await (const event of run) {
      if (event.type !== upTo) continue
      leave()
      break
    }
  }

const places = [
  'beforeAgent',
  'beforeModel',
  'afterModel',
  'beforeFinalAnswer',
  'wrapAgent',
  'wrapModel',
  'wrapToolCall',
]

const endings: Readonly<Record<string, Ending>> = {
  'an answer': {},
  'a tool that throws': { responses: [asking('broken', 'look'), done] },
  'a tool past its time limit': { responses: [asking('late'), done] },
  'a tool that ignores its abort': { abortAt: 500 },
  'a tool that makes a call': { responses: [asking('makes'), done] },
  'a call in the background that outlives its run': { responses: [asking('back'), done] },
  'an unknown tool': { responses: [asking('nobody'), done] },
  'arguments that are no JSON': { responses: [respond(wait(100), call('look', '{"n":'), say('.')), done] },
  'an id that comes twice': {
    responses: [respond(call('look', { n: 1 }, { id: 'c' }), call('look', { n: 2 }, { id: 'c' }), say('.')), done],
  },
  'an abort before the first chunk': { abortAt: 50 },
  'an abort between the calls': { abortAt: 150 },
  'an abort in the stream': { abortAt: 300 },
  'an abort at the tools': { abortAt: 450 },
  'an abort in the second step': { abortAt: 850 },
  'an abort when all is over': { abortAt: 5_000 },
  'a reader that breaks off': { reader: reading('tool-input-start') },
  'a reader that breaks off at the tools': { reader: reading('tool-end') },
  'a reader that throws': { reader: reading('tool-start', boom) },
  'a reader that only takes an iterator': { reader: async (run) => run[Symbol.asyncIterator]() },
  'a refused request': { responses: [respond(fail({ status: 401 }))] },
  'a stream that fails': { responses: [respond(wait(100), call('look'), wait(100), fail())] },
  'a stream that is cut': { responses: [respond(wait(100), call('look'), wait(100), cut())] },
  'too many steps': { responses: [two], maxSteps: 1 },
  'a wrap that asks twice and leaves the first': {
    middleware: [
      {
        name: 'twice',
        async *wrapModel(request, next) {
          await next(request).next()
          return yield* next(request)
        },
      },
    ],
    responses: [two, done, done],
  },
  'a wrap that answers when nobody waits for its call any more': {
    responses: [respond(call('look', {}, { id: 'c' }), wait(100), say('.')), respond(wait(2_000), say('Done.'))],
    meanwhile: (run) => setTimeout(() => run.cancelTool('c'), 150),
    middleware: [
      {
        name: 'tardy',
        async *wrapToolCall({ id, name }) {
          await sleep(1_000)
          return { role: 'tool', callId: id, name, content: [] }
        },
      },
    ],
  },
  'a wrap that never comes out': {
    abortAt: 300,
    grace: 50,
    middleware: [{ name: 'deaf', wrapToolCall: () => hanging() }],
  },
  ...Object.fromEntries(
    places.map((place) => [`a throw in ${place}`, { middleware: [{ name: 'faulty', [place]: boom }] }]),
  ),
}

async function* hanging(): AsyncGenerator<never, never, undefined> {
  await new Promise(() => undefined)
  throw new Error('it never comes so far')
}

for (const mode of ['eager', 'waiting'] as const) {
  test.for(Object.keys(endings))(`${mode}: %s`, async (ending) => {
    const { responses = [two, done], reader, abortAt, meanwhile, ...more } = endings[ending] ?? {}
    const { middleware = [through], ...options } = more
    const { telemetry, watch, spans } = observed()
    const agent = createAgent({
      model: scriptedModel(responses),
      tools,
      grace: 100,
      middleware: mode === 'eager' ? [...middleware, early] : middleware,
      ...options,
      telemetry,
    })
    const controller = new AbortController()
    if (abortAt !== undefined) setTimeout(() => controller.abort(), abortAt)
    const run = agent.stream('Go', { signal: controller.signal })
    meanwhile?.(run)
    const read = reader?.(run).catch(() => undefined)
    const background: (readonly BackgroundHandle[])[] = []
    run.result.then(
      (result) => background.push(result.background ?? []),
      () => undefined,
    )
    await vi.runAllTimersAsync()
    await read
    await run.result.catch(() => undefined)
    await Promise.all(background.flat().map(({ result }) => result))
    watch.assertEndedOnce()
    const names = spans().map(({ name }) => name)
    expect(names).toContain('invoke_agent')
    expect(new Set(spans().map((span) => span.spanContext().traceId)).size).toBe(1)
    const isAsked = !/beforeAgent|beforeModel|wrapAgent|wrapModel/.test(ending)
    expect(names.includes('chat scripted-1')).toBe(isAsked)
  })
}
