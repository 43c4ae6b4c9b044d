import { call, end, fail, respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { AgentError, createAgent, type Middleware, type Tool, tool } from '@meanwhile/core'
import { played } from '@meanwhile/tests/clock'
import { unhandledRejections } from '@meanwhile/tests/rejections'
import { beforeEach, expect, test, vi } from 'vitest'
import { done, ran } from '../test/early-runs.ts'
import { outline, results, toolOutline } from '../test/outline.ts'
import { after, input, workshop } from '../test/workshop.ts'

unhandledRejections()

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

test('an early tool that throws gives the same error result as without eager tools, is not run again, and does not affect other calls (H19, H26)', async () => {
  const attempts: number[] = []
  const failing = tool({
    name: 'failing',
    description: 'Fails.',
    input,
    effect: 'read',
    async execute({ ms = 0 }) {
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
