import { respond, say, think } from '@meanwhile/assemble/testing'
import { sleep } from '@meanwhile/tests/clock'
import { expect, test } from 'vitest'
import {
  answer,
  at,
  briefly,
  cancelledRuns,
  ended,
  named,
  resumed,
  start,
  toolOf,
  undisturbed,
} from '../../test/cancelled-runs.ts'
import { NOT_STARTED, resultsIn } from '../../test/results.ts'
import type { Middleware } from '../index.ts'

const { log, work } = cancelledRuns()

test('after-tools stops at the next complete step, and a resume continues with the next model call (K5, K15)', async () => {
  const responses = [respond(...named('a', 'b')), answer]
  const options = { tools: [work('a', 50), work('b', 100)] }
  for (const moment of [5, 35, 60, 120]) {
    const started = start(responses, options)
    await at(moment)
    const cancelled = started.run.cancel({ at: 'after-tools' })
    const { events, result } = await ended(started)
    expect(await cancelled).toEqual({ status: 'cancelled' })
    expect(result).toMatchObject({ status: 'cancelled', cancelled: { at: 'after-tools' }, steps: 1 })
    expect(result?.cancelled).toEqual({ at: 'after-tools' })
    expect(briefly(events).slice(-2)).toEqual(['step-end 1', 'run-end cancelled'])
    expect(result?.messages).toEqual(result?.checkpoint?.messages)
    const { events: later, result: final } = await resumed(started, result)
    expect(briefly(later)).toEqual([
      'run-start resumed',
      'step-start 2',
      'attempt-start 1',
      'message',
      'step-end 2',
      'run-end completed',
    ])
    expect(final?.messages).toEqual(await undisturbed(responses, options))
  }
})

test('after-model lets the model call finish and starts no tool; the resume makes the calls without another model call (K5, K14, K15)', async () => {
  const responses = [respond(think('Hm'), ...named('a', 'b')), answer]
  const options = { tools: [work('a', 50), work('b', 100)] }
  const started = start(responses, options)
  await at(15)
  const cancelled = started.run.cancel({ at: 'after-model' })
  const { events, result } = await ended(started)
  expect(await cancelled).toEqual({ status: 'cancelled' })
  expect(log).toEqual([])
  expect(briefly(events)).toEqual([
    'run-start',
    'step-start 1',
    'attempt-start 1',
    'message',
    'message',
    'message',
    'run-end cancelled',
  ])
  expect(resultsIn(result?.messages)).toEqual([
    ['a', NOT_STARTED],
    ['b', NOT_STARTED],
  ])
  const { events: later, result: final } = await resumed(started, result)
  expect(started.model.requests).toEqual([0, 1])
  expect(log).toEqual(['a 1 a', 'b 1 b'])
  expect(briefly(later)).toEqual([
    'run-start resumed',
    'step-start 1 resumed',
    'tool-start a',
    'tool-start b',
    'tool-entered a',
    'tool-entered b',
    'tool-end a',
    'tool-end b',
    'message',
    'message',
    'step-end 1',
    'step-start 2',
    'attempt-start 1',
    'message',
    'step-end 2',
    'run-end completed',
  ])
  expect(later.find(({ type }) => type === 'step-end')).toMatchObject({ attempt: 1 })
  expect(final?.messages).toEqual(await undisturbed(responses, options))
})

