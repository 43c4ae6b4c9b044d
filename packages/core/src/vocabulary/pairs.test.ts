import {
  call,
  collect,
  cut,
  end,
  fail,
  respond,
  type ScriptEnd,
  type ScriptResponse,
  type ScriptStep,
  say,
  scriptedModel,
  wait,
} from '@meanwhile/assemble/testing'
import { unhandledRejections } from '@meanwhile/tests/rejections'
import { propertyRuns } from '@meanwhile/tests/size'
import fc from 'fast-check'
import { beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { askAgain } from '../../test/again.ts'
import { sleep } from '../../test/clock.ts'
import { startingEarly } from '../../test/early-calls.ts'
import {
  AgentError,
  type AgentEvent,
  callsOf,
  createAgent,
  type FinishReason,
  type Message,
  type Middleware,
  type ToolContext,
  tool,
} from '../index.ts'

unhandledRejections()

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

const forever = () => new Promise<never>(() => undefined)
const untilAborted = ({ signal }: ToolContext) =>
  new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }))

/** Everything that can happen to a tool; there are as many calls of each. */
const fates: Readonly<Record<string, (ms: number, context: ToolContext) => unknown>> = {
  returns: (ms) => ms,
  returnsLate: (ms) => sleep(ms),
  throws: () => {
    throw new Error('no')
  },
  throwsNoError: () => {
    throw {
      toString() {
        throw new Error('no text')
      },
    }
  },
  rejectsLate: (ms) => sleep(ms).then(() => Promise.reject(new TypeError('no'))),
  endsTheRun: (ms) => sleep(ms).then(() => Promise.reject(new AgentError('that was it'))),
  hangs: (_, context) => untilAborted(context),
  ignores: forever,
  tidiesUp: (ms, context) => untilAborted(context).catch(() => sleep(ms)),
  noJson: () => 1n,
}

const tools = Object.entries(fates).map(([name, execute]) =>
  tool({
    name,
    description: `It ${name}.`,
    input: z.object({ ms: z.number() }),
    execute: ({ ms }, context) => execute(ms, context),
  }),
)
const streams = tool({
  name: 'streams',
  description: 'It streams.',
  input: z.object({ ms: z.number() }),
  async *execute({ ms }) {
    yield { progress: 0.5 }
    await sleep(ms)
    yield { message: 'nearly' }
    return ms
  },
})
const direct = { ...streams, name: 'direct', returnDirect: true }

const ms = fc.integer({ min: 0, max: 120 })
const calm = fc.constantFrom('returns', 'returnsLate', 'throws', 'throwsNoError', 'rejectsLate', 'noJson', 'streams')
const wild = fc.oneof(fc.constantFrom(...Object.keys(fates), 'nope'), fc.constantFrom('direct', 'direct', 'endsTheRun'))
const id = fc.option(fc.constantFrom('', 'same', 'other'), { nil: undefined, freq: 4 })
const input = fc.oneof(
  { weight: 8, arbitrary: ms.map((ms): unknown => ({ ms })) },
  { weight: 1, arbitrary: fc.constantFrom<unknown>('{"ms":', '', '[]', {}) },
)
const asked = fc
  .record({ name: fc.oneof({ weight: 3, arbitrary: calm }, { weight: 1, arbitrary: wild }), input, id })
  .map(({ name, input, id }): ScriptStep => call(name, input, id === undefined ? {} : { id }))
const spoken = fc.oneof(
  { weight: 4, arbitrary: asked },
  { weight: 1, arbitrary: fc.constant(say('So it is.')) },
  { weight: 1, arbitrary: ms.map(wait) },
)
const reasons: readonly FinishReason[] = ['stop', 'tool-calls', 'length', 'content-filter', 'other', 'error']
const ending: fc.Arbitrary<readonly (ScriptStep | ScriptEnd)[]> = fc.oneof(
  { weight: 8, arbitrary: fc.constant([]) },
  { weight: 2, arbitrary: fc.constantFrom(...reasons).map((finishReason) => [end({ finishReason })]) },
  { weight: 1, arbitrary: fc.constantFrom([cut()], [fail()]) },
)
const response = fc.tuple(fc.array(spoken, { maxLength: 5 }), ending).map(([steps, last]) => respond(...steps, ...last))

