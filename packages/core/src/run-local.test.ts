import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { type AgentRun, createAgent, type Middleware, map, type Run, runLocal, tool } from './index.ts'
import { call, collect, respond, say, scriptedModel } from './testing.ts'

/** Notes the value in each of its hooks and wraps. */
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

test('the value is made once, at the first use in a run, and the same in hooks, wraps and tools, early ones too (D1)', async () => {
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

test('nothing is made in a run that does not use it, and undefined is made once too (D1)', async () => {
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

test('two runs at once, two agents and a nested agent never share a value (D2)', async () => {
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

test('a run gone, its values are gone, whoever keeps agent, accessor, run or result (D5)', async () => {
  setFlagsFromString('--expose-gc')
  const collectGarbage: unknown = runInNewContext('gc')
  if (typeof collectGarbage !== 'function') throw new TypeError('no gc')
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
  // A WeakRef keeps its target to the end of the turn in which it was made or read.
  for (let turn = 0; turn < 5 && refs[0]?.deref(); turn++) {
    await new Promise((resolve) => {
      setTimeout(resolve, 0)
    })
    collectGarbage()
  }
  expect(refs).toHaveLength(1)
  expect(refs[0]?.deref()).toBeUndefined()
  expect([result.text, runs.length, views.length]).toEqual(['Hi', 1, 1])
})

test('an accessor called with anything but a run throws a TypeError (D5)', async () => {
  const own = runLocal(() => ({}))
  const agent = createAgent({ model: scriptedModel([respond(say('Hi'))]) })
  const run = agent.stream('go')
  for (const no of [undefined, null, 'run', {}, { id: run.id }, run, Object.create(null)]) {
    expect(() => Reflect.apply(own, undefined, [no])).toThrow(TypeError)
  }
  await run.result
})
