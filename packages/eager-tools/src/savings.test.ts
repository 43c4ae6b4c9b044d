import {
  call,
  collect,
  end,
  fail,
  respond,
  type ScriptResponse,
  say,
  scriptedModel,
  wait,
} from '@meanwhile/assemble/testing'
import {
  type AgentResult,
  agentTool,
  type CompletedResult,
  createAgent,
  type Middleware,
  type Tool,
} from '@meanwhile/core'
import { played } from '@meanwhile/tests/clock'
import { propertyRuns } from '@meanwhile/tests/size'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { library } from '../test/library.ts'
import { retrying } from '../test/retrying.ts'
import { tellingModel } from '../test/telling-model.ts'
import { after, workshop } from '../test/workshop.ts'
import { eagerTools } from './index.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const exporter = new InMemorySpanExporter()
const tracerProvider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] })

const done = respond(say('Done.'))

interface Options {
  readonly tools?: readonly Tool[]
  readonly middleware?: readonly Middleware[]
  readonly toolConcurrency?: number
  readonly statusFor?: number
}

async function resultOf(responses: readonly ScriptResponse[], options: Options = {}): Promise<AgentResult> {
  const { tools } = workshop()
  const agent = createAgent({
    model: scriptedModel(responses),
    telemetry: { tracerProvider },
    middleware: [eagerTools()],
    ...options,
    tools: [...tools, ...(options.tools ?? [])],
  })
  return played(agent.run('Go'))
}

/** The savings of the first step in a run of this response. */
async function firstStep(response: ScriptResponse, options?: Options) {
  const { savings } = await resultOf([response, done], options)
  return savings?.steps[0]
}

/** The saved and wasted seconds on the spans of a run. */
function totalsOnSpan() {
  const attributes = exporter.getFinishedSpans().find(({ name }) => name === 'invoke_agent')?.attributes
  return [attributes?.['meanwhile.time_saved'], attributes?.['meanwhile.time_wasted']]
}

/**
 * Three calls whose arguments are complete at 100, 200 and 300 ms, 200 ms of work each, in a stream that ends at 400
 * ms.
 */
const three = respond(
  ...[1, 2, 3].flatMap((n) => [wait(100), call('look', { n, ms: 200 }, { id: `c${n}`, deltas: 1 })]),
  wait(100),
  say('There.'),
)

const answered = (step: number) => ({
  step,
  streamMs: 0,
  stoodMs: 0,
  actualMs: 0,
  sequentialMs: 0,
  parallelMs: 0,
  savedMs: 0,
  wastedMs: 0,
  calls: [],
})

const look = (n: number, certainMs: number, startedMs: number, durationMs = 200) => ({
  callId: `c${n}`,
  tool: 'look',
  certainMs,
  startedMs,
  durationMs,
  evidence: 'closed',
  outcome: 'committed',
})

test('the savings of each step are on the span of the run (DT4)', async () => {
  exporter.reset()
  const { savings } = await resultOf([three, done])
  const attributes = exporter.getFinishedSpans().find(({ name }) => name === 'invoke_agent')?.attributes
  expect(attributes?.['meanwhile.time_saved.steps']).toEqual([0.1, 0])
  expect(savings?.steps.map(({ savedMs }) => savedMs)).toEqual([100, 0])
  expect(attributes).not.toHaveProperty('meanwhile.tool_concurrency')
})

test('the savings of a run contain for each step its stream, its calls, and both baselines (H34)', async () => {
  exporter.reset()
  const { savings } = await resultOf([three, done])
  expect(savings).toEqual({
    savedMs: 100,
    wastedMs: 0,
    steps: [
      {
        step: 1,
        streamMs: 400,
        stoodMs: 400,
        actualMs: 500,
        sequentialMs: 1000,
        parallelMs: 600,
        savedMs: 100,
        wastedMs: 0,
        calls: [look(1, 100, 100), look(2, 200, 200), look(3, 300, 300)],
      },
      answered(2),
    ],
  })
  expect(JSON.parse(JSON.stringify(savings))).toEqual(savings)
  expect(totalsOnSpan()).toEqual([0.1, 0])
})

test('with one slot the same calls are compared with one by one (H34, H30)', async () => {
  expect(await firstStep(three, { toolConcurrency: 1 })).toEqual({
    step: 1,
    slots: 1,
    streamMs: 400,
    stoodMs: 400,
    actualMs: 700,
    sequentialMs: 1000,
    parallelMs: 1000,
    savedMs: 300,
    wastedMs: 0,
    calls: [look(1, 100, 100), look(2, 200, 300), look(3, 300, 500)],
  })
})

