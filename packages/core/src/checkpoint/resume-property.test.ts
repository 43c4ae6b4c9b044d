import { call, collect, end, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { type SpanWatch, watchSpans } from '@meanwhile/harness/assert'
import { propertyRuns } from '@meanwhile/tests/size'
import { TracerProvider } from '@opentelemetry/sdk-trace'
import fc from 'fast-check'
import { beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { nextTime } from '../../test/clock.ts'
import { startingEarly } from '../../test/early-calls.ts'
import {
  type AgentResult,
  type AgentRun,
  type Checkpoint,
  type CheckpointStore,
  createAgent,
  type Effect,
  interrupt,
  type Json,
  type Message,
  type Middleware,
  memoryStore,
  type Run,
  type Tool,
  tool,
} from '../index.ts'

// However a run is interrupted, answered in parts, killed and resumed, it ends as if it had not been disturbed.

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

const EFFECTS = { look: 'read', put: 'idempotent', hold: 'reversible', send: 'external' } as const

interface PlannedCall {
  readonly name: keyof typeof EFFECTS
  readonly ms: number
  /** What asks about the call: its tool, or a wrap before or after it. */
  readonly asks: readonly ('tool' | 'before' | 'behind')[]
  /** An inner call that its tool makes first. */
  readonly inner: boolean
  /** Whether it waits for its commit. For a call that is not a read and does not wait, nobody could know afterwards whether it happened. */
  readonly stands: boolean
  readonly fails: boolean
}

/** What asks in a step, in addition to its calls. */
type Hook = 'beforeModel' | 'afterModel' | 'wrapModel' | 'wrapModel behind'

type Kill = number | 'undoing'

interface Plan {
  readonly steps: readonly {
    readonly calls: readonly PlannedCall[]
    readonly asks: readonly Hook[]
    readonly withdraws: boolean
  }[]
  readonly concurrency: 1 | 2 | 99
  readonly early: boolean
  readonly stored: boolean
  /** How long the store takes to save. */
  readonly lag: number
  readonly gate: boolean
  readonly outer: boolean
  /** When each process is killed: after this many milliseconds, or while it undoes a call. Later processes are not killed. */
  readonly kills: readonly Kill[]
  /** How many open questions are answered at a time, in turns. */
  readonly answered: readonly number[]
}

const rarely = fc.constantFrom(false, false, true)
const usually = fc.constantFrom(false, true, true)

const hooks = fc.oneof(
  fc.constant([]),
  fc.subarray(['beforeModel', 'afterModel', 'wrapModel', 'wrapModel behind'] as const, { maxLength: 2 }),
)

const plannedCall = fc.record({
  name: fc.constantFrom('look', 'put', 'hold', 'hold', 'send'),
  ms: fc.constantFrom(0, 0, 5, 40, 150),
  asks: fc.oneof(fc.constant([]), fc.subarray(['tool', 'before', 'behind'] as const, { maxLength: 2 })),
  inner: rarely,
  stands: rarely,
  fails: fc.constantFrom(false, false, false, true),
}) as fc.Arbitrary<PlannedCall>

const plans: fc.Arbitrary<Plan> = fc.record({
  steps: fc.array(
    fc.record({ calls: fc.array(plannedCall, { minLength: 1, maxLength: 4 }), asks: hooks, withdraws: fc.boolean() }),
    {
      minLength: 1,
      maxLength: 3,
    },
  ),
  concurrency: fc.constantFrom(1, 2, 99),
  early: usually,
  stored: usually,
  lag: fc.constantFrom(0, 6),
  gate: rarely,
  outer: rarely,
  kills: fc.array(fc.oneof(fc.integer({ min: 0, max: 200 }), fc.constant('undoing' as const)), {
    maxLength: 3,
  }),
  answered: fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 1, maxLength: 4 }),
})

/** What the tools of all processes did: the key of each call, when its work began, and when its undo began. */
interface Deeds {
  readonly done: string[]
  readonly undone: string[]
}

interface Process {
  alive: boolean
  /** Whether it has begun to undo a call. */
  undoes: boolean
  readonly spans: SpanWatch
}

const started = (): Process => ({ alive: true, undoes: false, spans: watchSpans() })

