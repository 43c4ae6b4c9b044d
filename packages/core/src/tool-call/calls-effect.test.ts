import { unhandledRejections } from '@meanwhile/tests/rejections'
import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { askAgain } from '../../test/again.ts'
import { sleep } from '../../test/clock.ts'
import { startingEarly, withdrawing } from '../../test/early-calls.ts'
import { timedLog } from '../../test/timed-log.ts'
import {
  type Agent,
  agentTool,
  type CallOptions,
  type CheckpointStore,
  createAgent,
  type Effect,
  interrupt,
  type Middleware,
  type Model,
  type ModelRequest,
  memoryStore,
  type ResumeOptions,
  type Run,
  type Tool,
  type ToolContext,
  tool,
} from '../index.ts'
import { call, collect, fail, respond, say, scriptedModel, wait } from '../testing.ts'

// Tools with the effect `calls`: they only call other tools, or run an agent.

unhandledRejections()

/** What was done, and when. */
const { log, note, restart } = timedLog()

const input = z.object({ n: z.number() })

/** Logs each call, takes ten milliseconds and returns its name and input. */
function worker(name: string, effect?: Effect, more: Partial<Tool<{ n: number }>> = {}): Tool {
  return {
    name,
    description: name,
    input,
    ...(effect && { effect }),
    async execute({ n }: { readonly n: number }) {
      note(`${name} ${n}`)
      await sleep(10)
      return `${name} ${n}`
    },
    ...more,
  } as Tool
}

const workers = [
  worker('look', 'read'),
  worker('put', 'idempotent'),
  worker('move', 'reversible', { compensate: () => note('moved back') }),
  worker('send'),
]

async function callOf(run: Run | undefined, name: string, n = 1, id = name): Promise<string> {
  const message = await run?.callTool({ type: 'tool-call', id, name, input: { n } })
  return message?.isError ? `${name} failed` : String(message?.output)
}

/** Calls these tools one after the other. */
function maker(effect: Effect, names: readonly string[], more: Partial<Tool<{ n: number }>> = {}): Tool {
  return worker('plan', effect, {
    async execute({ n }, { run }) {
      note(`plan ${n}`)
      const given: string[] = []
      for (const name of names) given.push(await callOf(run, name, n))
      return given.join(', ')
    },
    ...more,
  })
}

/** The call arrives at once, and the model call succeeds after 100 ms. */
const first = respond(call('plan', { n: 1 }, { id: 'c1' }), wait(100), say('So.'))

async function played(agent: Agent, resume?: readonly [string, ResumeOptions?]) {
  const run = resume ? agent.resume(resume[0], {}, resume[1]) : agent.stream('Go')
  const reading = collect(run)
  await vi.runAllTimersAsync()
  const { events, result, error } = await reading
  if (error) throw error
  const results = result?.messages.flatMap((one) =>
    one.role === 'tool' ? one.content.map((part) => ('text' in part ? part.text : '')) : [],
  )
  return { events, result, results }
}

/** An agent whose first response is `first`, and whose calls start early with these options. */
function eager(tools: readonly Tool[], options: CallOptions | undefined, more: readonly Middleware[] = []): Agent {
  return createAgent({
    model: scriptedModel([first, respond(say('Done.'))]),
    tools: [...tools, ...workers],
    middleware: [...more, ...(options ? [startingEarly(options)] : [])],
  })
}

test.each<[string, CallOptions | undefined, readonly string[]]>([
  ['not early', undefined, ['100 plan 1', '100 look 1', '110 put 1', '120 move 1', '130 send 1']],
  ['of a read', { ceiling: 'read' }, ['0 plan 1', '0 look 1', '100 put 1', '110 move 1', '120 send 1']],
  ['of calls', { ceiling: 'calls' }, ['0 plan 1', '0 look 1', '100 put 1', '110 move 1', '120 send 1']],
  ['idempotent', { ceiling: 'idempotent' }, ['0 plan 1', '0 look 1', '10 put 1', '100 move 1', '110 send 1']],
  ['reversible', { ceiling: 'reversible' }, ['0 plan 1', '0 look 1', '10 put 1', '20 move 1', '100 send 1']],
  ['none', {}, ['0 plan 1', '0 look 1', '10 put 1', '20 move 1', '30 send 1']],
])(
  'a call with effect calls starts when a read may, and its inner calls start no earlier than the ceiling allows: %s (Q1)',
  async (_, options, made) => {
    const { results } = await played(eager([maker('calls', ['look', 'put', 'move', 'send'])], options))
    expect(log).toEqual(made)
    expect(results).toEqual(['look 1, put 1, move 1, send 1'])
  },
)