test('a step without early calls saves nothing, and a run without eagerTools has no savings (H34)', async () => {
  const external = respond(call('send', { n: 1, ms: 50 }, { id: 'c1', deltas: 1 }), wait(100), say('So.'))
  expect(await firstStep(external)).toEqual({
    step: 1,
    streamMs: 100,
    stoodMs: 100,
    actualMs: 150,
    sequentialMs: 150,
    parallelMs: 150,
    savedMs: 0,
    wastedMs: 0,
    calls: [{ callId: 'c1', tool: 'send', certainMs: 0, startedMs: 100, durationMs: 50, outcome: 'committed' }],
  })
  expect(await resultOf([external, done], { middleware: [] })).not.toHaveProperty('savings')
})

test('calls that are not made count as no time (H34)', async () => {
  const unmade = respond(call('nobody', { n: 1 }, { id: 'c1' }), call('look', { n: 'one' }, { id: 'c2' }))
  const refused = respond(call('send', { n: 1 }, { id: 'c3' }), end({ finishReason: 'length' }))
  const { savings } = await resultOf([unmade, refused, done])
  expect(savings?.steps.map(({ savedMs, calls }) => [savedMs, calls])).toEqual([
    [
      0,
      [
        { callId: 'c1', tool: 'nobody', certainMs: 0, durationMs: 0, outcome: 'failed' },
        { callId: 'c2', tool: 'look', certainMs: 0, durationMs: 0, outcome: 'failed' },
      ],
    ],
    [0, [{ callId: 'c3', tool: 'send', certainMs: 0, durationMs: 0, outcome: 'failed' }]],
    [0, []],
  ])
})

test('a discarded call that holds the slot makes the saving negative, and its time is wasted (H34, H20)', async () => {
  exporter.reset()
  const { tools } = workshop()
  const model = tellingModel([
    [
      [0, (to) => to.call(0, { id: 'c1', name: 'look', delta: '{"n":1,"ms":5000,"deaf":true}' })],
      [100, (to) => to.seal(0, '{"n":2,"ms":10}')],
      [100, (to) => to.finish('tool-calls')],
    ],
    [[0, (to) => to.finish('stop')]],
  ])
  const agent = createAgent({
    model,
    tools,
    middleware: [eagerTools()],
    toolConcurrency: 1,
    telemetry: { tracerProvider },
  })
  const { savings } = await played(agent.run('Go'))
  expect(savings?.steps[0]).toEqual({
    step: 1,
    slots: 1,
    streamMs: 100,
    stoodMs: 100,
    actualMs: 1110,
    sequentialMs: 110,
    parallelMs: 110,
    savedMs: -1000,
    wastedMs: 1100,
    calls: [
      {
        callId: 'c1',
        tool: 'look',
        certainMs: 100,
        startedMs: 1100,
        durationMs: 10,
        evidence: 'sealed',
        outcome: 'committed',
      },
      {
        callId: 'c1',
        tool: 'look',
        certainMs: 100,
        startedMs: 0,
        durationMs: 1100,
        evidence: 'closed',
        outcome: 'discarded',
        cause: 'arguments_changed',
      },
    ],
  })
  expect(totalsOnSpan()).toEqual([-1, 1.1])
})

test('a call that a further attempt joins counts from its own start, the step from its first attempt (H34, H22)', async () => {
  const first = respond(wait(100), call('look', { n: 1, ms: 200 }, { id: 'c1', deltas: 1 }), wait(50), fail())
  const second = respond(wait(100), call('look', { n: 1, ms: 200 }, { id: 'd1', deltas: 1 }), wait(100), say('So.'))
  const { savings } = await resultOf([first, second, done], { middleware: [retrying(), eagerTools()] })
  expect(savings?.steps[0]).toMatchObject({
    streamMs: 350,
    stoodMs: 350,
    actualMs: 350,
    parallelMs: 550,
    savedMs: 200,
    wastedMs: 0,
    calls: [{ ...look(1, 250, 100), callId: 'd1' }],
  })
})

test('a call of a failed attempt that is not joined is wasted, also in a run that fails (H34, H21)', async () => {
  exporter.reset()
  const first = respond(call('look', { n: 1, ms: 200 }, { id: 'c1', deltas: 1 }), wait(50), fail())
  const { savings } = await resultOf([first, respond(wait(50), say('No.'))], {
    middleware: [retrying(), eagerTools()],
  })
  expect(savings?.steps[0]).toMatchObject({ savedMs: 0, wastedMs: 100, calls: [{ cause: 'call_withdrawn' }] })
  exporter.reset()
  await resultOf([first]).catch(() => undefined)
  expect(totalsOnSpan()).toEqual([0, 0.05])
})

test('the time of hooks between the stream and the calls is in both times (H34)', async () => {
  const slow: Middleware = { name: 'slow', afterModel: () => new Promise((resolve) => setTimeout(resolve, 70)) }
  const response = respond(call('look', { n: 1, ms: 300 }, { id: 'c1', deltas: 1 }), wait(100), say('So.'))
  expect(await firstStep(response, { middleware: [eagerTools(), slow] })).toMatchObject({
    streamMs: 100,
    stoodMs: 170,
    actualMs: 300,
    parallelMs: 470,
    savedMs: 170,
  })
})

