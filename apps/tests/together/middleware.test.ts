/** Each bundled middleware with eager tools, and in the trace. */

import {
  call,
  cut,
  end,
  fail,
  respond,
  type ScriptResponse,
  type ScriptStep,
  say,
  scriptedModel,
  wait,
} from '@meanwhile/assemble/testing'
import { type AgentEvent, type Message, textOf } from '@meanwhile/core'
import { eagerTools } from '@meanwhile/eager-tools'
import {
  answerGuard,
  callLimits,
  clearToolResults,
  earlyStop,
  fallbackModel,
  patchToolCalls,
  retryTool,
  standard,
  timeout,
} from '@meanwhile/middleware'
import { propertyRuns } from '@meanwhile/tests/size'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { timedRun, toldOfCalls } from './timed-run.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const done = respond(say('Done.'))
const noChance = { random: () => 0 }

const read = (events: readonly AgentEvent[]) =>
  events.flatMap((event) => (event.type === 'tool-end' ? [textOf(event.message)] : []))

const other = (...responses: readonly ScriptResponse[]) =>
  scriptedModel(responses, { provider: 'other', id: 'other-1' })

test('fallbackModel and eagerTools, in either order: a tool runs once even if the models request it with different ids (O4, J13, N5)', async () => {
  const asked = (id: string, ending: ScriptStep) => respond(call('look', { n: 1, ms: 300 }, { id }), wait(50), ending)
  for (const eagerInside of [true, false]) {
    const list = [fallbackModel({ models: [other(asked('b1', say('.')), done)] }), eagerTools()]
    const { log, events, result, outline } = await timedRun(
      [asked('a1', fail())],
      eagerInside ? list : list.toReversed(),
      {
        traced: true,
      },
    )
    expect(log).toEqual(['0 look 1'])
    expect(toldOfCalls(events)).toEqual([
      'tool-start a1',
      'tool-entered a1',
      'tool-committed b1 started as a1',
      'tool-end b1',
    ])
    expect(result?.text).toBe('Done.')
    expect(outline).toMatch(/chat scripted-1 .*ERROR\n(?:.*eager-tools.*\n)?.*chat other-1/)
  }
})

test('retryTool and eagerTools: each try of an early call starts early and has a span (N7, O2)', async () => {
  const middleware = [eagerTools(), retryTool(noChance)]
  const { log, result, outline, took } = await timedRun(
    [respond(call('look', { n: 1, ms: 10, fails: 2 }), wait(400), say('.')), done],
    middleware,
    { traced: true },
  )
  expect(log).toEqual(['0 look 1', '110 look 1', '320 look 1'])
  expect(took).toBe(400)
  expect(result?.text).toBe('Done.')
  expect(outline).toMatch(
    /middleware retry-tool wrapToolCall .*next_calls":3}\n.*look .*attempt":1.*ERROR\n.*look .*attempt":2.*ERROR\n.*look .*attempt":3.*committed"}\n/,
  )
})

test('after an early call is discarded, no further try starts, and a wait for one ends at once (O2)', async () => {
  const { log, error, events, took, timers } = await timedRun(
    [respond(call('look', { n: 1, fails: 9 }, { id: 'c1' }), wait(50), fail({ status: 400 }))],
    [eagerTools(), retryTool({ ...noChance, baseDelay: 5_000 })],
  )
  expect(error).toMatchObject({ name: 'ModelError', status: 400 })
  expect(log).toEqual(['0 look 1'])
  // The custom event reports that the next try waits.
  expect(toldOfCalls(events)).toEqual([
    'tool-start c1',
    'tool-entered c1',
    'custom c1',
    'tool-discarded c1 stream_error',
  ])
  expect((error as { abandoned?: unknown }).abandoned).toBeUndefined()
  expect([took, timers]).toEqual([50, 0])
})

test('timeout and eagerTools: an early call has the same limit and the same error result (N11, H19)', async () => {
  const responses = [respond(call('look', { n: 1, ms: 5_000 }, { id: 'c1' }), wait(400), say('.')), done]
  const late = await timedRun(responses, [timeout({ tool: 300 })])
  const early = await timedRun(responses, [timeout({ tool: 300 }), eagerTools()], { traced: true })
  expect(read(early.events)).toEqual(read(late.events))
  expect(early.result?.messages).toEqual(late.result?.messages)
  expect([late.took, early.took]).toEqual([700, 400])
  expect(early.outline).toMatch(/middleware timeout wrapToolCall .*"error.type":"ToolTimeoutError".* ERROR/)
})

test('a model call that exceeds its time limit is an error of its chat span, with the type timeout (N11)', async () => {
  const { outline, events, log } = await timedRun(
    [respond(call('look', { n: 1, ms: 50 }, { id: 'c1' }), wait(5_000), say('.'))],
    [timeout({ idle: 200 }), eagerTools()],
    { traced: true },
  )
  expect(log).toEqual(['0 look 1'])
  expect(toldOfCalls(events)).toEqual([
    'tool-start c1',
    'tool-entered c1',
    'tool-settled c1',
    'tool-discarded c1 stream_error',
  ])
  expect(outline).toMatch(/chat scripted-1 .*"error.type":"timeout".* ERROR/)
})