test('a call with effect calls that a call with effect calls or a read makes starts at once, and the ceiling applies to its inner calls (Q1)', async () => {
  for (const effect of ['calls', 'read'] as const) {
    restart()
    const outer = worker('plan', effect, { execute: (_, { run }) => callOf(run, 'inner') })
    const inner = worker('inner', 'calls', {
      async execute(_, { run }) {
        note('inner')
        return `${await callOf(run, 'look')}, ${await callOf(run, 'send')}`
      },
    })
    const { results } = await played(eager([outer, inner], { ceiling: 'read' }))
    expect(log).toEqual(['0 inner', '0 look 1', '100 send 1'])
    expect(results).toEqual(['look 1, send 1'])
  }
})

test('an effect that the tool computes may be calls, too (Q1)', async () => {
  const plan = { ...maker('external', ['look', 'send']), effect: () => 'calls' } as Tool
  await played(eager([plan], { ceiling: 'read' }))
  expect(log).toEqual(['0 plan 1', '0 look 1', '100 send 1'])
})

test('inner calls that a discarded call with effect calls has not made do not happen, and those it made are undone (Q1)', async () => {
  const parallel = worker('plan', 'calls', {
    execute: (_, { run }) => Promise.all(['look', 'move', 'put', 'send'].map((name) => callOf(run, name))),
  })
  for (const ceiling of ['read', 'reversible'] as const) {
    restart()
    const { events } = await played(eager([parallel], { ceiling }, [withdrawing()]))
    expect(log).toEqual(ceiling === 'read' ? ['0 look 1'] : ['0 look 1', '0 move 1', '0 put 1', '100 moved back'])
    const ids = events.flatMap((event) => (event.type === 'tool-discarded' ? [event.callId] : []))
    expect(ids).toEqual(['look', 'move', 'put', 'send', 'c1'])
  }
})

/** An agent that calls these tools, one per step, as a tool with the name `plan`. */
function planner(effect: Effect | undefined, tools: readonly Tool[], middleware: readonly Middleware[] = []): Tool {
  const model = scriptedModel([...tools.map(({ name }) => respond(call(name, { n: 1 }))), respond(say('Planned.'))])
  const agent = createAgent({ name: 'plan', description: 'p', model, tools, middleware })
  return agentTool(agent, { input, ...(effect && { effect }) }) as Tool
}

test('an agent as a tool is external; with the effect calls it starts early, and what its tools do waits like its own inner calls (Q4, Q1, M1)', async () => {
  expect(planner(undefined, workers).effect).toBeUndefined()
  const made: Readonly<Record<string, readonly string[]>> = {
    external: ['100 look 1', '110 put 1', '120 send 1'],
    calls: ['0 look 1', '100 put 1', '110 send 1'],
    read: ['0 look 1', '10 put 1', '20 send 1'],
  }
  const tools = workers.filter(({ name }) => name !== 'move')
  for (const [effect, expected] of Object.entries(made)) {
    restart()
    const plan = planner(effect === 'external' ? undefined : (effect as Effect), tools)
    const { results } = await played(eager([plan], { ceiling: 'read' }))
    expect(log).toEqual(expected)
    expect(results).toEqual(['Planned.'])
  }
})

/** The options of an agent, and whether its own calls start early, too. */
interface Inside {
  readonly tools: readonly Tool[]
  readonly isEager?: boolean
}