test.each([1, 2])(
  'after-model lets running tools settle; a call queued for one of %i slots does not start (K5, K7, K15)',
  async (toolConcurrency) => {
    const responses = [respond(...named('a', 'b', 'c')), answer]
    const options = { tools: [work('a', 50), work('b', 5_000), work('c', 10)], toolConcurrency }
    const started = start(responses, options)
    await at(75)
    const cancelled = started.run.cancel({ at: 'after-model' })
    const { result } = await ended(started)
    expect(await cancelled).toEqual({ status: 'cancelled' })
    const atWork = ['a', 'b'].slice(0, toolConcurrency)
    expect(log).toEqual(atWork.map((name) => `${name} 1 ${name}`))
    expect(resultsIn(result?.messages)).toEqual(
      ['a', 'b', 'c'].map((name) => [name, atWork.includes(name) ? `${name} done` : NOT_STARTED]),
    )
    log.length = 0
    const { events, result: final } = await resumed(started, result)
    const rest = ['a', 'b', 'c'].slice(toolConcurrency)
    expect(log).toEqual(rest.map((name) => `${name} 1 ${name}`))
    // The reader saw the others before.
    expect(events.flatMap((event) => (event.type === 'tool-end' ? event.callId : [])).sort()).toEqual(rest)
    expect(final?.messages).toEqual(await undisturbed(responses, options))
  },
)

test('with after-model a running tool may still make inner calls, because otherwise it could not settle (K5, H39)', async () => {
  const outer = toolOf('outer', 'external', async ({ run, signal }) => {
    log.push('outer')
    await sleep(50, signal)
    const inner = await run?.callTool({ type: 'tool-call', id: 'inner', name: 'inner', input: {} })
    return inner?.content
  })
  const responses = [respond(...named('outer')), answer]
  const options = { tools: [outer, work('inner', 10)] }
  const started = start(responses, options)
  await at(45)
  void started.run.cancel({ at: 'after-model' })
  const { result } = await ended(started)
  expect(log).toEqual(['outer', expect.stringMatching(/^inner 1/)])
  expect(result?.status).toBe('cancelled')
  const { result: final } = await resumed(started, result)
  expect(log).toHaveLength(2)
  expect(final?.messages).toEqual(await undisturbed(responses, options))
})

test('a run whose model call ends in an accepted answer completes, and cancel returns ended (K6)', async () => {
  for (const mode of ['after-model', 'after-tools'] as const) {
    const started = start([answer])
    await at(15)
    const cancelled = started.run.cancel({ at: mode })
    const { result } = await ended(started)
    expect(result).toMatchObject({ status: 'completed', text: 'All is done.' })
    expect(result?.cancelled).toBeUndefined()
    expect(await cancelled).toEqual({ status: 'ended' })
  }
})

test('between a rejected answer and the next model call both modes stop; the resume continues with the feedback (K6, L11)', async () => {
  const responses = [respond(say('Maybe.')), answer]
  let judged = 0
  const gate: Middleware = {
    name: 'gate',
    async beforeFinalAnswer({ messages }) {
      judged++
      await sleep(50)
      const sure = messages.filter(({ role }) => role === 'assistant').length > 1
      return sure ? { accept: true } : { accept: false, feedback: 'Be sure.' }
    },
  }
  const options = { middleware: [gate] }
  for (const mode of ['after-model', 'after-tools'] as const) {
    judged = 0
    const started = start(responses, options)
    await at(30)
    const cancelled = started.run.cancel({ at: mode })
    const { events, result } = await ended(started)
    expect(await cancelled).toEqual({ status: 'cancelled' })
    expect(briefly(events).slice(-4)).toEqual(['answer-rejected', 'message', 'step-end 1', 'run-end cancelled'])
    const { result: final } = await resumed(started, result)
    expect(judged).toBe(2)
    expect(final?.messages).toEqual(await undisturbed(responses, options))
  }
})

test('calls that may not run need no stop before them: they have results, and the next step does not begin (K5, A17)', async () => {
  const responses = [respond(...named('a'), { type: 'end', options: { finishReason: 'length' } }), answer]
  const options = { tools: [work('a', 1)] }
  const started = start(responses, options)
  await at(5)
  void started.run.cancel({ at: 'after-model' })
  const { events, result } = await ended(started)
  expect(briefly(events).slice(-4)).toEqual(['tool-end a', 'message', 'step-end 1', 'run-end cancelled'])
  const { result: final } = await resumed(started, result)
  expect(final?.messages).toEqual(await undisturbed(responses, options))
  expect(log).toEqual([])
})
