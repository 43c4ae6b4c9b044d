/**
 * Runs a scenario once, with or without eagerTools, and collects everything observable. Checks that each span ended
 * once.
 */

import {
  AgentError,
  type AgentEvent,
  type AgentResult,
  type AgentRun,
  agentTool,
  createAgent,
  type Effect,
  type Model,
  map,
  type NeedsContext,
  type Run,
  type Tool,
  type ToolContext,
} from '@meanwhile/core'
import { watchSpans } from '@meanwhile/harness/assert'
import { TracerProvider } from '@opentelemetry/sdk-trace'
import { z } from 'zod'
import { eagerTools } from '../src/index.ts'
import { canonical } from './accounts.ts'
import { HeldKeys } from './held-keys.ts'
import { InnerCalls, type InnerExecution } from './inner-calls.ts'
import { retrying } from './retrying.ts'
import { dawdling, denying, editing, type Program, rejecting, type Scenario, told } from './scenario.ts'
import { tellingModel } from './telling-model.ts'

export interface Execution {
  readonly tool: string
  readonly effect: Effect
  /**
   * As the schema returned it and as the model wrote it. If the call started with one member, only that until it has
   * the rest.
   */
  readonly input: unknown
  written: unknown
  readonly step: number
  /** Without the run's id. */
  readonly key: string
  readonly callId: string
  readonly signal: AbortSignal
  /** Positions in the order of all starts and ends. */
  readonly started: number
  ended: number
  /** Milliseconds on the clock. */
  readonly startedAt: number
  endedAt: number
  succeeded: boolean
}

/** The run ends with it. */
export class Fatal extends AgentError {
  override readonly name = 'Fatal'
}

/** The fake clock as the trial uses it. */
export interface TrialClock {
  /** How many timers are waiting. */
  count(): number
  /** Advances to the next timer and calls it. */
  next(): void
}

export interface Trial {
  readonly events: readonly AgentEvent[]
  /** The time of each event. */
  readonly times: readonly number[]
  readonly result?: AgentResult
  readonly error?: unknown
  readonly executions: readonly Execution[]
  readonly inner: readonly InnerExecution[]
  /** The input of each call that was compensated. */
  readonly undone: readonly unknown[]
  readonly mostAtOnce: number
  /**
   * How often a call ran while another call with the same key was running and one of them writes; aborted reads do not
   * count.
   */
  readonly clashes: number
  /** How many calls of one maker ran at once, and how many of the tool with a limit of one. */
  readonly mostOfOne: number
  readonly mostNarrow: number
  /** Timers left when the run had settled, except those of tools and schemas. */
  readonly timersLeft: number
}

const shape = z.object({
  n: z.number(),
  ms: z.number().default(0),
  fails: z.boolean().default(false),
  deaf: z.boolean().default(false),
})
type Input = z.infer<typeof shape>

/** Created once, because a trial has many tools. Its schemas take time for one input each. */
const peeked = shape.refine(({ n }) => (n === 1 ? sleep(15).then(() => true) : true))
const wired = shape.refine(({ n }) => (n === 0 ? sleep(5).then(() => true) : true))

/** How many tools and schemas of the current trial are sleeping. */
let sleeping = 0

async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted()
  sleeping++
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(resolve, ms)
    signal?.addEventListener('abort', () => {
      clearTimeout(timer)
      reject(signal.reason)
    })
  }).finally(() => sleeping--)
}

const keys = ({ n }: Input) => [`${n}`]

const one = (tool: string): Program => ({ calls: [{ tool, ms: 0 }], atOnce: false, insists: false })

/** The calls that tools of other effects make. Those of the effect `calls` make the calls of the scenario. */
const CALLING: Readonly<Record<string, Program>> = { relay: one('part'), dispatch: one('deed'), forward: one('deed') }
const PROGRAMS: ReadonlySet<string> = new Set(['program', 'batch', 'script'])

function keyOf({ idempotencyKey, run }: ToolContext): string {
  return idempotencyKey.replace((run as Run).id, '')
}

const MIXED: readonly Effect[] = ['read', 'idempotent', 'external']

