import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, type ExecutedTool, type Tool, tool } from '@meanwhile/core'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { assertRanOnce, assertSameExecutions, type Execution, watchTools } from './executions.ts'

const execution = (given: Partial<Execution>): Execution => ({
  tool: 'weather',
  callId: 'a',
  key: 'k',
  input: { city: 'Zürich' },
  start: 0,
  aborted: false,
  ...given,
})

const input = z.object({ n: z.number() })
const define = (name: string, execute: ExecutedTool<{ n: number }>['execute']) =>
  tool({ name, description: name, input, execute }) as Tool

test('executions of tools are recorded: plain ones, promises, generators and failures; the tools behave the same', async () => {
  const failure = new Error('no')
  let time = 0
  const watched = watchTools(
    [
      define('plain', ({ n }) => n + 1),
      define('late', async ({ n }) => n + 2),
      define('told', async function* ({ n }) {
        yield { message: 'half' }
        return n + 3
      }),
      define('broken', () => {
        throw failure
      }),
      define('rejecting', () => Promise.reject(failure)),
    ],
    { now: () => ++time },
  )
  const names = watched.tools.map(({ name }) => name)
  const run = createAgent({
    model: scriptedModel([respond(...names.map((name) => call(name, { n: 1 }, { id: name }))), respond(say('done'))]),
    tools: watched.tools,
  }).stream('Go')
  const progress: unknown[] = []
  for await (const event of run) if (event.type === 'tool-progress') progress.push(event.message)
  const { messages } = await run.result

  expect(progress).toEqual(['half'])
  const outputs = messages.map((message) => (message.role === 'tool' ? (message.output ?? message.isError) : 'other'))
  expect(outputs).toEqual(['other', 'other', 2, 3, 4, true, true, 'other'])
  expect(watched.executions).toHaveLength(names.length)
  for (const [i, name] of names.entries()) {
    expect(watched.executions[i]).toMatchObject({ tool: name, callId: name, input: { n: 1 }, aborted: false })
    expect(watched.executions[i]?.end).toBeGreaterThan(watched.executions[i]?.start ?? 0)
  }
  expect(watched.executions.map(({ error }) => error)).toEqual([undefined, undefined, undefined, failure, failure])
  assertRanOnce(watched.executions)
})

test('an abort while a tool runs is recorded, one after it is not', async () => {
  const aborter = new AbortController()
  const watched = watchTools([
    define('quick', () => 0),
    define('slow', async (_, { signal }) => {
      aborter.abort()
      signal.throwIfAborted()
      return 0
    }),
  ])
  const script = [respond(call('quick', { n: 1 })), respond(call('slow', { n: 1 }))]
  const agent = createAgent({ model: scriptedModel(script), tools: watched.tools })
  await expect(agent.run('Go', { signal: aborter.signal })).rejects.toThrow('aborted')
  expect(watched.executions.map(({ tool, aborted }) => [tool, aborted])).toEqual([
    ['quick', false],
    ['slow', true],
  ])
})

test('a call that ran twice is named, whatever ids it had', () => {
  assertRanOnce([execution({}), execution({ key: 'other' })])
  expect(() => assertRanOnce([execution({}), execution({ callId: 'b' })])).toThrow(
    expect.objectContaining({
      name: 'ExecutionsError',
      message: 'weather({"city":"Zürich"}) ran 2 times for one call (a, b; key k)',
    }),
  )
})

test('executions are compared in any order; extra and missing ones are named', () => {
  const other = execution({ input: { city: 'Bern' }, key: 'l' })
  assertSameExecutions([execution({}), other], [other, execution({ start: 9 })])
  expect(() => assertSameExecutions([execution({}), execution({})], [execution({}), other])).toThrow(
    'the executions differ:\n  weather({"city":"Zürich"}): 1 too many\n  weather({"city":"Bern"}): 1 missing',
  )
})

test('an abort that comes when an execution is over is not recorded', async () => {
  const controller = new AbortController()
  const { tools, executions } = watchTools([define('plain', ({ n }) => n), define('late', async ({ n }) => n)])
  const { signal } = controller
  for (const watched of tools) {
    const context = { callId: 'c', idempotencyKey: 'k', attempt: 1, answers: [], messages: [], signal }
    await watched.execute?.({ n: 1 }, context)
  }
  controller.abort()
  expect(executions.map(({ aborted }) => aborted)).toEqual([false, false])
})
