/** Plays a re-entrant run: its agent, and everything in it that acts on the run while the run does something. */

import { watchSpans } from '@meanwhile/harness/assert'
import { type SpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { z } from 'zod'
import {
  type Agent,
  type AgentRun,
  agentTool,
  type CheckpointStore,
  createAgent,
  type Effect,
  Interrupt,
  interrupt,
  type Message,
  type Middleware,
  map,
  memoryStore,
  type Run,
  type Tool,
  type ToolContext,
  ToolDiscardedError,
  tool,
} from '../src/index.ts'
import { askAgain } from './again.ts'
import { editing, startingEarly } from './early-calls.ts'
import { innerModel, modelOf } from './reentrant-model.ts'
import { type Act, ASIDE, type Moment, type Scenario, type Work } from './reentrant-scenario.ts'

/** A tool's function was entered. */
export interface Execution {
  readonly tool: string
  readonly key: string
  readonly repeats: boolean
  /** The call was edited and discarded. After a resume another call may have its key. */
  readonly edited: boolean
  /** It counts as if it had not happened. */
  void: boolean
}

/** Something that a tool's function or its undo did, or that was done to the run. */
export interface Deed {
  /** Milliseconds on the clock. */
  readonly at: number
  readonly did: string
  readonly callId?: string
  readonly about: unknown
}

/** What all participants do, over a run and all its resumes. */
export class Play {
  readonly executions: Execution[] = []
  /** In order. */
  readonly deeds: Deed[] = []
  readonly spans = watchSpans()
  readonly agent: Agent
  /** It executes once at a time. */
  readonly single: Tool
  /** The acts whose moment has come. */
  readonly done: Act['act'][] = []
  /** The calls that were cancelled by themselves. */
  readonly cancelled = new Set<string>()
  /** Inner calls that were not made although their maker was accepted. */
  readonly refused: unknown[] = []
  /** Timers of its tools and wraps. */
  readonly sleeping = new Set<unknown>()
  /** The number of messages sent to the run, and how many of them each request contained. */
  sent = 0
  readonly asked: number[] = []
  controller = new AbortController()
  run: AgentRun | undefined
  readonly #stored: CheckpointStore = memoryStore()
  readonly #scenario: Scenario
  readonly #counts = new Map<Moment, number>()
  /** The view of the run that a participant last received. */
  #seen: Run | undefined
  /** The call in which that was. */
  #in: string | undefined
  /** What was called in the run at the present moment. */
  #called: Promise<unknown> | undefined

  constructor(scenario: Scenario) {
    this.#scenario = scenario
    const { toolConcurrency, stored } = scenario
    this.single = this.#tool('single', 'external', { concurrency: 1 })
    this.agent = createAgent({
      model: modelOf(scenario, (messages) => this.asked.push(saidIn(messages))),
      tools: this.#tools(),
      middleware: [this.#everywhere(), askAgain, wrappingOf(this.sleeping), editsOf(scenario), startsOf(scenario)],
      toolConcurrency,
      grace: 5,
      telemetry: { tracerProvider: new TracerProvider({ spanProcessors: [this.spans, this.#watching()] }) },
      ...(stored && { checkpoints: this.#store() }),
    })
  }

  /** A moment has come: the acts that have waited for it happen. Throws a question. */
  reached(moment: Moment, run?: Run, callId?: string): void {
    if (run) [this.#seen, this.#in] = [run, callId]
    this.#called = undefined
    const count = (this.#counts.get(moment) ?? 0) + 1
    this.#counts.set(moment, count)
    for (const [index, { at, nth, act }] of this.#scenario.acts.entries()) {
      if (at !== moment || nth !== count) continue
      this.done.push(act)
      this.#note(`${act}, as ${moment}`, undefined, index)
      this.#act(act, `side ${index}`, this.#seen, callId)
      if (act.endsWith('ask') && ASKING.has(moment)) throw interrupt(index)
    }
  }

  #note(did: string, callId: string | undefined, about: unknown): void {
    this.deeds.push({ at: performance.now(), did, ...(callId !== undefined && { callId }), about })
  }

  #act(act: Act['act'], id: string, run: Run | undefined, callId: string | undefined): void {
    switch (act) {
      case 'cancel now':
      case 'cancel after-model':
      case 'cancel after-tools':
      case 'cancel soon':
        void this.run?.cancel(CANCELS[act])
        break
      case 'abort':
        this.controller.abort('enough')
        break
      case 'send':
        if (this.run?.send(SAID)) this.sent++
        break
      case 'cancel the call':
      case 'cancel the call, and ask':
        if (callId !== undefined && run?.cancelTool(callId)) this.cancelled.add(callId)
        break
      case 'call a tool':
        this.#called = run?.callTool({ type: 'tool-call', id, name: 'send', input: ASIDE })
        break
      case 'call the same tool':
        this.#called = run?.callTool({
          type: 'tool-call',
          id: `shared in ${this.#in ?? 'the run'}`,
          name: 'send',
          input: ASIDE,
        })
        break
      case 'wait for the commit, twice':
        for (let twice = 0; twice < 2; twice++) if (this.#in !== undefined) void run?.stood(this.#in)
        break
      case 'call the model':
        this.#called = run?.callModel({ messages: [{ role: 'user', content: 'Aside' }] })
    }
  }

  /** Makes a call in a run that is over. Returns nothing if no participant has a view of the run. */
  callLate(): Promise<unknown> | undefined {
    return this.#seen?.callTool({ type: 'tool-call', id: 'late', name: 'send', input: ASIDE })
  }

  /** A span processor that acts. */
  #watching(): SpanProcessor {
    return {
      onStart: () => this.reached('a span begins'),
      onEnd: () => this.reached('a span ends'),
      forceFlush: async () => undefined,
      shutdown: async () => undefined,
    }
  }

  #everywhere(): Middleware {
    const reached = this.reached.bind(this)
    return {
      name: 'everywhere',
      beforeModel: (_, run) => reached('a step begins', run),
      afterModel: (_, run) => reached('the model has spoken', run),
      beforeFinalAnswer: (_, run) => reached('an answer is judged', run),
      wrapAgent: (setup, next, run) =>
        map(next(setup), (event) => {
          reached('the run tells', run)
          return event
        }),
      async *wrapModel(request, next, run) {
        reached('a wrap has a request', run)
        return yield* map(next(request), (event) => {
          reached('the model streams', run)
          return event
        })
      },
      async *wrapToolCall(one, next, run) {
        reached('a wrap has a call', run, one.id)
        const message = yield* next(one)
        reached('a wrap has a result', run, one.id)
        return message
      },
    }
  }

  #tools(): Tool[] {
    const send = this.#tool('send', 'external')
    const inner = createAgent({
      name: 'nested',
      description: 'nested',
      model: innerModel(),
      tools: [send],
      grace: 5,
      telemetry: { tracerProvider: new TracerProvider({ spanProcessors: [this.spans] }) },
    })
    const keys = () => {
      this.reached('its keys are named')
      return ['k']
    }
    return [
      send,
      this.#tool('look', 'read', { reads: keys }),
      this.#tool('put', 'idempotent'),
      this.#tool('hold', 'reversible', { compensate: (_, output) => this.#undo(String(output)) }),
      this.#tool('write', 'external', { writes: keys }),
      this.single,
      this.#tool('brief', 'external', { timeout: 2 }),
      this.#tool('later', 'external', { background: true }),
      agentTool(inner) as Tool,
    ]
  }

  #tool(name: string, effect: Effect, more: Omit<Partial<Tool>, 'needs'> = {}): Tool {
    return tool({
      name,
      description: name,
      input: work,
      effect: () => {
        this.reached('a call is judged')
        return effect
      },
      execute: (input: z.infer<typeof work>, context: ToolContext) => this.#execute(name, input, context),
      toContent: (output: unknown) => {
        this.reached('its content is made')
        return [{ type: 'text', text: String(output) }]
      },
      ...more,
    }) as Tool
  }

  async #execute(tool: string, input: z.infer<typeof work>, context: ToolContext): Promise<string> {
    const { callId, idempotencyKey, attempt } = context
    this.#note(`${tool} starts`, callId, { input, idempotencyKey, attempt })
    try {
      const output = await this.#work(tool, input, context)
      this.#note(`${tool} ends`, callId, output)
      return output
    } catch (error) {
      this.#note(`${tool} throws`, callId, error)
      throw error
    }
  }

  async #work(tool: string, { ms, deaf, fails, waits, calls, wrap }: z.infer<typeof work>, context: ToolContext) {
    const { callId, idempotencyKey: key, run, signal } = context
    const edited = this.#isEdited(callId, ms)
    const execution = { tool, key, repeats: wrap === 'repeats', edited, void: false }
    this.executions.push(execution)
    signal.addEventListener('abort', () => this.reached('a tool is aborted', run, callId), { once: true })
    try {
      this.reached('a tool starts', run, callId)
      if (waits === 'for its call') await this.#called
      if (waits === 'for its commit') await run?.stood(callId)
      if (calls) await this.#callInner(context)
      if (ms > 0) await sleep(this.sleeping, ms, deaf ? undefined : signal)
      this.reached('a tool ends', run, callId)
    } catch (error) {
      // It asks before it acts.
      if (error instanceof Interrupt) execution.void = true
      throw error
    }
    if (fails) throw new Error('failed')
    return key
  }

  async #callInner({ callId, run, signal }: ToolContext): Promise<void> {
    try {
      await run?.callTool({ type: 'tool-call', id: `part of ${callId}`, name: 'look', input: ASIDE })
    } catch (error) {
      if (error instanceof ToolDiscardedError && !signal.aborted) this.refused.push(error.message)
      throw error
    }
  }

  /** Whether it is the first call of an edited response, as the model requested it. */
  #isEdited(callId: string, ms: number): boolean {
    const { turns, works } = this.#scenario
    const turn = turns[Number(/^c(\d+)_0(_\d+)?$/.exec(callId)?.[1])]
    return turn?.edited === true && works[(turn.calls[0] ?? 0) % works.length]?.ms === ms
  }

  #undo(key: string): void {
    this.#note('is undone', undefined, key)
    const undone = this.executions.findLast((execution) => execution.key === key && !execution.void)
    if (!undone) throw new Error(`${key} is undone, and was not done`)
    undone.void = true
    this.reached('it is undone')
  }

  async isStored(runId: string): Promise<boolean> {
    return (await this.#stored.load(runId)) !== undefined
  }

  #store(): CheckpointStore {
    return {
      ...this.#stored,
      save: (...saved) => {
        this.reached('a checkpoint is saved')
        return this.#stored.save(...saved)
      },
    }
  }
}

