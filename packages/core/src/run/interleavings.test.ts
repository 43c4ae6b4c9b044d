import { getEventListeners } from 'node:events'
import { DiagLogLevel, diag } from '@opentelemetry/api'
import { type ReadableSpan, TracerProvider } from '@opentelemetry/sdk-trace'
import fc from 'fast-check'
import { beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { editing, startingEarly } from '../../test/early-calls.ts'
import { unhandledRejections } from '../../test/rejections.ts'
import {
  type Agent,
  AgentError,
  type AgentEvent,
  type AgentResult,
  type AgentRun,
  type Checkpoint,
  callsOf,
  createAgent,
  type Effect,
  interrupt,
  type Message,
  type Middleware,
  type Model,
  ModelError,
  memoryStore,
  RunAbortedError,
  type Tool,
  type ToolContext,
  ToolDiscardedError,
  tool,
} from '../index.ts'
import { call, collect, fail, respond, type ScriptResponse, say, scriptedModel } from '../testing.ts'

// One run under random interleavings of everything that may happen to it, resumed until it has completed or failed.

const numRuns = Number(process.env.INTERLEAVINGS ?? 1_000)
const seed = Number(process.env.INTERLEAVINGS_SEED ?? 1)

const GRACE = 100

/** One turn of the event loop, whose clock is not faked. */
const immediate = setImmediate
const turn = () => new Promise<void>((resolve) => immediate(resolve))

/** What tools and store wait for, which is no timer of a run's. */
const waits = new Set<unknown>()

function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const over = () => {
      waits.delete(timer)
      clearTimeout(timer)
      signal?.removeEventListener('abort', leave)
    }
    const leave = () => {
      over()
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      over()
      resolve()
    }, ms)
    waits.add(timer)
    signal?.addEventListener('abort', leave, { once: true })
  })
}

/** How many deaf calls there were. */
let deaf = 0

type Execute = (ms: number, context: ToolContext) => unknown

/** What a tool may do. One that is deaf is so once: made again, it comes to its end. */
const KINDS: Readonly<Record<string, Execute>> = {
  quick: () => 'at once',
  slow: (ms, { signal }) => sleep(ms, signal).then(() => 'in time'),
  throws: (ms, { signal }) => sleep(ms, signal).then(() => Promise.reject(new Error('broken'))),
  lasts: (_, { attempt, signal }) => (attempt > 1 ? 'in the end' : sleep(1e6, signal)),
  deaf(_, { attempt }) {
    if (attempt > 1) return 'in the end'
    deaf++
    return new Promise(() => undefined)
  },
  stubborn: (ms) => sleep(ms + GRACE).then(() => 'whatever you say'),
  tidies: (ms, { signal }) =>
    sleep(ms, signal).then(
      () => 'whole',
      () => 'tidied up',
    ),
  async asks(ms, { answers, signal }) {
    if (answers.length > 0) return 'answered'
    await sleep(ms, signal)
    throw interrupt('May I?')
  },
  async *tells(ms, { signal, run }) {
    for (const progress of [0.3, 0.6]) {
      await sleep(ms / 2, signal)
      run?.emit({ name: 'halfway', data: progress })
      yield { progress }
    }
    return 'told'
  },
  async nests(ms, { run, callId, signal }) {
    await sleep(ms / 2, signal)
    const call = { type: 'tool-call', id: `in ${callId}`, name: 'slow_read', input: { ms } } as const
    const inner = await run?.callTool(call).catch((error: unknown) => {
      if (error instanceof ToolDiscardedError && !signal.aborted) refused.push(error.message)
      throw error
    })
    return inner?.content
  },
  async stands(ms, { run, callId, signal }) {
    await sleep(ms / 2, signal)
    await run?.stood(callId)
    return 'stood'
  },
  async sends(ms, { run, callId, signal }) {
    await sleep(ms / 2, signal)
    const input = { ms: ms / 2 }
    const inner = await run?.callTool({ type: 'tool-call', id: `in ${callId}`, name: 'slow_external', input })
    return inner?.content
  },
  async fatal(ms, { signal }) {
    await sleep(ms, signal)
    throw new AgentError('that is the end')
  },
}

