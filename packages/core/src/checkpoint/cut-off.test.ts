import { call, collect, respond, type ScriptedResponse, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { sleep } from '../../test/clock.ts'
import {
  type AgentOptions,
  type AgentRun,
  agentTool,
  type Checkpoint,
  CheckpointConflictError,
  type CheckpointStore,
  createAgent,
  interrupt,
  type Middleware,
  memoryStore,
  settle,
  type Tool,
  type ToolCall,
  type ToolContext,
  type ToolFlow,
  tool,
} from '../index.ts'

// Calls that a kill or a cancel cuts off: what may have happened is not repeated, and what has not happened is not lost.

let did: string[] = []

beforeEach(() => {
  did = []
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

const sent = z.looseObject({ n: z.number().default(1), asks: z.boolean().default(false) })

type Execute = (input: z.infer<typeof sent>, context: ToolContext) => unknown

function toolOf(name: string, execute: Execute, more: Partial<Tool> = {}): Tool {
  return { ...tool({ name, description: name, input: sent, execute }), ...more }
}

/** Acts for a second. It first asks, if its input contains `asks`. */
const send = toolOf(
  'send',
  async ({ asks }, { attempt, answers }) => {
    if (asks && answers.length === 0) interrupt('May I?')
    did.push(`send ${attempt}`)
    await sleep(1000)
    return 'sent'
  },
  { effect: 'external' },
)

const look = toolOf('look', () => sleep(20), { effect: 'read' })

const done = respond(say('Done'))

function agentOf(responses: readonly ScriptedResponse[], options: Partial<AgentOptions>) {
  const pace = { firstToken: 1, betweenTokens: 1 }
  return createAgent({ name: 'a', model: scriptedModel(responses, { pace }), grace: 100, ...options })
}

async function settled(run: AgentRun) {
  const reading = collect(run)
  await vi.advanceTimersByTimeAsync(20_000)
  return await reading
}

/** What is stored when the process is killed after this many milliseconds. */
async function killedAt(ms: number, responses: readonly ScriptedResponse[], options: Partial<AgentOptions>) {
  const checkpoints = memoryStore()
  const run = agentOf(responses, { checkpoints, ...options }).stream('Go')
  const reading = collect(run)
  await vi.advanceTimersByTimeAsync(ms)
  const left = structuredClone(await checkpoints.load(run.id)) as Checkpoint
  await vi.advanceTimersByTimeAsync(20_000)
  await reading
  return left
}

/** The checkpoint of a run that is cancelled after this many milliseconds. */
async function cancelledAt(ms: number, responses: readonly ScriptedResponse[], options: Partial<AgentOptions>) {
  const run = agentOf(responses, options).stream('Go')
  setTimeout(() => void run.cancel(), ms)
  const { result } = await settled(run)
  if (result?.status !== 'cancelled') throw new Error(`the run is ${result?.status}`)
  return result.checkpoint
}

/** What a resume executes, and which calls it reports as unknown. */
async function resumed(left: Checkpoint, responses: readonly ScriptedResponse[], options: Partial<AgentOptions>) {
  did = []
  const { result } = await settled(agentOf(responses, options).resume(left))
  return { did, unknown: result?.unknown }
}

type Next = (call: ToolCall) => ToolFlow

const asking = (call: ToolCall): ToolCall => ({ ...call, input: { asks: true } })

/** A middleware with this wrap. */
function wrapOf(wrap: (call: ToolCall, next: Next) => ToolFlow): Middleware {
  return { name: 'wrap', wrapToolCall: (call, next) => (call.name === 'send' ? wrap(call, next) : next(call)) }
}

const oneAfterAnother = wrapOf(async function* (call, next) {
  try {
    return yield* next(asking(call))
  } catch {
    return yield* next(call)
  }
})

const bothAtOnce = wrapOf(async function* (call, next) {
  const [first, second] = await Promise.allSettled([settle(next(asking(call))), settle(next(call))])
  if (first.status === 'rejected') throw first.reason
  if (second.status === 'rejected') throw second.reason
  yield* []
  return second.value
})

const sends = [respond(call('send', {}, { id: 'send' }), call('look', {}, { id: 'look' })), done]

test('an execution after the agent that a wrap ran may have happened, if a kill cuts it off (L21, C14, L15)', async () => {
  const model = scriptedModel([respond(say('Yes')), respond(say('Yes'))])
  const reviewer = agentTool(createAgent({ name: 'reviewer', model }), { description: 'Reviews' })
  const reviewing: Middleware = {
    name: 'reviewing',
    async *wrapToolCall(call, next, run) {
      if (call.name !== 'send') return yield* next(call)
      const { signal } = run
      const context = { callId: call.id, idempotencyKey: '', attempt: 1, answers: [], messages: [], signal, run }
      await reviewer.execute?.({ request: 'May it?' }, context)
      return yield* next(call)
    },
  }
  const options = { tools: [send, look], middleware: [reviewing] }
  const left = await killedAt(200, sends, options)
  expect(await resumed(left, [done], options)).toEqual({ did: [], unknown: ['send'] })
})

test.for([
  ['whose question was caught', oneAfterAnother],
  ['that asks at the same time', bothAtOnce],
] as const)(
  'an execution that runs at the same time as an execution %s may have happened, if a kill or a cancel cuts it off (L21, C14, L15, L7)',
  async ([, wrap]) => {
    const options = { tools: [send, look], middleware: [wrap] }
    const nothingAgain = { did: [], unknown: ['send'] }
    expect(await resumed(await killedAt(200, sends, options), [done], options)).toEqual(nothingAgain)
    expect(await resumed(await cancelledAt(200, sends, options), [done], options)).toEqual(nothingAgain)
  },
)

test.for([10, 300])(
  'an inner call that a tool makes %i ms after it has returned may have happened, if a kill cuts it off (L15, L21, MA13)',
  async (ms) => {
    const outer = toolOf(
      'outer',
      (_, { run }) => {
        const late = () => run?.callTool({ type: 'tool-call', id: 'late', name: 'send', input: {} })
        setTimeout(() => void late()?.catch(() => undefined), ms)
      },
      { effect: 'calls' },
    )
    const tools = [outer, send, look]
    const looks = [100, 200].map((before) => respond(wait(before), call('look')))
    const left = await killedAt(700, [respond(call('outer')), ...looks, respond(wait(3000), say('Done'))], { tools })
    expect(did).toEqual(['send 1'])
    expect(await resumed(left, [done], { tools })).toEqual({ did: [], unknown: ['late'] })
  },
)

test('a resume makes the inner calls of a settled call that were waiting for their turn when the process was killed (L20)', async () => {
  const write = toolOf(
    'write',
    async ({ n }) => {
      did.push(`write ${n}`)
      await sleep(n === 1 ? 1000 : 10)
    },
    { effect: 'idempotent', writes: () => ['key'] },
  )
  const outer = toolOf(
    'outer',
    async (_, { run }) => {
      const made = run?.callTool({ type: 'tool-call', id: 'made', name: 'write', input: { n: 2 } })
      made?.catch(() => undefined)
      await sleep(50)
    },
    { effect: 'calls' },
  )
  const tools = [write, outer]
  const responses = [respond(call('write', { n: 1 }, { id: 'first' }), call('outer')), respond(wait(500), say('Done'))]
  const left = await killedAt(500, responses, { tools })
  expect(did).toEqual(['write 1', 'write 2'])
  expect(await resumed(left, responses.slice(1), { tools })).toEqual({ did: ['write 2'], unknown: ['first'] })
})

test('a resumed run starts no work in the background before its claim is saved (L19, MA19)', async () => {
  const work = toolOf('work', () => sleep(500).then(() => void did.push('work')), { effect: 'read', background: true })
  const model = scriptedModel([respond(wait(400), say('Hm')), respond(say('Done'))])
  const child = agentTool(createAgent({ name: 'child', model }), { description: 'Is an agent' })
  const tools = [work, { ...child, background: true }]
  const responses = [
    respond(call('work'), call('child', { request: 'Go' })),
    respond(wait(2000), say('Hm')),
    done,
  ] as const
  const left = await killedAt(200, responses, { tools })
  const requests = model.requests.length
  did = []
  const checkpoints: CheckpointStore = {
    ...memoryStore(),
    async save(id, _, expected) {
      await sleep(100)
      throw new CheckpointConflictError(id, expected, 99)
    },
  }
  const { error } = await settled(agentOf([done], { tools, checkpoints }).resume(left))
  expect(error).toBeInstanceOf(CheckpointConflictError)
  expect({ did, requests: model.requests.length }).toEqual({ did: [], requests })
  const { result } = await settled(agentOf([done, done], { tools }).resume(left))
  expect([result?.status, did, model.requests.length]).toEqual(['completed', ['work'], requests + 1])
})
