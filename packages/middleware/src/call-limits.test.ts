import { call, collect, end, fail, respond, type ScriptResponse, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, type Middleware, map, type Run, type Tool, type ToolCall, textOf, tool } from '@meanwhile/core'
import { played } from '@meanwhile/tests/clock'
import { sized } from '@meanwhile/tests/size'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { CallLimitError, type CallLimitsOptions, callLimits } from './call-limits.ts'
import { DEFAULT_INSTRUCTION } from './closing-call.ts'
import { retryModel } from './retry-model.ts'
import { retryTool } from './retry-tool.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

interface RanOptions {
  readonly outer?: readonly Middleware[]
  readonly inner?: readonly Middleware[]
  readonly prepareInput?: (input: unknown) => unknown
}

async function ran(responses: readonly ScriptResponse[], limits: CallLimitsOptions, options: RanOptions = {}) {
  const { outer = [], inner = [], ...rest } = options
  const made: string[] = []
  const named = (name: string) =>
    tool({
      name,
      description: name,
      input: z.object({ n: z.number(), ms: z.number().default(0) }),
      execute({ n }) {
        made.push(`${name} ${n}`)
        return `${name} ${n}`
      },
    }) as Tool
  const model = scriptedModel(responses)
  const middleware = [...outer, callLimits(limits), ...inner]
  const agent = createAgent({ model, tools: ['look', 'send', 'constructor'].map(named), middleware, ...rest })
  const collected = await played(collect(agent.stream('Go')))
  const read = collected.events.flatMap((event) => (event.type === 'tool-end' ? [textOf(event.message)] : []))
  return { ...collected, made, read, requests: model.requests }
}

const looks = (...numbers: readonly number[]) => respond(...numbers.map((n) => call('look', { n }, { id: `c${n}` })))
const done = respond(say('Done.'))

test('a model call over the limit ends the run with CallLimitError (N13)', async () => {
  const { error, requests, made } = await ran([looks(1), looks(2), done], { modelCalls: 2 })
  expect(error).toBeInstanceOf(CallLimitError)
  expect(error).toMatchObject({ limit: 'modelCalls', max: 2, message: 'the limit of model calls is reached (2)' })
  expect((error as CallLimitError).messages).toHaveLength(5)
  expect(requests).toHaveLength(2)
  expect(made).toEqual(['look 1', 'look 2'])
})

test('a run within its limits is unchanged (N13)', async () => {
  const limits = { modelCalls: 2, toolCalls: 1, perTool: { look: 1 }, tokens: 100 }
  for (const onLimit of ['error', 'answer'] as const) {
    const used = respond(call('look', { n: 1 }), end({ usage: { inputTokens: 40, outputTokens: 10 } }))
    const { result } = await ran([used, done], { ...limits, onLimit })
    expect(result).toMatchObject({ text: 'Done.', stopReason: 'answer', steps: 2, warnings: [] })
  }
})

test('a tool call over the limit ends the run with CallLimitError (N13)', async () => {
  for (const [limits, data] of [
    [{ toolCalls: 1 }, { limit: 'toolCalls', max: 1 }],
    [{ perTool: { look: 1 } }, { limit: 'perTool', max: 1, tool: 'look' }],
    [{ perTool: 1 }, { limit: 'perTool', max: 1, tool: 'look' }],
  ] as const) {
    const { error, made } = await ran([looks(1), looks(2), done], limits)
    expect(error).toBeInstanceOf(CallLimitError)
    expect(error).toMatchObject(data)
    expect(made).toEqual(['look 1'])
  }
})

test('tokens are those of the model calls so far (N13)', async () => {
  const used = (n: number) => respond(call('look', { n }), end({ usage: { inputTokens: 40, outputTokens: 10 } }))
  const { error, requests } = await ran([used(1), used(2), used(3), done], { tokens: 100 })
  expect(error).toMatchObject({ limit: 'tokens', max: 100, message: 'the limit of tokens is reached (100)' })
  expect(requests).toHaveLength(2)
})

test('a limit of tokens warns once if the model reports none (N13)', async () => {
  const { result } = await ran([looks(1), looks(2), done], { tokens: 1 })
  const message = 'the model reports no tokens, so the limit of 1 tokens does not apply'
  expect(result).toMatchObject({
    text: 'Done.',
    warnings: [{ code: 'tokens-unknown', message, source: 'call-limits' }],
  })
})