const SAID = 'And this'

/** How many of the messages sent to a run are among these. */
export function saidIn(messages: readonly Message[]): number {
  return messages.filter(({ content }) => content === SAID).length
}

const CANCELS = {
  'cancel now': {},
  'cancel after-model': { at: 'after-model' },
  'cancel after-tools': { at: 'after-tools' },
  'cancel soon': { at: 'after-tools', escalateAfter: 2 },
} as const

/** The moments at which a thrown question counts. */
const ASKING: ReadonlySet<Moment> = new Set([
  'a tool starts',
  'a tool ends',
  'a wrap has a call',
  'a wrap has a result',
  'a step begins',
  'a wrap has a request',
  'the model has spoken',
  'an answer is judged',
])

const work = z.object({
  ms: z.number(),
  deaf: z.boolean(),
  fails: z.boolean(),
  waits: z.enum(['for nothing', 'for its call', 'for its commit']),
  calls: z.boolean(),
  wrap: z.enum(['passes', 'leaves', 'repeats']),
})

function sleep(sleeping: Set<unknown>, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    const timer = setTimeout(() => {
      sleeping.delete(timer)
      resolve()
    }, ms)
    sleeping.add(timer)
    const leave = () => {
      clearTimeout(timer)
      sleeping.delete(timer)
      reject(signal?.reason)
    }
    signal?.addEventListener('abort', leave, { once: true })
  })
}

