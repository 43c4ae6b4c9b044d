import { call, respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { startingEarly } from '../../test/early-calls.ts'
import {
  type Agent,
  agentTool,
  createAgent,
  type Effect,
  interrupt,
  type Middleware,
  type Run,
  runTool,
  type Tool,
  type ToolContext,
  tool,
} from '../index.ts'

// Tools with a limit over all runs, whose executions come back to the same tool: they do not wait for themselves.

/** The depths with which `work` was entered. */
let entered: number[] = []

beforeEach(() => {
  vi.useFakeTimers()
  entered = []
})
afterEach(() => void vi.useRealTimers())

const input = z.object({ depth: z.number() })

/** A tool with `concurrency: 1`; `inner` is what it does on its way down. */
function limited(inner: (depth: number, context: ToolContext) => Promise<unknown>, more: Partial<Tool> = {}): Tool {
  const work = tool({
    name: 'work',
    description: 'Calls itself.',
    input,
    concurrency: 1,
    execute({ depth }, context) {
      entered.push(depth)
      return depth === 0 ? 'the bottom' : inner(depth - 1, context)
    },
  }) as Tool
  return Object.assign(work, more)
}

/** An agent that calls `name` once, and answers with the result. */
function caller(tools: readonly Tool[], name: string, args: object, more: object = {}): Agent {
  const model = scriptedModel([respond(call(name, args, { id: name })), respond(say(`${name} is done.`))])
  return createAgent({ name: `calls-${name}`, model, tools, ...more })
}

async function outputs(agent: Agent): Promise<readonly unknown[]> {
  const result = agent.run('Go')
  await vi.runAllTimersAsync()
  return (await result).messages.flatMap((message) => (message.role === 'tool' ? [message.output] : []))
}

test('an agent inside a call of a tool with a limit calls that tool in the slot of its caller (P25)', async () => {
  const work = limited(async (depth, context) =>
    agentTool(caller([work], 'work', { depth }), { name: 'inner', description: 'i' }).execute?.(
      { request: 'Go' },
      context,
    ),
  )
  expect(await outputs(caller([work], 'work', { depth: 1 }))).toEqual(['work is done.'])
})

test('through any number of agents and calls a tool with a limit does not wait for itself (P25, MA8)', async () => {
  const work = limited(async (depth, context) => {
    const next = caller([work, through], depth === 0 ? 'work' : 'through', { depth })
    const result = await agentTool(next, { name: 'next', description: 'n' }).execute?.({ request: 'Go' }, context)
    return `${depth}: ${String(result)}`
  })
  const through: Tool = tool({
    name: 'through',
    description: 'Calls work.',
    input,
    execute: async ({ depth }, { run, callId }) =>
      (await (run as Run).callTool({ type: 'tool-call', id: `${callId}.`, name: 'work', input: { depth } })).output,
  }) as Tool
  expect(await outputs(caller([work, through], 'work', { depth: 3 }))).toEqual(['2: through is done.'])
})

test('with whenFull fail a tool is not busy because of the call for which its own execution works (P25, I8, MA8)', async () => {
  const work = limited(
    async (depth, context) =>
      agentTool(caller([work], 'work', { depth }), { name: 'next', description: 'n' }).execute?.(
        { request: 'Go' },
        context,
      ),
    { concurrency: { limit: 1, whenFull: 'fail' } },
  )
  await outputs(caller([work], 'work', { depth: 1 }))
  expect(entered).toEqual([1, 0])
})

test('after a resume, too, an agent works in the slot of its caller (P25, L9)', async () => {
  const asks = tool({
    name: 'asks',
    description: 'Asks.',
    input: z.object({}),
    execute: (_, { answers }) => (answers.length > 0 ? 'told' : interrupt('Well?')),
  }) as Tool
  const calls = [call('asks', {}, { id: 'q' }), call('work', { depth: 0 }, { id: 'w' })]
  const agentIn = (part: 'before' | 'after') => {
    const done = respond(say('The child is done.'))
    const model = scriptedModel(part === 'before' ? [respond(...calls)] : [done])
    // One call at a time: the call of the limited tool is made after the answer.
    const child = (work: Tool) => createAgent({ name: 'child', model, tools: [asks, work], toolConcurrency: 1 })
    const work: Tool = limited(async (_, context) =>
      agentTool(child(work), { name: 'child', description: 'c' }).execute?.({ request: 'Go' }, context),
    )
    return part === 'before'
      ? caller([work], 'work', { depth: 1 })
      : createAgent({ name: 'calls-work', model: scriptedModel([respond(say('Done.'))]), tools: [work] })
  }
  const first = agentIn('before').run('Go')
  await vi.runAllTimersAsync()
  const interrupted = await first
  if (interrupted.status !== 'interrupted') throw new Error(interrupted.status)
  const answers = Object.fromEntries(interrupted.interrupts.map(({ id }) => [id, 'yes']))
  const resumed = agentIn('after').resume(interrupted.checkpoint, answers).result
  await vi.runAllTimersAsync()
  expect(await resumed).toMatchObject({ status: 'completed', text: 'Done.' })
})

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

const inner = (run: Run | undefined, id: string, depth: number) =>
  (run as Run).callTool({ type: 'tool-call', id, name: 'work', input: { depth } })

/** A run that requests `work` once for each depth, all at once. */
function asking(work: Tool, depths: readonly number[], middleware: readonly Middleware[] = []): Agent {
  const calls = depths.map((depth, n) => call('work', { depth }, { id: `w${n}` }))
  const model = scriptedModel([respond(...calls, wait(10)), respond(say('Done.'))])
  return createAgent({ model, tools: [work], middleware })
}

/** Runs an agent that calls `work` once, as part of a call of `work`. */
const through = (work: Tool, depth: number, context: ToolContext) =>
  agentTool(caller([work], 'work', { depth }), { name: 'next', description: 'n' }).execute?.({ request: 'Go' }, context)

test.each(['read', 'idempotent', 'reversible', 'external'] as const)(
  'calls of every effect come back to their tool, early as waiting: %s (P25)',
  async (effect: Effect) => {
    const early = startingEarly({ only: () => effect !== 'external' })
    for (const middleware of [[], [early]]) {
      const work = limited(
        async (depth, context) => {
          const made = await inner(context.run, `${context.callId}.`, depth)
          return `${String(made.output)}, ${String(await through(work, 0, context))}`
        },
        { effect, compensate: () => undefined },
      )
      const each = 'the bottom, work is done.'
      expect(await outputs(asking(work, [1, 1], middleware))).toEqual([each, each])
    }
  },
)

test('everything that works for a call shares its slot, and no other call does (P25, I7)', async () => {
  let [atWork, most] = [0, 0]
  const work = limited(async (depth, { run, callId }) => {
    most = Math.max(most, ++atWork)
    await Promise.all([1, 2].map((n) => inner(run, `${callId}.${n}`, depth)))
    await pause(10)
    atWork--
    return 'both'
  })
  expect(await outputs(asking(work, [1, 1, 1]))).toEqual(['both', 'both', 'both'])
  expect([most, entered.length]).toEqual([1, 9])
})

test('a wrap whose call has no slot waits for one like any other (P25, I7)', async () => {
  let [atWork, most] = [0, 0]
  const work = limited(async () => {
    most = Math.max(most, ++atWork)
    await pause(10)
    atWork--
    return 'done'
  })
  const around: Middleware = {
    name: 'around',
    async *wrapToolCall(one, next, run) {
      if (one.id.includes('.')) return yield* next(one)
      await inner(run, `${one.id}.before`, 1)
      const message = yield* next(one)
      await inner(run, `${one.id}.after`, 1)
      return message
    },
  }
  expect(await outputs(asking(work, [1, 1, 1], [around]))).toEqual(['done', 'done', 'done'])
  expect([most, entered.length]).toEqual([1, 9])
})

test('what a call leaves running keeps its slot until it is over (P25, I7)', async () => {
  const log: string[] = []
  const work = limited(async (depth, { run, callId }) => {
    log.push(`${callId} begins`)
    if (depth > 0) inner(run, `${callId}.`, depth).catch(() => undefined)
    else await pause(50)
    log.push(`${callId} ends`)
  })
  await outputs(asking(work, [2, 2]))
  const [first, second] = ['w0', 'w1'].map((id) => [`${id} begins`, `${id} ends`, `${id}. begins`, `${id}. ends`])
  expect(log).toEqual([...(first ?? []), ...(second ?? [])])
})

test('an inner call that waits for its tool goes on in the slot that its maker gets meanwhile (P25)', async () => {
  const log: number[] = []
  const work: Tool = Object.assign(
    limited(async () => undefined),
    {
      async *execute({ depth }: { readonly depth: number }) {
        log.push(depth)
        await pause(10)
        yield { message: 'half' }
        return `depth ${depth}`
      },
    },
  )
  // The execution continues after its yield when the calls of the wrap are over.
  const holding: Middleware = {
    name: 'holding',
    async *wrapToolCall(one, next, run) {
      if (one.id !== 'w1') return yield* next(one)
      const flow = next(one)
      let step = flow.next()
      await pause(1)
      const side = inner(run, 'side', 5)
      for (;;) {
        const { done, value } = await step
        if (done) return value
        await side
        step = flow.next()
      }
    },
  }
  expect(await outputs(asking(work, [0, 1], [holding]))).toEqual(['depth 0', 'depth 1'])
  expect(new Set(log)).toEqual(new Set([0, 1, 5]))
})

test('calls of an agent that wait for a tool share the slot that their caller gets, and the slot is free afterwards (P25, I7)', async () => {
  const log: string[] = []
  const work: Tool = limited(async (depth) => {
    log.push(`${depth} begins`)
    await pause(10)
    log.push(`${depth} ends`)
    return 'done'
  })
  const calls = [3, 4, 5].map((depth) => call('work', { depth }, { id: `inner${depth}` }))
  const side = createAgent({ model: scriptedModel([respond(...calls), respond(say('So.'))]), tools: [work] })
  const around: Middleware = {
    name: 'around',
    async *wrapToolCall(one, next, run) {
      if (one.id !== 'w1') return yield* next(one)
      const context = {
        run,
        signal: run.signal,
        callId: one.id,
        idempotencyKey: '',
        attempt: 1,
        answers: [],
        messages: [],
      }
      const beside = agentTool(side, { name: 'side', description: 's' }).execute?.({ request: 'Go' }, context)
      const message = yield* next(one)
      await beside
      return message
    },
  }
  expect(await outputs(asking(work, [1, 2], [around]))).toEqual(['done', 'done'])
  const later = runTool(work, { depth: 9 })
  await vi.runAllTimersAsync()
  expect(await later).toBe('done')
  const order = [
    '0 begins',
    '0 ends',
    '1 begins',
    '2 begins',
    '3 begins',
    '4 begins',
    '1 ends',
    '2 ends',
    '3 ends',
    '4 ends',
  ]
  expect(log).toEqual([...order, '8 begins', '8 ends'])
})

test('a tool that runs another tool or an agent with its own signal lets it work in its slot (P25, I11)', async () => {
  for (const isAlone of [false, true]) {
    entered = []
    const work: Tool = limited(async (depth, { signal }) => {
      if (depth > 0) return await runTool(between, { depth }, { signal })
      return (await caller([work], 'work', { depth }).run('Go', { signal })).text
    })
    const between = tool({
      name: 'between',
      description: 'Runs work.',
      input,
      execute: ({ depth }, { signal }) => runTool(work, { depth }, { signal }),
    }) as Tool
    const whole = isAlone ? runTool(work, { depth: 3 }).result : outputs(caller([work], 'work', { depth: 3 }))
    await vi.runAllTimersAsync()
    expect([await whole].flat()).toEqual(['work is done.'])
    expect(entered).toEqual([3, 2, 1, 0])
  }
})

test('calls with the resource keys of the call that they work for do not wait for it, at any depth (P25, H14)', async () => {
  const work = limited(
    async (depth, context) => {
      await inner(context.run, `${context.callId}.`, 0)
      return await through(work, depth, context)
    },
    { writes: () => ['k'], effect: 'external' },
  )
  expect(await outputs(asking(work, [2, 1]))).toEqual(['work is done.', 'work is done.'])
})