test('callLimits and eagerTools: the same calls are made, in call order, however early they could start (N14)', async () => {
  const anyCall = fc.record({
    name: fc.constantFrom('look', 'send'),
    n: fc.nat({ max: 2 }),
    ms: fc.constantFrom(0, 40),
  })
  const step = fc.array(anyCall, { minLength: 1, maxLength: 4 })
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 1, maxLength: 3 }),
      fc.oneof(
        fc.record({ toolCalls: fc.nat({ max: 5 }) }),
        fc.record({ perTool: fc.record({ look: fc.nat({ max: 3 }) }) }),
      ),
      async (steps, limits) => {
        const responses = [
          ...steps.map((calls) => respond(...calls.map(({ name, ...input }) => call(name, input)), wait(30), say('.'))),
          done,
        ]
        const guarded = callLimits({ ...limits, onLimit: 'answer' })
        const late = await timedRun(responses, [guarded])
        for (const middleware of [
          [guarded, eagerTools()],
          [eagerTools(), guarded],
        ]) {
          const early = await timedRun(responses, middleware)
          expect(early.result?.messages).toEqual(late.result?.messages)
        }
      },
    ),
    propertyRuns({ small: 5, middle: 7, whole: 3_000 }),
  )
})

test('callLimits: the call that is not made has no execute_tool span; the last model call has a chat span (N13)', async () => {
  const looks = (n: number) => respond(call('look', { n }), wait(10), say('.'))
  const { outline, result, log } = await timedRun(
    [looks(1), looks(2), done],
    [callLimits({ toolCalls: 1, modelCalls: 2, onLimit: 'answer' }), eagerTools()],
    { traced: true },
  )
  expect(result).toMatchObject({ text: 'Done.', stopReason: 'early-stop' })
  expect(log).toEqual(['0 look 1'])
  expect(outline.match(/execute_tool/g)).toHaveLength(1)
  expect(outline.match(/middleware call-limits wrapToolCall .*next_calls":0/g)).toHaveLength(1)
  expect(outline.match(/chat scripted-1/g)).toHaveLength(3)
})

test('answerGuard and eagerTools: a refused answer does not discard calls that were made (N19)', async () => {
  const responses = [
    respond(call('look', { n: 1 }), wait(10), say('.')),
    respond(say('Half '), end({ finishReason: 'length' })),
    respond(say('done.')),
  ]
  for (const middleware of [
    [answerGuard(), eagerTools()],
    [eagerTools(), answerGuard()],
  ]) {
    const { result, log, outline } = await timedRun(responses, middleware, { traced: true })
    expect(result?.text).toBe('Half done.')
    expect(log).toEqual(['0 look 1'])
    expect(outline.match(/middleware answer-guard beforeFinalAnswer/g)).toHaveLength(2)
  }
})

test('earlyStop and a gate, with eagerTools: the rejected last answer is the result (O12)', async () => {
  const responses = [respond(call('look', { n: 1 }), wait(10), say('.')), respond(say('Enough.'))]
  const guard = answerGuard({ check: () => 'No.' })
  const { result, outline } = await timedRun(responses, [earlyStop(), guard, eagerTools()], {
    maxSteps: 1,
    traced: true,
  })
  expect(result).toMatchObject({ text: 'Enough.', stopReason: 'early-stop', warnings: [{ message: 'No.' }] })
  expect(outline).toMatch(/middleware early-stop wrapModel/)
})

test('patchToolCalls, clearToolResults and eagerTools: the result of an early call is history like any other (N30, N50)', async () => {
  const input: readonly Message[] = [
    { role: 'user', content: 'Go' },
    {
      role: 'assistant',
      content: [{ type: 'tool-call', id: 'old', name: 'look', input: { n: 0 } }],
      finishReason: 'tool-calls',
    },
  ]
  const responses = [1, 2].map((n) => respond(call('look', { n }, { id: `c${n}` }), wait(10), say('.')))
  const list = [patchToolCalls(), clearToolResults({ at: { tokens: 0 } })]
  const late = await timedRun([...responses, done], list, { input })
  const early = await timedRun([...responses, done], [...list, eagerTools()], { input, traced: true })
  expect(early.result?.messages).toEqual(late.result?.messages)
  expect(late.result?.messages.filter(({ role }) => role === 'tool')).toMatchObject([{ isError: true }, {}, {}])
  for (const name of ['patch-tool-calls', 'clear-tool-results'])
    expect(early.outline.match(new RegExp(`middleware ${name} beforeModel`, 'g'))).toHaveLength(3)
})

const anyCall = fc.record({
  name: fc.constantFrom('look', 'send'),
  n: fc.nat({ max: 2 }),
  ms: fc.constantFrom(0, 40, 300),
  fails: fc.constantFrom(0, 0, 1, 9),
})
const anyResponse = fc
  .record({
    calls: fc.array(anyCall, { maxLength: 3 }),
    ending: fc.constantFrom('well', 'well', 'fails', 'cut', 'length'),
  })
  .map(({ calls, ending }) =>
    respond(
      say('Hm.'),
      ...calls.map(({ name, ...input }) => call(name, input)),
      wait(30),
      ...{ well: [], fails: [fail()], cut: [cut()], length: [end({ finishReason: 'length' })] }[ending],
    ),
  )

test('the standard list has the same outcome with eagerTools and without, whatever fails (H16, O20)', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyResponse, { maxLength: 5 }),
      fc.integer({ min: 1, max: 3 }),
      async (said, maxSteps) => {
        const list = () =>
          standard({
            retryModel: noChance,
            retryTool: noChance,
            timeout: { tool: 200 },
            clearToolResults: { at: { tokens: 20 } },
          })
        const responses = [...said, ...Array.from({ length: 6 }, () => done)]
        const late = await timedRun(responses, list(), { maxSteps })
        const early = await timedRun(responses, [...list(), eagerTools()], { maxSteps })
        expect(early.result && { ...early.result, savings: undefined }).toEqual(late.result)
        expect(early.error).toEqual(late.error)
        expect(early.took).toBeLessThanOrEqual(late.took)
        expect([early.timers, late.timers]).toEqual([0, 0])
      },
    ),
    propertyRuns({ small: 5, middle: 7, whole: 3_000 }),
  )
})