test("a tool's own limit keeps its calls apart in the baseline, too (H34, I7)", async () => {
  const single = workshop().make('single', 'read', { concurrency: 1 })
  const calls = [1, 2].map((n) => call('single', { n, ms: 200 }, { id: `c${n}`, deltas: 1 }))
  expect(await firstStep(respond(...calls, wait(300), say('So.')), { tools: [single] })).toMatchObject({
    actualMs: 400,
    sequentialMs: 700,
    parallelMs: 700,
    savedMs: 300,
  })
})

test('time that a function waits for the rest of its input is not part of the baseline, and is on its span (H34, H31, DT4)', async () => {
  const { read } = library({ ms: 50 })
  const model = tellingModel([
    [
      [0, (to) => to.call(0, { id: 'c1', name: 'read', delta: '{"path":"a",' })],
      [200, (to) => to.call(0, { delta: '"from":1}' })],
      [300, (to) => to.finish('tool-calls')],
    ],
    [[0, (to) => to.finish('stop')]],
  ])
  exporter.reset()
  const agent = createAgent({ model, tools: [read], middleware: [eagerTools()], telemetry: { tracerProvider } })
  const { savings } = await played(agent.run('Go'))
  expect(savings?.steps[0]).toMatchObject({
    actualMs: 300,
    parallelMs: 350,
    savedMs: 50,
    calls: [{ certainMs: 200, startedMs: 0, durationMs: 200, waitedMs: 150, evidence: 'prefix' }],
  })
  expect(exporter.getFinishedSpans().find(({ name }) => name === 'execute_tool read')?.attributes).toMatchObject({
    'meanwhile.rest.waited': 0.15,
    'meanwhile.arguments.closed': -0.2,
    'meanwhile.tool.duration': 0.2,
    'meanwhile.commit.lag': 0.1,
  })
})

test('a run inside a call has its own savings, and counts as one call in the outer run (H34, M4)', async () => {
  let inner: CompletedResult | undefined
  const keep: Middleware = {
    name: 'keep',
    async *wrapAgent(setup, next) {
      inner = yield* next(setup)
      return inner
    },
  }
  const { tools } = workshop()
  const expert = createAgent({ model: scriptedModel([three, done]), tools, middleware: [keep, eagerTools()] })
  const ask = agentTool(expert, { name: 'ask', description: 'Asks.', effect: 'read' })
  const response = respond(call('ask', { request: 'Look' }, { id: 'c9', deltas: 1 }), wait(100), say('So.'))
  const { savings } = await resultOf([response, done], { tools: [ask as Tool] })
  expect(savings?.steps[0]).toMatchObject({
    actualMs: 500,
    parallelMs: 600,
    savedMs: 100,
    calls: [{ callId: 'c9', durationMs: 500, evidence: 'closed' }],
  })
  expect(inner?.savings?.steps[0]).toMatchObject({ parallelMs: 600, savedMs: 100 })
})

test('the times of early calls are known even if the run forgets its calls at once (H34, I6)', async () => {
  expect(await firstStep(three, { statusFor: 0 })).toMatchObject({ actualMs: 500, parallelMs: 600, savedMs: 100 })
})

test('a call that is still running when the answer is accepted counts as wasted until then (H34, H20)', async () => {
  const { tools } = workshop()
  const model = tellingModel([
    [
      [0, (to) => to.call(0, { id: 'c1', name: 'look', delta: '{"n":1,"ms":5000,"deaf":true}' })],
      [100, (to) => to.seal(0, '{"n":2,"ms":10}')],
      [100, (to) => to.finish('tool-calls')],
    ],
    [[40, (to) => to.finish('stop')]],
  ])
  const { savings, abandoned } = await played(createAgent({ model, tools, middleware: [eagerTools()] }).run('Go'))
  expect(abandoned).toEqual(['c1'])
  expect(savings).toMatchObject({ savedMs: 0, wastedMs: 150 })
})

test('a resumed run counts from the resume on (H34)', async () => {
  const { tools } = workshop()
  const slow = workshop().make('slow', 'read')
  const agent = createAgent({
    model: scriptedModel([three, three, done]),
    tools: [...tools, slow],
    middleware: [eagerTools()],
  })
  const run = agent.stream('Go')
  await vi.advanceTimersByTimeAsync(250)
  void run.cancel({ at: 'after-tools' })
  const { checkpoint, ...cancelled } = await played(run.result)
  expect(cancelled).not.toHaveProperty('savings')
  if (!checkpoint) throw new Error('no checkpoint')
  const { savings } = await played(agent.resume(checkpoint).result)
  expect(savings?.steps.map(({ step }) => step)).toEqual([2, 3])
  expect(savings?.savedMs).toBe(100)
})

