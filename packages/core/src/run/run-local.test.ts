import { call, collect, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { keptOf } from '@meanwhile/tests/garbage'
import { expect, test } from 'vitest'
import { z } from 'zod'
import {
  type AgentRun,
  type CellOptions,
  createAgent,
  interrupt,
  type Middleware,
  map,
  type Run,
  runLocal,
  tool,
} from '../index.ts'

/** Logs the value in each of its hooks and wraps. */
function noting(log: (hook: string, run: Run) => void): Middleware {
  return {
    name: 'noting',
    beforeAgent: (_, run) => log('beforeAgent', run),
    beforeModel: (_, run) => log('beforeModel', run),
    afterModel: (_, run) => log('afterModel', run),
    beforeFinalAnswer: (_, run) => log('beforeFinalAnswer', run),
    async *wrapAgent(setup, next, run) {
      log('wrapAgent', run)
      return yield* next(setup)
    },
    async *wrapModel(request, next, run) {
      log('wrapModel', run)
      return yield* map(next(request), (event) => {
        if (event.type === 'tool-input-closed') run.callTool(event.call).catch(() => undefined)
        return event
      })
    },
    async *wrapToolCall(call, next, run) {
      log('wrapToolCall', run)
      return yield* next(call)
    },
  }
}

function lookup(log: (hook: string, run: Run) => void) {
  return tool({
    name: 'lookup',
    description: 'Looks up',
    effect: 'read',
    input: z.object({ key: z.string() }),
    execute: (_, { run }) => log('execute', run as Run),
  })
}

test('the value is created once, at the first use in a run, and the same in hooks, wraps and tools, early ones too (D1)', async () => {
  let made = 0
  const seen = new Map<string, object>()
  const own = runLocal(() => ({ number: ++made }))
  const log = (hook: string, run: Run) => void seen.set(hook, own(run))
  const model = scriptedModel([respond(call('lookup', { key: 'a' })), respond(say('Done'))])
  const agent = createAgent({ model, tools: [lookup(log)], middleware: [noting(log)] })
  expect(made).toBe(0)
  const { events } = await collect(agent.stream('go'))
  expect(events).toContainEqual(expect.objectContaining({ type: 'tool-start', provisional: true }))
  expect([...seen.keys()]).toEqual([
    'beforeAgent',
    'wrapAgent',
    'beforeModel',
    'wrapModel',
    'wrapToolCall',
    'execute',
    'afterModel',
    'beforeFinalAnswer',
  ])
  expect(new Set(seen.values()).size).toBe(1)
  expect(made).toBe(1)
})

test('nothing is created in a run that does not use it, and undefined is created once too (D1)', async () => {
  let made = 0
  const own = runLocal(() => {
    made++
  })
  const using: Middleware = {
    name: 'using',
    beforeModel(_, run) {
      own(run)
      own(run)
    },
  }
  await createAgent({ model: scriptedModel([respond(say('Hi'))]) }).run('go')
  expect(made).toBe(0)
  await createAgent({ model: scriptedModel([respond(say('Hi'))]), middleware: [using] }).run('go')
  expect(made).toBe(1)
})

test('two parallel runs, two agents and a nested agent never share a value (D2)', async () => {
  const own = runLocal((): string[] => [])
  const seen = new Set<string[]>()
  const noting: Middleware = {
    name: 'noting',
    beforeModel(_, run) {
      own(run).push(run.id)
    },
    afterModel(_, run) {
      own(run).push(run.id)
      seen.add(own(run))
    },
  }
  const child = () => createAgent({ model: scriptedModel([respond(say('Hi'))]), middleware: [noting] })
  const nesting = tool({
    name: 'nesting',
    description: 'Runs an agent',
    input: z.object({}),
    async execute() {
      return (await child().run('go')).text
    },
  })
  const parent = createAgent({
    model: {
      provider: 'scripted',
      id: 'scripted-1',
      stream: (request) =>
        scriptedModel([request.messages.length === 1 ? respond(call('nesting')) : respond(say('Done'))]).stream(
          request,
        ),
    },
    tools: [nesting],
    middleware: [noting],
  })
  const runs = [parent.stream('go'), parent.stream('go'), child().stream('go')]
  await Promise.all(runs.map((run) => run.result))
  const values = [...seen]
  expect(values.map((ids) => new Set(ids).size)).toEqual([1, 1, 1, 1, 1])
  expect(values.map((ids) => ids.length).toSorted((a, b) => a - b)).toEqual([2, 2, 2, 4, 4])
  expect(new Set(values.flat()).size).toBe(5)
})

test('two accessors never share a value (D2)', async () => {
  const create = () => ({})
  const [one, other] = [runLocal(create), runLocal(create)]
  let same: boolean | undefined
  const comparing: Middleware = {
    name: 'comparing',
    beforeAgent(_, run) {
      same = one(run) === other(run)
    },
  }
  await createAgent({ model: scriptedModel([respond(say('Hi'))]), middleware: [comparing] }).run('go')
  expect(same).toBe(false)
})

test('when a run is over, its values can be collected, even if the agent, accessor, run or result is still referenced (D5)', async () => {
  const refs: WeakRef<object>[] = []
  const views: Run[] = []
  const own = runLocal(() => {
    const value = { large: 'x'.repeat(1_000) }
    refs.push(new WeakRef(value))
    return value
  })
  const using: Middleware = {
    name: 'using',
    async *wrapAgent(setup, next, run) {
      own(run)
      views.push(run)
      return yield* next(setup)
    },
  }
  const model = scriptedModel([respond(say('Hi')), respond(say('Hi'))])
  const agent = createAgent({ model, middleware: [using] })
  const runs: AgentRun[] = []
  const play = async () => {
    const run = agent.stream('go')
    runs.push(run)
    await collect(run)
    return await run.result
  }
  const result = await play()
  expect(refs).toHaveLength(1)
  expect(await keptOf(() => refs)).toBe(0)
  expect([result.text, runs.length, views.length]).toEqual(['Hi', 1, 1])
})

test('an accessor called with anything but a run throws a TypeError (D5)', async () => {
  const own = runLocal(() => ({}))
  const agent = createAgent({ model: scriptedModel([respond(say('Hi'))]) })
  const run = agent.stream('go')
  for (const no of [undefined, null, 'run', {}, { id: run.id }, run, Object.create(null)]) {
    expect(() => Reflect.apply(own, undefined, [no])).toThrow(TypeError)
  }
  expect(() => Reflect.apply(own, undefined, [])).toThrow(/there is no run.*runTool/)
  await run.result
})

const seen = z.array(z.string())

/** Plays a middleware's beforeModel, which may use cells, in runs of an agent whose tool asks once. */
function celled(beforeModel: NonNullable<Middleware['beforeModel']>, more: Partial<Middleware> = {}) {
  const ask = tool({
    name: 'ask',
    description: 'Asks',
    input: z.object({}),
    execute: (_, { answers }) => answers[0] ?? interrupt(),
  })
  return (...responses: readonly ReturnType<typeof respond>[]) =>
    createAgent({
      model: scriptedModel(responses),
      tools: [ask],
      middleware: [{ name: 'celled', beforeModel, ...more }],
    })
}

test('a cell reads its initial value until it is set, and again once it is deleted (D3)', async () => {
  const cell = runLocal({ key: 'seen', schema: seen, initial: ['start'] })
  const values: (readonly string[])[] = []
  const agent = celled((_, run) => {
    const own = cell(run)
    const note = () => values.push(own.value)
    note()
    own.value = ['a']
    note()
    cell(run).value = [...own.value, 'b']
    note()
    own.delete()
    note()
    own.delete()
    note()
  })
  await agent(respond(say('Hi'))).run('go')
  expect(values).toEqual([['start'], ['a'], ['a', 'b'], ['start'], ['start']])
})

test('a cell may begin as undefined (D3)', async () => {
  const cell = runLocal({ key: 'name', schema: z.string().optional(), initial: undefined })
  let value: string | undefined = 'x'
  await celled((_, run) => void (value = cell(run).value))(respond(say('Hi'))).run('go')
  expect(value).toBeUndefined()
})

test('an initial value that the schema refuses is a ConfigError; one that it checks with a promise is not checked (A2)', () => {
  const make = (schema: CellOptions<string>['schema']) => () => runLocal({ key: 'name', schema, initial: '' })
  expect(make(z.string().min(1))).toThrow(expect.objectContaining({ name: 'ConfigError', option: 'initial' }))
  expect(make(z.string().min(1))).toThrow(/"name"/)
  expect(make(z.string().refine(async () => false))).not.toThrow()
  const validate = () => Promise.reject(new Error('lost'))
  expect(make({ '~standard': { version: 1, vendor: 'late', validate } })).not.toThrow()
})

test.for<readonly [option: string, options: unknown]>([
  ['options', undefined],
  ['options', null],
  ['options', 'seen'],
  ['key', {}],
  ['key', { key: 7, schema: z.string(), initial: '' }],
  ['key', { key: '', schema: z.string(), initial: '' }],
  ['schema', { key: 'seen' }],
  ['schema', { key: 'seen', schema: { type: 'string' }, initial: '' }],
])('a wrong %s is refused by a ConfigError that names it: %j (A2)', ([option, options]) => {
  const make = () => runLocal(options as CellOptions<string>)
  expect(make).toThrow(expect.objectContaining({ name: 'ConfigError', option }))
})

test('neither the value of a cell nor its initial one can be changed in place, so no run changes another’s (D2, D3)', async () => {
  const initial = ['start']
  const cell = runLocal({ key: 'seen', schema: seen, initial })
  const thrown: unknown[] = []
  const agent = celled((_, run) => {
    const own = cell(run)
    const given = ['a']
    for (const set of [undefined, given]) {
      if (set) own.value = set
      try {
        own.value.push('b')
      } catch (error) {
        thrown.push(error)
      }
    }
    given.push('c')
    thrown.push(own.value)
  })
  await agent(respond(say('Hi'))).run('go')
  expect(thrown).toEqual([expect.any(TypeError), expect.any(TypeError), ['a']])
  expect(initial).toEqual(['start'])
  initial.push('more')
  let read: readonly string[] = []
  await celled((_, run) => void (read = cell(run).value))(respond(say('Hi'))).run('go')
  expect(read).toEqual(['start'])
})

test.each<[string, unknown]>([
  ['the schema refuses', [7]],
  ['is undefined', undefined],
  ['is a function', () => 1],
  ['is a date', new Date(0)],
  ['contains a bigint', [1n]],
  ['has a toJSON', Object.assign(['a'], { toJSON: () => ['a'] })],
])('a value that %s throws where it is set, and the old value stays (D4, L10)', async (_, bad) => {
  const cell = runLocal<unknown>({
    key: 'seen',
    schema: z.union([seen, z.null(), z.any().refine((x) => !Array.isArray(x))]),
    initial: null,
  })
  const strict = runLocal({ key: 'strict', schema: seen, initial: [] })
  const left: unknown[] = []
  const agent = celled((_state, run) => {
    cell(run).value = ['old']
    strict(run).value = ['old']
    expect(() => Reflect.set(strict(run), 'value', bad)).toThrow(TypeError)
    if (!Array.isArray(bad) || bad.length !== 1 || bad[0] !== 7)
      expect(() => Reflect.set(cell(run), 'value', bad)).toThrow(TypeError)
    left.push(cell(run).value, strict(run).value)
  })
  await agent(respond(say('Hi'))).run('go')
  expect(left).toEqual([['old'], ['old']])
})

test('a schema that returns a promise is refused (D4)', async () => {
  const cell = runLocal({ key: 'late', schema: z.string().refine(async () => true), initial: '' })
  let thrown: unknown
  const agent = celled((_, run) => {
    try {
      cell(run).value = 'x'
    } catch (error) {
      thrown = error
    }
  })
  await agent(respond(say('Hi'))).run('go')
  expect(thrown).toBeInstanceOf(Error)
})

test('two cells with one key in one agent are a ConfigError, also when made from the same options (D4, D2)', async () => {
  const options = { key: 'seen', schema: seen, initial: [] }
  const [one, other] = [runLocal(options), runLocal(options)]
  const agent = celled((_, run) => {
    one(run).value = ['a']
    other(run)
  })
  await expect(agent(respond(say('Hi'))).run('go')).rejects.toMatchObject({ name: 'ConfigError', option: 'runLocal' })
  // Each is valid in its own run.
  await celled((_, run) => void one(run))(respond(say('Hi'))).run('go')
  await celled((_, run) => void other(run))(respond(say('Hi'))).run('go')
})

test('cells continue after a resume, other values start again; a cell that no longer fits is a mismatch (L11, L18)', async () => {
  const cell = runLocal({ key: 'count', schema: z.number(), initial: 0 })
  const plain = runLocal(() => ({ count: 0 }))
  const counts: number[][] = []
  const counting: NonNullable<Middleware['beforeModel']> = (_, run) => {
    cell(run).value += 1
    plain(run).count += 1
    counts.push([cell(run).value, plain(run).count])
  }
  const first = await celled(counting)(respond(call('ask'))).run('go')
  expect(first.checkpoint?.values).toEqual({ count: 1 })
  const id = first.interrupts?.[0]?.id ?? ''
  if (!first.checkpoint) throw new Error('no checkpoint')
  const next = celled(counting)(respond(say('Done')))
  expect((await next.resume(first.checkpoint, { [id]: 'yes' }).result).text).toBe('Done')
  expect(counts).toEqual([
    [1, 1],
    [2, 1],
  ])
  const other = runLocal({ key: 'count', schema: z.string(), initial: '' })
  const misfit = celled((_, run) => void other(run).value)(respond(say('Done')))
  await expect(misfit.resume(first.checkpoint, { [id]: 'yes' }).result).rejects.toMatchObject({
    name: 'CheckpointMismatchError',
    id: first.checkpoint.runId,
  })
})

test('once a run is over its cells read their initial values, and keep nothing (D5)', async () => {
  const cell = runLocal({ key: 'seen', schema: seen, initial: ['start'] })
  let view: Run | undefined
  const agent = celled((_, run) => {
    view = run
    cell(run).value = ['a']
  })
  await agent(respond(say('Hi'))).run('go')
  if (!view) throw new Error('no run')
  expect(cell(view).value).toEqual(['start'])
  cell(view).value = ['late']
  expect(cell(view).value).toEqual(['start'])
})