const EFFECTS: readonly Effect[] = ['read', 'idempotent', 'reversible', 'external']

/** How often each call was executed, by tool and key; one that asked has not been, nor one cut off that may be made again. */
const executions = new Map<string, number>()
const undone = new Map<string, number>()
/** What was not made though the call that was to make it stood. */
const refused: string[] = []

const tools = Object.entries(KINDS).flatMap(([kind, execute]) =>
  EFFECTS.map(
    (effect) =>
      tool({
        name: `${kind}_${effect}`,
        description: kind,
        input: z.object({ ms: z.number() }),
        effect,
        execute({ ms }, context) {
          const call = `${kind}_${effect} ${context.idempotencyKey}`
          executions.set(call, (executions.get(call) ?? 0) + 1)
          return execute(ms, context)
        },
        compensate: () => void undone.set(effect, (undone.get(effect) ?? 0) + 1),
      }) as Tool,
  ),
)

/** Starts each call that may as soon as it is sealed. */
const early = startingEarly({ ceiling: 'reversible', only: ({ name }) => !name.endsWith('external') })

const retry = (waitMs: number): Middleware => ({
  name: 'retry',
  async *wrapModel(request, next) {
    for (let attempt = 1; ; attempt++) {
      try {
        return yield* next(request)
      } catch (error) {
        if (!(error instanceof ModelError) || attempt > 2) throw error
        if (waitMs === 0) continue
        yield { type: 'attempt-failed', error, next: 'retry', waitMs }
        await sleep(waitMs, request.signal)
      }
    }
  },
})

const pass: Middleware = {
  name: 'pass',
  wrapAgent: (setup, next) => next(setup),
  wrapModel: (request, next) => next(request),
  wrapToolCall: (call, next) => next(call),
}

/** Takes its time in each hook, and rejects the first answer. */
const hooks = (ms: number): Middleware => ({
  name: 'hooks',
  beforeAgent: () => sleep(ms),
  beforeModel: () => sleep(ms),
  afterModel: (_, run) => sleep(ms, run.signal),
  async beforeFinalAnswer({ messages }) {
    await sleep(ms)
    const again = messages.filter(({ role }) => role === 'user').length < 2
    return again ? { accept: false, feedback: 'Again.' } : { accept: true }
  },
})

/** The first call of each response works a little longer. */
const longer = editing((input) => ({ ms: (input as { readonly ms: number }).ms + 1 }))

/** Asks once, after the first model call. */
const approving: Middleware = {
  name: 'approving',
  afterModel(_, run) {
    if (run.step === 1 && run.answers.length === 0) throw interrupt('Go on?')
  },
}

const milliseconds = (max: number) => fc.integer({ min: 0, max })

const someCall = fc
  .record({ kind: fc.constantFrom(...Object.keys(KINDS)), effect: fc.constantFrom(...EFFECTS), ms: milliseconds(60) })
  // What ends a run with an error would end most of them.
  .filter(({ kind, ms }) => kind !== 'fatal' || ms > 45)

const someTurn = fc.record({
  text: fc.boolean(),
  calls: fc.array(someCall, { maxLength: 3 }),
  /** After so many deltas the response fails, the first times. */
  failures: fc.constantFrom(0, 0, 0, 1, 2, 3),
})

const disturbance = fc.record({
  at: milliseconds(250),
  act: fc.oneof(
    { weight: 6, arbitrary: fc.record({ at: fc.constantFrom('now', 'after-model', 'after-tools') }) },
    {
      weight: 2,
      arbitrary: fc.record({ at: fc.constantFrom('after-model', 'after-tools'), escalateAfter: milliseconds(150) }),
    },
    { weight: 1, arbitrary: fc.constant('abort' as const) },
    { weight: 4, arbitrary: fc.constant('send' as const) },
  ),
})