test('with answer a call over the limit gets an error result and is not run, and the run continues (N13)', async () => {
  const { result, made, read } = await ran([looks(1, 2), looks(3), done], { toolCalls: 1, onLimit: 'answer' })
  const refused = 'Not run: the limit of tool calls is reached (1).'
  expect(made).toEqual(['look 1'])
  expect(read.toSorted()).toEqual([refused, refused, 'look 1'].toSorted())
  expect(result).toMatchObject({ text: 'Done.', stopReason: 'answer' })
  expect(result?.messages[3]).toMatchObject({ role: 'tool', callId: 'c2', isError: true })
})

test('with answer one last model call is made at the limit, without tools, as in earlyStop, and its finish reason is stop (N13, P18)', async () => {
  const closing = respond(say('So far.'), call('look', { n: 9 }))
  for (const limits of [{ modelCalls: 2 }, { tokens: 30 }]) {
    const usage = end({ usage: { inputTokens: 10, outputTokens: 5 } })
    const first = respond(call('look', { n: 1 }), usage)
    const second = respond(call('look', { n: 2 }), usage)
    const { result, requests, made } = await ran([first, second, closing], { ...limits, onLimit: 'answer' })
    expect(requests.map(({ toolChoice }) => toolChoice)).toEqual(['auto', 'auto', 'none'])
    expect(requests[2]?.messages.at(-1)).toEqual({ role: 'user', content: DEFAULT_INSTRUCTION, origin: 'call-limits' })
    expect(result).toMatchObject({ text: 'So far.', stopReason: 'early-stop', finishReason: 'stop', steps: 3 })
    expect(result?.messages.at(-1)).toMatchObject({ role: 'assistant', finishReason: 'stop' })
    expect(made).toEqual(['look 1', 'look 2'])
  }
})

test('a last answer without text, or one the gate rejects, ends the run with CallLimitError (N13)', async () => {
  const limits = { modelCalls: 1, onLimit: 'answer' } as const
  const empty = await ran([looks(1), looks(2)], limits)
  expect(empty.error).toMatchObject({ name: 'CallLimitError', limit: 'modelCalls', max: 1 })
  const gate: Middleware = { name: 'gate', beforeFinalAnswer: () => ({ accept: false, feedback: 'No.' }) }
  const rejected = await ran([looks(1), done, done], limits, { outer: [gate] })
  expect(rejected.error).toMatchObject({ name: 'CallLimitError' })
  expect(rejected.requests).toHaveLength(2)
})

test('a last call that fails is not retried: the limit applies (N13)', async () => {
  const limits = { modelCalls: 1, onLimit: 'answer' } as const
  const outer = [retryModel({ random: () => 0 })]
  const { error, requests } = await ran([looks(1), respond(fail()), done], limits, { outer })
  expect(error).toMatchObject({ name: 'CallLimitError', limit: 'modelCalls', max: 1 })
  expect(requests).toHaveLength(2)
})

test('of parallel calls over the limit the first in call order run, whichever is ready first (N14)', async () => {
  const prepareInput = (input: unknown) => {
    const { ms } = input as { ms: number }
    return new Promise((resolve) => setTimeout(() => resolve(input), ms))
  }
  const asked = respond(
    call('look', { n: 1, ms: 300 }, { id: 'c1' }),
    call('look', { n: 2, ms: 200 }, { id: 'c2' }),
    call('look', { n: 3, ms: 100 }, { id: 'c3' }),
  )
  for (const limits of [{ toolCalls: 2 }, { perTool: { look: 2 } }]) {
    const { made, result } = await ran([asked, done], { ...limits, onLimit: 'answer' }, { prepareInput })
    expect(made.toSorted()).toEqual(['look 1', 'look 2'])
    expect(result?.messages.slice(2, 5).map((message) => 'isError' in message)).toEqual([false, false, true])
  }
})

test('a limit of one tool does not affect calls of others (N14)', async () => {
  const asked = respond(call('look', { n: 1 }), call('send', { n: 2 }), call('look', { n: 3 }), call('send', { n: 4 }))
  const { made } = await ran([asked, done], { perTool: { look: 1 }, onLimit: 'answer' })
  expect(made).toEqual(['look 1', 'send 2', 'send 4'])
})

test('a tool with the name of a member of Object.prototype is counted like any other (N14)', async () => {
  const asked = respond(call('constructor', { n: 1 }), call('constructor', { n: 2 }))
  expect((await ran([asked, done], { perTool: 1, onLimit: 'answer' })).made).toEqual(['constructor 1'])
  expect((await ran([asked, done], { perTool: { look: 1 } })).made).toEqual(['constructor 1', 'constructor 2'])
})

test('inside retryModel it counts attempts, outside model calls (N15)', async () => {
  const retry = retryModel({ random: () => 0 })
  const responses = [respond(fail()), respond(fail()), looks(1), done]
  const outside = await ran(responses, { modelCalls: 2 }, { inner: [retry] })
  expect(outside.result?.text).toBe('Done.')
  const inside = await ran(responses, { modelCalls: 2 }, { outer: [retry] })
  expect(inside.error).toMatchObject({ name: 'CallLimitError', limit: 'modelCalls' })
  expect(inside.requests).toHaveLength(2)
})

