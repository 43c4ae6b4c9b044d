import { unhandledRejections } from '@meanwhile/tests/rejections'
import { spaced } from '@meanwhile/tests/size'
import { Agent, type Model, type ModelRequest, Runner, type StreamEvent } from '@openai/agents'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { done, raw } from '../../test/agents.ts'
import {
  answer,
  breaks,
  calls,
  message,
  model,
  type Options,
  type Played,
  run,
  type Step,
  said,
  says,
  stalls,
  started,
  textDelta,
} from '../../test/broken-agents.ts'
import { moments } from '../../test/clock.ts'
import { ResilientError, type ResilientOptions, resilient } from './index.ts'

unhandledRejections()
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] }))
afterEach(() => {
  const timers = vi.getTimerCount()
  vi.useRealTimers()
  if (timers > 0) throw new Error(`${timers} timers are left`)
})

/** Without a random wait. */
const quick: ResilientOptions = { backoff: { baseDelay: 10, jitter: 0 } }
const last = said('end', 'Done.')
const request = (more: Partial<ModelRequest> = {}): ModelRequest => ({
  input: 'go',
  modelSettings: {},
  tools: [],
  outputType: 'text',
  handoffs: [],
  tracing: false,
  ...more,
})

/** The events of one response, with the times at which they came. */
async function events(of: Model, more: Partial<ModelRequest> = {}) {
  const came: [number, StreamEvent][] = []
  const begun = performance.now()
  const reading = (async () => {
    for await (const event of of.getStreamedResponse(request(more))) came.push([performance.now() - begun, event])
  })()
  await vi.runAllTimersAsync()
  await reading
  return came
}

const http = (status: number, more: object = {}) => Object.assign(new Error(`HTTP ${status}`), { status, ...more })

test('without a fault the reader gets the events of the model (RS1, RS2, RS16)', async () => {
  const came = (await events(resilient([model([answer(1)])]))).map(([, event]) => event)
  expect(new Set(came)).toEqual(new Set(answer(1)))
  expect(came).toHaveLength(answer(1).length)
  expect(came.at(-1)).toEqual(answer(1).at(-1))
})

const ways: Readonly<Record<string, readonly Step[]>> = { throw: [breaks()], 'silent end': [], stall: [stalls] }

for (const [place, [way, ends]] of Object.entries(ways).entries()) {
  test(`cut at any event by ${way}, the run is that of a whole response: text once, each call once (RS1, RS2, RS3, RS4, RS16)`, async () => {
    const plain = await run(model([answer(2), last]))
    expect(plain.ran).toEqual(['look a', 'look b', 'send ada'])
    for (const at of spaced([...answer(1).keys()], { small: 3, middle: 2, whole: 1 }, place)) {
      const played = model([[...answer(1).slice(0, at), ...ends], answer(2), last])
      const came = await run(resilient([played], quick))
      expect([came.ran, came.history, came.shown, came.error], `cut at ${at}`).toEqual([
        plain.ran,
        plain.history,
        plain.shown,
        undefined,
      ])
    }
  })
}

test('text is shown as it comes, and a later attempt goes on where it broke off, under the same id (RS1, RS2, RS4)', async () => {
  const broken: Step[] = [started, ...says('m1', 'Let ', 'me l'), { wait: 50 }, breaks()]
  const came = await events(resilient([model([broken, said('m2', 'Let me ', 'look.')])], quick))
  const texts = came.flatMap(([at, event]) =>
    event.type === 'output_text_delta' ? [[at, event.itemId, event.delta]] : [],
  )
  expect(texts).toEqual([
    [0, 'm1', 'Let '],
    [0, 'm1', 'me l'],
    [60, 'm1', 'ook.'],
  ])
  expect(came.filter(([, { type }]) => type === 'response_started')).toHaveLength(1)
})