const cases = fc.record({
  turns: fc.array(someTurn, { minLength: 1, maxLength: 3 }),
  pace: fc.record({ firstToken: milliseconds(20), betweenTokens: milliseconds(10) }),
  toolConcurrency: fc.constantFrom(1, 2, Number.POSITIVE_INFINITY),
  early: fc.boolean(),
  edits: fc.boolean(),
  retryWait: fc.constantFrom(0, 40),
  hooks: fc.option(milliseconds(20), { nil: undefined }),
  approving: fc.boolean(),
  pass: fc.boolean(),
  store: fc.option(milliseconds(15), { nil: undefined }),
  /** What happens to the run, and to each that resumes it. */
  disturbances: fc.array(fc.array(disturbance, { maxLength: 3 }), { maxLength: 3 }),
  /** Whether something is said to each resume at once. */
  sendsFirst: fc.array(fc.boolean(), { maxLength: 3 }),
  /** Whether each resume brings the answers that are waited for. */
  answering: fc.array(fc.boolean(), { maxLength: 3 }),
})

type Case = typeof cases extends fc.Arbitrary<infer Value> ? Value : never

/** What each request gets follows from its history, and from how often it has failed. */
function modelOf({ turns, pace }: Case, asked: (messages: readonly Message[]) => void): Model {
  const failed = new Map<number, number>()
  return {
    provider: 'p',
    id: 'm',
    stream(request) {
      asked(request.messages)
      const number = request.messages.filter((message) => message.role === 'assistant' && !message.cutOff).length
      const { text, calls, failures } = turns[number] ?? { text: true, calls: [], failures: 0 }
      const spoken = [
        ...(text || calls.length === 0 ? [say('Some words', { deltas: 2 })] : []),
        ...calls.map(({ kind, effect, ms }, index) =>
          call(`${kind}_${effect}`, { ms }, { id: `c${number}_${index}`, deltas: 2 }),
        ),
      ]
      const before = failed.get(number) ?? 0
      failed.set(number, before + 1)
      const script: ScriptResponse =
        before < failures ? respond(...spoken.slice(0, before + 1), fail()) : respond(...spoken)
      return scriptedModel([script], { pace }).stream(request)
    },
  }
}

class Spans {
  /** Names of the spans that have begun and not ended, under their ids. */
  readonly open = new Map<string, string>()
  readonly problems: string[] = []

  onStart(span: ReadableSpan): void {
    this.open.set(span.spanContext().spanId, span.name)
  }

  onEnd(span: ReadableSpan): void {
    if (!this.open.delete(span.spanContext().spanId)) this.problems.push(`${span.name} ended twice`)
  }

  async forceFlush(): Promise<void> {}
  async shutdown(): Promise<void> {}
}

interface Outcome {
  readonly events: readonly AgentEvent[]
  readonly result?: AgentResult
  readonly error?: unknown
}

/** One run to its end, whatever is done to it meanwhile. */
async function driven(run: AgentRun, controller: AbortController, disturbances: Case['disturbances'][number]) {
  const cancels: Promise<{ readonly status: string }>[] = []
  let over = false
  const end = () => {
    over = true
  }
  void run.result.then(end, end)
  const reading = collect(run)
  const timers = disturbances.map(({ at, act }) =>
    setTimeout(() => {
      if (over) return
      if (act === 'abort') controller.abort('enough')
      else if (act === 'send') sent += run.send('And this') ? 1 : 0
      else cancels.push(run.cancel(act as Parameters<AgentRun['cancel']>[0]))
    }, at),
  )
  let sent = 0
  let outcome: Outcome | undefined
  void reading.then((read) => {
    outcome = read
  })
  for (let turns = 0; !outcome; turns++) {
    if (turns > 2_000) throw new Error('it hangs')
    await vi.advanceTimersToNextTimerAsync()
    if (vi.getTimerCount() === 0) await turn()
    // A deaf tool waits for ever, which is no fault of the run's: it can always be stopped.
    if (outcome || vi.getTimerCount() > 0) continue
    if (deaf === 0) throw new Error('it hangs')
    cancels.push(run.cancel())
  }
  for (const timer of timers) clearTimeout(timer)
  await vi.advanceTimersByTimeAsync(0)
  expect(vi.getTimerCount()).toBe(waits.size)
  const told = await Promise.all(cancels)
  return { ...(outcome as Outcome), sent, told: told.map(({ status }) => status) }
}