/** Makes the model’s calls as soon as they are sealed. */
const startsEarly = (isEarly: (call: ToolCall) => boolean): Middleware => ({
  name: 'early',
  wrapModel: (request, next, run) =>
    map(next(request), (event) => {
      if (event.type === 'tool-call' && isEarly(event.call)) void start(run, event.call)
      return event
    }),
})
const start = (run: Run, call: ToolCall) => run.callTool(call).catch(() => undefined)
const early = startsEarly(({ name }) => name === 'look')

test('a joined call counts once; a discarded early one does not count, because without early starts it would not have run (N15, W3)', async () => {
  const retry = retryModel({ random: () => 0 })
  const one = (id: string) => call('look', { n: 1 }, { id })
  const limits = { toolCalls: 2, onLimit: 'answer' } as const
  const joined = await ran([respond(one('a1'), fail()), respond(one('b1'), call('send', { n: 2 })), done], limits, {
    outer: [retry],
    inner: [early],
  })
  expect(joined.made).toEqual(['look 1', 'send 2'])
  const discarded = await ran(
    [respond(one('a1'), fail()), respond(call('look', { n: 2 }), call('send', { n: 3 })), done],
    limits,
    { outer: [retry], inner: [early] },
  )
  expect(discarded.made).toEqual(['look 1', 'look 2', 'send 3'])
  const next = await ran(
    [respond(one('a1'), fail()), respond(call('look', { n: 2 })), respond(call('send', { n: 3 })), looks(4), done],
    limits,
    { outer: [retry], inner: [early] },
  )
  expect(next.made).toEqual(['look 1', 'look 2', 'send 3'])
})

test('an early call leaves room for those before it in call order (N14)', async () => {
  const asked = respond(call('send', { n: 1 }, { id: 'c1' }), call('look', { n: 2 }, { id: 'c2' }))
  for (const inner of [[], [early]]) {
    const { made, result } = await ran([asked, done], { toolCalls: 1, onLimit: 'answer' }, { inner })
    expect(made).toEqual(['send 1'])
    expect(result?.messages[3]).toMatchObject({ callId: 'c2', isError: true })
  }
})

test('calls announced by a failed attempt take no room of an early call (N14)', async () => {
  const limits = { toolCalls: 1, onLimit: 'answer' } as const
  const again = await ran(
    [respond(call('send', { n: 1 }, { id: 'a1' }), fail()), respond(call('look', { n: 2 }, { id: 'b1' })), done],
    limits,
    { inner: [retryModel({ random: () => 0 }), early] },
  )
  expect(again.made).toEqual(['look 2'])
})

test('a call equal to one that was made still needs its room: of an earlier step, or of the same response (N14)', async () => {
  const send = (id: string) => call('send', { n: 1 }, { id })
  const later = respond(send('c2'), call('look', { n: 2 }, { id: 'c3' }))
  const limits = { toolCalls: 2, onLimit: 'answer' } as const
  const ofStep = await ran([respond(send('c1')), later, done], limits, { inner: [early] })
  expect(ofStep.made).toEqual(['send 1', 'send 1'])
  const twice = respond(send('c1'), send('c2'), call('look', { n: 2 }, { id: 'c3' }))
  const inner = [startsEarly(({ id }) => id !== 'c2')]
  expect((await ran([twice, done], limits, { inner })).made).toEqual(['send 1', 'send 1'])
})

test('calls that the provider ran itself need no room (N14, G16)', async () => {
  const own: Middleware = {
    name: 'own',
    async *wrapModel(request, next) {
      const flow = next(request)
      for (;;) {
        const step = await flow.next()
        if (step.done) {
          const content = step.value.content.map((part) => ('id' in part && part.id === 'c1' ? run(part) : part))
          return { ...step.value, content }
        }
        const event = step.value
        yield event.type === 'tool-call' && event.call.id === 'c1' ? { ...event, call: run(event.call) } : event
      }
    },
  }
  const run = (call: ToolCall): ToolCall => ({ ...call, providerResult: 'Found.' })
  const asked = respond(call('send', { n: 1 }, { id: 'c1' }), call('look', { n: 2 }, { id: 'c2' }))
  const { made } = await ran([asked, done], { toolCalls: 1, onLimit: 'answer' }, { inner: [early, own] })
  expect(made).toEqual(['look 2'])
})