test('raw events of the first attempt are shown at once up to its first call; those of a broken call never (RS2, RS3)', async () => {
  const broken: Step[] = [started, ...says('m1', 'Well'), ...calls('1', 'look', { q: 'a' }), { wait: 50 }, breaks()]
  const came = await events(resilient([model([broken, answer(2)])], quick))
  const rawEvents = came.flatMap(([at, event]) => (event.type === 'model' ? [[at, event.event] as const] : []))
  expect(rawEvents.filter(([at]) => at === 0).map(([, { type }]) => type)).toEqual([
    'response.output_item.added',
    'response.output_text.delta',
  ])
  expect(rawEvents.filter(([at]) => at > 0).map(([, event]) => event)).toEqual(
    answer(2).flatMap((event) => (event.type === 'model' ? [event.event] : [])),
  )
})

test('after a failure before the first event, the next attempt is shown like the first one (RS1, RS2)', async () => {
  const slow: Step[] = [started, ...says('m2', 'Well'), { wait: 50 }, done(message('m2', 'Well'))]
  const came = await events(resilient([model([[started, breaks()], slow])], quick))
  expect(came.map(([at, { type }]) => [at, type])).toEqual([
    [0, 'response_started'],
    [10, 'model'],
    [10, 'output_text_delta'],
    [10, 'model'],
    [60, 'response_done'],
  ])
})

test('on the Chat wire, too: chunks with a call wait for the end (RS2)', async () => {
  const chunk = (delta: object, finish_reason: string | null = null) =>
    raw({ choices: [{ index: 0, delta, finish_reason }] })
  const broken: Step[] = [
    started,
    chunk({ content: 'Well' }),
    textDelta('Well'),
    chunk({ tool_calls: [{ index: 0 }] }),
    breaks(),
  ]
  const whole = [started, chunk({ content: 'Well' }), textDelta('Well'), chunk({}, 'stop'), done(message('m', 'Well'))]
  const came = await events(resilient([model([broken, whole])], quick))
  expect(came.map(([, event]) => (event.type === 'model' ? event.event.choices[0].delta : event.type))).toEqual([
    'response_started',
    { content: 'Well' },
    'output_text_delta',
    { content: 'Well' },
    {},
    'response_done',
  ])
})

test('what the provider executes itself waits, too, and is in the message once (RS2, RS3)', async () => {
  const search: StreamEvent = raw({ type: 'response.output_item.added', item: { type: 'web_search_call' } })
  const hosted = { type: 'hosted_tool_call', id: 'ws', name: 'web_search_call', status: 'completed' } as const
  const broken = [started, search, ...says('m1', 'Fo'), breaks()]
  const whole = [started, search, ...says('m2', 'Found.'), done(hosted, message('m2', 'Found.'))]
  const came = await run(resilient([model([broken, whole])], quick))
  expect([came.shown, came.raw.filter((type) => type === 'response.output_item.added').length]).toEqual(['Found.|', 2])
  expect(came.history.filter(({ type }) => type === 'hosted_tool_call')).toHaveLength(1)
})

test('a differing text is followed by the whole text of its attempt, and the message is that of the attempt (RS4)', async () => {
  const broken = [started, ...says('m1', 'Let me ', 'look'), breaks()]
  const came = await run(resilient([model([broken, said('m2', 'Let us ', 'see.')])], quick))
  expect([came.shown, came.ids, came.output]).toEqual(['Let me lookLet us see.|', ['m1', 'm2'], 'Let us see.'])
})

test('a text that ends before the shown one differs, and text that is not said again stays with the reader (RS4)', async () => {
  const broken = [started, ...says('m1', 'Let me look'), breaks()]
  expect((await run(resilient([model([broken, said('m2', 'Let me')])], quick))).shown).toBe('Let me lookLet me|')
  const silent = [started, ...calls('1', 'look', { q: 'a' }), answer(1).at(-1) ?? started]
  const came = await run(resilient([model([broken, silent, last])], quick))
  expect(came.shown).toBe('Let me look|Done.|')
})

