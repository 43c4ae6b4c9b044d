import {
  call,
  collect,
  fail,
  respond,
  type ScriptedResponse,
  say,
  scriptedModel,
  wait,
} from '@meanwhile/assemble/testing'
import { beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { sleep } from '../../test/clock.ts'
import { early } from '../../test/early-calls.ts'
import { toolOf } from '../../test/tools.ts'
import {
  type AgentOptions,
  type AgentRun,
  type Checkpoint,
  type CheckpointStore,
  createAgent,
  type Middleware,
  map,
  memoryStore,
  tool,
} from '../index.ts'
import { hash } from '../vocabulary/hash.ts'
import { signed } from './checkpoint.ts'

// No two calls of a run have the same key, whichever process makes them.

let keys: string[] = []

beforeEach(() => {
  keys = []
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

const hold = toolOf(
  'hold',
  ({ idempotencyKey }) => {
    keys.push(idempotencyKey)
    return 'held'
  },
  { effect: 'reversible', compensate: () => undefined },
)

const look = toolOf('look', () => sleep(20))

function agentOf(responses: readonly ScriptedResponse[], options: Partial<AgentOptions> = {}) {
  const model = scriptedModel(responses, { pace: { firstToken: 1, betweenTokens: 1 } })
  return createAgent({ name: 'holder', model, tools: [hold], ...options })
}

async function settled(run: AgentRun) {
  const reading = collect(run)
  await vi.advanceTimersByTimeAsync(20_000)
  return await reading
}

const done = respond(say('Done'))
const holds = (id: string) => call('hold', { n: 1 }, { id })

const guessing: Middleware = {
  name: 'guessing',
  wrapModel: (request, next, run) =>
    map(next(request), (event) => {
      const guess = (id: string, name: string) =>
        void run.callTool({ type: 'tool-call', id, name, input: { n: 1 } }).catch(() => undefined)
      if (event.type === 'tool-input-start' && event.name === 'hold') guess(event.id, event.name)
      if (event.type === 'tool-call') void run.callTool(event.call).catch(() => undefined)
      return event
    }),
}

/** What is stored of a running run after this many milliseconds, as after a kill. */
async function killedAfter(ms: number, run: AgentRun, store: CheckpointStore): Promise<Checkpoint> {
  const reading = collect(run)
  await vi.advanceTimersByTimeAsync(ms)
  const left = structuredClone(await store.load(run.id)) as Checkpoint
  await vi.advanceTimersByTimeAsync(20_000)
  await reading
  return left
}

test('no call of a resume reuses the key of a call that was undone while its response streamed, however often it is killed (H25, P5)', async () => {
  const checkpoints = memoryStore()
  const other = call('hold', { n: 2 }, { id: 'hold' })
  const slow = respond(wait(1), other, wait(20), call('look', {}), wait(5_000), say('Well'))
  const options = { tools: [hold, look], middleware: [guessing] }
  let left = await killedAfter(300, agentOf([slow], { ...options, checkpoints }).stream('Go'), checkpoints)
  const [guessed = ''] = keys
  expect(left.calls.map(({ key }) => key)).not.toContain(guessed)
  for (const ms of [10, 100]) {
    keys = []
    const { result } = await settled(agentOf([respond(holds('again')), done], options).resume(left))
    expect([result?.status, keys.length]).toEqual(['completed', 1])
    expect(keys).not.toContain(guessed)
    const store = memoryStore()
    await store.save(left.runId, left, 0)
    const waits = agentOf([respond(wait(5_000), say('Well'))], { ...options, checkpoints: store })
    left = await killedAfter(ms, waits.resume(left), store)
  }
  expect(left.spentKeys).toContain(guessed)
})

test('the same holds for a call whose undo had begun when the process was killed, also if its resume is killed (P22, H25)', async () => {
  const checkpoints = memoryStore()
  const slowly = { ...hold, compensate: () => sleep(20) }
  const options = { tools: [slowly], middleware: [early] }
  const run = agentOf([respond(holds('a'), wait(50), fail())], { ...options, checkpoints }).stream('Go')
  const undoing = await killedAfter(65, run, checkpoints)
  expect(undoing.undos).toHaveLength(1)
  const store = memoryStore()
  await store.save(run.id, undoing, 0)
  const waits = agentOf([respond(wait(5_000), say('Well'))], { ...options, checkpoints: store })
  const claimed = await killedAfter(100, waits.resume(undoing), store)
  expect(claimed).toMatchObject({ status: 'running', undos: [] })
  await settled(agentOf([respond(holds('b')), done], options).resume(claimed))
  expect(keys).toHaveLength(2)
  expect(new Set(keys).size).toBe(2)
})

test('the next step keeps no keys of the step before it, whichever process ran that (MA13)', async () => {
  const checkpoints = memoryStore()
  const options = { tools: [hold, look], middleware: [guessing], checkpoints }
  const other = call('hold', { n: 2 }, { id: 'hold' })
  const slow = respond(wait(1), other, wait(20), call('look', {}), wait(5_000), say('Well'))
  const first = await killedAfter(300, agentOf([slow], options).stream('Go'), checkpoints)
  expect(first.spentKeys).toHaveLength(1)
  const store = memoryStore()
  await store.save(first.runId, first, 0)
  const next = agentOf([respond(call('look', {})), respond(wait(5_000))], { ...options, checkpoints: store })
  const left = await killedAfter(300, next.resume(first), store)
  expect(left.steps.current?.number).toBe(2)
  expect(left).not.toHaveProperty('spentKeys')
})

test('a further equal call has a new key, in whatever order a checkpoint contains the earlier ones (H25)', async () => {
  const checkpoints = memoryStore()
  const run = agentOf([respond(holds('a'), holds('b'), wait(5_000))], { checkpoints, middleware: [early] }).stream('Go')
  const reading = collect(run)
  await vi.advanceTimersByTimeAsync(300)
  const { checksum: _, ...left } = structuredClone(await checkpoints.load(run.id)) as Checkpoint
  await vi.advanceTimersByTimeAsync(20_000)
  await reading
  expect(left.calls).toHaveLength(2)
  const from = signed({ ...left, calls: left.calls.toReversed() })
  keys = []
  await settled(agentOf([respond(holds('a'), holds('b'), holds('c')), done]).resume(from))
  expect(keys).toEqual([expect.stringMatching(/\/2$/)])
})

// Found in eight seconds.
const ONE = { n: '1ct78m927hm' }
const OTHER = { n: 'kcb82fnoao' }

const note = tool({
  name: 'note',
  description: 'Notes.',
  input: z.object({ n: z.string() }),
  effect: 'idempotent',
  execute(_, { idempotencyKey }) {
    keys.push(idempotencyKey)
    return 'noted'
  },
})

const noting = (responses: readonly ScriptedResponse[], options: Partial<AgentOptions> = {}) =>
  agentOf(responses, { tools: [note], ...options })

async function keysOf(...inputs: readonly { readonly n: string }[]): Promise<readonly string[]> {
  keys = []
  const calls = inputs.map((input) => call('note', input))
  await settled(noting([respond(...calls), done]).stream('Go', { id: 'order-17' }))
  return keys
}

test('two calls whose inputs have one hash have different keys, also in two runs with one id and without a store (H25, W51)', async () => {
  expect(hash(JSON.stringify(ONE))).toBe(hash(JSON.stringify(OTHER)))
  const both = await keysOf(ONE, OTHER)
  expect(both).toEqual([...(await keysOf(ONE)), ...(await keysOf(OTHER))])
  expect(new Set(both).size).toBe(2)
})

test('a key is short, and where no hash can be computed at once it has the input as it is (H25)', async () => {
  const [key = ''] = await keysOf({ n: 'x'.repeat(10_000) })
  expect(key).toMatch(/^order-17\/1\/note\/[\w-]{43}\/0$/)
  const builtin = vi.spyOn(process, 'getBuiltinModule').mockReturnValue(undefined as never)
  const [first = '', second = ''] = await keysOf(ONE, OTHER)
  builtin.mockRestore()
  expect(decodeURIComponent(first)).toMatch(/^order-17\/1\/note\/\[{"n":"1ct78m927hm"},null\]\/0$/)
  expect(decodeURIComponent(second)).toMatch(/^order-17\/1\/note\/\[{"n":"kcb82fnoao"},null\]\/0$/)
})
