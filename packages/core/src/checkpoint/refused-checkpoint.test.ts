import { call, collect, end, respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { propertyRuns } from '@meanwhile/tests/size'
import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { played } from '../../test/played-runs.ts'
import { answersTo } from '../../test/results.ts'
import { travelAgent } from '../../test/travel-agent.ts'
import {
  AgentError,
  type AgentRun,
  type Checkpoint,
  CheckpointCorruptError,
  CheckpointError,
  CheckpointMismatchError,
  CheckpointMissingError,
  type CheckpointStore,
  CheckpointVersionError,
  ConfigError,
  createAgent,
  interrupt,
  type Middleware,
  memoryStore,
} from '../index.ts'
import { checksumOf } from './checkpoint.ts'

const { did, all, agentOf, interrupted } = travelAgent()

test('a checkpoint that was damaged at any place is refused, and nothing runs (L18)', async () => {
  vi.useRealTimers()
  const full = await richCheckpoint()
  const places: (string | number)[][] = []
  const walk = (value: unknown, path: (string | number)[]) => {
    if (path.length > 0) places.push(path)
    if (Array.isArray(value)) for (const [index, item] of value.entries()) walk(item, [...path, index])
    else if (typeof value === 'object' && value !== null)
      for (const [key, member] of Object.entries(value)) walk(member, [...path, key])
  }
  walk(full, [])
  let ran = 0
  const tools = all.map((one) => ({ ...one, execute: () => ran++ }))
  const model = scriptedModel([])
  const agent = createAgent({
    model,
    name: 'travel',
    tools,
    middleware: [{ name: 'm', beforeModel: () => void ran++ }],
  })
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...places),
      fc.oneof(
        fc.constant({ drop: true }),
        fc.jsonValue().map((to) => ({ to })),
      ),
      async (path, change) => {
        const copy = structuredClone(full) as never
        const last = path.at(-1) as never
        const parent = path.slice(0, -1).reduce<never>((value, key) => value[key as never], copy)
        if (path[0] === 'revision' && 'to' in change && Number.isInteger(change.to)) return
        if ('drop' in change) {
          if (Array.isArray(parent)) (parent as unknown[]).splice(Number(last), 1)
          else delete parent[last]
        } else parent[last] = change.to as never
        if (JSON.stringify(copy) === JSON.stringify(full)) return
        const { error, events } = await collect(agent.resume(copy))
        expect(error).toBeInstanceOf(AgentError)
        expect(events).toEqual([])
        expect([ran, model.requests]).toEqual([0, []])
      },
    ),
    propertyRuns({ small: 50, middle: 80, whole: 50_000 }),
  )
})

/** A checkpoint with a value in every member. */
async function richCheckpoint(): Promise<Checkpoint> {
  const checkpoints = memoryStore()
  const asking: Middleware = {
    name: 'asking',
    async *wrapToolCall(one, next, run) {
      const message = yield* next(one)
      if (one.name === 'put' && run.answers.length === 0) throw interrupt({ after: ['put'] })
      return message
    },
    beforeModel: (_, run) => run.warn({ code: 'w', message: 'x' }),
  }
  const { agent } = agentOf(
    [respond(say('Hm.'), call('read'), call('put'), call('book'), end({ usage: { inputTokens: 1 } }))],
    {
      checkpoints,
      middleware: [asking],
    },
  )
  const run = agent.stream('Go')
  run.send('And?')
  const { checkpoint } = await run.result
  return JSON.parse(JSON.stringify(checkpoint)) as Checkpoint
}