test('several texts of one response are joined each with its own (RS4)', async () => {
  const two = (...ids: readonly [string, string]) => [
    started,
    ...says(ids[0], 'One. '),
    ...says(ids[1], 'Two ', 'three.'),
  ]
  const whole = [...two('m3', 'm4'), done(message('m3', 'One. '), message('m4', 'Two three.'))]
  const came = await run(resilient([model([[...two('m1', 'm2').slice(0, -2), breaks()], whole])], quick))
  expect([came.shown, came.ids]).toEqual(['One. Two three.|', ['m1', 'm2']])
  const other = [started, ...says('m5', 'Uno. '), ...says('m6', 'Two ', 'three.'), done(message('m6', 'Two three.'))]
  const forked = await run(resilient([model([[...two('m1', 'm2'), breaks()], other])], quick))
  expect([forked.shown, forked.ids]).toEqual(['One. Two three.Uno. Two three.|', ['m1', 'm2', 'm5', 'm6']])
})

test('text: hold, and JSON, show nothing before an attempt has ended well (RS4, RS5)', async () => {
  const broken = [started, ...says('m1', '{"a":', '"he'), breaks()]
  const spaced = said('m2', '{ "a" :', ' "hello" }')
  const held = await run(resilient([model([broken, spaced])], { ...quick, text: 'hold' }))
  expect(held.shown).toBe('{ "a" : "hello" }|')
  const agent = { outputType: z.object({ a: z.string() }) }
  const json = await run(resilient([model([broken, spaced])], quick), { agent })
  expect([json.shown, json.output]).toEqual(['{ "a" : "hello" }|', { a: 'hello' }])
})

test('each way to end badly is repeated: a throw, no end, a cut Chat stream, a finish reason that says so, silence (RS6)', async () => {
  const end = done(message('m', 'W'))
  const chunk = (finish_reason: string | null) =>
    raw({ choices: [{ index: 0, delta: { content: 'W' }, finish_reason }] })
  const bad: Readonly<Record<string, Step[]>> = {
    'socket hang up': [started, breaks()],
    'the response was cut off: its stream ended without a response_done event': [started],
    'the response was cut off: its stream ended without a finish reason (without any, set finishes: false)': [
      chunk(null),
      end,
    ],
    'the response ended with the finish reason error': [chunk(null), chunk('error'), end],
    'the model sent nothing for 300000 ms': [started, raw({ type: 'response.created' }), stalls],
    'the model sent nothing for 60000 ms': [started, textDelta('D'), stalls],
  }
  for (const [text, broken] of Object.entries(bad)) {
    const onAttempt = vi.fn<NonNullable<ResilientOptions['onAttempt']>>()
    expect((await run(resilient([model([broken, last])], { ...quick, onAttempt }))).output).toBe('Done.')
    expect(onAttempt.mock.calls.map(([{ attempt, error }]) => [attempt, (error as Error).message])).toEqual([[1, text]])
  }
})

test('Chat Completions: with finishes: false a response without a finish reason is whole (RS6)', async () => {
  const chunks = [raw({ choices: [{ index: 0, delta: { content: 'W' } }] }), done(message('m', 'W'))]
  const played = model([chunks])
  expect((await run(resilient([played], { finishes: false }))).output).toBe('W')
  expect(played.requests).toHaveLength(1)
})

test('an error after the end of the response changes nothing (RS6)', async () => {
  const played = model([[...last, breaks()]])
  expect((await run(resilient([played], quick))).output).toBe('Done.')
  expect(played.requests).toHaveLength(1)
})

test('a final error is not repeated on the same model; another model is asked at once (RS6)', async () => {
  for (const status of [400, 401, 403, 404, 422]) {
    const one = model([[breaks(http(status))]])
    expect((await run(resilient([one], quick))).error).toMatchObject({ status })
    expect(one.requests).toHaveLength(1)
    const begun = performance.now()
    expect((await run(resilient([one, model([last])]))).output).toBe('Done.')
    expect(performance.now() - begun).toBe(0)
  }
})