const relay = worker('relay', 'read', { execute: (_, { run }) => callOf(run, 'send') })

const sendAgentOf = (send: Tool): Tool => ({ ...planner('calls', [send]), name: 'inner' })

const inAgent: Readonly<Record<string, () => Inside>> = {
  'by its tool': () => ({ tools: [worker('send')] }),
  'by an early call of its tool': () => ({ tools: [worker('send')], isEager: true }),
  'by a call of its tool': () => ({ tools: [relay, worker('send')] }),
  'by a call of a tool that starts early in it': () => ({ tools: [relay, worker('send')], isEager: true }),
  'in the background': () => ({ tools: [worker('send', 'external', { background: true })] }),
  'by its own agent': () => ({ tools: [sendAgentOf(worker('send'))] }),
  'by its own agent that starts early in it': () => ({ tools: [sendAgentOf(worker('send'))], isEager: true }),
}

test.each(Object.keys(inAgent))(
  'what an agent does %s waits for the commit of the call that runs it, and never happens if that is discarded (Q1, Q4)',
  async (where) => {
    const make = () => {
      const { tools, isEager } = inAgent[where]?.() ?? { tools: [] }
      const asks = respond(call(tools[0]?.name ?? '', { n: 1 }), wait(5), say('So.'))
      const model = scriptedModel([asks, respond(say('Planned.')), respond(say('Planned.'))])
      const middleware = isEager ? [startingEarly({ ceiling: 'read' })] : []
      const agent = createAgent({ name: 'plan', description: 'p', model, tools, middleware })
      return agentTool(agent, { input, effect: 'calls' }) as Tool
    }
    await played(eager([make()], { ceiling: 'read' }))
    expect(log).toEqual(['100 send 1'])
    restart()
    await played(eager([make()], { ceiling: 'read' }, [withdrawing()]))
    expect(log).toEqual([])
  },
)

test('a call in an agent that waits for the commit of the call that runs it ends at once when that is cancelled (Q1, I4)', async () => {
  const run = eager([planner('calls', [worker('send')])], { ceiling: 'read' }).stream('Go')
  setTimeout(() => run.cancelTool('c1'), 50)
  setTimeout(() => note(String(run.toolStatus('c1')?.state)), 51)
  const reading = collect(run)
  await vi.runAllTimersAsync()
  expect((await reading).result?.status).toBe('completed')
  expect(log).toEqual(['51 cancelled'])
})

/** Asks once, when the first model call has succeeded. */
const asking: Middleware = {
  name: 'asking',
  afterModel(_, run) {
    if (run.step === 1 && run.answers.length === 0) throw interrupt('May I?')
  },
}

/** Plays a run that pauses before its early call is committed, and its resume after the answer. */
async function paused(plan: Tool): Promise<void> {
  const agent = eager([plan], { ceiling: 'read' }, [asking])
  const { result } = await played(agent)
  note('paused')
  const [question] = result?.interrupts ?? []
  if (!result?.checkpoint || !question) throw new Error('nobody asks')
  const resumed = agent.resume(result.checkpoint, { [question.id]: 'Yes' }).result
  await vi.runAllTimersAsync()
  expect((await resumed).status).toBe('completed')
}

test('a call in an agent that waits for the commit of the call that runs it is made as its first attempt after a pause (Q1, P7)', async () => {
  const send = worker('send', 'external', { execute: (_, { attempt }) => note(`attempt ${attempt}`) })
  for (const plan of [planner('calls', [send]), planner('calls', [sendAgentOf(send)])]) {
    restart()
    await paused(plan)
    expect(log.map((line) => line.replace(/^\d+ /, ''))).toEqual(['paused', 'attempt 1'])
  }
})

test('background work of an agent whose caller is not committed before a pause begins after the resume, once (Q1, P7, I15)', async () => {
  for (const atEnd of ['wait', 'detach'] as const) {
    restart()
    const plan = planner('calls', [worker('send', 'external', { background: { atEnd } })])
    await paused(plan)
    expect(log.map((line) => line.replace(/^\d+ /, ''))).toEqual(['paused', 'send 1'])
  }
})