/** Keeps calls of this tool back, as a person does who has to allow them. */
const asking = (tool: string, ms: number): Middleware => ({
  name: 'asking',
  async *wrapToolCall(call, next) {
    if (call.name === tool) await after(ms)
    return yield* next(call)
  },
})

test('the time in which a person decides is in both times (H34)', async () => {
  const response = respond(call('look', { n: 1, ms: 800 }), call('send', { n: 2, ms: 300 }), wait(400), say('So.'))
  const middleware = [asking('send', 3_000), eagerTools()]
  const before = await firstStep(response, { middleware })
  expect(before).toMatchObject({ stoodMs: 400, actualMs: 3_700, parallelMs: 3_700, savedMs: 0 })
  // Also if the call could have started early.
  const kept = await firstStep(response, { middleware: [asking('look', 3_000), eagerTools()] })
  expect(kept).toMatchObject({ actualMs: 3_800, parallelMs: 3_800, savedMs: 0 })
  // The longer call decides.
  const slow = respond(call('look', { n: 1, ms: 5_000 }), call('send', { n: 2, ms: 300 }), wait(400), say('So.'))
  const saved = await firstStep(slow, { middleware })
  expect(saved).toMatchObject({ actualMs: 5_000, parallelMs: 5_400, savedMs: 400 })
})

const ms = fc.nat({ max: 300 })
// Which call comes first after one that took no time is not defined.
const worked = fc.integer({ min: 1, max: 300 })
const tools = fc.constantFrom('look', 'put', 'send', 'single')
const step = fc.array(fc.record({ after: ms, tool: tools, ms: worked }), { maxLength: 6 })

test('the predicted saving is the extra time of the same run without eagerTools (H34, H29, H30)', async () => {
  // While the slots are full nobody can tell what a call waits for, so a person is asked only without a limit.
  const limits = [1, 2, 3, Number.POSITIVE_INFINITY].map((toolConcurrency) => ({ toolConcurrency, asked: 0 }))
  const kept = fc.constantFrom(...limits, { toolConcurrency: Number.POSITIVE_INFINITY, asked: 700 })
  const sizes = fc.record({ step, tail: ms, kept })
  await fc.assert(
    fc.asyncProperty(sizes, async ({ step, tail, kept: { toolConcurrency, asked } }) => {
      const response = respond(
        ...step.flatMap(({ after, tool, ms }, n) => [wait(after), call(tool, { n, ms }, { deltas: 1 })]),
        wait(tail),
        say('So.'),
      )
      const timed = async (middleware: readonly Middleware[]) => {
        const begin = performance.now()
        const single = workshop().make('single', 'read', { concurrency: 1 })
        const all = asked > 0 ? [asking('send', asked), ...middleware] : middleware
        const { savings } = await resultOf([response, done], { middleware: all, toolConcurrency, tools: [single] })
        return { savings, ms: performance.now() - begin }
      }
      const eager = await timed([eagerTools()])
      const waiting = await timed([])
      expect(eager.savings?.savedMs).toBeCloseTo(waiting.ms - eager.ms, 2)
      expect(eager.savings?.steps[0]?.parallelMs).toBeCloseTo(waiting.ms, 2)
    }),
    propertyRuns({ small: 7, middle: 10, whole: 5_000 }),
  )
})

test('the measurements of a call are kept, however soon the run forgets the call (H34, I6)', async () => {
  const asked = respond(call('send', { n: 1, ms: 200 }, { id: 'c1' }))
  const { savings } = await resultOf([asked, respond(wait(1_000), say('Done.'))], { statusFor: 100 })
  expect(savings?.steps[0]?.calls).toEqual([
    { callId: 'c1', tool: 'send', certainMs: 0, startedMs: 0, durationMs: 200, outcome: 'committed' },
  ])
})

test('savings are part of a frozen result: every reader gets the same values (P15, H34)', async () => {
  const { tools } = workshop()
  const running = createAgent({ model: scriptedModel([three, done]), tools, middleware: [eagerTools()] }).stream('Go')
  const { result, events } = await played(collect(running))
  const ended = events.at(-1)
  const told = ended?.type === 'run-end' ? ended.result.savings : undefined
  const savings = structuredClone(result?.savings)
  for (const handed of [told, told?.steps, told?.steps[0], told?.steps[0]?.calls, told?.steps[0]?.calls[0]])
    expect(() => Object.assign(handed ?? {}, { savedMs: 1, length: 0, step: 9, calls: [], callId: 'mine' })).toThrow(
      TypeError,
    )
  expect(result?.savings).toEqual(savings)
  expect(savings?.steps[0]?.calls).not.toEqual([])
})