test('waits double, and are as long as the headers of the provider ask for (RS6)', async () => {
  const times = async (error: unknown) => {
    const begun = performance.now()
    const at: number[] = []
    await run(resilient([model([[breaks(error)]])], { ...quick, onAttempt: () => at.push(performance.now() - begun) }))
    return at
  }
  expect(await times(new Error('x'))).toEqual([0, 10, 30])
  expect(await times(http(429, { headers: new Headers({ 'retry-after-ms': '500' }) }))).toEqual([0, 500, 1_000])
  expect(await times(http(429, { headers: new Headers({ 'retry-after': '2' }) }))).toEqual([0, 2_000, 4_000])
})

test("if all attempts fail, the error has all of them, and the SDK's own retry does not repeat them once more (RS7)", async () => {
  const retry = { maxRetries: 2, policy: () => true, backoff: { initialDelayMs: 1, jitter: false } }
  const agent = { modelSettings: { retry } }
  const errors = [http(500), http(502)]
  const played = () => model([[breaks(errors[0])], [breaks(errors[1])]])
  const streamed = played()
  const came = await run(resilient([streamed], { ...quick, retries: 1 }), { agent })
  expect(came.error).toBeInstanceOf(ResilientError)
  expect(came.error).toMatchObject({ errors, message: 'all 2 attempts failed; the last error: HTTP 502' })
  expect(streamed.requests).toHaveLength(2)
  const whole = played()
  const actor = new Agent({ name: 'a', model: resilient([whole], { ...quick, retries: 1 }), ...agent })
  const running = new Runner({ tracingDisabled: true }).run(actor, 'go').catch((error: unknown) => error)
  await vi.runAllTimersAsync()
  expect(await running).toBeInstanceOf(ResilientError)
  expect(whole.requests).toHaveLength(2)
})

test('an error that is not repeated is the error itself, and the SDK asks its own model for advice (RS7)', async () => {
  const advised: unknown[] = []
  const getRetryAdvice: Model['getRetryAdvice'] = ({ error }) => {
    advised.push(error)
    return { suggested: true }
  }
  const error = http(400)
  const came = await run(resilient([model([[breaks(error)]], { getRetryAdvice })], quick))
  expect([came.error, advised]).toEqual([error, [error]])
})

test("the SDK's own time-out ends all attempts (RS7, RS8)", async () => {
  const played = model([[started, textDelta('W'), { wait: 40 }, breaks()]])
  const agent = { modelSettings: { timeoutMs: 100 } }
  const begun = performance.now()
  const came = await run(resilient([played], { retries: 9, backoff: { baseDelay: 0 } }), { agent })
  expect(came.error).toMatchObject({ name: 'ModelTimeoutError' })
  expect([played.requests.length, performance.now() - begun]).toEqual([3, 120])
})

test('an abort ends everything, and begins nothing (RS8)', async () => {
  const broken: Step[] = [started, { wait: 5 }, ...says('m1', 'Let'), { wait: 5 }, breaks()]
  const whole: Step[] = [started, { wait: 5 }, ...answer(2).slice(1, -1), { wait: 5 }, answer(2).at(-1) ?? started]
  for (const at of moments(40)) {
    const played = model([broken, whole, last])
    const controller = new AbortController()
    let before: number | undefined
    setTimeout(() => {
      before = played.requests.length
      controller.abort()
    }, at)
    const { error, ran } = await run(resilient([played], quick), { run: { signal: controller.signal } })
    expect(error, `after ${at} ms`).toBeUndefined()
    if (before !== undefined && ran.length === 0) expect(played.requests).toHaveLength(before)
    expect(vi.getTimerCount()).toBe(0)
  }
})

test('a reader that leaves ends the response of the model (RS8)', async () => {
  let isLeft = false
  const one: Model = {
    ...model([]),
    async *getStreamedResponse() {
      try {
        yield* [started, textDelta('Let'), textDelta(' me')]
      } finally {
        isLeft = true
      }
    },
  }
  for await (const { type } of resilient([one]).getStreamedResponse(request())) if (type !== 'response_started') break
  expect(isLeft).toBe(true)
})