test.each<[string, unknown]>([
  ['null', null],
  ['undefined', undefined],
  ['a number', 7],
  ['a list', []],
  ['an empty object', {}],
  ['a function', () => 1],
  ['a bigint inside', { format: 1, runId: 'r', messages: [1n] }],
  [
    'a value that contains itself',
    (() => {
      const self: { self?: unknown } = {}
      self.self = self
      return self
    })(),
  ],
  ['100,000 levels', JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`)],
])('%s is not a checkpoint (L18)', async (_, value) => {
  const { agent, model } = agentOf([])
  const run: AgentRun = Reflect.apply(agent.resume, agent, [value])
  await expect(run.result).rejects.toBeInstanceOf(CheckpointCorruptError)
  expect(model.requests).toEqual([])
})

test.each<[string, object]>([
  ['it has no calls', { calls: undefined }],
  ['it has no steps', { steps: undefined }],
  ['its messages are a number', { messages: 5 }],
  ['one of its messages is null', { messages: [null] }],
  ['one of its calls has no tool', { calls: [{ call: {} }] }],
  ['its warnings are null', { warnings: null }],
  ['its usage is null', { usage: null }],
  ['its sent messages are null', { sent: null }],
  ['it has completed, and has no result', { status: 'completed' }],
])('a checkpoint with the correct checksum is refused as damaged if %s (L18)', async (_, change) => {
  const { checkpoint } = await interrupted()
  const { checksum: __, ...rest } = { ...checkpoint, ...change } as Checkpoint
  const { agent, model } = agentOf([])
  // If the messages are damaged, no checksum is correct.
  const checksum = checksumOf({ ...rest, messages: checkpoint.messages })
  const damaged = JSON.parse(JSON.stringify({ ...rest, checksum })) as Checkpoint
  await expect(agent.resume(damaged).result).rejects.toBeInstanceOf(CheckpointCorruptError)
  expect(model.requests).toEqual([])
})

test('a newer format, another agent and a missing tool are each refused with their own error (L18)', async () => {
  const { result, checkpoint } = await interrupted()
  const { agent } = agentOf([])
  const newer = { ...checkpoint, format: 2, whatever: true }
  const { runId: id } = checkpoint
  const later = await Reflect.apply(agent.resume, agent, [newer]).result.catch((error: unknown) => error)
  expect(later).toBeInstanceOf(CheckpointVersionError)
  expect(later).toMatchObject({ id, found: 2, supported: 1 })
  const named = agentOf([], { name: 'other' }).agent
  const others = await named.resume(checkpoint).result.catch((error: unknown) => error)
  expect(others).toBeInstanceOf(CheckpointMismatchError)
  const whose = 'it belongs to agent travel, but this is agent other'
  expect(others).toMatchObject({ id, message: `checkpoint "${id}": ${whose}` })
  // One catch clause can handle all of them.
  for (const error of [later, others]) expect(error).toBeInstanceOf(CheckpointError)
  const bare = agentOf([], { tools: [] })
  did.length = 0
  await expect(bare.agent.resume(checkpoint, answersTo(result)).result).rejects.toThrow('book')
  await expect(bare.agent.resume(checkpoint).result).rejects.toBeInstanceOf(CheckpointMismatchError)
  expect([did, bare.model.requests]).toEqual([[], []])
})

test('a call that had not started also requires its tool (L18)', async () => {
  const { agent } = agentOf([respond(call('send'), wait(10))])
  const run = agent.stream('Go')
  await vi.advanceTimersByTimeAsync(5)
  void run.cancel({ at: 'after-model' })
  const { result } = await played(run)
  const bare = agentOf([], { tools: [] })
  await expect(bare.agent.resume(result.checkpoint as Checkpoint).result).rejects.toThrow('has no tool send')
  expect(did).toEqual([])
})

test('damaged bytes, or none, stored with an id are refused, and stay (L18)', async () => {
  const { checkpoint } = await interrupted()
  const checkpoints = memoryStore()
  await checkpoints.save('damaged', { runId: 'damaged', revision: 1 }, 0)
  await checkpoints.save('elsewhere', { ...checkpoint, revision: 1 }, 0)
  const { agent } = agentOf([], { checkpoints })
  await expect(agent.resume('damaged').result).rejects.toBeInstanceOf(CheckpointCorruptError)
  await expect(agent.resume('elsewhere').result).rejects.toBeInstanceOf(CheckpointMismatchError)
  await expect(agent.resume('none').result).rejects.toBeInstanceOf(CheckpointMissingError)
  await expect(agentOf([]).agent.resume('none').result).rejects.toBeInstanceOf(ConfigError)
  expect(await checkpoints.load('damaged')).toEqual({ runId: 'damaged', revision: 1 })
  expect(await checkpoints.load('elsewhere')).toMatchObject({ revision: 1 })
})

test('a store that cannot be read is a typed error (L16)', async () => {
  const broken: CheckpointStore = { ...memoryStore(), load: () => Promise.reject(new Error('disk')) }
  const { agent } = agentOf([], { checkpoints: broken })
  await expect(agent.resume('x').result).rejects.toMatchObject({
    name: 'CheckpointStoreError',
    id: 'x',
    operation: 'load',
    cause: expect.objectContaining({ message: 'disk' }),
  })
})