function agentOf(plan: Plan, deeds: Deeds, here: Process, asking: boolean, checkpoints?: CheckpointStore) {
  const step = (messages: readonly Message[]) => messages.filter(({ role }) => role === 'assistant').length
  const tools = Object.entries(EFFECTS).map(([name, effect]) => worker(name, effect, deeds, here, asking))
  const asker = (run: { readonly answers: readonly Json[] }, already = 0) => {
    if (asking && run.answers.length <= already) throw interrupt('hook')
  }
  const isAsked = (run: Run, hook: Hook) => plan.steps[run.step - 1]?.asks.includes(hook) ?? false
  const asks: Middleware = {
    name: 'asks',
    beforeModel: (_, run) => {
      if (isAsked(run, 'beforeModel')) asker(run)
    },
    afterModel({ messages }, run) {
      if (isAsked(run, 'afterModel')) asker(run)
      const answer = messages.at(-1)
      if (answer?.role !== 'assistant' || !plan.steps[run.step - 1]?.withdraws) return
      const content = answer.content.filter((part) => part.type !== 'tool-call' || part.name !== 'hold')
      return { messages: [...messages.slice(0, -1), { ...answer, content }] }
    },
    async *wrapModel(request, next, run) {
      const before = isAsked(run, 'wrapModel')
      if (before) asker(run)
      const message = yield* next(request)
      if (isAsked(run, 'wrapModel behind')) asker(run, before ? 1 : 0)
      return message
    },
    async *wrapToolCall(one, next, run) {
      const { asks = [] } = one.input as Partial<PlannedCall>
      const wanted = asks.filter((who) => who !== 'tool').length
      const answers = asking ? run.answers.length : 9
      if (asks.includes('before') && answers === 0) throw interrupt('before')
      const message = yield* next(one)
      if (asks.includes('behind') && answers < wanted) throw interrupt('behind')
      return message
    },
    beforeFinalAnswer: (_, run) => {
      if (plan.gate) asker(run)
    },
    async *wrapAgent(setup, next, run) {
      const result = yield* next(setup)
      if (plan.outer) asker(run)
      return result
    },
  }
  const early = startingEarly({ ceiling: 'reversible' })
  return createAgent({
    name: 'planned',
    model: {
      provider: 'p',
      id: 'm',
      stream(request) {
        const number = step(request.messages)
        const calls = plan.steps[number]?.calls.map(({ name, ...input }, index) =>
          call(name, { ...input, index }, { id: `c${number}_${index}`, deltas: 1 }),
        )
        const usage = end({ usage: { inputTokens: 1 } })
        const response = calls ? respond(...calls, say('so', { deltas: 1 }), usage) : respond(say('Done'), usage)
        return scriptedModel([response], { pace: { firstToken: 5, betweenTokens: 5 } }).stream(request)
      },
    },
    tools,
    middleware: plan.early ? [asks, early] : [asks],
    toolConcurrency: plan.concurrency,
    grace: 10,
    telemetry: { tracerProvider: new TracerProvider({ spanProcessors: [here.spans] }) },
    ...(checkpoints && { checkpoints: storeOf(checkpoints, here, plan.lag) }),
  })
}

/** A process that was killed stores nothing. */
function storeOf(store: CheckpointStore, here: Process, lag: number): CheckpointStore {
  return {
    ...store,
    async save(...saved) {
      if (lag > 0) await new Promise((resolve) => setTimeout(resolve, lag))
      await (here.alive ? store.save(...saved) : new Promise(() => undefined))
    },
  }
}

const input = z.looseObject({
  ms: z.number(),
  asks: z.array(z.string()),
  inner: z.boolean(),
  stands: z.boolean(),
  fails: z.boolean(),
})

function worker(name: string, effect: Effect, deeds: Deeds, here: Process, asking: boolean): Tool {
  return tool({
    name,
    description: name,
    input,
    effect,
    ...(effect === 'reversible' && {
      async compensate(_: unknown, output: unknown) {
        if (!here.alive) return await new Promise<never>(() => undefined)
        const key = String(output)
        here.undoes = true
        deeds.undone.push(key)
        // A call that is undone does not count as done.
        if (deeds.done.includes(key)) deeds.done.splice(deeds.done.indexOf(key), 1)
        await new Promise((resolve) => setTimeout(resolve, 8))
      },
    }),
    async execute({ ms, asks, inner, stands, fails }, { answers, callId, idempotencyKey, run }) {
      if (asking && asks.includes('tool') && answers.length === 0) throw interrupt('tool')
      if (inner) {
        const short = { ms: 3, asks: [], inner: false, stands: false, fails: false }
        await run?.callTool({ type: 'tool-call', id: `${callId}-inner`, name: 'send', input: short })
      }
      if (stands) await run?.stood(callId)
      if (!here.alive) return await new Promise<never>(() => undefined)
      deeds.done.push(idempotencyKey)
      if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms))
      if (!here.alive) return await new Promise<never>(() => undefined)
      if (fails) throw new Error('failed')
      return effect === 'reversible' ? idempotencyKey : `${name} done`
    },
  }) as Tool
}

interface Lived {
  readonly result?: AgentResult
  readonly error?: unknown
  /** What a killed process has left in the store. */
  readonly left?: Checkpoint | 'nothing'
}

/** Plays a run until it settles or is killed. After a kill only the stored checkpoint is left. */
async function lived(
  run: AgentRun,
  abort: AbortController,
  here: Process,
  store?: CheckpointStore,
  kill?: Kill,
): Promise<Lived> {
  const reading = collect(run)
  let over = false
  void reading.then(() => (over = true))
  if (typeof kill === 'number') await vi.advanceTimersByTimeAsync(kill)
  else {
    const end = performance.now() + 20_000
    while (!over && !(kill === 'undoing' && here.undoes)) {
      await nextTime()
      if (!over && (vi.getTimerCount() === 0 || performance.now() > end)) throw new Error('the run hangs')
    }
  }
  if (over) {
    here.spans.assertEndedOnce()
    return await reading
  }
  const stored = await store?.load(run.id)
  here.alive = false
  abort.abort()
  await vi.advanceTimersByTimeAsync(30)
  await reading
  here.spans.assertEndedOnce()
  return { left: stored === undefined ? 'nothing' : (stored as Checkpoint) }
}

