import {
  agentTool,
  callsOf,
  createAgent,
  type Middleware,
  type Tool,
  type ToolCall,
  textOf,
  tool,
} from '@meanwhile/core'
import { call, fail, respond, say, scriptedModel } from '@meanwhile/core/testing'
import { eagerTools } from '@meanwhile/eager-tools'
import { type CallLimitsOptions, callLimits, retryModel } from '@meanwhile/middleware'
import { propertyRuns } from '@meanwhile/tests/size'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { z } from 'zod'

interface Planned {
  readonly name: string
  readonly inner?: readonly Planned[]
}

/** The responses of a program: the calls of each, and how many of them a failed attempt requests before. */
type Program = readonly { readonly calls: readonly Planned[]; readonly failed: number }[]

const input = z.object({ at: z.string(), inner: z.array(z.unknown()).default([]) })

/** What ran, in no order, and how the run ended. */
async function outcomeOf(
  program: Program,
  limits: CallLimitsOptions,
  eager: boolean,
  more: readonly Middleware[] = [],
) {
  const ran: string[] = []
  const leaf = (name: string, effect: 'read' | 'external') =>
    tool({
      name,
      description: name,
      input,
      effect,
      execute({ at }) {
        ran.push(`${name} ${at}`)
        return at
      },
    }) as Tool
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
  const responses = program.flatMap(({ calls, failed }, step) => {
    const parts = (attempt: string, count: number) =>
      calls.slice(0, count).map((one, index) => {
        const { name, input } = callOf(one, '', `${step}.${index}`)
        return call(name, input as object, { id: `${attempt}${step}.${index}` })
      })
    const whole = respond(...parts('c', calls.length))
    return failed > 0 ? [respond(...parts('f', failed), fail()), whole] : [whole]
  })
  const agent = createAgent({
    model: scriptedModel([...responses, respond(say('Done.'))], { pace: { firstToken: 0, betweenTokens: 0 } }),
    tools: [leaf('look', 'read'), leaf('send', 'external'), relay('each', false), relay('all', true)],
    middleware: [
      retryModel({ random: () => 0, baseDelay: 1 }),
      callLimits(limits),
      ...more,
      ...(eager ? [eagerTools()] : []),
    ],
  })
  const end = await agent.run('Go').then(
    ({ status, messages }) => ({ status, texts: messages.filter(({ role }) => role === 'tool').map(textOf) }),
    (error: Error) => ({ error: error.message }),
  )
  return { ran: ran.toSorted(), end }
}

function callOf({ name, inner = [] }: Planned, id: string, at: string): ToolCall {
  return { type: 'tool-call', id, name, input: { at, inner } }
}

const planned = fc.letrec<{ planned: Planned }>((tie) => ({
  planned: fc.oneof(
    { depthSize: 'small', maxDepth: 3 },
    fc.record({ name: fc.constantFrom('look', 'send') }),
    fc.record({ name: fc.constantFrom('each', 'all'), inner: fc.array(tie('planned'), { maxLength: 3 }) }),
  ),
})).planned
const programs = fc.array(
  fc
    .record({ calls: fc.array(planned, { minLength: 1, maxLength: 4 }), failed: fc.nat({ max: 4 }) })
    .map(({ calls, failed }) => ({ calls, failed: failed > calls.length ? 0 : failed })),
  { minLength: 1, maxLength: 3 },
)
const someLimits = fc.record(
  {
    toolCalls: fc.nat({ max: 8 }),
    perTool: fc.oneof(fc.nat({ max: 3 }), fc.dictionary(fc.constantFrom('look', 'send', 'each'), fc.nat({ max: 3 }))),
  },
  { requiredKeys: [] },
)

test('which calls a limit lets run, and what the model reads, is the same with and without eager tools (W3)', async () => {
  await fc.assert(
    fc.asyncProperty(programs, someLimits, async (program, limits) => {
      const options = { ...limits, onLimit: 'answer' } as const
      // A failed attempt starts calls early only with eager tools. An equal call of the next one joins them.
      expect(await outcomeOf(program, options, true)).toEqual(await outcomeOf(program, options, false))
    }),
    propertyRuns({ small: 60, middle: 150, whole: 50_000 }),
  )
})

test('with error the run ends at a limit or not, the same with and without eager tools (W3, N13)', async () => {
  await fc.assert(
    fc.asyncProperty(programs, someLimits, async (program, limits) => {
      const [eager, plain] = [await outcomeOf(program, limits, true), await outcomeOf(program, limits, false)]
      // If inner calls of several calls are over limits at the same time, any of them may be the first.
      expect(Object.keys(eager.end)).toEqual(Object.keys(plain.end))
      if ('status' in plain.end) expect(eager).toEqual(plain)
    }),
    propertyRuns({ small: 40, middle: 100, whole: 20_000 }),
  )
})

const leaf = (name: string): Planned => ({ name })
const each = (...inner: readonly Planned[]): Planned => ({ name: 'each', inner })
const both = async (program: Program, limits: CallLimitsOptions, more: readonly Middleware[] = []) => {
  const plain = await outcomeOf(program, limits, false, more)
  expect(await outcomeOf(program, limits, true, more)).toEqual(plain)
  return plain
}
const step = (...calls: readonly Planned[]) => ({ calls, failed: 0 })

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