test('an agent that starts early asks no question about a call before its own call is committed (Q1, P7)', async () => {
  const asking: Middleware = {
    name: 'asking',
    async *wrapToolCall(one, next, run) {
      await run.stood(one.id)
      note('asked')
      return yield* next(one)
    },
  }
  await played(eager([planner('calls', [worker('look', 'read')], [asking])], { ceiling: 'read' }))
  expect(log).toEqual(['100 asked', '100 look 1'])
  restart()
  await played(eager([planner('calls', [worker('look', 'read')], [asking])], { ceiling: 'read' }, [withdrawing()]))
  expect(log).toEqual([])
})

/** The model requests a plan, and after a retry a write before the same plan. */
const rewritten = () =>
  scriptedModel([
    respond(call('plan', { n: 1 }, { id: 'a' }), wait(50), fail()),
    respond(call('write', { n: 1 }, { id: 'w' }), call('plan', { n: 1 }, { id: 'b' }), wait(50)),
    respond(say('Done.')),
  ])

test('a call with effect calls that has only read is made again after a write of the next attempt; one that has done more is not (Q2, H26)', async () => {
  const keyed = { writes: () => ['k'] }
  const played1 = async (plan: Tool, options: CallOptions) => {
    restart()
    const tools = [plan, worker('write', 'external', keyed), ...workers]
    await played(createAgent({ model: rewritten(), tools, middleware: [askAgain, startingEarly(options)] }))
    return log.map((line) => line.replace(/^\d+ /, ''))
  }
  const reads = maker('calls', ['look'], keyed)
  const sends = maker('calls', ['look', 'send'], keyed)
  expect(await played1(reads, { ceiling: 'read' })).toEqual(['plan 1', 'look 1', 'write 1', 'plan 1', 'look 1'])
  expect(await played1(sends, { ceiling: 'read' })).toEqual([
    'plan 1',
    'look 1',
    'write 1',
    'plan 1',
    'look 1',
    'send 1',
  ])
  expect(await played1(sends, {})).toEqual(['plan 1', 'look 1', 'send 1', 'write 1'])
  // It is joined if no write comes before it.
  expect(await played1(maker('calls', ['look']), { ceiling: 'read' })).toEqual(['plan 1', 'look 1', 'write 1'])
})

test('a running call with effect calls is made again after a read of the next attempt that must not see its inner calls (Q2, H14)', async () => {
  const played1 = async (toolConcurrency: number, more: Partial<Tool<{ n: number }>>, names: readonly string[]) => {
    restart()
    const model = scriptedModel([
      respond(call('plan', { n: 1 }, { id: 'a' }), wait(50), fail()),
      respond(call('fetch', { n: 1 }, { id: 'f' }), call('plan', { n: 1 }, { id: 'b' }), wait(50)),
      respond(say('Done.')),
    ])
    const tools = [maker('calls', names, more), worker('fetch', 'read', { reads: () => ['k'] }), ...workers]
    const middleware = [askAgain, startingEarly({ ceiling: 'read' })]
    const { results } = await played(createAgent({ model, tools, middleware, toolConcurrency }))
    return [...log.map((line) => line.replace(/^\d+ /, '')), ...(results ?? [])]
  }
  const keyed = { writes: () => ['k'] }
  const anew = ['plan 1', 'look 1', 'fetch 1', 'plan 1', 'look 1', 'send 1', 'fetch 1', 'look 1, send 1']
  const unlimited = Number.POSITIVE_INFINITY
  expect(await played1(unlimited, keyed, ['look', 'send'])).toEqual(anew)
  expect(await played1(1, {}, ['look', 'send'])).toEqual(anew)
  // A call that is over, or that names no key of the read, is joined.
  expect(await played1(unlimited, keyed, ['look'])).toEqual(['plan 1', 'look 1', 'fetch 1', 'fetch 1', 'look 1'])
  expect(await played1(unlimited, {}, ['look', 'send'])).toEqual([
    'plan 1',
    'look 1',
    'fetch 1',
    'send 1',
    'fetch 1',
    'look 1, send 1',
  ])
})