test('two simultaneous runs share no count (N13)', async () => {
  const middleware = [callLimits({ modelCalls: 1 })]
  const model = scriptedModel([done, done])
  const agent = createAgent({ model, middleware })
  const results = await Promise.all([agent.run('one'), agent.run('two')])
  expect(results.map(({ text }) => text)).toEqual(['Done.', 'Done.'])
})

test('a limit that is not a whole number is a ConfigError naming it, and so is an unknown onLimit', () => {
  for (const limits of [{ modelCalls: -1 }, { toolCalls: 0.5 }, { tokens: Number.NaN }, { perTool: -1 }]) {
    expect(() => callLimits(limits)).toThrow(
      expect.objectContaining({ name: 'ConfigError', option: Object.keys(limits)[0] }),
    )
  }
  expect(() => callLimits({ perTool: { look: -1 } })).toThrow(expect.objectContaining({ option: 'look' }))
  const odd = { onLimit: 'stop' } as object
  expect(() => callLimits(odd)).toThrow(expect.objectContaining({ option: 'onLimit' }))
})

test('inside retryTool it counts executions, outside tool calls (N15)', async () => {
  const run = async (isInside: boolean) => {
    let executed = 0
    const flaky = tool({
      name: 'flaky',
      description: 'Fails twice.',
      input: z.object({}),
      effect: 'read',
      execute: () => {
        if (++executed < 3) throw new Error('busy')
        return 'fine'
      },
    }) as Tool
    const limit = callLimits({ toolCalls: 2, onLimit: 'answer' })
    const retry = retryTool({ random: () => 0 })
    const model = scriptedModel([respond(call('flaky')), done])
    const agent = createAgent({ model, tools: [flaky], middleware: isInside ? [retry, limit] : [limit, retry] })
    const { messages } = await played(agent.run('Go'))
    return messages.flatMap((message) => (message.role === 'tool' ? [textOf(message)] : []))
  }
  expect(await run(false)).toEqual(['fine'])
  expect(await run(true)).toEqual(['Not run: the limit of tool calls is reached (2).'])
})

test.for(['error', 'answer'] as const)(
  'with onLimit %s, the calls of a response over perResponse get error results, and the run continues (W59)',
  async (onLimit) => {
    const { result, made, read } = await ran([looks(1, 2, 3, 4), looks(5, 6), done], { perResponse: 2, onLimit })
    expect(made).toEqual(['look 1', 'look 2', 'look 5', 'look 6'])
    const refused = 'Not run: the limit of calls in one response is reached (2).'
    expect(read.toSorted()).toEqual([refused, refused, 'look 1', 'look 2', 'look 5', 'look 6'])
    expect(result).toMatchObject({ text: 'Done.', stopReason: 'answer' })
  },
)

const MANY = sized({ small: 100, middle: 150, whole: 2_000 })

test('perResponse: 0 lets no call run, and of very many calls only those with room run (W59)', async () => {
  expect((await ran([looks(1), done], { perResponse: 0 })).made).toEqual([])
  const many = Array.from({ length: MANY }, (_, n) => n)
  const { made, read } = await ran([looks(...many), done], { perResponse: 3 })
  expect([made, read.length]).toEqual([['look 0', 'look 1', 'look 2'], MANY])
})

test.each<CallLimitsOptions>([{ toolCalls: 3 }, { perTool: 3 }])(
  'of very many calls only those with room run, and the others are refused soon: %j (N13)',
  async (limits) => {
    const many = Array.from({ length: MANY }, (_, n) => n)
    const { made, read } = await ran([looks(...many), done], { ...limits, onLimit: 'answer' })
    expect(made).toEqual(['look 0', 'look 1', 'look 2'])
    expect(read.filter((text) => text.startsWith('Not run: '))).toHaveLength(MANY - 3)
  },
)

test('a call that perResponse refuses takes no room of another limit and ends no run, and the reverse (W59)', async () => {
  const send = (n: number) => call('send', { n }, { id: `s${n}` })
  const look = (n: number) => call('look', { n }, { id: `l${n}` })
  const { made } = await ran([respond(look(1), look(2), send(1), look(3)), respond(send(2)), done], {
    perResponse: 2,
    perTool: { look: 1 },
    toolCalls: 3,
    onLimit: 'answer',
  })
  expect(made).toEqual(['look 1', 'send 1', 'send 2'])
  const ended = await ran([respond(look(1), look(2), look(3)), done], { perResponse: 2, toolCalls: 2 })
  expect([ended.made, ended.result?.text]).toEqual([['look 1', 'look 2'], 'Done.'])
  const over = await ran([respond(look(1), look(2), look(3)), done], { perResponse: 2, toolCalls: 1 })
  expect(over.error).toMatchObject({ name: 'CallLimitError', limit: 'toolCalls', max: 1 })
})