const plain = (messages: readonly Message[], unknown: ReadonlySet<string> = new Set()) => {
  const ids = messages.flatMap((message) =>
    message.role === 'assistant' ? message.content.flatMap((part) => (part.type === 'tool-call' ? [part.id] : [])) : [],
  )
  return messages.map((message) => {
    if (message.role === 'tool') {
      const { callId, name, isError = false } = message
      const text = message.content[0]?.type === 'text' ? message.content[0].text : ''
      const said = text.includes('/') ? 'a key' : text
      return [ids.indexOf(callId), name, unknown.has(callId) ? 'unknown' : [said, isError]]
    }
    return [message.role, JSON.stringify(message.content, (key, value: unknown) => (key === 'id' ? undefined : value))]
  })
}

async function through(plan: Plan): Promise<{ result: AgentResult; deeds: Deeds; ends: number }> {
  const deeds: Deeds = { done: [], undone: [] }
  const store = plan.stored ? memoryStore() : undefined
  const kills = plan.stored ? [...plan.kills] : []
  let from: Checkpoint | string | undefined
  let answers: Record<string, Json> = {}
  for (let ends = 0; ends < 80; ends++) {
    const here = started()
    const abort = new AbortController()
    const agent = agentOf(plan, deeds, here, true, store)
    const run: AgentRun = from
      ? agent.resume(from, answers, { signal: abort.signal })
      : agent.stream('Go', { signal: abort.signal })
    const { result, error, left } = await lived(run, abort, here, store, kills.shift())
    here.alive = false
    answers = {}
    if (left) {
      from = left === 'nothing' ? undefined : run.id
      continue
    }
    if (!result) throw error
    if (result.status === 'completed') return { result, deeds, ends }
    const { checkpoint, interrupts = [] } = result
    expect(JSON.parse(JSON.stringify(checkpoint))).toStrictEqual(checkpoint)
    expect(interrupts.length).toBeGreaterThan(0)
    from = plan.stored ? run.id : checkpoint
    // In the end all are answered, otherwise the test would not end.
    const some = ends > 20 ? interrupts.length : (plan.answered[ends % plan.answered.length] ?? 1)
    answers = Object.fromEntries(interrupts.slice(0, some).map(({ id }) => [id, 'yes']))
  }
  throw new Error('it does not come to an end')
}

const calm = { ms: 0, asks: [], inner: false, stands: false, fails: false } as const
const look: PlannedCall = { name: 'look', ...calm }
const usual: Plan = {
  steps: [],
  concurrency: 1,
  early: true,
  stored: true,
  lag: 0,
  gate: false,
  outer: false,
  kills: [],
  answered: [0],
}

/** Plans that failed once. */
const FOUND: readonly Plan[] = [
  // An early call that waited for one with a stronger effect did not continue while a wrap asked.
  {
    ...usual,
    steps: [{ calls: [{ ...look, inner: true }, look], asks: ['wrapModel behind'], withdraws: false }],
    stored: false,
  },
  // A call was undone twice.
  {
    ...usual,
    steps: [
      {
        calls: [
          { name: 'hold', ...calm },
          { ...look, asks: ['behind'] },
        ],
        asks: [],
        withdraws: true,
      },
      { calls: [look], asks: [], withdraws: false },
    ],
    kills: ['undoing'],
  },
]

test('interrupted, answered in parts, killed and resumed, a run ends as it would have undisturbed (L3, L6, L7, L8, L20, L21, H23, H26, H27, P7, P22)', async () => {
  await fc.assert(
    fc.asyncProperty(plans, async (plan) => {
      const calm = started()
      const undisturbed = agentOf(plan, { done: [], undone: [] }, calm, false).stream('Go')
      const expected = await lived(undisturbed, new AbortController(), calm)
      const { result, deeds } = await through(plan)
      const unknown = new Set(result.unknown)
      const mayBeCutOff =
        plan.early &&
        plan.steps.some(({ asks }) => asks.some((hook) => hook.includes('after') || hook.includes('behind')))
      if (!plan.stored && !mayBeCutOff) expect(unknown.size).toBe(0)

      const [was, is] = [plain(expected.result?.messages ?? []), plain(result.messages, unknown)]
      expect(is).toHaveLength(was.length)
      for (const [index, line] of is.entries()) if (line[2] !== 'unknown') expect(line).toEqual(was[index])
      expect(result.steps).toBe(expected.result?.steps)
      expect(deeds.undone).toEqual([...new Set(deeds.undone)])
      const done = deeds.done.filter((key) => !key.includes('/look/'))
      expect(done.toSorted()).toEqual([...new Set(done)].toSorted())
    }),
    {
      ...propertyRuns({ small: 3, middle: 5, whole: 20_000 }),
      examples: FOUND.map((plan): [Plan] => [plan]),
    },
  )
})