test('the ceiling of an agent decides whether it may be made again (Q2, H26)', async () => {
  const played1 = async (options: CallOptions) => {
    restart()
    const said = ({ messages }: ModelRequest) =>
      messages.length === 1 ? respond(call('send', { n: 1 })) : respond(say('Planned.'))
    const model = scriptedModel([said, said, said])
    const agent = createAgent({ name: 'plan', description: 'p', model, tools: [worker('send')] })
    const plan = agentTool(agent, { input, effect: 'calls' }) as Tool
    const tools = [plan, worker('write', 'external')]
    const middleware = [askAgain, startingEarly(options)]
    await played(createAgent({ model: rewritten(), tools, middleware, toolConcurrency: 1 }))
    return log.map((line) => line.replace(/^\d+ /, ''))
  }
  expect(await played1({ ceiling: 'read' })).toEqual(['write 1', 'send 1'])
  expect(await played1({})).toEqual(['send 1', 'write 1'])
})

/** A process that ends while this call is running, and the next one. */
interface Lives {
  readonly inner: readonly string[]
  /** Whether it waits for each inner call before it makes the next. Default true. */
  readonly inTurn?: boolean
  /** The process ends in the function of this tool; for `plan`, when its inner calls have ended. */
  readonly endsIn: string
  readonly resume?: ResumeOptions
  readonly options?: CallOptions
}

const NEVER = new Promise<never>(() => undefined)

async function lives({ inner, inTurn = true, endsIn, resume, options }: Lives) {
  const checkpoints = memoryStore()
  let isFirst = true
  const contexts: ToolContext[] = []
  const tools = ['look', 'put', 'send'].map((name) =>
    worker(name, name === 'look' ? 'read' : name === 'put' ? 'idempotent' : 'external', {
      async execute({ n }) {
        note(`${name} ${n}`)
        return isFirst && name === endsIn ? await NEVER : `${name} ${n}`
      },
    }),
  )
  tools.push(
    worker('plan', 'calls', {
      async execute({ n }, context) {
        contexts.push(context)
        note(`plan ${n}`)
        const given: Promise<string>[] = []
        for (const name of inner) {
          given.push(callOf(context.run, name, n))
          if (inTurn) await given.at(-1)
        }
        const results = await Promise.all(given)
        return isFirst && endsIn === 'plan' ? await NEVER : results.join(', ')
      },
    }),
  )
  const middleware = options ? [startingEarly(options)] : []
  const agentOf = (model: Model) => createAgent({ model, tools, checkpoints, middleware })
  const run = agentOf(scriptedModel([first])).stream('Go')
  void collect(run)
  await vi.advanceTimersByTimeAsync(options ? 50 : 500)
  isFirst = false
  const before = log.splice(0).map((line) => line.replace(/^\d+ /, ''))
  const script = options ? [first, respond(say('Done.'))] : [respond(say('Done.'))]
  const { events, result, results } = await played(agentOf(scriptedModel(script)), resume ? [run.id, resume] : [run.id])
  const after = log.map((line) => line.replace(/^\d+ /, ''))
  const reruns = events.flatMap((event) => (event.type === 'tool-start' && event.rerun ? [event.call.name] : []))
  return { before, after, results, reruns, contexts, unknown: result?.unknown }
}

test('after a crash a call with effect calls is made again, and finds the calls it had made (Q3, L20)', async () => {
  const { before, after, results, reruns, contexts, unknown } = await lives({
    inner: ['look', 'put', 'send'],
    endsIn: 'plan',
    resume: { rerun: [] },
  })
  expect(before).toEqual(['plan 1', 'look 1', 'put 1', 'send 1'])
  expect(after).toEqual(['plan 1'])
  expect(results).toEqual(['look 1, put 1, send 1'])
  expect(reruns).toEqual(['plan'])
  expect(unknown).toBeUndefined()
  const [one, other] = contexts
  expect([one?.attempt, other?.attempt]).toEqual([1, 2])
  expect(other?.idempotencyKey).toBe(one?.idempotencyKey)
})