/** Does with a call what its work defines. */
const wrappingOf = (sleeping: Set<unknown>): Middleware => ({
  name: 'wrapping',
  async *wrapToolCall(one, next) {
    const { wrap } = one.input as Partial<Work>
    if (wrap === 'repeats') yield* next(one)
    if (wrap !== 'leaves') return yield* next(one)
    const first = next(one).next()
    first.catch(() => undefined)
    await Promise.race([first, sleep(sleeping, 1)])
    return { role: 'tool', callId: one.id, name: one.name, content: [], isError: true }
  },
})

/** It takes a little longer; for the nested agent's request the text does. */
function editsOf({ turns }: Scenario): Middleware {
  const longer = (input: unknown) =>
    'request' in Object(input)
      ? { request: `${Object(input).request} ` }
      : { ...Object(input), ms: Object(input).ms + 1 }
  return editing((input, step) => (turns[step - 1]?.edited ? longer(input) : input))
}

function startsOf({ early }: Scenario): Middleware {
  const isFirst = (id: string) => id.endsWith('_0')
  const which = {
    none: () => false,
    all: () => true,
    'the first': isFirst,
    'all but the first': (id: string) => !isFirst(id),
  }[early]
  return startingEarly({ ceiling: 'reversible', only: ({ id }) => which(id) })
}
