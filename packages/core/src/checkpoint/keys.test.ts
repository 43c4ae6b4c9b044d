import { beforeEach, expect, test, vi } from 'vitest'
import { early } from '../../test/early-calls.ts'
import { toolOf } from '../../test/tools.ts'
import { type AgentOptions, type AgentRun, type Checkpoint, createAgent, memoryStore } from '../index.ts'
import { call, collect, respond, type ScriptedResponse, say, scriptedModel, wait } from '../testing.ts'
import { signed } from './checksum.ts'

// No two calls of a run have the same key, whatever process makes them.

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

test('a further equal call has a key of its own, in whatever order a checkpoint holds those before it (H25)', async () => {
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
