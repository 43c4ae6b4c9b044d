import { collect } from '@meanwhile/assemble/testing'
import { createAgent, type Middleware, type Tool, tool } from '@meanwhile/core'
import { played } from '@meanwhile/tests/clock'
import { beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { timeOf } from '../test/clock.ts'
import { library, page } from '../test/library.ts'
import { bare, toolOutline } from '../test/outline.ts'
import { DELTAS, ran, reading, told } from '../test/prefix-runs.ts'
import { type Moment, sayDone, tellingModel } from '../test/telling-model.ts'
import { workshop } from '../test/workshop.ts'
import { eagerTools } from './index.ts'

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

test('a tool with needs starts when the needed members are complete, has them at once and awaits the others (H31)', async () => {
  const { log, results } = await ran()
  expect(log).toEqual(['200 open a.txt', '400 read a.txt 7'])
  expect(results).toEqual([['c1', 'a.txt from 7']])
})

test('a call that has started gets the rest as soon as it has closed, even if the breaker has opened meanwhile (H31, H35)', async () => {
  const look = workshop().make('look', 'read')
  const moments: Moment[] = [
    [0, (to) => to.call(0, { id: 'c1', name: 'look', delta: '{"n":1}' })],
    [0, (to) => to.call(1, { id: 'c2', name: 'look', delta: '{"n":2}' })],
    [0, (to) => to.call(2, { id: 'c3', name: 'read' })],
    [200, (to) => to.call(2, { delta: '{"path":"a.txt"' })],
    [300, (to) => to.seal(0, '{"n":8}')],
    [300, (to) => to.seal(1, '{"n":9}')],
    [400, (to) => to.call(2, { delta: ',"from":7}' })],
    [500, (to) => to.seal(2)],
    [600, (to) => to.finish('tool-calls')],
  ]
  const { log, result } = await ran({ responses: [moments], tools: [look] })
  expect(result?.warnings.map(({ code }) => code)).toEqual(['breaker', 'breaker'])
  expect(log).toEqual(['200 open a.txt', '400 read a.txt 7'])
})

test('it receives the needed members and the rest in the same way when it does not start early (H31)', async () => {
  const { log, contexts } = await ran({ eager: false })
  expect(log).toEqual(['500 open a.txt', '500 read a.txt 7'])
  const early = (await ran()).contexts
  expect(contexts.map(Object.keys)).toEqual(early.map(Object.keys))
  expect(await Promise.all([...contexts, ...early].map(({ rest }) => rest))).toEqual([
    { path: 'a.txt', from: 7 },
    { path: 'a.txt', from: 7 },
  ])
})

test('a step is shorter by the tool’s work before it needs the rest (H31, H29)', async () => {
  const time = (middleware: Middleware[]) =>
    timeOf(
      createAgent({
        model: tellingModel([reading(DELTAS), sayDone]),
        tools: [library({ ms: 250 }).read],
        middleware,
      }).run('Go'),
    )
  expect(await time([eagerTools()])).toBe(500)
  expect(await time([])).toBe(750)
})

test('the reader gets its start event when its input is complete, as for any early call (H31, H16, B5, B7, CC7)', async () => {
  const { events } = await ran()
  const call = { type: 'tool-call', id: 'c1', name: 'read', input: { path: 'a.txt', from: 7 } }
  const message = {
    role: 'tool',
    callId: 'c1',
    name: 'read',
    content: [{ type: 'text', text: 'a.txt from 7' }],
    output: 'a.txt from 7',
  }
  const step = 1
  const ofCall = { callId: 'c1', toolName: 'read' }
  const model = { step, attempt: 1 }
  const answer = { role: 'assistant', content: [call], finishReason: 'tool-calls' }
  expect(bare(events).slice(1, -6)).toEqual([
    { type: 'step-start', step },
    { type: 'attempt-start', ...model, model: { provider: 'telling', id: 'telling-1' } },
    { type: 'tool-input-start', ...model, id: 'c1', name: 'read' },
    { type: 'tool-input-delta', ...model, id: 'c1', delta: '{"path":"a' },
    { type: 'tool-input-delta', ...model, id: 'c1', delta: '.txt"' },
    { type: 'tool-input-ready', ...model, id: 'c1', name: 'read', input: { path: 'a.txt' } },
    { type: 'tool-input-delta', ...model, id: 'c1', delta: ',"from":' },
    { type: 'tool-input-delta', ...model, id: 'c1', delta: '7}' },
    { type: 'tool-input-closed', ...model, call },
    { type: 'tool-start', step, ...ofCall, call, provisional: true },
    { type: 'tool-entered', step, ...ofCall, attempt: 1, provisional: true },
    { type: 'tool-settled', step, ...ofCall, message, provisional: true },
    { type: 'tool-call', ...model, call },
    { type: 'message', step, message: answer },
    { type: 'tool-committed', step, ...ofCall },
    { type: 'tool-end', step, ...ofCall, message },
    { type: 'message', step, message },
    { type: 'step-end', ...model, messages: [answer, message] },
  ])
  expect(told(events)).toEqual(told((await ran({ eager: false })).events))
})

test('a number is complete only with the next character (H31)', async () => {
  const started: string[] = []
  const begin = performance.now()
  const nth = tool({
    name: 'nth',
    description: 'The n-th.',
    input: z.object({ n: z.number(), of: z.string() }),
    effect: 'read',
    needs: ['n'],
    execute: async ({ n }, { rest }) => {
      started.push(`${Math.round(performance.now() - begin)} ${n}`)
      return `${n} of ${(await rest).of}`
    },
  })
  const deltas = ['{"n":1', '0', ',"of":"x', 'y"}']
  const response: Moment[] = [
    [0, (to) => to.call(0, { id: 'c1', name: 'nth' })],
    ...deltas.map((delta, index): Moment => [(index + 1) * 100, (to) => to.call(0, { delta })]),
    [500, (to) => to.finish('tool-calls')],
  ]
  const { results } = await ran({ responses: [response], tools: [nth as Tool] })
  expect(started).toEqual(['300 10'])
  expect(results).toEqual([['c1', '10 of xy']])
})

test.each([
  ['duplicate keys before it was ready', ['{"from":1,"from":7,', '"path":"a.txt"', ' }'], '300 open a.txt'],
  ['a needed member that comes last', ['{"from":7,', '"path":', '"a.txt"}'], '300 open a.txt'],
])('a call with %s starts when it closes (H32)', async (_, deltas, first) => {
  const { log, results } = await ran({ responses: [reading(deltas)] })
  expect(log).toEqual([first, '300 read a.txt 7'])
  expect(results).toEqual([['c1', 'a.txt from 7']])
})

test('a call is entered by its id and gets its key when its input is complete (H25)', async () => {
  const keys: string[] = []
  const keyed = tool({
    name: 'read',
    description: 'Tells its key.',
    input: page,
    effect: 'read',
    needs: ['path'],
    async execute(_, context) {
      keys.push(context.idempotencyKey)
      await context.rest
      keys.push(context.idempotencyKey)
    },
  })
  const run = async (middleware: Middleware[]) => {
    const agent = createAgent({ model: tellingModel([reading(DELTAS), sayDone]), tools: [keyed as Tool], middleware })
    const [{ runId } = { runId: '' }] = (await played(collect(agent.stream('Go')))).events
    return keys.splice(0).map((key) => key.replace(runId, ''))
  }
  const [, whole] = await run([])
  expect(whole).not.toContain('c1')
  expect(await run([eagerTools()])).toEqual(['/c1', whole])
})

test('its events while it waits are sent after its start, and as often as without eager tools (H31, H16)', async () => {
  const chatty = tool({
    name: 'read',
    description: 'Tells what it does.',
    input: page,
    effect: 'read',
    needs: ['path'],
    async *execute({ path }, { rest, run }) {
      run?.emit({ name: 'opened', data: path })
      yield { message: 'opened', progress: 0.5 }
      const { from } = await rest
      yield { message: `at ${from}`, progress: 1 }
      return path
    },
  })
  const events = async (middleware: Middleware[]) => {
    const agent = createAgent({ model: tellingModel([reading(DELTAS), sayDone]), tools: [chatty as Tool], middleware })
    return (await played(collect(agent.stream('Go')))).events
  }
  const eager = await events([eagerTools()])
  expect(toolOutline(eager)).toEqual([
    'tool-start c1 provisional',
    'custom opened provisional',
    'tool-progress c1 opened provisional',
    'tool-progress c1 at 7 provisional',
    'tool-committed c1',
    'tool-end c1',
  ])
  expect(told(eager)).toEqual(told(await events([])))
})

test('a call whose request forbids calls does not start when its needed members are complete either (W2)', async () => {
  const forbidding: Middleware = {
    name: 'forbidding',
    wrapModel: (request, next) => next({ ...request, toolChoice: 'none' }),
  }
  const { log, results, lines } = await ran({ middleware: [forbidding] })
  expect(log).toEqual([])
  expect(lines).toEqual((await ran({ middleware: [forbidding], eager: false })).lines)
  expect(results).toEqual([['c1', 'Not run: read is not available in this step.']])
})
