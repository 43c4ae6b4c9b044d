import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { type AgentSetup, createAgent, textOf } from '@meanwhile/core'
import { propertyRuns } from '@meanwhile/tests/size'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ask, goneOn } from '../test/asking.ts'
import { toolResults } from '../test/tool-results.ts'
import { memoryBackend } from './memory-backend.ts'
import { type PlanTasksOptions, planTasks, type Task } from './plan-tasks.ts'

type Step = readonly [name: string, input?: object]

/** Calls one after another, each in its own step, and the list at the end. */
async function planned(steps: readonly Step[], options?: PlanTasksOptions) {
  const calls = [...steps, ['list'] as const].map(([name, input]) => [call(`task_${name}`, input ?? {})])
  const { texts, messages } = await toolResults([planTasks(options)], calls)
  return { texts: texts.slice(0, -1), list: texts.at(-1), outputs: messages.map(({ output }) => output) }
}

const create = (subject: string, more: object = {}): Step => ['create', { subject, ...more }]
const update = (id: number, more: object): Step => ['update', { id, ...more }]

test('a task goes from pending to in_progress to completed, or is deleted (N44)', async () => {
  const { list, outputs } = await planned([
    create('One', { description: 'All of one.' }),
    create('Two'),
    update(1, { status: 'in_progress' }),
    update(1, { status: 'completed', subject: 'The first' }),
    update(2, { status: 'deleted' }),
    ['get', { id: 1 }],
  ])
  const first = { id: 1, subject: 'One', description: 'All of one.', status: 'pending', blocks: [], blockedBy: [] }
  expect(outputs[0]).toEqual(first)
  expect(outputs[2]).toEqual({ ...first, status: 'in_progress' })
  expect(outputs[4]).toEqual({ id: 2, status: 'deleted' })
  expect(outputs[5]).toEqual({ ...first, subject: 'The first', status: 'completed' })
  expect(list).toBe('1 [completed] The first')
  expect((await planned([update(1, { status: 'done' })])).texts[0]).toMatch(/status: must be one of pending/)
})

test('ids are numbers, sorted as numbers, and never reused (N44)', async () => {
  for (const options of [{}, { backend: memoryBackend() }]) {
    const { list } = await planned(
      [...Array.from({ length: 10 }, (_, n) => create(`T${n + 1}`)), update(10, { status: 'deleted' }), create('New')],
      options,
    )
    expect(list?.split('\n').map((line) => line.split(' ')[0])).toEqual([
      '1',
      '2',
      '3',
      '4',
      '5',
      '6',
      '7',
      '8',
      '9',
      '11',
    ])
  }
})

test('parallel creates get different ids, also in two runs with one backend (N44)', async () => {
  const parallel = (name: string) => [
    Array.from({ length: 8 }, (_, n) => call('task_create', { subject: `${name}${n}` })),
  ]
  const ids = (results: { messages: readonly { output?: unknown }[] }) =>
    results.messages.map(({ output }) => (output as Task).id)
  const alone = ids(await toolResults([planTasks()], parallel('a')))
  expect(alone).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
  const backend = memoryBackend()
  const [a, b] = await Promise.all([
    toolResults([planTasks({ backend })], parallel('a')),
    toolResults([planTasks({ backend })], parallel('b')),
  ])
  const both = [...ids(a), ...ids(b)]
  expect(both.toSorted((x, y) => x - y)).toEqual(Array.from({ length: 16 }, (_, n) => n + 1))
  const { list } = await planned([], { backend })
  expect(list?.split('\n')).toHaveLength(16)
})

test('blocks and blockedBy always agree, whichever was given (N45)', async () => {
  const { outputs, list } = await planned([
    create('Dig'),
    create('Build', { addBlockedBy: [1] }),
    create('Plan', { addBlocks: [1, 2] }),
    update(2, { addBlockedBy: [1, 3] }),
    ['get', { id: 1 }],
    ['get', { id: 2 }],
    ['get', { id: 3 }],
  ])
  expect(outputs.slice(4, 7)).toMatchObject([
    { id: 1, blocks: [2], blockedBy: [3] },
    { id: 2, blocks: [], blockedBy: [1, 3] },
    { id: 3, blocks: [1, 2], blockedBy: [] },
  ])
  expect(list).toBe('1 [pending] Dig (blocked by 3)\n2 [pending] Build (blocked by 1, 3)\n3 [pending] Plan')
})

test('a cycle, an unknown id or starting a blocked task is an error result and changes nothing (N45)', async () => {
  const three = [create('A'), create('B', { addBlockedBy: [1] }), create('C', { addBlockedBy: [2] })]
  const before = (await planned(three)).list
  const wrong: readonly (readonly [Step, string])[] = [
    [update(1, { addBlockedBy: [3], subject: 'Z' }), 'task 1 would wait for itself'],
    [update(3, { addBlocks: [1], subject: 'Z' }), 'task 3 would wait for itself'],
    [update(1, { addBlocks: [1], subject: 'Z' }), 'task 1 would wait for itself'],
    [update(4, { subject: 'Z' }), 'task 4 does not exist, or was deleted'],
    [update(4, { status: 'deleted' }), 'task 4 does not exist, or was deleted'],
    [update(1, { addBlocks: [3, 9], subject: 'Z' }), 'task 9 does not exist, or was deleted'],
    [create('Z', { addBlockedBy: [9] }), 'task 9 does not exist, or was deleted'],
    [['get', { id: 9 }], 'task 9 does not exist, or was deleted'],
    [update(3, { status: 'in_progress', subject: 'Z' }), 'task 3 cannot be in_progress: it is blocked by 2'],
    [update(3, { status: 'completed' }), 'task 3 cannot be completed: it is blocked by 2'],
  ]
  for (const options of [{}, { backend: memoryBackend() }]) {
    const { texts, list } = await planned([...three, ...wrong.map(([step]) => step)], options)
    expect(texts.slice(three.length)).toEqual(wrong.map(([, problem]) => `error: ${problem}`))
    expect(list).toBe(before)
  }
  const { texts, list } = await planned([
    create('A'),
    update(1, { status: 'in_progress' }),
    create('B', { addBlocks: [1] }),
  ])
  expect(texts.at(-1)).toBe('error: task 1 cannot be in_progress: it is blocked by 2')
  expect(list).toBe('1 [in_progress] A')
})