interface Options {
  readonly script: readonly ScriptResponse[]
  readonly maxSteps: number
  readonly toolConcurrency: number
  readonly betweenTokens: number
  readonly abortAt: number
  readonly early: 'tool-input-closed' | 'tool-call' | undefined
  readonly again: boolean
  readonly rejections: number
}

const runs: fc.Arbitrary<Options> = fc.record({
  script: fc.array(response, { minLength: 1, maxLength: 4 }),
  maxSteps: fc.integer({ min: 1, max: 4 }),
  toolConcurrency: fc.constantFrom(1, 2, Number.POSITIVE_INFINITY),
  betweenTokens: fc.constantFrom(0, 7),
  abortAt: fc.oneof(fc.constant(5_000), fc.integer({ min: 0, max: 300 })),
  early: fc.constantFrom(undefined, 'tool-input-closed' as const, 'tool-call' as const),
  again: fc.boolean(),
  rejections: fc.integer({ min: 0, max: 2 }),
})

function strict(rejections: number): Middleware {
  let left = rejections
  return { name: 'strict', beforeFinalAnswer: () => (left-- > 0 ? { accept: false, feedback: 'Again.' } : undefined) }
}

/** Few runs end so. */
const ended: Options = {
  script: [respond(call('endsTheRun', { ms: 10 }))],
  maxSteps: 2,
  toolConcurrency: 2,
  betweenTokens: 0,
  abortAt: 5_000,
  early: undefined,
  again: false,
  rejections: 0,
}

/** The calls of each message, and the results that follow it. */
function pairs(messages: readonly Message[]) {
  const pairs: { asked: string[]; answered: string[] }[] = [{ asked: [], answered: [] }]
  for (const message of messages) {
    if (message.role === 'assistant') pairs.push({ asked: callsOf(message).map(({ id }) => id), answered: [] })
    else if (message.role === 'tool') pairs.at(-1)?.answered.push(message.callId)
  }
  return pairs
}

test('every call in a history has exactly one result, in call order, however its run ended (A14, A24, A25, G10)', async () => {
  const ends = new Set<string>()
  await fc.assert(
    fc.asyncProperty(runs, async (options) => {
      const middleware = [
        ...(options.again ? [askAgain] : []),
        ...(options.early ? [startingEarly({ at: options.early })] : []),
        strict(options.rejections),
      ]
      const { script, maxSteps, toolConcurrency, betweenTokens } = options
      const answers = Array.from({ length: 10 }, () => respond(say('Done.')))
      const model = scriptedModel([...script, ...answers], { pace: { firstToken: betweenTokens, betweenTokens } })
      const agent = createAgent({ model, tools: [...tools, streams, direct], maxSteps, toolConcurrency, middleware })
      const controller = new AbortController()
      const run = agent.stream('Go', { signal: controller.signal })
      const seen: { events?: readonly AgentEvent[]; messages?: readonly Message[] } = {}
      const reading = collect(run).then(({ events, result, error }) => {
        seen.events = events
        seen.messages = result?.messages ?? (error as AgentError).messages ?? []
        ends.add(result ? String(result.stopReason) : (error as AgentError).name)
      })
      await vi.advanceTimersByTimeAsync(options.abortAt)
      controller.abort()
      await vi.advanceTimersByTimeAsync(1_500)
      expect(seen.events).toBeDefined()
      await reading

      const { messages = [], events = [] } = seen
      for (const { asked, answered } of pairs(messages)) expect(answered).toEqual(asked)
      const ids = pairs(messages).flatMap(({ asked }) => asked)
      expect(new Set(ids).size).toBe(ids.length)
      expect(ids).not.toContain('')
      const ended = events.flatMap((event) => (event.type === 'tool-end' ? [event.callId] : []))
      expect(ended.toSorted()).toEqual(ids.toSorted())
      expect(vi.getTimerCount()).toBe(0)
    }),
    { ...propertyRuns({ small: 50, middle: 75, whole: 20_000 }), examples: [[ended]] },
  )
  expect([...ends].toSorted()).toEqual([
    'AbortError',
    'AgentError',
    'MaxStepsError',
    'ModelError',
    'answer',
    'return-direct',
  ])
})
