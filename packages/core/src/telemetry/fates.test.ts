import { call, respond, type ScriptResponse, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { startingEarly, withdrawing } from '../../test/early-calls.ts'
import { type Observed, observed } from '../../test/observed.ts'
import {
  type Agent,
  type AgentOptions,
  type AgentResult,
  type AgentRun,
  agentTool,
  type CancelOptions,
  createAgent,
  interrupt,
  type Middleware,
  type Model,
  type Tool,
  tool,
} from '../index.ts'

// The spans of early calls of a run that stops, and of the run that continues with them.

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

const input = z.object({})
const work = (name: string, ms: number) =>
  tool({
    name,
    description: name,
    input,
    effect: 'read',
    execute: (_, { signal }) =>
      new Promise((resolve, reject) => {
        setTimeout(resolve, ms, `${name} done`)
        signal.addEventListener('abort', () => reject(signal.reason))
      }),
  }) as Tool

/** Starts each call as soon as it is sealed. */
const early = startingEarly({ attributes: { 'meanwhile.dispatch.evidence': 'sealed' } })

/** A repeated request after a resume gets the same response. */
function modelOf(...responses: readonly ScriptResponse[]): Model {
  return {
    provider: 'scripted',
    id: 'scripted-1',
    stream(request) {
      const turn = request.messages.filter(({ role }) => role === 'assistant').length
      return scriptedModel([responses[turn] ?? respond(say('Done.'))]).stream(request)
    },
  }
}

interface Told {
  readonly status: AgentResult['status']
  /** For each execution: its tool, outcome, status code, and the reason for its discard. */
  readonly spans: readonly string[]
  /** On the run's span: early, committed, discarded and reused calls. */
  readonly counters: readonly unknown[]
  /** What this run has added to `meanwhile.tool_calls`. */
  readonly calls: Readonly<Record<string, number>>
}

async function callsIn({ points }: Observed): Promise<Readonly<Record<string, number>>> {
  const calls = (await points()).filter(({ name }) => name === 'meanwhile.tool_calls')
  return Object.fromEntries(
    calls.map(({ attributes, sum }) => [
      ['gen_ai.tool.name', 'meanwhile.dispatch.mode', 'meanwhile.outcome'].map((key) => attributes[key]).join(' '),
      sum,
    ]),
  )
}

async function told(seen: Observed, run: AgentRun, cancel?: CancelOptions): Promise<[Told, AgentResult]> {
  seen.reset()
  const before = await callsIn(seen)
  if (cancel) {
    await vi.advanceTimersByTimeAsync(100)
    void run.cancel(cancel)
  }
  await vi.runAllTimersAsync()
  const result = await run.result
  const spans = seen.spans().filter(({ name }) => name.startsWith('execute_tool'))
  const counters = seen.spans().findLast(({ name }) => name.startsWith('invoke_agent'))?.attributes ?? {}
  const calls = Object.entries(await callsIn(seen)).map(([key, sum]) => [key, sum - (before[key] ?? 0)] as const)
  const story: Told = {
    status: result.status,
    spans: spans
      .map(({ attributes: of, status }) =>
        [of['gen_ai.tool.name'], of['meanwhile.outcome'], status.code, of['meanwhile.discard.reason']].join(' ').trim(),
      )
      .toSorted(),
    counters: ['early', 'committed', 'discarded', 'reused'].map((fate) => counters[`meanwhile.tool_calls.${fate}`]),
    calls: Object.fromEntries(calls.filter(([, sum]) => sum > 0).toSorted(([a], [b]) => a.localeCompare(b))),
  }
  return [story, result]
}

interface Started {
  readonly agent: Agent
  readonly seen: Observed
}

/** The run until it stops, and its resume. */
async function stopped({ agent, seen }: Started, cancel?: CancelOptions): Promise<readonly [Told, Told]> {
  const [first, { checkpoint, interrupts = [] }] = await told(seen, agent.stream('Go'), cancel)
  if (!checkpoint) throw new Error('no checkpoint')
  const answers = Object.fromEntries(interrupts.map(({ id }) => [id, 'yes']))
  const [second] = await told(seen, agent.resume(JSON.parse(JSON.stringify(checkpoint)), answers))
  return [first, second]
}

/** Asks before the calls of a response are requested. */
const asking: Middleware = {
  name: 'asking',
  afterModel: (_, run) => {
    if (run.step === 1 && run.answers.length === 0) throw interrupt()
  },
}

/** `quick` has settled when the run stops, `slow` has not. */
const twoCalls = respond(call('quick', {}), call('slow', {}), wait(200))
const tools = [work('quick', 5), work('slow', 5_000)]

/** An agent that starts both early. */
function starter({ model = modelOf(twoCalls), middleware = [] }: Partial<AgentOptions> = {}): Started {
  const seen = observed()
  return { agent: createAgent({ model, tools, middleware: [early, ...middleware], telemetry: seen.telemetry }), seen }
}

test('cancelled now, early calls are cancelled, settled or cut off; one is reused then, the other made again (K4, L20)', async () => {
  expect(await stopped(starter(), { at: 'now' })).toEqual([
    {
      status: 'cancelled',
      spans: ['quick cancelled 0', 'slow cancelled 0'],
      counters: [2, 0, 0, 0],
      calls: { 'quick early cancelled': 1, 'slow early cancelled': 1 },
    },
    {
      status: 'completed',
      spans: ['slow committed 0'],
      counters: [0, 2, 0, 1],
      calls: { 'quick early committed': 1, 'slow early committed': 1 },
    },
  ])
})

test('cancelled after the model, early calls are cancelled, whether they settle within the grace time or not (K5, K15)', async () => {
  expect(await stopped(starter(), { at: 'after-model' })).toEqual([
    {
      status: 'cancelled',
      spans: ['quick cancelled 0', 'slow cancelled 0'],
      counters: [2, 0, 0, 0],
      calls: { 'quick early cancelled': 1, 'slow early cancelled': 1 },
    },
    {
      status: 'completed',
      spans: ['slow committed 0'],
      counters: [0, 1, 0, 1],
      calls: { 'quick early committed': 1, 'slow after_model committed': 1 },
    },
  ])
})

test('cancelled after the tools, early calls are committed like any others, and a resume has none of them (K5)', async () => {
  expect(await stopped(starter(), { at: 'after-tools' })).toEqual([
    {
      status: 'cancelled',
      spans: ['quick committed 0', 'slow committed 0'],
      counters: [2, 2, 0, 0],
      calls: { 'quick early committed': 1, 'slow early committed': 1 },
    },
    { status: 'completed', spans: [], counters: [0, 0, 0, 0], calls: {} },
  ])
})

test('interrupted before they are requested, early calls are interrupted, and committed by the resume (L3)', async () => {
  expect(await stopped(starter({ middleware: [asking] }))).toEqual([
    {
      status: 'interrupted',
      spans: ['quick interrupted 0', 'slow interrupted 0'],
      counters: [2, 0, 0, 0],
      calls: { 'quick early interrupted': 1, 'slow early interrupted': 1 },
    },
    {
      status: 'completed',
      spans: [],
      counters: [0, 2, 0, 2],
      calls: { 'quick early committed': 1, 'slow early committed': 1 },
    },
  ])
})

test('a question during a cancel makes no early call interrupted (K17)', async () => {
  const [first] = await stopped(starter({ middleware: [asking] }), { at: 'after-tools' })
  expect(first).toMatchObject({ status: 'cancelled', spans: ['quick cancelled 0', 'slow cancelled 0'] })
})

test('a call of a checkpoint that a resume does not request is discarded there, and counts as that (O9)', async () => {
  const responses = [twoCalls]
  const { agent, seen } = starter({
    model: { ...modelOf(), stream: (request) => modelOf(...responses).stream(request) },
  })
  const [first, { checkpoint }] = await told(seen, agent.stream('Go'), { at: 'now' })
  responses[0] = respond(say('Never mind.'))
  const [second] = await told(seen, agent.resume(checkpoint ?? ''))
  expect(first.counters).toEqual([2, 0, 0, 0])
  expect(second).toEqual({
    status: 'completed',
    spans: [],
    counters: [0, 0, 1, 0],
    calls: { 'quick early discarded': 1 },
  })
})

test('a call that was discarded before the run is cancelled stays discarded (H20)', async () => {
  const model = modelOf(respond(call('quick', {}), call('slow', {})))
  const { agent, seen } = starter({ model, middleware: [withdrawing('quick')] })
  const [first] = await told(seen, agent.stream('Go'), { at: 'now' })
  expect(first).toEqual({
    status: 'cancelled',
    spans: ['quick discarded 0 call_withdrawn', 'slow cancelled 0'],
    counters: [2, 1, 1, 0],
    calls: { 'quick early discarded': 1, 'slow early cancelled': 1 },
  })
})

test('an aborted run keeps nothing: its early calls are discarded (K1)', async () => {
  const { agent, seen } = starter()
  const controller = new AbortController()
  const run = agent.stream('Go', { signal: controller.signal })
  await vi.advanceTimersByTimeAsync(100)
  controller.abort()
  await vi.runAllTimersAsync()
  await expect(run.result).rejects.toThrow('the run was aborted')
  expect(seen.span('execute_tool quick').attributes).toMatchObject({
    'meanwhile.outcome': 'discarded',
    'meanwhile.discard.reason': 'run_aborted',
  })
  expect(await callsIn(seen)).toEqual({ 'quick early discarded': 1, 'slow early discarded': 1 })
})

test('cancelled now with the outer run, the early calls of an agent are kept: neither discarded nor undone (K16)', async () => {
  const seen = observed()
  const undone: string[] = []
  let booked = 0
  const book = tool({
    name: 'book',
    description: 'b',
    input,
    effect: 'reversible',
    execute: () => `booked ${++booked}`,
    compensate: () => void undone.push('book'),
  }) as Tool
  const inner = createAgent({
    name: 'inner',
    description: 'i',
    model: modelOf(respond(call('book', {}), wait(200))),
    tools: [book],
    middleware: [early],
    telemetry: seen.telemetry,
  })
  const outer = createAgent({
    name: 'outer',
    model: modelOf(respond(call('inner', { request: 'Go' }))),
    tools: [agentTool(inner)],
    telemetry: seen.telemetry,
  })
  const [first, second] = await stopped({ agent: outer, seen }, { at: 'now' })
  expect(first.spans).toEqual(['book cancelled 0', 'inner cancelled 0'])
  expect(first.calls).toEqual({ 'book early cancelled': 1, 'inner after_model cancelled': 1 })
  expect(second).toMatchObject({ status: 'completed', spans: ['inner committed 0'] })
  expect(second.calls).toEqual({ 'book early committed': 1, 'inner after_model committed': 1 })
  expect([booked, undone]).toEqual([1, []])
})