test.each<[string, string, ResumeOptions | undefined, readonly string[], string]>([
  ['a read', 'look', undefined, ['plan 1', 'look 1'], 'look 1, put 1, send 1'],
  [
    'a read, if rerun does not contain read',
    'look',
    { rerun: ['idempotent'] },
    ['plan 1'],
    'look failed, put 1, send 1',
  ],
  ['an idempotent one', 'put', undefined, ['plan 1'], 'look 1, put failed, send 1'],
  ['an idempotent one in rerun', 'put', { rerun: ['idempotent'] }, ['plan 1', 'put 1'], 'look 1, put 1, send 1'],
  ['an external one', 'send', undefined, ['plan 1'], 'look 1, put 1, send failed'],
  [
    'an external one, if rerun contains only calls',
    'send',
    { rerun: ['calls'] },
    ['plan 1'],
    'look 1, put 1, send failed',
  ],
])(
  'an inner call that a crash cuts off is handled according to its own effect: %s (Q3, L20, L21)',
  async (_, endsIn, resume, made, text) => {
    const inner = ['look', 'put', 'send']
    const { after, unknown, results } = await lives({ inner, inTurn: false, endsIn, ...(resume && { resume }) })
    expect(after).toEqual(made)
    expect(results).toEqual([text])
    expect(unknown).toEqual(text.includes('failed') ? [endsIn] : undefined)
  },
)

test('a call with effect calls that a crash cut off before its response was accepted is joined and made again, and its finished reads are not repeated (Q3, O9)', async () => {
  const { before, after, results, reruns } = await lives({
    inner: ['look', 'send'],
    endsIn: 'plan',
    options: { ceiling: 'read' },
  })
  expect(before).toEqual(['plan 1', 'look 1'])
  expect(after).toEqual(['plan 1', 'send 1'])
  expect(results).toEqual(['look 1, send 1'])
  expect(reruns).toEqual(['plan'])
})

test('after a crash inside an agent with effect calls the agent continues, and an effect that may have happened is not repeated (Q3, L21)', async () => {
  const checkpoints = memoryStore()
  let isFirst = true
  const send = worker('send', 'external', {
    async execute({ n }) {
      note(`send ${n}`)
      return isFirst ? await NEVER : 'sent'
    },
  })
  const inner = scriptedModel([
    respond(call('look', { n: 1 })),
    respond(call('send', { n: 1 }, { id: 's' })),
    respond(say('Planned.')),
  ])
  const agent = createAgent({ name: 'plan', description: 'p', model: inner, tools: [send, ...workers.slice(0, 1)] })
  const tools = [agentTool(agent, { input, effect: 'calls' }) as Tool]
  const run = createAgent({ model: scriptedModel([first]), tools, checkpoints }).stream('Go')
  void collect(run)
  await vi.advanceTimersByTimeAsync(500)
  isFirst = false
  expect(log.splice(0)).toEqual(['100 look 1', '110 send 1'])
  const { results, result } = await played(
    createAgent({ model: scriptedModel([respond(say('Done.'))]), tools, checkpoints }),
    [run.id],
  )
  expect(log).toEqual([])
  expect(results).toEqual(['Planned.'])
  expect(result?.unknown).toEqual(['c1/s'])
})

test('a call with effect calls begins without being saved first, as a read does; its inner calls are saved according to their own effects (Q3, L15)', async () => {
  /** How much had been done before each save. */
  const savesOf = async (effect: Effect) => {
    restart()
    const saves: number[] = []
    const store = memoryStore()
    const checkpoints: CheckpointStore = {
      load: (id) => store.load(id),
      delete: (id) => store.delete(id),
      prune: (options) => store.prune(options),
      save(...given) {
        saves.push(log.length)
        return store.save(...given)
      },
    }
    const tools = [maker(effect, ['look', 'send']), ...workers]
    await played(createAgent({ model: scriptedModel([first, respond(say('Done.'))]), tools, checkpoints }))
    return saves
  }
  const saves = await savesOf('calls')
  expect(saves).toEqual(await savesOf('read'))
  expect(saves).toContain(2)
  expect(await savesOf('external')).toEqual([0, ...saves])
})