/** Each call has at most one result, behind it and before the next response; `whole`: exactly one, and in call order. */
function checkHistory(messages: readonly Message[], whole: boolean): void {
  let asked: string[] = []
  let answered: string[] = []
  const check = () => {
    expect(asked).toEqual(expect.arrayContaining(answered))
    if (whole) expect(answered).toEqual(asked)
    expect(new Set(answered).size).toBe(answered.length)
  }
  for (const message of messages) {
    if (message.role === 'tool') answered.push(message.callId)
    else if (message.role === 'assistant') {
      check()
      asked = callsOf(message).map(({ id }) => id)
      answered = []
    }
    // Nothing comes between a call and its result.
    else expect(answered.length).toBe(whole || answered.length > 0 ? asked.length : answered.length)
  }
  check()
}

/** What is told of a call's early life has one end in each run. */
function checkProvisional(events: readonly AgentEvent[], over: boolean): void {
  const open = new Map<string, number>()
  for (const event of events) {
    if (event.type === 'tool-start' && event.provisional) open.set(event.callId, 1)
    if (event.type === 'tool-end' && open.has(event.callId)) expect(open.get(event.callId)).toBe(0)
    if (event.type === 'tool-committed' || event.type === 'tool-discarded') {
      const id = event.type === 'tool-committed' ? (event.startedAs ?? event.callId) : event.callId
      if (open.has(id)) {
        expect(open.get(id)).toBe(1)
        open.set(id, 0)
      }
    }
  }
  if (over) expect([...open.values()].filter((count) => count > 0)).toEqual([])
}

unhandledRejections()

beforeEach(() => {
  vi.useFakeTimers()
  return () => {
    vi.useRealTimers()
    diag.disable()
  }
})

const ends = new Map<string, number>()

