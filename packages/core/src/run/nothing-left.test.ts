import { getEventListeners } from 'node:events'
import { call, cut, fail, respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { unhandledRejections } from '@meanwhile/tests/rejections'
import { beforeEach, expect, test, vi } from 'vitest'
import { earlyAndAgain, Fatal, forever, heeds, quick, toolOf, watch } from '../../test/aborted-runs.ts'
import { type AgentOptions, createAgent, type Message } from '../index.ts'

unhandledRejections()

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

interface Ending {
  readonly options?: Partial<AgentOptions>
  readonly input?: string | readonly Message[]
  readonly abortAt?: number
  readonly status: string
}

const endings: Readonly<Record<string, Ending>> = {
  'an answer': { status: 'completed' },
  'an answer after tools': {
    options: { model: scriptedModel([respond(call('quick'), call('fails')), respond(say('done'))]) },
    status: 'completed',
  },
  'a direct result': { options: { model: scriptedModel([respond(call('direct'))]) }, status: 'completed' },
  'an answer after an early call was abandoned': {
    options: {
      model: scriptedModel([respond(call('deaf'), wait(5), cut()), respond(say('done'))]),
      middleware: [earlyAndAgain],
    },
    status: 'completed',
  },
  'an empty input': { input: [], status: 'InputError' },
  'an input that does not pair': {
    input: [{ role: 'tool', callId: 'x', name: 'quick', content: [] }],
    status: 'HistoryError',
  },
  'a wrong set-up': {
    options: { middleware: [{ name: 'wrong', beforeAgent: (setup) => ({ ...setup, maxSteps: 0 }) }] },
    status: 'MiddlewareError',
  },
  'a hook that throws': {
    options: { middleware: [{ name: 'wrong', afterModel: () => Promise.reject(new Error('no')) }] },
    status: 'MiddlewareError',
  },
  'the step limit': {
    options: { model: scriptedModel([respond(call('quick'))]), maxSteps: 1 },
    status: 'MaxStepsError',
  },
  'a failed request': { options: { model: scriptedModel([respond(fail())]) }, status: 'ModelError' },
  'a stream cut off': { options: { model: scriptedModel([respond(say('a'), wait(5), cut())]) }, status: 'ModelError' },
  'a tool’s AgentError': { options: { model: scriptedModel([respond(call('fatal'), call('deaf'))]) }, status: 'Fatal' },
  'an abort before the start': { abortAt: -1, status: 'AbortError' },
  'an abort while the model speaks': { abortAt: 5, status: 'AbortError' },
  'an abort while tools work': {
    options: { model: scriptedModel([respond(call('work'), call('quick'))]) },
    abortAt: 50,
    status: 'AbortError',
  },
  'an abort that a tool ignores': {
    options: { model: scriptedModel([respond(call('deaf'))]) },
    abortAt: 50,
    status: 'AbortError',
  },
  'an abort that a hook ignores': {
    options: { middleware: [{ name: 'stuck', beforeModel: forever }] },
    abortAt: 50,
    status: 'AbortError',
  },
}

test.for(Object.keys(endings))(
  'after %s no timer is left, and the signal has only the listeners it had before (A25)',
  async (name) => {
    const { options, input = 'Go', abortAt, status } = endings[name] as Ending
    const controller = new AbortController()
    const mine = () => undefined
    controller.signal.addEventListener('abort', mine)
    const tools = [
      quick,
      toolOf('fails', () => {
        throw new Error('no')
      }),
      toolOf('work', ({ signal }) => heeds(signal)),
      toolOf('deaf', forever),
      toolOf('fatal', () => {
        throw new Fatal('that was it')
      }),
      { ...quick, name: 'direct', returnDirect: true },
    ]
    const model = scriptedModel([respond(wait(10), say('done'))])
    const agent = createAgent({ model, tools, ...options })
    if (abortAt === -1) controller.abort()
    const { signal } = controller
    const running = agent.run(input, { signal })
    const left = () => ({ timers: vi.getTimerCount(), listeners: getEventListeners(signal, 'abort') })
    const atEnd = running.then(left, left)
    const seen = watch(running)
    if (abortAt !== -1) expect(getEventListeners(signal, 'abort').length).toBeGreaterThan(1)
    await vi.advanceTimersByTimeAsync(abortAt === undefined ? 10 : Math.max(abortAt, 0))
    if (abortAt !== undefined) controller.abort()
    await vi.advanceTimersByTimeAsync(2_000)
    expect(seen.value?.status ?? (seen.error as Error | undefined)?.name).toBe(status)
    expect(await atEnd).toEqual({ timers: 0, listeners: [mine] })
  },
)
