import { call, collect, respond, type ScriptedResponse, say, scriptedModel } from '@meanwhile/assemble/testing'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { early, withdrawing } from '../../test/early-calls.ts'
import { type AgentOptions, createAgent, type Middleware, type Progress, type Tool, tool } from '../index.ts'

/** A tool that yields these values, whatever their type is. */
const yielding = (name: string, values: readonly unknown[], more: Partial<Pick<Tool, 'background'>> = {}) =>
  tool({
    name,
    description: '.',
    input: z.object({ n: z.number().optional() }),
    effect: 'read',
    ...more,
    async *execute() {
      for (const value of values) yield value as Progress
      return 'done'
    },
  }) as Tool

async function warningsOf(
  tools: readonly Tool[],
  script: readonly ScriptedResponse[],
  options: Partial<AgentOptions> = {},
) {
  const model = scriptedModel([...script, respond(say('Done'))])
  const { events, result, error } = await collect(createAgent({ model, tools, ...options }).stream('Go'))
  if (error) throw error
  const told = events.flatMap((event) => (event.type === 'warning' ? [event.message] : []))
  expect(result?.warnings).toMatchObject(told.map((message) => ({ code: 'empty-progress', message, source: 'core' })))
  return { told, result, events }
}

const text = (name: string) => `${name} yielded something other than progress: { progress?, message?, metadata? }`

class Row {
  readonly id = 1
}

const EMPTY: readonly (readonly [what: string, value: unknown])[] = [
  ['{ rows }', { rows: [1, 2] }],
  ['an empty object', {}],
  ['a misspelt member', { Progress: 0.5 }],
  ['the names of other libraries', { percent: 50, text: 'half', data: {} }],
  ['an object with another type', { type: 'row', value: 1 }],
  ['an instance of a class', new Row()],
  ['an object without a prototype', Object.assign(Object.create(null), { rows: [] })],
  ['a map', new Map([['progress', 1]])],
]

test.for(EMPTY)('a tool that yields %s gets a warning that names the members of progress (W44)', async ([, value]) => {
  const { told, result } = await warningsOf([yielding('list', [value])], [respond(call('list'))])
  expect(told).toEqual([text('list')])
  expect(result).toMatchObject({ status: 'completed', text: 'Done' })
})

test.for<[string, unknown]>([
  ['progress', { progress: 0.5, rows: [] }],
  ['a message', { message: 'half' }],
  ['metadata', { metadata: { rows: [] } }],
  ['progress that is not known yet', { progress: undefined }],
  ['an event', { type: 'custom', name: 'rows', data: [] }],
])('a tool that yields %s gets no warning (W44)', async ([, value]) => {
  expect((await warningsOf([yielding('list', [value])], [respond(call('list'))])).told).toEqual([])
})

test('a tool gets one warning in a run, in however many calls and steps, and another tool gets its own (W44)', async () => {
  const rows = Array.from({ length: 100 }, (_, row) => ({ row }))
  const script = [
    respond(call('list', { n: 1 }), call('list', { n: 2 }), call('read')),
    respond(call('list', { n: 3 })),
  ]
  const { told } = await warningsOf([yielding('list', rows), yielding('read', rows)], script)
  expect(told.toSorted()).toEqual([text('list'), text('read')])
})

test('a wrap of a call and background work that yield it cause the warning of their tool (W44)', async () => {
  const wrap: Middleware = {
    name: 'wrap',
    async *wrapToolCall(call, next) {
      yield { rows: [] } as Progress
      return yield* next(call)
    },
  }
  const wrapped = await warningsOf([yielding('list', [])], [respond(call('list'))], { middleware: [wrap] })
  expect(wrapped.told).toEqual([text('list')])
  const work = yielding('list', [{ rows: [] }], { background: true })
  expect((await warningsOf([work], [respond(call('list')), respond(say('Soon'))])).told).toEqual([text('list')])
})

test('the warning of an early call waits for its commit, and a withdrawn call has none (W43, W44)', async () => {
  const list = yielding('list', [{ row: 1 }, { row: 2 }])
  const { told, events } = await warningsOf([list], [respond(call('list'))], { middleware: [early] })
  expect(told).toEqual([text('list')])
  const types = events.map(({ type }) => type)
  expect(types.indexOf('warning')).toBeGreaterThan(types.indexOf('tool-committed'))
  const script = [respond(call('list', { n: 1 })), respond(call('list', { n: 2 }))]
  const withdrawn = await warningsOf([list], script, { middleware: [withdrawing('list'), early] })
  expect(withdrawn.told).toEqual([])
})

test('after a discarded call, the next call of its tool causes the warning (W44)', async () => {
  const { afterModel } = withdrawing('list')
  const once: Middleware = {
    name: 'once',
    afterModel: (state, run) => (run.step === 1 ? afterModel?.(state, run) : undefined),
    beforeFinalAnswer: (_, run) => (run.step === 1 ? { accept: false, feedback: 'Look again.' } : undefined),
  }
  const script = [respond(say('One moment.'), call('list', { n: 1 })), respond(call('list', { n: 2 }))]
  const { told, events } = await warningsOf([yielding('list', [{ row: 1 }])], script, { middleware: [once, early] })
  expect(events.filter(({ type }) => type === 'tool-discarded')).toHaveLength(1)
  expect(told).toEqual([text('list')])
})
