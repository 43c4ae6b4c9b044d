import { call, fail, respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import {
  agentTool,
  type Checkpoint,
  callsOf,
  createAgent,
  type Middleware,
  type Tool,
  type ToolCall,
  textOf,
  tool,
} from '@meanwhile/core'
import { eagerTools } from '@meanwhile/eager-tools'
import { type CallLimitsOptions, callLimits, retryModel } from '@meanwhile/middleware'
import { played } from '@meanwhile/tests/clock'
import { propertyRuns } from '@meanwhile/tests/size'
import fc from 'fast-check'
import { expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'

interface Planned {
  readonly name: string
  readonly inner?: readonly Planned[]
}

/** The calls of a response, and those that a failed attempt requests before: places of these calls, in any order. */
interface Response {
  readonly calls: readonly Planned[]
  readonly failed: readonly number[]
  /** Whether a call has the same id in both. */
  readonly isSameId: boolean
}
type Program = readonly Response[]

const input = z.object({ at: z.string(), inner: z.array(z.unknown()) })
type Input = z.infer<typeof input>

const HAPPENED = /^No result: (.*)\. This call had started early, and its effect may have happened\.$/

/** What ran and was not undone, in no order, and how the run ended. `happened`: how many results are those of calls that ran early, without room. */
async function outcomeOf(
  program: Program,
  limits: CallLimitsOptions,
  eager: boolean,
  more: readonly Middleware[] = [],
) {
  const ran: string[] = []
  const leaf = (name: string, effect: 'read' | 'idempotent' | 'external', more: object = {}) =>
    tool({
      name,
      description: name,
      input,
      effect,
      execute({ at }: Input) {
        ran.push(`${name} ${at}`)
        return at
      },
      ...more,
    }) as Tool
  const hold = leaf('hold', 'read', {
    effect: 'reversible',
    compensate({ at }: Input) {
      expect(ran).toContain(`hold ${at}`)
      ran.splice(ran.indexOf(`hold ${at}`), 1)
    },
  })
  const relay = (name: string, inParallel: boolean) =>
    tool({
      name,
      description: name,
      input,
      effect: 'calls',
      async execute({ at, inner }, { run, callId }) {
        ran.push(`${name} ${at}`)
        const texts: string[] = []
        const made: Promise<unknown>[] = []
        for (const [index, one] of (inner as Planned[]).entries()) {
          const result = run?.callTool(callOf(one, `${callId} ${index}`, `${at}.${index}`))
          made.push(Promise.resolve(result).then((message) => texts.push(message ? textOf(message) : '')))
          if (!inParallel) await made.at(-1)
        }
        await Promise.all(made)
        return texts.toSorted().join()
      },
    }) as Tool
  const responses = program.flatMap(({ calls, failed, isSameId }, step) => {
    const parts = (attempt: string, places: Iterable<number>) =>
      [...places].flatMap((index) => {
        const one = calls[index]
        if (!one) return []
        const { name, input } = callOf(one, '', `${step}.${index}`)
        return call(name, input as object, { id: `${attempt}${step}.${index}` })
      })
    const whole = respond(...parts('c', calls.keys()))
    return failed.length > 0 ? [respond(...parts(isSameId ? 'c' : 'f', failed), fail()), whole] : [whole]
  })
  const agent = createAgent({
    model: scriptedModel([...responses, respond(say('Done.'))], { pace: { firstToken: 0, betweenTokens: 0 } }),
    tools: [
      leaf('look', 'read'),
      leaf('put', 'idempotent'),
      hold,
      leaf('send', 'external'),
      relay('each', false),
      relay('all', true),
    ],
    middleware: [
      retryModel({ random: () => 0, baseDelay: 1 }),
      callLimits(limits),
      ...more,
      ...(eager ? [eagerTools()] : []),
    ],
  })
  let happened = 0
  const shown = (text: string) =>
    text.replace(HAPPENED, (_, limit) => {
      happened++
      return `Not run: ${limit}.`
    })
  const end = await agent.run('Go').then(
    ({ status, messages }) => ({
      status,
      texts: messages.flatMap((message) => (message.role === 'tool' ? [shown(textOf(message))] : [])),
    }),
    (error: Error) => ({ error: error.message }),
  )
  return { ran: ran.toSorted(), end, happened }
}

/** The lines of one list that another does not have, each as often as it has more of them. */
function without(lines: readonly string[], others: readonly string[]): readonly string[] {
  const left = [...others]
  return lines.filter((line) => {
    const at = left.indexOf(line)
    if (at >= 0) left.splice(at, 1)
    return at < 0
  })
}

/**
 * What the model reads is the same with eager tools, and nothing runs that does not run without them, except early: reads, and `put`, of which the
 * model reads.
 */
function expectSame(eager: Awaited<ReturnType<typeof outcomeOf>>, plain: Awaited<ReturnType<typeof outcomeOf>>): void {
  expect(eager.end).toEqual(plain.end)
  expect(without(plain.ran, eager.ran)).toEqual([])
  const more = without(eager.ran, plain.ran).filter((line) => !/^(look|each|all) /.test(line))
  expect(more.map((line) => line.slice(0, 4))).toEqual(Array.from({ length: eager.happened }, () => 'put '))
}

function callOf({ name, inner = [] }: Planned, id: string, at: string): ToolCall {
  return { type: 'tool-call', id, name, input: { at, inner } }
}

const planned = fc.letrec<{ planned: Planned }>((tie) => ({
  planned: fc.oneof(
    { depthSize: 'small', maxDepth: 3 },
    fc.record({ name: fc.constantFrom('look', 'put', 'hold', 'send') }),
    fc.record({ name: fc.constantFrom('each', 'all'), inner: fc.array(tie('planned'), { maxLength: 3 }) }),
  ),
})).planned
const programs = fc.array(
  fc
    .record({
      calls: fc.array(planned, { minLength: 1, maxLength: 4 }),
      failed: fc.uniqueArray(fc.nat({ max: 3 }), { maxLength: 4 }),
      isSameId: fc.boolean(),
    })
    .map(
      ({ calls, failed, ...rest }): Response => ({
        ...rest,
        calls,
        failed: failed.filter((place) => place < calls.length),
      }),
    ),
  { minLength: 1, maxLength: 3 },
)
const someLimits = fc.record(
  {
    toolCalls: fc.nat({ max: 8 }),
    perResponse: fc.nat({ max: 3 }),
    perTool: fc.oneof(
      fc.nat({ max: 3 }),
      fc.dictionary(fc.constantFrom('look', 'put', 'hold', 'send', 'each'), fc.nat({ max: 3 })),
    ),
  },
  { requiredKeys: [] },
)

test('which calls a limit lets run, and what the model reads, is the same with and without eager tools (W3, W59)', async () => {
  await fc.assert(
    fc.asyncProperty(programs, someLimits, async (program, limits) => {
      const options = { ...limits, onLimit: 'answer' } as const
      // A failed attempt starts calls early only with eager tools. An equal call of the next one joins them.
      expectSame(await outcomeOf(program, options, true), await outcomeOf(program, options, false))
    }),
    propertyRuns({ small: 4, middle: 6, whole: 50_000 }),
  )
})

test('with error the run ends at a limit or not, the same with and without eager tools (W3, W59, N13)', async () => {
  await fc.assert(
    fc.asyncProperty(programs, someLimits, async (program, limits) => {
      const [eager, plain] = [await outcomeOf(program, limits, true), await outcomeOf(program, limits, false)]
      // If inner calls of several calls are over limits at the same time, any of them may be the first.
      expect(Object.keys(eager.end)).toEqual(Object.keys(plain.end))
      if ('status' in plain.end) expectSame(eager, plain)
    }),
    propertyRuns({ small: 5, middle: 7, whole: 20_000 }),
  )
})

const leaf = (name: string): Planned => ({ name })
const each = (...inner: readonly Planned[]): Planned => ({ name: 'each', inner })
const both = async (program: Program, limits: CallLimitsOptions, more: readonly Middleware[] = []) => {
  const plain = await outcomeOf(program, limits, false, more)
  expect(await outcomeOf(program, limits, true, more)).toEqual(plain)
  return plain
}
const step = (...calls: readonly Planned[]): Response => ({ calls, failed: [], isSameId: false })

test('a limit is judged by the calls of the response and the earlier inner calls of the same call; from the next step on all inner calls count (W3)', async () => {
  const limits = { toolCalls: 3, onLimit: 'answer' } as const
  const look = leaf('look')
  // Within the step: each 0.0 and its first two looks, each 0.1 and its first look, and the last look.
  const first = step(each(look, look, look), each(look, look), leaf('send'))
  expect((await both([first], limits)).ran).toEqual([
    'each 0.0',
    'each 0.1',
    'look 0.0.0',
    'look 0.0.1',
    'look 0.1.0',
    'send 0.2',
  ])
  const { ran, end } = await both([step(each(look)), step(look, look)], limits)
  expect(ran).toEqual(['each 0.0', 'look 0.0.0', 'look 1.0'])
  expect(end).toMatchObject({ texts: ['0.0.0', '1.0', 'Not run: the limit of tool calls is reached (3).'] })
})

test('a call that one limit refuses takes no room of another limit (W3)', async () => {
  const limits = { toolCalls: 2, perTool: { look: 1 }, onLimit: 'answer' } as const
  const { ran } = await both([step(leaf('look'), leaf('look'), leaf('send'), leaf('send'))], limits)
  expect(ran).toEqual(['look 0.0', 'send 0.2'])
})

test('with error the first call of the response over a limit names the error (W3, N13)', async () => {
  const limits = { perTool: { look: 1, send: 0 } }
  const { end } = await both([step(leaf('look'), leaf('look'), leaf('send'))], limits)
  expect(end).toEqual({ error: 'the limit of calls of look is reached (1)' })
})

test('a call has the room of one that afterModel drops, and one that it adds comes after those of the response (W3)', async () => {
  const limits = { toolCalls: 1, onLimit: 'answer' } as const
  const changes = (change: (calls: readonly ToolCall[]) => readonly ToolCall[]): Middleware => ({
    name: 'changes',
    afterModel({ messages }) {
      const message = messages.at(-1)
      if (message?.role !== 'assistant' || callsOf(message).length === 0) return undefined
      const content = [...change(callsOf(message))]
      return { messages: [...messages.slice(0, -1), { ...message, content }] }
    },
  })
  const dropped = await both([step(leaf('send'), leaf('look'))], limits, [changes((calls) => calls.slice(1))])
  expect(dropped.ran).toEqual(['look 0.1'])
  const added = changes((calls) => [callOf(leaf('send'), 'new', 'added'), ...calls])
  expect((await both([step(leaf('look'))], limits, [added])).ran).toEqual(['look 0.0'])
})

test('what an agent inside a call has used counts from the next step on, with its model calls (W3)', async () => {
  const look = tool({ name: 'look', description: 'l', input: z.object({}), effect: 'read', execute: () => 'seen' })
  const one = respond(say('So far.'), call('look'), call('look'))
  const run = async (limits: CallLimitsOptions, eager: boolean) => {
    const child = createAgent({ model: scriptedModel([one, respond(say('Seen.'))]), tools: [look as Tool] })
    const agent = createAgent({
      model: scriptedModel([respond(call('ask', { request: 'Look' })), one, respond(say('Done.'))]),
      tools: [agentTool(child, { name: 'ask', description: 'a', effect: 'read' }) as Tool, look as Tool],
      middleware: [callLimits({ ...limits, onLimit: 'answer' }), ...(eager ? [eagerTools()] : [])],
    })
    const { messages, stopReason } = await agent.run('Go')
    return { stopReason, texts: messages.filter(({ role }) => role === 'tool').map(textOf) }
  }
  for (const eager of [false, true]) {
    const refused = 'Not run: the limit of tool calls is reached (4).'
    expect((await run({ toolCalls: 4 }, eager)).texts).toEqual(['Seen.', 'seen', refused])
    // The parent has called the model once, and the child twice.
    expect((await run({ modelCalls: 4 }, eager)).texts).toEqual(['Seen.', 'seen', 'seen'])
    expect(await run({ modelCalls: 3 }, eager)).toMatchObject({ stopReason: 'early-stop', texts: ['Seen.'] })
  }
})

const retried = (failed: readonly number[], ...calls: readonly Planned[]): Response => ({
  calls,
  failed,
  isSameId: false,
})

test('a call that ran for a failed attempt has no room in another order: what it did counts nowhere, and the model reads whether it may have happened (W3)', async () => {
  const limits = { toolCalls: 2, onLimit: 'answer' } as const
  const refused = 'Not run: the limit of tool calls is reached (2).'
  for (const [name, ran, happened] of [
    ['look', ['look 0.1', 'look 0.2', 'send 0.0'], 0],
    // It is undone.
    ['hold', ['hold 0.1', 'send 0.0'], 0],
    ['put', ['put 0.1', 'put 0.2', 'send 0.0'], 1],
  ] as const) {
    const program = [retried([2, 1], leaf('send'), leaf(name), leaf(name))]
    const eager = await outcomeOf(program, limits, true)
    expect(eager).toEqual({ ran, end: { status: 'completed', texts: ['0.0', '0.1', refused] }, happened })
    expectSame(eager, await outcomeOf(program, limits, false))
  }
})

test('a call with inner calls that have no room in another order is made again (W3)', async () => {
  const program = [retried([1], leaf('look'), each(leaf('look'), leaf('look'))), step(leaf('look'))]
  const limits = { perTool: { look: 2 }, onLimit: 'answer' } as const
  const eager = await outcomeOf(program, limits, true)
  const refused = 'Not run: the limit of calls of look is reached (2).'
  expect(eager.end).toEqual({ status: 'completed', texts: ['0.0', `0.1.0,${refused}`, refused] })
  expectSame(eager, await outcomeOf(program, limits, false))
})

test('with error the run ends when a call has no room in another order (W3, N13)', async () => {
  const { end } = await outcomeOf([retried([1], leaf('send'), leaf('put'))], { toolCalls: 1 }, true)
  expect(end).toEqual({ error: 'the limit of tool calls is reached (1)' })
})

test('a resume judges a call again that ran before it, and does not count one that is no longer requested (W3, L11)', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const ran: string[] = []
  const look = tool({
    name: 'look',
    description: 'l',
    input: z.object({ q: z.string() }),
    effect: 'read',
    execute: ({ q }) => void ran.push(q),
  })
  const asks = (...values: readonly string[]) => values.map((q) => call('look', { q }))
  const refused = 'Not run: the limit of tool calls is reached (2).'
  for (const [again, texts, more] of [
    [
      ['b', 'd', 'a'],
      ['', '', refused, refused],
      ['b', 'd'],
    ],
    [['b'], ['', ''], ['b', 'c']],
  ] as const) {
    ran.length = 0
    const agent = createAgent({
      model: scriptedModel([
        respond(...asks('a'), wait(60_000)),
        respond(...asks(...again)),
        respond(...asks('c')),
        respond(say('Done.')),
      ]),
      tools: [look as Tool],
      middleware: [callLimits({ toolCalls: 2, onLimit: 'answer' }), eagerTools()],
    })
    const run = agent.stream('Go')
    setTimeout(() => void run.cancel(), 5_000)
    const stopped = await played(run.result)
    expect([stopped.status, ran]).toEqual(['cancelled', ['a']])
    const { messages } = await played(agent.resume(stopped.checkpoint as Checkpoint).result)
    expect(messages.flatMap((message) => (message.role === 'tool' ? [textOf(message)] : []))).toEqual(texts)
    expect(ran).toEqual(['a', ...more])
  }
})
