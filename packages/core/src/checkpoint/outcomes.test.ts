import { call, collect, respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { unhandledRejections } from '@meanwhile/tests/rejections'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { callAgain } from '../../test/again.ts'
import { sleep } from '../../test/clock.ts'
import { startingEarly } from '../../test/early-calls.ts'
import {
  type Agent,
  type AgentOptions,
  agentTool,
  type Checkpoint,
  createAgent,
  type Effect,
  interrupt,
  type Json,
  type Middleware,
  type Model,
  memoryStore,
  type Run,
  settle,
  type Tool,
  type ToolCall,
  type ToolContext,
  type ToolFlow,
  type ToolMessage,
  textOf,
  tool,
} from '../index.ts'

// The outcomes of executions belong to their inputs, also after a resume.

unhandledRejections()

beforeEach(() => {
  vi.useFakeTimers()
  did = []
})
afterEach(() => void vi.useRealTimers())

/** What was executed, in order, and with which attempt. */
let did: string[] = []

const input = z.looseObject({ what: z.string(), ms: z.number().default(0) })
type Input = z.infer<typeof input>

function worker(effect: Effect, execute: (input: Input, context: ToolContext) => unknown = ({ what }) => what): Tool {
  return tool({
    name: 'work',
    description: 'Works.',
    input,
    effect,
    compensate: () => undefined,
    async execute(input, context) {
      did.push(`${input.what} ${context.attempt}`)
      await sleep(input.ms)
      return await execute(input, context)
    },
  }) as Tool
}

type Next = (call: ToolCall) => ToolFlow

/** The outcome of each of these inputs, requested at once in this order. */
async function atOnce(call: ToolCall, next: Next, inputs: readonly object[]): Promise<readonly string[]> {
  const texts = inputs.map((input) =>
    settle(next({ ...call, input: { ...(call.input as object), ...input } })).then(
      textOf,
      (error: Error) => error.message,
    ),
  )
  return await Promise.all(texts)
}

const answered = ({ id: callId, name }: ToolCall, texts: readonly string[]): ToolMessage => ({
  role: 'tool',
  callId,
  name,
  content: [{ type: 'text', text: texts.join(', ') }],
})

/** A wrap of the call that does some work and then asks. */
function asking(work: (call: ToolCall, next: Next, run: Run) => Promise<readonly string[]>): Middleware {
  return {
    name: 'asking',
    async *wrapToolCall(call, next, run) {
      const texts = await work(call, next, run)
      if (run.answers.length === 0) interrupt(texts.join(', '))
      return answered(call, texts)
    },
  }
}

interface Played {
  readonly status: string
  readonly asked: readonly Json[]
  readonly text: string | undefined
  readonly checkpoint: Checkpoint
  readonly unknown: readonly string[] | undefined
}

async function played(
  agent: Agent,
  from?: Checkpoint,
  act: (run: ReturnType<Agent['stream']>) => void = () => undefined,
) {
  const answers = Object.fromEntries((from?.interrupts ?? []).map(({ id }) => [id, 'Yes']))
  const run = from ? agent.resume(from, answers) : agent.stream('Go')
  act(run)
  const reading = collect(run)
  await vi.runAllTimersAsync()
  const { result, error } = await reading
  if (!result) throw error
  const results = result.messages.flatMap((message) => (message.role === 'tool' ? [textOf(message)] : []))
  return {
    status: result.status,
    asked: result.interrupts?.map(({ payload }) => payload) ?? [],
    text: results[0],
    checkpoint: JSON.parse(JSON.stringify(result.checkpoint ?? null)) as Checkpoint,
    unknown: result.unknown,
  } satisfies Played
}

function agentOf(options: Partial<AgentOptions>, input: object = { what: 'own' }): Agent {
  const model: Model = {
    provider: 'p',
    id: 'm',
    stream: (request) => {
      const isFirst = request.messages.length === 1
      return scriptedModel([
        isFirst ? respond(call('work', input, { id: 'c1' }), wait(50)) : respond(say('Done.')),
      ]).stream(request)
    },
  }
  return createAgent({ ...options, model })
}

const EFFECTS: readonly Effect[] = ['read', 'idempotent', 'reversible', 'external']
const early = startingEarly({ only: ({ name }) => name === 'work' })

test.each(EFFECTS)(
  'a wrap that calls next with two inputs at once and then asks gets each outcome for its input, whichever settled first: %s (P24, L8)',
  async (effect) => {
    for (const [a, b] of [
      [10, 20],
      [20, 10],
      [10, 10],
    ]) {
      for (const middleware of [[], [early]]) {
        did = []
        const both = asking((call, next) =>
          atOnce(call, next, [
            { what: 'a', ms: a },
            { what: 'b', ms: b },
          ]),
        )
        const agent = agentOf({ tools: [worker(effect)], middleware: [both, ...middleware] })
        const first = await played(agent)
        expect(first.asked).toEqual(['a, b'])
        const second = await played(agent, first.checkpoint)
        expect(second.text).toBe('a, b')
        expect(did).toEqual(['a 1', 'b 2'])
      }
    }
  },
)

test('the same holds for failures, for a time limit, and for the outcome of the call’s own input (P24, I10)', async () => {
  const work = worker('external', async ({ what }, { signal }) => {
    if (what === 'fails') throw new Error('failed')
    if (what === 'lasts') await new Promise((_, reject) => signal.addEventListener('abort', reject))
    return what
  })
  const inputs = [{ what: 'lasts' }, {}, { what: 'fails', ms: 20 }, { what: 'b', ms: 10 }, {}]
  const agent = agentOf({
    tools: [{ ...work, timeout: 100 }],
    middleware: [asking((call, next) => atOnce(call, next, inputs))],
  })
  const first = await played(agent)
  expect(first.asked).toEqual([expect.stringMatching(/^work was .* 100 ms.*, own, failed, b, own$/)])
  expect((await played(agent, first.checkpoint)).text).toBe(first.asked[0])
  expect(did).toHaveLength(5)
})

test('an outcome that an inner wrap repeats belongs to the input it repeats, in whatever order the repeats came (P24, C14)', async () => {
  let late = 'a'
  // The second try of one input begins before that of the other, and after the resume the other way round.
  const dawdling: Middleware = {
    name: 'dawdling',
    async *wrapToolCall(call, next) {
      try {
        return yield* next(call)
      } catch (error) {
        if ((call.input as Input).what === late) await sleep(30)
        throw error
      }
    },
  }
  const work = worker('external', ({ what }, { attempt }) => {
    if (attempt <= 2) throw new Error('not yet')
    return `${what} at last`
  })
  const both = asking((call, next) => atOnce(call, next, [{ what: 'a' }, { what: 'b' }]))
  const agent = agentOf({ tools: [work], middleware: [both, callAgain, dawdling] })
  const first = await played(agent)
  late = 'b'
  expect((await played(agent, first.checkpoint)).text).toBe('a at last, b at last')
  expect(did).toEqual(['a 1', 'b 2', 'b 3', 'a 4'])
})

test('with equal inputs at once each execution gets its own outcome; the one whose tool asked is executed (P24, L7)', async () => {
  const work = worker('external', (_, { attempt, answers }) => {
    if (attempt === 2 && answers.length === 0) throw interrupt('Well?')
    return `made as ${attempt}`
  })
  const wrap: Middleware = {
    name: 'thrice',
    async *wrapToolCall(call, next) {
      const made = await Promise.allSettled([1, 2, 3].map(() => settle(next(call))))
      const failed = made.find(({ status }) => status === 'rejected')
      if (failed?.status === 'rejected') throw failed.reason
      return answered(
        call,
        made.map((one) => (one.status === 'fulfilled' ? textOf(one.value) : '')),
      )
    },
  }
  const agent = agentOf({ tools: [work], middleware: [wrap] })
  const first = await played(agent)
  expect(first.checkpoint.interrupts.map(({ address }) => address.at(-1))).toEqual([{ tool: 'work', callId: 'c1' }])
  expect((await played(agent, first.checkpoint)).text).toBe('made as 1, made as 4, made as 3')
  expect(did).toEqual(['own 1', 'own 2', 'own 3', 'own 4'])
})

test('if a tool asks in two parallel executions, the question belongs to the tool and not to the wrap (P24, L4)', async () => {
  const work = worker('external', ({ what }, { answers }) => {
    if (answers.length === 0) throw interrupt(`${what}?`)
    return `${what} ${answers.length}`
  })
  const wrap: Middleware = {
    name: 'both',
    async *wrapToolCall(call, next) {
      const flows = ['a', 'b'].map((what, index) => settle(next({ ...call, input: { what, ms: index * 10 } })))
      for (const flow of flows) flow.catch(() => undefined)
      await sleep(50)
      return answered(call, (await Promise.all(flows)).map(textOf))
    },
  }
  const agent = agentOf({ tools: [work], middleware: [wrap] })
  const first = await played(agent)
  expect(first.checkpoint.interrupts.map(({ address }) => address.at(-1))).toEqual([{ tool: 'work', callId: 'c1' }])
  const second = await played(agent, first.checkpoint)
  expect([second.status, second.text]).toEqual(['completed', 'a 1, b 1'])
})

test('an input that was not executed before is executed after the resume, and one that was is not (P24, L8)', async () => {
  const agent = agentOf({
    tools: [worker('external')],
    middleware: [
      asking((call, next, { answers }) =>
        atOnce(call, next, answers.length === 0 ? [{ what: 'a' }, { what: 'b' }] : [{ what: 'c' }, { what: 'b' }, {}]),
      ),
    ],
  })
  const first = await played(agent)
  expect((await played(agent, first.checkpoint)).text).toBe('c, b, own')
  expect(did).toEqual(['a 1', 'b 2', 'c 3', 'own 4'])
})

test('an input that prepareInput creates again, or that is not JSON, finds its outcome (P24, L8)', async () => {
  const inputs = [{ what: 'big', n: 1n, ms: 30 }, { what: 'map', of: new Map([[1, 2]]), ms: 20 }, {}]
  const wrap = asking(async (call, next) => {
    const made = inputs.map((input) => settle(next({ ...call, input: 'what' in input ? input : call.input })))
    return (await Promise.all(made)).map(textOf)
  })
  const prepareInput = (given: unknown) => ({ ...(given as object), prepared: true })
  const agent = agentOf({ tools: [worker('external')], middleware: [wrap], prepareInput })
  const first = await played(agent)
  expect((await played(agent, first.checkpoint)).text).toBe('big, map, own')
  expect(did).toHaveLength(3)
})

test.each([
  ['read', ['a 1', 'b 2', 'a 3'], 'a, b', undefined],
  ['external', ['a 1', 'b 2'], expect.stringContaining('it may have happened'), ['c1']],
] as const)(
  'if a cancel cuts off one of two executions: with effect %s that one is treated as a call that was cut off (P24, L20, L21, K15)',
  async (effect, executed, text, unknown) => {
    const work = worker(effect, async ({ what }, { attempt, signal }) => {
      if (attempt === 1) await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
      return what
    })
    const both = asking((call, next) => atOnce(call, next, [{ what: 'a' }, { what: 'b' }]))
    const agent = agentOf({ tools: [work], middleware: [both], grace: 5 })
    const first = await played(agent, undefined, (run) => setTimeout(() => void run.cancel(), 100))
    expect(first.status).toBe('cancelled')
    const second = await played(agent, first.checkpoint)
    const last = second.status === 'interrupted' ? await played(agent, second.checkpoint) : second
    expect([did, last.text, last.unknown]).toEqual([executed, text, unknown])
  },
)

test.each(EFFECTS)(
  'a call whose executions all have outcomes was not cut off: a resume enters its wraps with them: %s (P24, L8, L21)',
  async (effect) => {
    const waiting = asking(async (call, next, { signal }) => {
      const texts = await atOnce(call, next, [{ what: 'a', ms: 20 }, { what: 'b' }])
      if (did.length === 2) {
        did.push('waits')
        await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
      }
      return texts
    })
    const agent = agentOf({ tools: [worker(effect)], middleware: [waiting], grace: 5 })
    const first = await played(agent, undefined, (run) => setTimeout(() => void run.cancel(), 100))
    expect([first.status, did]).toEqual(['cancelled', ['a 1', 'b 2', 'waits']])
    const second = await played(agent, first.checkpoint)
    expect(second).toMatchObject({ asked: ['a, b'], unknown: undefined })
    expect((await played(agent, second.checkpoint)).text).toBe('a, b')
    expect(did).toHaveLength(3)
  },
)

test('killed while one of two executions is running, the outcome of the other is not made again (P24, L20)', async () => {
  const checkpoints = memoryStore()
  let alive = true
  const work = worker('read', async ({ what }) => (alive && what === 'a' ? await new Promise(() => undefined) : what))
  const both: Middleware = {
    name: 'both',
    async *wrapToolCall(call, next) {
      return answered(call, await atOnce(call, next, [{ what: 'a' }, { what: 'b' }]))
    },
  }
  const note = tool({
    name: 'note',
    description: 'n',
    input: z.object({}),
    execute: () => sleep(30),
  }) as Tool
  const model = (): Model =>
    scriptedModel([respond(call('work', { what: 'own' }, { id: 'c1' }), call('note')), respond(say('Done.'))])
  const first = createAgent({ model: model(), tools: [work, note], middleware: [both], checkpoints })
  const run = first.stream('Go')
  void collect(run)
  await vi.advanceTimersByTimeAsync(100)
  alive = false
  const stored = await checkpoints.load(run.id)
  const next = createAgent({ model: scriptedModel([respond(say('Done.'))]), tools: [work, note], middleware: [both] })
  const { text, unknown } = await played(next, stored as Checkpoint)
  expect([text, unknown]).toEqual(['a, b', undefined])
  expect(did.filter((deed) => deed.startsWith('a'))).toEqual(['a 1', 'a 3'])
})

/** An agent that answers with its input, after its tool has done that; `asks` decides whether that asks first. */
function expert(effect: Effect, asks: (what: string) => boolean): Tool {
  const work = worker(effect, ({ what }, { answers }) => {
    if (asks(what) && answers.length === 0) throw interrupt(`${what}?`)
    return `${what} ${answers.length}`
  })
  const model: Model = {
    provider: 'p',
    id: 'c',
    stream: (request) => {
      const [first, ...more] = request.messages.map(textOf)
      const what = JSON.parse(first ?? '{}').what as string
      const ms = what === 'a' ? 20 : 0
      return scriptedModel([
        more.length > 0 ? respond(say(`about ${more.at(-1)}`)) : respond(call('work', { what, ms }, { id: 'w' })),
      ]).stream(request)
    },
  }
  const agent = createAgent({ name: 'expert', description: 'Knows.', model, tools: [work] })
  return agentTool(agent, { name: 'work', input })
}

test('each execution of an agent has its own run, in parallel or one after another, and a resume finds each (P24, M2, L9)', async () => {
  for (const inTurn of [false, true]) {
    for (const asks of [() => false, (what: string) => what === 'b', (what: string) => what === 'a', () => true]) {
      did = []
      const wrap: Middleware = {
        name: 'both',
        async *wrapToolCall(call, next, run) {
          const made = (what: string) => settle(next({ ...call, input: { what } }))
          const texts: string[] = []
          if (inTurn) for (const what of ['a', 'b']) texts.push(textOf(await made(what)))
          else {
            const flows = [made('a'), made('b')]
            for (const flow of flows) flow.catch(() => undefined)
            await sleep(200)
            texts.push(...(await Promise.all(flows)).map(textOf))
          }
          if (run.answers.length === 0) interrupt(texts.join(', '))
          return answered(call, texts)
        },
      }
      const agent = agentOf({ tools: [expert('external', asks)], middleware: [wrap] })
      let last = await played(agent)
      for (let round = 0; last.status === 'interrupted' && round < 4; round++) {
        last = await played(agent, last.checkpoint)
      }
      const [a, b] = ['a', 'b'].map((what) => (asks(what) ? 1 : 0))
      expect(last.text).toBe(`about a ${a}, about b ${b}`)
      expect(did.filter((deed) => deed.startsWith('a'))).toHaveLength(asks('a') ? 2 : 1)
      expect(did.filter((deed) => deed.startsWith('b'))).toHaveLength(asks('b') ? 2 : 1)
    }
  }
})

test('a wrap that repeats an agent runs it again, like any tool (P24, C14)', async () => {
  const twice: Middleware = {
    name: 'twice',
    async *wrapToolCall(call, next) {
      return answered(call, [textOf(yield* next(call)), textOf(yield* next(call))])
    },
  }
  const agent = agentOf({ tools: [expert('external', () => false)], middleware: [twice] }, { what: 'a' })
  expect((await played(agent)).text).toBe('about a 0, about a 0')
  expect(did).toHaveLength(2)
})

test('if one execution runs two agents, each continues from its own state (P24, L9, K16)', async () => {
  const [one, other] = [expert('external', (what) => what === 'b'), expert('external', () => false)]
  const both = tool({
    name: 'work',
    description: 'Has two agents work.',
    input,
    async execute(_, context) {
      const first = await other.execute?.({ what: 'a' }, context)
      const second = await one.execute?.({ what: 'b' }, context)
      return `${String(first)}, ${String(second)}`
    },
  }) as Tool
  const agent = agentOf({ tools: [both] })
  const first = await played(agent)
  expect(first.asked).toEqual(['b?'])
  expect((await played(agent, first.checkpoint)).text).toBe('about a 0, about b 1')
  expect(did).toEqual(['a 1', 'b 1', 'b 2'])
})

test('if a wrap runs agents, one after another, the same one again, or after a retry, each has its own run, and a resume continues it (P24, L9)', async () => {
  const log: string[] = []
  const asks = tool({
    name: 'asks',
    description: 'Asks.',
    input: z.object({}),
    execute: (_, { answers }) => (answers.length > 0 ? 'told' : interrupt('Well?')),
  }) as Tool
  const makeAgent = (isResumed: boolean) => {
    let tries = 0
    const named = (name: string, ...responses: Parameters<typeof scriptedModel>[0]) =>
      agentTool(createAgent({ name, description: name, model: scriptedModel(responses), tools: [asks] }))
    const first = named('first', ...[1, 2, 3, 4].map((n) => respond(say(`first ${n}`))))
    const second = named('second', isResumed ? respond(say('second after the answer')) : respond(call('asks')))
    const running: Middleware = {
      name: 'running',
      async *wrapToolCall(one, next, run) {
        const context = {
          run,
          signal: run.signal,
          callId: one.id,
          idempotencyKey: '',
          attempt: 1,
          answers: [],
          messages: [],
        }
        const said = async (agent: Tool) => log.push(String(await agent.execute?.({ request: 'Go' }, context)))
        await said(first)
        await said(first)
        if (++tries === 2) await said(second)
        return yield* next(one)
      },
    }
    const twice: Middleware = {
      name: 'twice',
      async *wrapToolCall(one, next) {
        yield* next(one)
        return yield* next(one)
      },
    }
    const model = scriptedModel([isResumed ? respond(say('Done.')) : respond(call('work', { what: 'a' }))])
    return createAgent({ name: 'outer', model, tools: [worker('external')], middleware: [twice, running] })
  }
  const stopped = await played(makeAgent(false))
  expect(log).toEqual(['first 1', 'first 2', 'first 3', 'first 4'])
  expect((await played(makeAgent(true), stopped.checkpoint)).status).toBe('completed')
  // An agent that had completed returns its result again.
  expect(log.slice(4)).toEqual(['first 1', 'first 2', 'first 3', 'first 4', 'second after the answer'])
})
