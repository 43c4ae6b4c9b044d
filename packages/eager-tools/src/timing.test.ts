import { call, respond, type ScriptResponse, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { createAgent, type Middleware, type Tool, tool } from '@meanwhile/core'
import { played } from '@meanwhile/tests/clock'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { timeOf } from '../test/clock.ts'
import { workshop } from '../test/workshop.ts'
import { eagerTools } from './index.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/**
 * Three calls whose arguments are complete at 100, 200 and 300 ms, 200 ms of work each, in a stream that ends at 400
 * ms.
 */
const three = () =>
  respond(
    ...[1, 2, 3].flatMap((n) => [wait(100), call('look', { n, ms: 200 }, { id: `c${n}`, deltas: 1 })]),
    wait(100),
    say('There.'),
  )

/** The milliseconds from the request to the next one. */
function stepTime(response: ScriptResponse, middleware: Middleware[], toolConcurrency = Number.POSITIVE_INFINITY) {
  const { tools } = workshop()
  const model = scriptedModel([response, respond(say('Done.'))])
  return timeOf(createAgent({ model, tools, middleware, toolConcurrency }).run('Look'))
}

test('calls complete at 100, 200 and 300 ms of a stream that ends at 400 take 500 ms, without eager tools 600 (H29)', async () => {
  expect(await stepTime(three(), [eagerTools()])).toBe(500)
  expect(await stepTime(three(), [])).toBe(600)
})

test('with one slot the same calls take 700 ms, without eager tools 1000 (H30)', async () => {
  expect(await stepTime(three(), [eagerTools()], 1)).toBe(700)
  expect(await stepTime(three(), [], 1)).toBe(1000)
})

test('a step takes as long as its stream, or as its last tool if that ends later (H29)', async () => {
  const early = respond(wait(100), call('look', { n: 1, ms: 200 }, { deltas: 1 }), wait(400), say('There.'))
  expect(await stepTime(early, [eagerTools()])).toBe(500)
  expect(await stepTime(early, [])).toBe(700)
})

test('if nothing follows the last argument, eager is not later than not eager (H30)', async () => {
  const last = (ms: number) => respond(wait(100), call('look', { n: 1, ms }, { deltas: 1 }))
  for (const toolConcurrency of [1, Number.POSITIVE_INFINITY]) {
    expect(await stepTime(last(200), [eagerTools()], toolConcurrency)).toBe(300)
    expect(await stepTime(last(200), [], toolConcurrency)).toBe(300)
  }
})

test('with two slots the third call takes the first one that becomes free (H13, H29)', async () => {
  const { log, tools } = workshop()
  const model = scriptedModel([three(), respond(say('Done.'))])
  const agent = createAgent({ model, tools, middleware: [eagerTools()], toolConcurrency: 2 })
  expect(await timeOf(agent.run('Look'))).toBe(500)
  expect(log).toEqual(['100 look 1', '200 look 2', '300 look 3'])
})

test('early and late calls share the slots, and calls that have not started when the stream ends follow in the same queue (H12)', async () => {
  const { log, tools } = workshop()
  const response = respond(
    ...[1, 2, 3].flatMap((n) => [wait(100), call('look', { n, ms: 300 }, { deltas: 1 })]),
    call('send', { n: 4, ms: 50 }, { deltas: 1 }),
    call('look', { n: 5, ms: 50 }, { deltas: 1 }),
  )
  const model = scriptedModel([response, respond(say('Done.'))])
  const agent = createAgent({ model, tools, middleware: [eagerTools()], toolConcurrency: 2 })
  await played(agent.run('Look'))
  expect(log).toEqual(['100 look 1', '200 look 2', '400 look 3', '500 send 4', '550 look 5'])
})

test('a tool that hangs, with one slot, delays no delta: each is read when it arrives (H10)', async () => {
  const hangs = tool({
    name: 'hangs',
    description: 'Never ends by itself.',
    input: z.object({}),
    effect: 'read',
    execute: (_, { signal }) =>
      new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  })
  const response = respond(call('hangs', '{ }', { id: 'c0' }), call('look', { n: 1 }, { deltas: 1 }), say('a b c'))
  const deltasOf = async (middleware: Middleware[]) => {
    const { tools } = workshop()
    const pace = { firstToken: 100, betweenTokens: 100 }
    const model = scriptedModel([response], { pace })
    const run = createAgent({
      model,
      tools: [...tools, hangs as Tool],
      middleware,
      toolConcurrency: 1,
    }).stream('Look')
    run.result.catch(() => undefined)
    const begin = performance.now()
    const deltas: [number, string][] = []
    const reading = (async () => {
      for await (const event of run) {
        if ('delta' in event) deltas.push([Math.round(performance.now() - begin), event.delta])
        if ('delta' in event && event.delta === ' c') break
      }
    })()
    await played(reading)
    return deltas
  }
  const deltas = await deltasOf([eagerTools()])
  expect(deltas.slice(-3)).toEqual([
    [500, 'a'],
    [600, ' b'],
    [700, ' c'],
  ])
  expect(deltas).toEqual(await deltasOf([]))
})