async function check(options: Case): Promise<void> {
  waits.clear()
  vi.clearAllTimers()
  executions.clear()
  deaf = 0
  const asked: number[] = []
  const spans = new Spans()
  const store = memoryStore()
  if (options.store) {
    const { store: ms } = options
    const { load, save } = store
    store.load = (id) => sleep(ms).then(() => load.call(store, id))
    store.save = (...saved) => sleep(ms).then(() => save.apply(store, saved))
  }
  const agent: Agent = createAgent({
    model: modelOf(options, (messages) => asked.push(saidIn(messages))),
    tools,
    toolConcurrency: options.toolConcurrency,
    grace: GRACE,
    middleware: [
      ...(options.pass ? [pass] : []),
      ...(options.edits ? [longer] : []),
      ...(options.hooks === undefined ? [] : [hooks(options.hooks)]),
      ...(options.approving ? [approving] : []),
      retry(options.retryWait),
      ...(options.early ? [early] : []),
    ],
    ...(options.store !== undefined && { checkpoints: store }),
    telemetry: { tracerProvider: new TracerProvider({ spanProcessors: [spans] }) },
  })

  const events: AgentEvent[] = []
  let sent = 0
  let before = { asked: 0, sent: 0 }
  let controller = new AbortController()
  let run = agent.stream('Go', { signal: controller.signal })
  for (let round = 0; ; round++) {
    if (round > 20) throw new Error('it comes to no end')
    const outcome = await driven(run, controller, options.disturbances[round] ?? [])
    const { result, error, told } = outcome
    // A message before the first step of a resume comes before its model call.
    if (asked.length > before.asked) expect(asked[before.asked]).toBeGreaterThanOrEqual(before.sent)
    sent += outcome.sent
    events.push(...outcome.events)
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])
    expect([...spans.open.values()]).toEqual([])
    expect(spans.problems).toEqual([])
    expect(outcome.events[0]).toMatchObject({ type: 'run-start', ...(round > 0 && { resumed: true }) })
    const kind = result?.status ?? (error as Error).name
    ends.set(kind, (ends.get(kind) ?? 0) + 1)
    if (!result) {
      expect(error).toBeInstanceOf(AgentError)
      checkHistory((error as AgentError).messages ?? [], true)
      checkProvisional(outcome.events, true)
      if (told.length > 0)
        expect(new Set(told)).toEqual(new Set([error instanceof RunAbortedError ? 'aborted' : 'ended']))
      checkEnds(events, (error as AgentError).messages ?? [])
      break
    }
    expect(outcome.events.at(-1)).toMatchObject({ type: 'run-end', result })
    checkHistory(result.messages, result.status !== 'interrupted')
    checkProvisional(outcome.events, result.status === 'completed')
    if (told.length > 0) expect(new Set(told)).toEqual(new Set([result.status === 'cancelled' ? 'cancelled' : 'ended']))
    if (result.status === 'completed') {
      checkEnds(events, result.messages)
      // Nothing that was sent is lost.
      expect(saidIn(result.messages)).toBe(sent)
      break
    }
    const checkpoint = JSON.parse(JSON.stringify(result.checkpoint)) as Checkpoint
    expect(checkpoint).toEqual(result.checkpoint)
    const answers = (options.answering[round] ?? true) ? (result.interrupts ?? []).map(({ id }) => [id, 'Yes']) : []
    controller = new AbortController()
    const isSent = options.sendsFirst[round] ?? false
    run = agent.resume(options.store === undefined ? checkpoint : run.id, Object.fromEntries(answers), {
      signal: controller.signal,
    })
    if (isSent && run.send('And this')) sent++
    before = { asked: asked.length, sent }
  }
  expect(refused.splice(0)).toEqual([])
  // Whatever happened: no call but a read was executed twice, unless it had asked before it acted.
  for (const [call, count] of executions) {
    if (!/^[a-z]+_read /.test(call))
      expect([call, count]).toEqual([call, /^(asks|nests|sends)_/.test(call) ? count : 1])
  }
}

/** How many of the messages that were sent are among these. */
function saidIn(messages: readonly Message[]): number {
  return messages.filter(({ content }) => content === 'And this').length
}

/** Over a run and those that resumed it each answered call has one `tool-end`. */
function checkEnds(events: readonly AgentEvent[], messages: readonly Message[]): void {
  const ids = messages.flatMap((message) => (message.role === 'tool' ? [message.callId] : []))
  const ended = events.flatMap((event) =>
    event.type === 'tool-end' && !event.callId.startsWith('in ') ? [event.callId] : [],
  )
  expect(ended.toSorted()).toEqual(ids.toSorted())
}

test('whatever happens to a run, and whenever: it ends, leaves nothing behind, makes what its calls make, and a resume goes on to the end (K4 to K11, K14, K15, K17 to K19, A14, A25, B6, B8, L20, P5, P7, P8)', {
  timeout: Math.max(60_000, numRuns * 100),
}, async () => {
  const problems: string[] = []
  diag.setLogger(
    { error: (text) => problems.push(text), warn: () => {}, info: () => {}, debug: () => {}, verbose: () => {} },
    { logLevel: DiagLogLevel.ERROR, suppressOverrideMessage: true },
  )
  await fc.assert(fc.asyncProperty(cases, check), { numRuns, seed })
  expect(problems).toEqual([])
  if (numRuns >= 1_000)
    expect([...ends.keys()].toSorted()).toEqual([
      'AbortError',
      'AgentError',
      'ModelError',
      'cancelled',
      'completed',
      'interrupted',
    ])
})