test('a tool with effect calls may name the members it needs, and may warm up (Q4, H31, H33)', async () => {
  const plan = tool({
    name: 'plan',
    description: 'p',
    input: z.object({ n: z.number(), then: z.string() }),
    effect: 'calls',
    needs: ['n'],
    warm: () => note('warm'),
    async execute({ n }, { rest, run, warmed }) {
      await warmed
      const looked = await callOf(run, 'look', n)
      const sent = callOf(run, 'send', n)
      note(`then ${(await rest).then}`)
      return `${looked}, ${await sent}`
    },
  }) as Tool
  const input = { n: 1, then: 'stop' }
  const model = scriptedModel(
    [respond(call('plan', input, { id: 'c1', deltas: 3 }), wait(100), say('So.')), respond(say('Done.'))],
    {
      pace: { firstToken: 10, betweenTokens: 10 },
    },
  )
  const starting: Middleware = {
    name: 'starting',
    async *wrapModel(request, next, run) {
      const flow = next(request)
      let whole: ((call: never) => void) | undefined
      for (;;) {
        const step = await flow.next()
        if (step.done) return step.value
        const event = step.value
        if (event.type === 'tool-input-start') run.warm(event.id, event.name)
        if (event.type === 'tool-input-ready') {
          const rest = new Promise<never>((resolve) => (whole = resolve))
          const started = { type: 'tool-call', id: event.id, name: event.name, input: event.input } as const
          void run.callTool(started, { ceiling: 'calls', rest }).catch(() => undefined)
        }
        if (event.type === 'tool-call') whole?.(event.call as never)
        yield event
      }
    },
  }
  const agent = createAgent({ model, tools: [plan, ...workers], middleware: [starting] })
  const { results } = await played(agent)
  const order = log.map((line) => line.replace(/^\d+ /, ''))
  expect(order).toEqual(['warm', 'look 1', 'then stop', 'send 1'])
  expect(results).toEqual(['look 1, send 1'])
  const at = (what: string) => Number.parseInt(log.find((line) => line.endsWith(what)) ?? '', 10)
  expect(at('look 1')).toBeLessThan(at('then stop'))
  expect(at('send 1')).toBeGreaterThan(at('then stop') + 99)
})

test('until a call that a retry has joined is accepted, the events of an agent in it have the id with which the call started (B8, M4)', async () => {
  const model = scriptedModel([respond(wait(30), call('look', { n: 1 }, { id: 'i1' })), respond(say('Helped.'))])
  const helper = createAgent({ name: 'helper', description: 'h', model, tools: workers })
  const asked = call('helper', { request: 'Go' }, { id: 'a' })
  const again = call('helper', { request: 'Go' }, { id: 'b' })
  const { events } = await played(
    createAgent({
      model: scriptedModel([
        respond(asked, wait(10), fail()),
        respond(again, wait(25), say('So.')),
        respond(say('Done.')),
      ]),
      tools: [agentTool(helper, { effect: 'calls' }) as Tool],
      middleware: [askAgain, startingEarly()],
    }),
  )
  const told = events.flatMap((event) => {
    const [caller] = event.path ?? []
    if (caller) return event.type.startsWith('tool-input') ? [] : [`${caller.callId} ${event.type}`]
    return event.type === 'tool-committed' ? [`${event.startedAs} is ${event.callId}`] : []
  })
  expect(told).toEqual([
    'a run-start',
    'a step-start',
    'a attempt-start',
    'a tool-call',
    'a message',
    'a tool-start',
    'a tool-entered',
    'a is b',
    'b tool-end',
    'b message',
    'b step-end',
    'b step-start',
    'b attempt-start',
    'b text-delta',
    'b message',
    'b step-end',
    'b run-end',
  ])
})
