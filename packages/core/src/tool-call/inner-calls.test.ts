import { type Assembler, assemble } from '@meanwhile/assemble'
import { call, collect, fail, respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { unhandledRejections } from '@meanwhile/tests/rejections'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { askAgain } from '../../test/again.ts'
import { sleep } from '../../test/clock.ts'
import { startingEarly } from '../../test/early-calls.ts'
import {
  type Agent,
  type AgentEvent,
  agentTool,
  type Checkpoint,
  createAgent,
  type Effect,
  interrupt,
  type Json,
  type Message,
  type Middleware,
  type Model,
  memoryStore,
  type Run,
  type Tool,
  type ToolContext,
  textOf,
  tool,
} from '../index.ts'

unhandledRejections()

beforeEach(() => {
  vi.useFakeTimers()
  executed.length = 0
})
afterEach(() => {
  vi.useRealTimers()
})

/** The name, input and key of each execution, in order. */
const executed: { readonly name: string; readonly n: unknown; readonly key: string; readonly callId: string }[] = []

const input = z.looseObject({ n: z.number() })

/** Logs its executions, takes some time and returns its input. */
function worker(name: string, effect: Effect, execute?: (n: number, context: ToolContext) => unknown): Tool {
  return tool({
    name,
    description: name,
    input,
    effect,
    compensate: () => undefined,
    async execute({ n }, context) {
      executed.push({ name, n, key: context.idempotencyKey, callId: context.callId })
      return execute ? await execute(n, context) : await sleep(5).then(() => `${name} ${n}`)
    },
  }) as Tool
}

const inner = (id: string, n: number, name = 'part') => ({ type: 'tool-call', id, name, input: { n } }) as const

/** Calls another tool under this id, and returns its result. */
function makerOf(effect: Effect, idOf: (callId: string) => string, name = 'whole'): Tool {
  return worker(name, effect, async (n, { run, callId }) => {
    const { output } = await (run as Run).callTool(inner(idOf(callId), n))
    return `${name} of ${String(output)}`
  })
}

type Chunk = (to: Assembler) => void

/** A model whose chunks come a millisecond apart. */
function telling(...responses: readonly (readonly Chunk[])[]): Model {
  let requests = 0
  return {
    provider: 'p',
    id: 'm',
    async *stream(request) {
      async function* paced(chunks: readonly Chunk[]) {
        for (const chunk of chunks) {
          await sleep(10)
          yield chunk
        }
      }
      return yield* assemble(request, paced(responses[requests++] ?? DONE), (chunk, to) => chunk(to))
    },
  }
}

const DONE: readonly Chunk[] = [(to) => to.text('Done.'), (to) => to.finish('stop')]

/** It requests 1 and then, when that is complete, 2. */
const CHANGING: readonly Chunk[] = [
  (to) => to.call(0, { id: 'c1', name: 'whole', delta: '{"n":1}' }),
  (to) => to.text('Hm.'),
  (to) => to.seal(0, '{"n":2}'),
  (to) => to.text('Yes.'),
  (to) => to.finish('tool-calls'),
]

/** It requests 1, and `afterModel` changes that to 2. */
const STEADY: readonly Chunk[] = [
  (to) => to.call(0, { id: 'c1', name: 'whole', delta: '{"n":1}' }),
  (to) => to.seal(0),
  (to) => to.text('Yes.'),
  (to) => to.finish('tool-calls'),
]

const editing: Middleware = {
  name: 'editing',
  afterModel({ messages }) {
    const last = messages.at(-1)
    if (last?.role !== 'assistant') return
    const content = last.content.map((part) => (part.type === 'tool-call' ? { ...part, input: { n: 2 } } : part))
    return { messages: [...messages.slice(0, -1), { ...last, content }] }
  },
}

async function played(agent: Agent, input: string | readonly [Checkpoint | string, Record<string, Json>] = 'Go') {
  const run = typeof input === 'string' ? agent.stream(input) : agent.resume(...input)
  const reading = collect(run)
  await vi.runAllTimersAsync()
  return { ...(await reading), id: run.id }
}

/** The events of calls that were not discarded, without what differs between runs. */
function told(events: readonly AgentEvent[]): object[] {
  const last = (id: string) => events.findLastIndex((event) => event.type === 'tool-discarded' && event.callId === id)
  return events.flatMap((event, index) => {
    if (!('callId' in event) || event.callId === undefined || index <= last(event.callId)) return []
    if (event.type === 'tool-committed') return []
    const { runId: _, provisional: __, ...rest } = event as typeof event & { provisional?: true }
    return [rest]
  })
}

const textsOf = (messages: readonly Parameters<typeof textOf>[0][] = []) => messages.map((message) => textOf(message))

const EFFECTS: readonly Effect[] = ['read', 'idempotent', 'reversible', 'external']

test.each(EFFECTS)(
  'a call that is made again after its arguments have changed makes its inner calls, early as waiting: %s (P5, H8)',
  async (effect) => {
    for (const [model, middleware, at] of [
      [() => telling(CHANGING), [], 'tool-input-closed'],
      [() => telling(STEADY), [editing], 'tool-call'],
    ] as const) {
      const tools = [makerOf(effect, (callId) => `${callId}/1`), worker('part', effect)]
      const run = (early: readonly Middleware[]) =>
        played(createAgent({ model: model(), tools, middleware: [...middleware, ...early] }))
      const eager = await run([startingEarly({ at })])
      const made = executed.splice(0)
      const waiting = await run([])
      expect(textsOf(waiting.result?.messages)).toEqual(['Go', expect.any(String), 'whole of part 2', 'Done.'])
      expect(eager.result?.messages).toEqual(waiting.result?.messages)
      expect(told(eager.events)).toEqual(told(waiting.events))
      expect(eager.events.some(({ type }) => type === 'tool-discarded')).toBe(true)
      expect(made.filter(({ n }) => n === 2).map(({ name, callId }) => [name, callId])).toEqual([
        ['whole', 'c1'],
        ['part', 'c1/1'],
      ])
      expect(new Set(made.map(({ key }) => key)).size).toBe(made.length)
      expect(executed.splice(0).map(({ n }) => n)).toEqual([2, 2])
    }
  },
)

test('an inner call of a call that is made again may have been made with equal input before (P5)', async () => {
  const tools = [
    worker('whole', 'read', async (_, { run, callId }) => (await run?.callTool(inner(`${callId}/1`, 7)))?.output),
    worker('part', 'read'),
  ]
  const agent = createAgent({
    model: telling(CHANGING),
    tools,
    middleware: [startingEarly({ at: 'tool-input-closed' })],
  })
  const { result } = await played(agent)
  expect(textsOf(result?.messages)[2]).toBe('part 7')
  const parts = executed.filter(({ name }) => name === 'part')
  expect(parts).toHaveLength(2)
  expect(new Set(parts.map(({ key }) => key)).size).toBe(2)
})

test.each([
  ['early', [startingEarly()]],
  ['not eager', []],
])(
  'calls that use the same id for their inner calls each make their own inner call, once: %s (P5, A23)',
  async (_, middleware) => {
    const seen: unknown[] = []
    const asks = worker('whole', 'external', async (n, { run }) => {
      const own = run as Run
      const [first, again] = [own.callTool(inner('x', n)), own.callTool(inner('x', n))]
      const refused = await own.callTool(inner('x', n + 10)).catch((error: Error) => error.name)
      const { output } = await first
      seen.push([n, output, again === first, refused, own.toolStatus('x')?.state, await own.stood('x')])
      return output
    })
    const model = scriptedModel([
      respond(call('whole', { n: 1 }, { id: 'a' }), call('whole', { n: 2 }, { id: 'b' }), call('whole', { n: 1 })),
      respond(say('Done.')),
    ])
    const { result } = await played(createAgent({ model, tools: [asks, worker('part', 'external')], middleware }))
    expect(textsOf(result?.messages).slice(2, 5)).toEqual(['part 1', 'part 2', 'part 1'])
    expect(seen).toEqual([1, 2, 1].map((n) => [n, `part ${n}`, true, 'ToolDiscardedError', 'ok', 'x']))
    const parts = executed.filter(({ name }) => name === 'part')
    expect(parts.map(({ n }) => n)).toEqual([1, 2, 1])
    expect(new Set(parts.map(({ key }) => key)).size).toBe(3)
  },
)

test('inside a call, and in its wraps, an id means the inner call of that call; from outside the latest one (P5, I4, I6)', async () => {
  const notes: unknown[] = []
  const asks = worker('whole', 'external', async (n, { run }) => {
    const made = run?.callTool(inner('x', n))
    await sleep(n)
    notes.push([n, run?.cancelTool('x')])
    return (await made)?.isError
  })
  const wrapping: Middleware = {
    name: 'wrapping',
    async *wrapToolCall(one, next, run) {
      try {
        return yield* next(one)
      } finally {
        if (one.id === 'x') notes.push([run.toolStatus('x')?.state, await run.stood('x')])
      }
    },
  }
  const slow = worker(
    'part',
    'external',
    (_, { signal }) => new Promise((_, no) => signal.addEventListener('abort', no)),
  )
  const calls = [call('whole', { n: 1 }, { id: 'a' }), call('whole', { n: 2 }, { id: 'b' })]
  const model = scriptedModel([respond(...calls), respond(say('Done.'))])
  const run = createAgent({ model, tools: [asks, slow], middleware: [wrapping] }).stream('Go')
  const reading = collect(run)
  await vi.advanceTimersByTimeAsync(1)
  const states = [run.toolStatus('x')?.state]
  await vi.runAllTimersAsync()
  const { result } = await reading
  expect(notes).toEqual([
    [1, true],
    ['running', 'x'],
    [2, true],
    ['running', 'x'],
  ])
  expect(states).toEqual(['running'])
  expect(textsOf(result?.messages).slice(2, 4)).toEqual(['true', 'true'])
})

test('a call of a failed attempt and another call of the next attempt may use the same id for their inner calls (P5, H22)', async () => {
  const tools = [makerOf('read', () => 'x'), worker('part', 'read')]
  for (const n of [1, 2]) {
    const model = scriptedModel([
      respond(call('whole', { n: 1 }, { id: 'a' }), wait(2), fail()),
      respond(call('whole', { n }, { id: 'b' }), call('whole', { n: 3 }, { id: 'c' }), wait(50)),
      respond(say('Done.')),
    ])
    const { result } = await played(createAgent({ model, tools, middleware: [askAgain, startingEarly()] }))
    expect(textsOf(result?.messages).slice(2, 4)).toEqual([`whole of part ${n}`, 'whole of part 3'])
    const parts = executed.splice(0).filter(({ name }) => name === 'part')
    expect(parts.map(({ n }) => n)).toEqual(n === 1 ? [1, 3] : [1, 2, 3])
  }
})

test('a resume finds the inner calls of each call, although their ids occur several times, and repeats none (P5, L7, H26)', async () => {
  const whole = worker('whole', 'external', async (n, { run, answers }) => {
    const first = await run?.callTool(inner('1', n))
    if (answers.length === 0) throw interrupt(n)
    const second = await run?.callTool(inner('2', n * 10))
    return `${String(first?.output)}, ${String(second?.output)}`
  })
  const tools = [whole, worker('part', 'external')]
  const calls = [call('whole', { n: 1 }, { id: 'a' }), call('whole', { n: 2 }, { id: 'b' })]
  const agent = createAgent({ model: scriptedModel([respond(...calls), respond(say('Done.'))]), tools })
  let { result } = await played(agent)
  for (const answered of [1, 2]) {
    expect(result?.interrupts).toHaveLength(3 - answered)
    const checkpoint = JSON.parse(JSON.stringify(result?.checkpoint)) as Checkpoint
    ;({ result } = await played(agent, [checkpoint, { [result?.interrupts?.[0]?.id ?? '']: 'Yes' }]))
  }
  expect(textsOf(result?.messages).slice(2, 4)).toEqual(['part 1, part 10', 'part 2, part 20'])
  const parts = executed.filter(({ name }) => name === 'part')
  expect(new Set(parts.map(({ n }) => n))).toEqual(new Set([1, 10, 2, 20]))
  expect(new Set(parts.map(({ key }) => key)).size).toBe(4)
})

test('killed and resumed, a read that is made again finds the outcomes of its inner calls, and a new one makes its own (P5, L20)', async () => {
  const checkpoints = memoryStore()
  let alive = true
  const whole = worker('whole', 'read', async (n, { run }) => {
    const { output } = await (run as Run).callTool(inner('x', n))
    if (alive && n === 1) return await new Promise<never>(() => undefined)
    return output
  })
  const tools = [whole, worker('part', 'idempotent')]
  const calls = [call('whole', { n: 1 }, { id: 'a' }), call('whole', { n: 2 }, { id: 'b' })]
  const first = createAgent({ model: scriptedModel([respond(...calls)]), tools, checkpoints })
  const run = first.stream('Go')
  void collect(run)
  await vi.advanceTimersByTimeAsync(100)
  alive = false
  const next = createAgent({ model: scriptedModel([respond(say('Done.'))]), tools, checkpoints })
  const { result } = await played(next, [run.id, {}])
  expect(textsOf(result?.messages).slice(2, 4)).toEqual(['part 1', 'part 2'])
  expect(executed.map(({ name, n }) => `${name} ${String(n)}`)).toEqual([
    'whole 1',
    'whole 2',
    'part 1',
    'part 2',
    'whole 1',
  ])
})

test('work in the background finds its inner calls again after a resume in a later step (P5, I15, L20)', async () => {
  const checkpoints = memoryStore()
  let alive = true
  const work: Tool = {
    ...worker('work', 'read', async (n, { run }) => {
      const { output } = await (run as Run).callTool(inner('x', n))
      return alive ? await new Promise<never>(() => undefined) : `work of ${String(output)}`
    }),
    background: true,
  }
  const tools = [work, worker('part', 'external'), worker('look', 'read', () => sleep(50))]
  const works = [call('work', { n: 1 }, { id: 'a' }), call('work', { n: 2 }, { id: 'b' })]
  const begun = [respond(...works), respond(call('look', { n: 1 }))]
  const hangs = respond(wait(1e6), say('never'))
  const first = createAgent({ model: scriptedModel([...begun, hangs]), tools, checkpoints })
  const run = first.stream('Go')
  void collect(run)
  await vi.advanceTimersByTimeAsync(200)
  alive = false
  // Resumed twice: the checkpoint saved in between must be just as good.
  for (const script of [[hangs], [respond(say('Done.')), respond(say('Done.'))]]) {
    const resumed = createAgent({ model: scriptedModel(script), tools, checkpoints }).resume(run.id)
    const reading = collect(resumed)
    await vi.advanceTimersByTimeAsync(200)
    if (script.length === 1) continue
    const told = (await reading).result?.messages.flatMap((one) => (one.role === 'user' ? [textOf(one)] : []))
    expect(told?.slice(1)).toEqual([1, 2].map((n) => expect.stringContaining(`work of part ${n}`)))
  }
  expect(executed.flatMap(({ name, n }) => (name === 'part' ? [n] : []))).toEqual([1, 2])
})

test('inner background calls with the same id all begin, and each is found by its maker (P5, I15, I6)', async () => {
  const states: unknown[] = []
  const whole = worker('whole', 'external', async (n, { run }) => {
    await run?.callTool(inner('x', n, 'work'))
    states.push([n, run?.toolStatus('x')?.state, n === 2 && run?.cancelTool('x')])
    return n
  })
  const works = (n: number, { signal }: ToolContext) =>
    new Promise((resolve, reject) => {
      setTimeout(resolve, 5, `work ${n}`)
      signal.addEventListener('abort', () => reject(signal.reason as Error))
    })
  const work: Tool = { ...worker('work', 'external', works), background: true }
  const calls = [call('whole', { n: 1 }, { id: 'a' }), call('whole', { n: 2 }, { id: 'b' })]
  const model = scriptedModel([respond(...calls), respond(wait(50), say('So.')), respond(say('Done.'))])
  const { events, result } = await played(createAgent({ model, tools: [whole, work] }))
  expect(result?.text).toBe('Done.')
  expect(states).toEqual([
    [1, 'running', false],
    [2, 'running', true],
  ])
  expect(executed.flatMap(({ name, n }) => (name === 'work' ? [n] : []))).toEqual([1, 2])
  const ends = events.flatMap((event) => (event.type === 'background-end' ? [event.message] : []))
  expect(ends.map(({ output, isError = false }) => [output, isError])).toEqual([
    [undefined, true],
    ['work 1', false],
  ])
})

test('an agent in a call that is made again makes its calls, and their inner calls (P5, M3)', async () => {
  const innermost = () =>
    createAgent({
      name: 'whole',
      description: 'Works through a tool that works through another.',
      model: {
        provider: 'p',
        id: 'm',
        stream: (request) =>
          scriptedModel([
            request.messages.length > 1
              ? respond(say(`all of ${textOf(request.messages.at(-1) as Message)}`))
              : respond(call('step', { n: 1 }, { id: 's' }), call('step', { n: 2 }, { id: 't' })),
          ]).stream(request),
      },
      tools: [makerOf('read', () => 'x', 'step'), worker('part', 'read')],
    })
  const run = (middleware: readonly Middleware[]) => {
    const tools = [agentTool(innermost(), { effect: 'read', input: input as never }) as Tool]
    return played(createAgent({ model: telling(CHANGING), tools, middleware }))
  }
  const eager = await run([startingEarly({ at: 'tool-input-closed' })])
  expect(textsOf(eager.result?.messages)).toEqual(['Go', 'Hm.Yes.', 'all of step of part 2', 'Done.'])
  expect(eager.result?.messages).toEqual((await run([])).result?.messages)
})

test('an inner call with an id of the response and another input is another call, early as waiting, also in a later step (P5, H16)', async () => {
  for (const early of [[startingEarly()], []]) {
    const whole = worker('whole', 'read', async (n, { run, callId }) => {
      const made = [callId, 'b'].map(async (id, index) => (await run?.callTool(inner(id, n + 5 + index)))?.output)
      return (await Promise.all(made)).join(', ')
    })
    const calls = [call('part', { n: 2 }, { id: 'b' }), call('whole', { n: 1 }, { id: 'a' }), wait(20)]
    const model = scriptedModel([
      respond(...calls),
      respond(call('whole', { n: 11 }, { id: 'c' })),
      respond(say('Done.')),
    ])
    const tools = [whole, worker('part', 'read')]
    const { events, result } = await played(createAgent({ model, tools, middleware: early }))
    expect(textsOf(result?.messages).slice(2)).toEqual(['part 2', 'part 6, part 7', '', 'part 16, part 17', 'Done.'])
    const runs = executed.splice(0).map(({ name, n }) => `${name} ${String(n)}`)
    expect(runs).toEqual(['part 2', 'whole 1', 'part 6', 'part 7', 'whole 11', 'part 16', 'part 17'])
    const ends = events.flatMap((event) => (event.type === 'tool-end' ? [event] : []))
    expect(
      ends.map(({ makers = [], callId, message }) => `${[...makers, callId].join('/')} ${textOf(message)}`),
    ).toEqual(expect.arrayContaining(['b part 2', 'a/a part 6', 'a/b part 7', 'c/c part 16', 'c/b part 17']))
  }
})