test('usage is the sum of what was reported, and the attempts without a report are counted (RS9)', async () => {
  const chunk = raw({ choices: [{ index: 0, delta: { content: 'W' }, finish_reason: 'error' }] })
  const reported = [started, chunk, done(message('m', 'W'))]
  const silent = [started, textDelta('Do'), breaks()]
  const came = await run(resilient([model([reported, silent, last])], quick))
  expect(came.usage).toEqual({ input: 2, output: 2 })
  expect(came.meanwhile).toEqual({ attempts: 3, unknownUsage: 1 })
  // The Chat model of the SDK counts no tokens if its provider has reported none.
  const usage = { inputTokens: 0, outputTokens: 0, totalTokens: 0 }
  const unknown: Step = { type: 'response_done', response: { id: 'r', usage, output: [message('m', 'W')] } }
  const without = await run(resilient([model([[started, chunk, unknown], last])], quick))
  expect(without.usage).toEqual({ input: 1, output: 1 })
  expect(without.meanwhile).toEqual({ attempts: 2, unknownUsage: 1 })
  expect((await run(resilient([model([last])]))).meanwhile).toBeUndefined()
})

test('onAttempt receives each failed attempt, with its model and what was shown (RS10)', async () => {
  const [a, b] = [model([[started, textDelta('Do'), breaks()]]), model([[breaks(http(503))], last])]
  const told: unknown[] = []
  const onAttempt: ResilientOptions['onAttempt'] = ({ attempt, model, shown }) =>
    told.push([attempt, [a, b].indexOf(model as Played), shown])
  expect((await run(resilient([a, b], { ...quick, onAttempt }))).output).toBe('Done.')
  expect(told).toEqual([
    [1, 0, 2],
    [2, 1, 2],
  ])
})

test('a whole response is repeated by the same rules (RS11)', async () => {
  const played = model([[breaks()], [breaks(http(503))], last])
  const response = resilient([played], quick).getResponse(request())
  await vi.runAllTimersAsync()
  expect(await response).toMatchObject({
    output: [message('end', 'Done.')],
    providerData: { meanwhile: { attempts: 3, unknownUsage: 2 } },
  })
})

test('a request of a conversation that the provider stores is not repeated; one after a response is (RS6)', async () => {
  const broken = [started, textDelta('Do'), breaks()]
  const requestsOf = async (more: Options['run']) => {
    const played: Played = model([broken, last])
    const { error } = await run(resilient([played], quick), { run: more ?? {} })
    return [played.requests.length, error === undefined]
  }
  expect(await requestsOf({ conversationId: 'conv_1' })).toEqual([1, false])
  expect(await requestsOf({ previousResponseId: 'resp_1' })).toEqual([2, true])
})

test('it is the first model to the SDK (RS12)', () => {
  const first = model([], { supportsPromptModelSelection: true })
  expect(resilient([first, model([])]).supportsPromptModelSelection).toBe(true)
  expect('supportsPromptModelSelection' in resilient([model([]), first])).toBe(false)
})

test('wrong models and options are refused at once (RS12)', () => {
  const one = model([last])
  expect(() => resilient([])).toThrow('models: must have at least one model')
  expect(() => resilient(['gpt-5' as never])).toThrow(
    "models: must be models: await new OpenAIProvider().getModel('gpt-5')",
  )
  const wrong: readonly [object, string][] = [
    [{ retries: -1 }, 'retries: must be 0 or a positive integer'],
    [{ text: 'join' }, "text: must be 'close' or 'hold'"],
    [{ finishes: 'no' }, 'finishes: must be true or false'],
    [{ toolInput: 'live' }, 'toolInput: is not an option of resilient'],
  ]
  for (const [options, text] of wrong) expect(() => resilient([one], options)).toThrow(text)
})