test('a completed or deleted task no longer blocks (N45)', async () => {
  const { list } = await planned([
    create('A'),
    create('B'),
    create('C', { addBlockedBy: [1, 2] }),
    update(1, { status: 'completed' }),
    update(2, { status: 'deleted' }),
    update(3, { status: 'in_progress' }),
  ])
  expect(list).toBe('1 [completed] A\n3 [in_progress] C')
})

test('after any changes, no task waits for itself and both directions of every dependency agree (N45)', async () => {
  const id = fc.integer({ min: 1, max: 6 })
  const ids = fc.array(id, { maxLength: 3 })
  const anyStep: fc.Arbitrary<Step> = fc.oneof(
    fc.record({ addBlocks: ids, addBlockedBy: ids }).map((more) => create('T', more)),
    fc
      .record({
        id,
        addBlocks: ids,
        addBlockedBy: ids,
        status: fc.constantFrom(undefined, 'pending', 'in_progress', 'completed', 'deleted'),
      })
      .map(({ id, ...more }) => update(id, more)),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(anyStep, { maxLength: 12 }), async (steps) => {
      const { outputs } = await planned([create('A'), create('B'), create('C'), ...steps])
      const tasks = new Map((outputs.at(-1) as Task[]).map((task) => [task.id, task]))
      for (const task of tasks.values()) {
        expect(task.blockedBy.every((other) => tasks.get(other)?.blocks.includes(task.id))).toBe(true)
        expect(task.blocks.every((other) => tasks.get(other)?.blockedBy.includes(task.id))).toBe(true)
        const reached = new Set(task.blockedBy)
        for (const other of reached) for (const next of tasks.get(other)?.blockedBy ?? []) reached.add(next)
        expect(reached.has(task.id)).toBe(false)
      }
    }),
    propertyRuns({ small: 8, middle: 12, whole: 5_000 }),
  )
})

test('the plan survives interrupt and resume, and each run has its own (N46)', async () => {
  const responses = [
    respond(call('task_create', { subject: 'One' })),
    respond(call('ask')),
    respond(call('task_create', { subject: 'Two' })),
    respond(call('task_list')),
    respond(say('Done.')),
  ]
  const agent = createAgent({ model: scriptedModel(responses), tools: [ask], middleware: [planTasks()] })
  const { messages } = await goneOn(agent, await agent.run('Go'))
  const last = messages.findLast(({ role }) => role === 'tool')
  expect(last && textOf(last)).toBe('1 [pending] One\n2 [pending] Two')

  const { list } = await planned([])
  expect(list).toBe('(there are no tasks)')
})

test('a file that does not contain a valid plan is an error result, and is not changed (N45)', async () => {
  for (const content of ['', '{', '[]', '{"next":0,"tasks":[]}', '{"next":2,"tasks":[{"id":1}]}']) {
    const backend = memoryBackend({ 'plan/tasks.json': content })
    const { texts, list } = await planned([create('A')], { backend, file: 'plan/tasks.json' })
    expect([...texts, list]).toEqual(Array(2).fill('error: plan/tasks.json: does not contain a valid plan'))
    const { bytes } = await backend.read('plan/tasks.json', { maxBytes: 100 })
    expect(new TextDecoder().decode(bytes)).toBe(content)
  }
})

test('a plan to which somebody else has added a cycle can still be changed (N45)', async () => {
  const task = (id: number, by: number) => ({ id, subject: 'T', description: '', status: 'pending', blockedBy: [by] })
  const plan = JSON.stringify({ next: 3, tasks: [task(1, 2), task(2, 1)] })
  const { list } = await planned([create('New', { addBlockedBy: [1] })], {
    backend: memoryBackend({ 'tasks.json': plan }),
  })
  expect(list?.split('\n').at(-1)).toBe('3 [pending] New (blocked by 1)')
})

test('a plan that would be too large for its file is an error result, and the file is not changed (N45)', async () => {
  const plan = {
    next: 2,
    tasks: [{ id: 1, subject: 'x'.repeat(999_800), description: '', status: 'pending', blockedBy: [] }],
  }
  const backend = memoryBackend({ 'tasks.json': JSON.stringify(plan) })
  const { texts, outputs } = await planned([create('y'.repeat(200)), update(1, { status: 'deleted' })], { backend })
  expect(texts).toEqual(['error: tasks.json: the plan is too large; delete tasks', expect.stringContaining('deleted')])
  expect(outputs.at(-1)).toEqual([])
})

test('tools that list and return tasks may start early, tools that change them may not (N44)', async () => {
  const setup: AgentSetup = {
    model: scriptedModel([]),
    instructions: '',
    tools: [],
    maxSteps: 1,
    toolConcurrency: 1,
    innerConcurrency: Number.POSITIVE_INFINITY,
    captureContent: false,
  }
  const added = await planTasks().beforeAgent?.(setup, undefined as never)
  expect(added?.tools.map((one) => [one.name, one.effect])).toEqual([
    ['task_create', 'external'],
    ['task_get', 'read'],
    ['task_update', 'external'],
    ['task_list', 'read'],
  ])
})