export async function trial(scenario: Scenario, eager: boolean, clock: TrialClock): Promise<Trial> {
  const executions: Execution[] = []
  const undone: unknown[] = []
  const written = new Map<string, unknown>()
  /** The whole inputs of each call, as they were streamed. */
  const wholes = new Map<string, unknown[]>()
  const work = { atOnce: 0, most: 0, clock: 0 }
  const keysHeld = new HeldKeys()
  const notes = new Map<string, string[]>()
  const fatal = scenario.fatal ? new Fatal('that was it') : undefined
  const inner = new InnerCalls({ keys: keysHeld, sleep, notes, fatal })

  const make = (name: string, effect: Effect | ((input: Input) => Effect), more: Partial<Tool<Input, string>> = {}) => {
    const made: Tool<Input, string> = {
      name,
      description: name,
      input: shape,
      effect,
      async *execute(input, context) {
        const key = keyOf(context)
        const rest = 'rest' in context ? (context as NeedsContext<Input>).rest : undefined
        const execution: Execution = {
          tool: name,
          effect: typeof effect === 'function' ? effect(input) : effect,
          input,
          written: written.get(context.callId),
          step: (context.run as Run).step,
          key,
          callId: context.callId,
          signal: context.signal,
          started: work.clock++,
          ended: Number.POSITIVE_INFINITY,
          startedAt: performance.now(),
          endedAt: Number.POSITIVE_INFINITY,
          succeeded: false,
        }
        executions.push(execution)
        rest?.then(
          (whole) => {
            const said = [...(wholes.get(context.callId) ?? []), execution.written]
            execution.written = said.find((input) => same(shape.safeParse(input).data, whole))
          },
          () => undefined,
        )
        const [named] = name === 'odd' ? [] : ((more.writes ?? more.reads)?.(input) ?? [])
        const held = named !== undefined && { callId: context.callId, key: named, writes: !!more.writes }
        const release = held && keysHeld.hold({ ...held, signal: context.signal })
        work.most = Math.max(work.most, ++work.atOnce)
        try {
          if (name === 'scan') {
            yield { message: 'scanning', progress: 0.5 }
            context.run?.emit({ name: 'scanned', data: input.n })
          }
          if (fatal && effect === 'read' && input.n === 2) throw fatal
          // Only for calls that take time it is certain which of them are entered before one ends the run.
          const least = scenario.fatal ? 7 : 0
          if (name === 'glance') {
            if (least > 0) await sleep(least, context.signal)
            return `${name} ${input.n}`
          }
          const program = PROGRAMS.has(name) ? scenario.programs[input.n] : CALLING[name]
          const call = () => program && inner.make(program, input.n, named !== undefined, context)
          const calledBefore = name === 'script' ? await call() : undefined
          const whole = rest ? await rest : input
          const ms = Math.max(whole.ms, least)
          if (ms > 0) await sleep(ms, whole.deaf ? undefined : context.signal)
          if (whole.fails) throw new Error(`${name} ${input.n} fails`)
          const called = calledBefore ?? (await call())
          if (name === 'wire') notes.set(`${input.n}`, [...(notes.get(`${input.n}`) ?? []), 'wire'])
          const seen = name === 'fetch' || name === 'leaf' ? ` of ${notes.get(`${input.n}`)?.join(' ')}` : ''
          execution.succeeded = true
          return `${name} ${input.n}${called ?? ''}${scenario.edits ? '' : seen}`
        } finally {
          work.atOnce--
          execution.ended = work.clock++
          execution.endedAt = performance.now()
          if (release) release()
        }
      },
      ...more,
    }
    return made as Tool
  }
  const watch = watchSpans()
  const telemetry = { tracerProvider: new TracerProvider({ spanProcessors: [watch] }) }
  const helper = inner.helper({ telemetry, middleware: eager ? [eagerTools()] : [] })
  const tools = [
    ...inner.tools,
    agentTool(helper, { effect: 'calls', input: shape }) as Tool,
    make('look', 'read'),
    make('peek', 'read', { input: peeked }),
    make('scan', 'read'),
    make('open', 'read', { needs: ['n'], warm: ({ signal }) => sleep(7, signal) }),
    make('glance', 'read', { needs: ['n'], warm: ({ signal }) => sleep(7, signal).then(() => Promise.reject('cold')) }),
    make('direct', 'read', { returnDirect: (output) => output.endsWith('2') }),
    make('relay', 'read'),
    make('dispatch', 'read'),
    make('forward', 'idempotent'),
    make('program', 'calls'),
    make('batch', 'calls', { writes: keys }),
    make('script', 'calls', { needs: ['n'] }),
    make('put', 'idempotent'),
    make('move', 'reversible', { compensate: (input) => void undone.push(input) }),
    make('send', 'external'),
    make('mixed', ({ n }) => MIXED[n] ?? 'external'),
    make('fetch', 'read', { reads: keys }),
    make('leaf', 'read', { reads: keys, needs: ['n'] }),
    make('store', 'idempotent', { writes: keys }),
    make('wire', 'external', { writes: keys, input: wired }),
    make('odd', 'read', {
      reads({ n }) {
        if (n === 1) throw new Error('no idea')
        return ['odd']
      },
    }),
  ]

  const model = tellingModel([
    ...told(scenario.responses),
    [
      [0, (to) => to.text('Done.')],
      [0, (to) => to.finish('stop')],
    ],
  ])
  const other: Model = { provider: 'telling', id: 'telling-2', stream: (request) => model.stream(request) }
  const retry = retrying({
    repeats: scenario.repeats,
    waitMs: scenario.waitMs,
    other: scenario.failover ? other : undefined,
  })
  const { innerConcurrency } = scenario
  const agent = createAgent({
    telemetry,
    model,
    tools,
    toolConcurrency: scenario.toolConcurrency,
    ...(innerConcurrency < Number.POSITIVE_INFINITY && { innerConcurrency }),
    maxSteps: scenario.maxSteps,
    middleware: [
      ...(scenario.late > 0 ? [dawdling(scenario.late)] : []),
      ...(scenario.retry === 'outside' ? [retry] : []),
      ...(eager ? [eagerTools()] : []),
      ...(scenario.retry === 'inside' ? [retry] : []),
      ...(scenario.edits ? [editing] : []),
      ...(scenario.rejects ? [rejecting()] : []),
      {
        name: 'noting',
        ignoresInput: scenario.startsOnNeeds,
        wrapModel: (request, next) =>
          map(next(request), (event) => {
            if ('call' in event) wholes.set(event.call.id, [...(wholes.get(event.call.id) ?? []), event.call.input])
            return event
          }),
        async *wrapToolCall(call, next) {
          written.set(call.id, call.input)
          yield { type: 'custom', name: 'passing', data: call.name }
          return yield* next(call)
        },
      },
      ...(scenario.denies === undefined ? [] : [denying(scenario.denies)]),
    ],
  })

  let timersLeft = -1
  const run = agent.stream('Go')
  const settled = run.result.then(
    () => void (timersLeft = clock.count() - sleeping),
    () => void (timersLeft = clock.count() - sleeping),
  )
  const collected = read(run)
  await empty(clock)
  await settled
  watch.assertEndedOnce()
  const { mostOfOne, mostNarrow } = inner
  const most = { mostAtOnce: work.most, mostOfOne, mostNarrow, clashes: keysHeld.clashes }
  return { ...(await collected), executions, inner: inner.executions, undone, ...most, timersLeft }
}

const same = (a: unknown, b: unknown) => canonical(a) === canonical(b)

async function read(run: AgentRun): Promise<Pick<Trial, 'events' | 'times' | 'result' | 'error'>> {
  const events: AgentEvent[] = []
  const times: number[] = []
  try {
    for await (const event of run) {
      events.push(event)
      times.push(performance.now())
    }
    return { events, times, result: await run.result }
  } catch (error) {
    return { events, times, error }
  }
}

/** Runs the clock until nothing waits for it. */
async function empty(clock: TrialClock): Promise<void> {
  for (;;) {
    await new Promise((resolve) => setImmediate(resolve))
    if (clock.count() === 0) return
    clock.next()
  }
}
