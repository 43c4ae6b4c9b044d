import { unhandledRejections } from '@meanwhile/tests/rejections'
import { spaced } from '@meanwhile/tests/size'
import { APICallError, generateText, Output, streamText, ToolLoopAgent, wrapLanguageModel } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import {
  begin,
  bench,
  block,
  breaks,
  call,
  finish,
  model,
  type Part,
  readAll,
  run,
  stalls,
  text,
  usage,
} from '../../test/broken-models.ts'
import { moments } from '../../test/clock.ts'
import { ResilientError, type ResilientOptions, resilient } from './index.ts'

unhandledRejections()
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] }))
afterEach(() => {
  const timers = vi.getTimerCount()
  vi.useRealTimers()
  if (timers > 0) throw new Error(`${timers} timers are left`)
})

const said = [begin, ...text('Let me ', 'look.'), finish()]
/** Without a random wait. */
const quick: ResilientOptions = { backoff: { baseDelay: 10, jitter: 0 } }

const http = (statusCode: number, more: object = {}) =>
  new APICallError({ message: `HTTP ${statusCode}`, url: 'http://m', requestBodyValues: {}, statusCode, ...more })

async function parts(of: ReturnType<typeof resilient>) {
  const reading = readAll(of)
  await vi.runAllTimersAsync()
  return reading
}

test('without a fault the reader gets the parts of the model, and an end of a block waits for the end of the response (RS1, RS2)', async () => {
  const answer = [
    begin,
    ...block('reasoning', 'r', 'Hm'),
    ...text('Well'),
    ...call('1', 'look', { q: 'a' }),
    finish('tool-calls'),
  ]
  const came = await parts(resilient([model([answer])]))
  expect(came).toHaveLength(answer.length)
  expect(new Set(came)).toEqual(new Set(answer))
  expect(came.map(({ type }) => type).slice(0, 7)).toEqual([
    'stream-start',
    'reasoning-start',
    'reasoning-delta',
    'text-start',
    'text-delta',
    'reasoning-end',
    'text-end',
  ])
})

test('text is shown as it comes, and a later attempt goes on where it broke off (RS1, RS2, RS4)', async () => {
  const broken: Part[] = [begin, ...text('Let ', 'me l').slice(0, -1), { wait: 50 }, breaks()]
  const times: [number, string][] = []
  const begun = performance.now()
  const result = streamText({ model: resilient([model([broken, said])], quick), prompt: 'go' })
  const reading = (async () => {
    for await (const piece of result.textStream) times.push([performance.now() - begun, piece])
  })()
  await vi.runAllTimersAsync()
  await reading
  expect(times).toEqual([
    [0, 'Let '],
    [0, 'me l'],
    [60, 'ook.'],
  ])
})

test('a reader gets one beginning and one finish, whatever happens inside (RS1)', async () => {
  const came = await parts(
    resilient([model([[begin, breaks()], [begin, ...text('Let').slice(0, -1), breaks()], said])], quick),
  )
  const count = (type: string) => came.filter((part) => part.type === type).length
  expect([count('finish'), count('text-start'), count('text-end')]).toEqual([1, 1, 1])
  expect(came[0]).toMatchObject({ type: 'stream-start' })
  expect(came.at(-1)).toMatchObject({ type: 'finish' })
})

test('an error before the response is repeated, too (RS1, RS6)', async () => {
  let requests = 0
  const failing = new MockLanguageModelV4({
    doStream: async () => {
      if (++requests < 3) throw http(503)
      return model([said]).doStream({ prompt: [] })
    },
  })
  expect((await run({ model: resilient([failing], quick) })).shown).toBe('Let me look.|')
  expect(requests).toBe(3)
})

test('a call of a broken response is never executed, and the same call of the next one once (RS2, RS3)', async () => {
  const calls = [...call('1', 'look', { q: 'a' }), ...call('2', 'send', { to: 'ada' })]
  const whole = [begin, ...text('Well.'), ...calls, finish('tool-calls')]
  const plain = await run({ model: model([whole, said]) })
  const ways = [breaks(), { type: 'error', error: new Error('overloaded') } as Part, undefined, stalls]
  for (const [place, how] of ways.entries()) {
    for (const at of spaced([...whole.keys()], { small: 4, middle: 3, whole: 1 }, place)) {
      const cut = [...whole.slice(0, at), ...(how ? [how] : [])]
      const came = await run({ model: resilient([model([cut, whole, said])], { ...quick, firstOutput: 60_000 }) })
      expect(came.ran, `cut at ${at}`).toEqual(plain.ran)
      expect(came.content, `cut at ${at}`).toEqual(plain.content)
      expect(came.shown).toBe(plain.shown)
      expect(came.errors).toEqual([])
    }
  }
})

test('a file, and text after it, wait for the end of their attempt (RS2)', async () => {
  const file: Part = { type: 'file', mediaType: 'text/plain', data: { type: 'data', data: 'aGk=' } }
  const broken = [begin, file, ...text('of the first'), breaks()]
  const came = await run({ model: resilient([model([broken, [begin, ...text('of the second'), finish()]])], quick) })
  expect(came.content).toEqual([[{ type: 'text', text: 'of the second' }]])
})

test('a source waits, too, but not the text after it (RS2)', async () => {
  const source: Part = { type: 'source', sourceType: 'url', id: 's', url: 'http://a' }
  const broken: Part[] = [begin, source, ...text('Let me ').slice(0, -1), breaks()]
  const came = await parts(resilient([model([broken, [begin, source, ...text('Let me ', 'look.'), finish()]])], quick))
  expect(came.flatMap((part) => ('delta' in part ? [part.delta] : part.type === 'source' ? ['source'] : []))).toEqual([
    'Let me ',
    'look.',
    'source',
  ])
})

test('inputs of tools are shown live only if that is wanted, and only those of the first attempt (RS2)', async () => {
  const [start, piece] = call('1', 'look', { q: 'a' })
  const broken = [begin, start, piece, breaks()].flatMap((part) => part ?? [])
  const whole = [begin, ...call('2', 'look', { q: 'a' }), finish('tool-calls')]
  const types = async (options: ResilientOptions) => {
    const came = await parts(resilient([model([broken, whole])], { ...quick, ...options }))
    return came.flatMap((part) => (part.type === 'tool-input-start' ? [part.id] : []))
  }
  expect(await types({})).toEqual(['2'])
  expect(await types({ toolInput: 'live' })).toEqual(['1', '2'])
})

test('a differing text ends the shown part and begins a new one with the whole text of its attempt (RS4)', async () => {
  const broken = [begin, ...text('Let me ', 'look').slice(0, -1), breaks()]
  const came = await run({ model: resilient([model([broken, [begin, ...text('Let us ', 'see.'), finish()]])], quick) })
  expect(came.content).toEqual([
    [
      { type: 'text', text: 'Let me look' },
      { type: 'text', text: 'Let us see.' },
    ],
  ])
})

test('a text that ends before the shown one differs, and text that is not said again stays (RS4)', async () => {
  const broken = [begin, ...text('Let me look').slice(0, -1), breaks()]
  const shorter = [begin, ...text('Let me'), finish()]
  expect((await run({ model: resilient([model([broken, shorter])], quick) })).content).toEqual([
    [
      { type: 'text', text: 'Let me look' },
      { type: 'text', text: 'Let me' },
    ],
  ])
  const silent = [begin, ...call('1', 'look', { q: 'a' }), finish('tool-calls')]
  const { content, ran } = await run({ model: resilient([model([broken, silent, said])], quick) })
  expect(content[0]).toMatchObject([
    { type: 'text', text: 'Let me look' },
    { type: 'tool-call' },
    { type: 'tool-result' },
  ])
  expect(ran).toEqual(['look a'])
})

test('a block gets the metadata of the attempt that stands, and a broken one keeps none (RS4)', async () => {
  const marked = (id: string, item: string, end: boolean, ...pieces: readonly string[]): Part[] => [
    { type: 'reasoning-start', id, providerMetadata: { openai: { itemId: item } } },
    ...pieces.map((delta): Part => ({ type: 'reasoning-delta', id, delta })),
    ...(end
      ? [{ type: 'reasoning-end', id, providerMetadata: { openai: { itemId: item, signature: item } } } as Part]
      : []),
  ]
  const contentOf = async (...attempts: readonly Part[][]) =>
    (await run({ model: resilient([model(attempts)], quick) })).content[0]
  const broken = [begin, ...marked('r', 'rs_1', true, 'I think'), ...text('So').slice(0, -1), breaks()]
  expect(
    await contentOf(broken, [begin, ...marked('q', 'rs_2', true, 'I ', 'think'), ...text('So.'), finish()]),
  ).toEqual([
    { type: 'reasoning', text: 'I think', providerMetadata: { openai: { itemId: 'rs_2', signature: 'rs_2' } } },
    { type: 'text', text: 'So.' },
  ])
  expect(await contentOf(broken, [begin, ...marked('r', 'rs_2', true, 'Rather'), ...text('So.'), finish()])).toEqual([
    { type: 'reasoning', text: 'I think', providerMetadata: {} },
    { type: 'text', text: 'So.' },
    { type: 'reasoning', text: 'Rather', providerMetadata: { openai: { itemId: 'rs_2', signature: 'rs_2' } } },
  ])
  // Of another provider, which marks nothing.
  expect(await contentOf(broken, [begin, ...block('reasoning', 'r', 'I think'), ...text('So.'), finish()])).toEqual([
    { type: 'reasoning', text: 'I think', providerMetadata: {} },
    { type: 'text', text: 'So.' },
  ])
})

test('text: hold shows nothing before an attempt has ended well (RS4)', async () => {
  const broken = [begin, ...text('Let me ', 'look').slice(0, -1), breaks()]
  const came = await run({
    model: resilient([model([broken, [begin, ...text('Let us see.'), finish()]])], { ...quick, text: 'hold' }),
  })
  expect(came.content).toEqual([[{ type: 'text', text: 'Let us see.' }]])
  expect(came.shown).toBe('Let us see.|')
})

test('JSON is held, so other spacing in the next attempt is harmless (RS5)', async () => {
  const broken = [begin, ...text('{"a":', '"he').slice(0, -1), breaks()]
  const spaced = [begin, ...text('{ "a" :', ' "hello" }'), finish()]
  const result = streamText({
    model: resilient([model([broken, spaced])], quick),
    prompt: 'go',
    output: Output.object({ schema: z.object({ a: z.string() }) }),
  })
  const partial: unknown[] = []
  const reading = (async () => {
    for await (const value of result.partialOutputStream) partial.push(value)
  })()
  await vi.runAllTimersAsync()
  expect(await result.output).toEqual({ a: 'hello' })
  await reading
  expect(partial.at(-1)).toEqual({ a: 'hello' })
})

test('each way to end badly is repeated: a throw, an error part, no finish, a finish that says so, silence (RS6)', async () => {
  const bad: Readonly<Record<string, Part[]>> = {
    'socket hang up': [begin, breaks()],
    overloaded: [begin, { type: 'error', error: new Error('overloaded') }],
    'the response was cut off: its stream ended without a finish part': [begin],
    'the response ended with the finish reason error': [begin, finish('error')],
    'the response ended with the finish reason interrupted': [begin, finish('interrupted')],
    'the model sent nothing for 300000 ms': [begin, stalls],
    'the model sent nothing for 60000 ms': [begin, ...text('L').slice(0, -1), stalls],
  }
  for (const [message, broken] of Object.entries(bad)) {
    const onAttempt = vi.fn<NonNullable<ResilientOptions['onAttempt']>>()
    const came = await run({ model: resilient([model([broken, said])], { ...quick, onAttempt }) })
    expect(came.shown).toBe('Let me look.|')
    expect(onAttempt.mock.calls.map(([{ attempt, error }]) => [attempt, (error as Error).message])).toEqual([
      [1, message],
    ])
  }
})

test('a response may be silent for `firstOutput` before its first output, and for `idle` after that (RS6)', async () => {
  const silent: Part[] = [begin, stalls]
  const broken: Part[] = [begin, ...text('Let ').slice(0, -1), stalls]
  const limits = { firstOutput: 5_000, idle: 1_000 }
  const times: number[] = []
  const begun = performance.now()
  const result = streamText({
    model: resilient([model([silent, broken, said])], { ...quick, ...limits }),
    prompt: 'go',
  })
  const reading = (async () => {
    for await (const _ of result.textStream) times.push(performance.now() - begun)
  })()
  await vi.runAllTimersAsync()
  await reading
  expect(times).toEqual([5_010, 6_030, 6_030])
})

test('a response that ends as it should is not repeated, whatever its reason (RS6)', async () => {
  for (const reason of ['stop', 'length', 'content-filter', 'other'] as const) {
    const one = model([[begin, ...text('Well'), finish(reason)]])
    expect((await run({ model: resilient([one], quick) })).finishReason).toBe(reason)
    expect(one.doStreamCalls).toHaveLength(1)
  }
})

test('a final error is not repeated on the same model; another model is asked at once (RS6)', async () => {
  for (const error of [http(400), http(401), http(403), http(404), http(422), http(500, { isRetryable: false })]) {
    const one = model([[breaks(error)]])
    expect((await run({ model: resilient([one], quick) })).errors).toEqual([error])
    expect(one.doStreamCalls).toHaveLength(1)
    const other = model([said])
    const begun = performance.now()
    expect((await run({ model: resilient([one, other]) })).shown).toBe('Let me look.|')
    expect(performance.now() - begun).toBe(0)
    expect(other.doStreamCalls).toHaveLength(1)
  }
})

test('attempt n uses the n-th model, then the last one again and again (RS6)', async () => {
  const [a, b] = [model([[breaks()]], { modelId: 'a' }), model([[breaks()]], { modelId: 'b' })]
  const asked: [number, string][] = []
  await run({
    model: resilient([a, b], {
      ...quick,
      retries: 3,
      onAttempt: ({ attempt, model }) => asked.push([attempt, model.modelId]),
    }),
  })
  expect(asked).toEqual([
    [1, 'a'],
    [2, 'b'],
    [3, 'b'],
    [4, 'b'],
  ])
})

test('waits double, and are as long as the provider asks for; a very long one ends the attempts (RS6)', async () => {
  const times = async (error: unknown) => {
    const begun = performance.now()
    const at: number[] = []
    const options: ResilientOptions = { ...quick, onAttempt: () => at.push(performance.now() - begun) }
    await run({ model: resilient([model([[breaks(error)]])], options) })
    return at
  }
  expect(await times(new Error('x'))).toEqual([0, 10, 30])
  expect(await times(http(429, { responseHeaders: { 'retry-after-ms': '500' } }))).toEqual([0, 500, 1_000])
  expect(await times(http(429, { responseHeaders: { 'retry-after': '2' } }))).toEqual([0, 2_000, 4_000])
  const later = new Date(Date.now() + 3_600_000).toUTCString()
  expect(await times(http(429, { responseHeaders: { 'retry-after': later } }))).toEqual([0])
})

test('when decides, with the models and the reason (RS6)', async () => {
  const filtered = model([[begin, ...text('N').slice(0, -1), finish('content-filter')]], { modelId: 'a' })
  const when = vi.fn<NonNullable<ResilientOptions['when']>>(({ finishReason }) => finishReason === 'content-filter')
  const came = await run({ model: resilient([filtered, model([said], { modelId: 'b' })], { when }) })
  expect(came.shown).toBe('NLet me look.|')
  const ends = when.mock.calls.map(([{ model, next, ...end }]) => ({
    ...end,
    model: model.modelId,
    next: next.modelId,
  }))
  expect(ends).toEqual([
    { attempt: 1, model: 'a', next: 'b', finishReason: 'content-filter' },
    { attempt: 2, model: 'b', next: 'b', finishReason: 'stop' },
  ])
})

test('if all attempts fail, the error has all of them, and the SDK does not repeat them once more (RS7)', async () => {
  const errors = [http(500), http(502)]
  let requests = 0
  const failing = new MockLanguageModelV4({
    doStream: async () => {
      throw errors[requests++ % 2]
    },
  })
  const came = await run({ model: resilient([failing], { ...quick, retries: 1 }), maxRetries: 2 })
  expect(requests).toBe(2)
  expect(came.errors).toEqual([expect.any(ResilientError)])
  expect(came.errors[0]).toMatchObject({
    errors,
    cause: errors[1],
    message: 'all 2 attempts failed; the last error: HTTP 502',
  })
})

test('in the middle of a stream, too; without a repeat it is the one error itself (RS7)', async () => {
  const error = new Error('socket hang up')
  const broken = [begin, ...text('Well').slice(0, -1), breaks(error)]
  const many = await run({ model: resilient([model([broken])], { ...quick, retries: 1 }), streamRetries: 2 })
  expect(many.errors).toEqual([expect.objectContaining({ errors: [error, error] })])
  expect(many.shown).toBe('Well')
  expect((await run({ model: resilient([model([broken])], { retries: 0 }) })).errors).toEqual([error])
})

test('with no attempt left, an error part and a bad finish arrive as without it (RS7)', async () => {
  const reported: Part[] = [begin, ...text('Well'), { type: 'error', error: new Error('overloaded') }, finish('error')]
  const unfinished: Part[] = [begin, ...text('Well'), finish('interrupted')]
  for (const answer of [reported, unfinished]) {
    const plain = await run({ model: model([answer]) })
    const came = await run({ model: resilient([model([answer])], { retries: 0 }) })
    // The end of the text waits for the finish.
    expect({ ...came, types: new Set(came.types) }).toEqual({ ...plain, types: new Set(plain.types) })
  }
})

test('an abort ends everything, and begins nothing (RS8)', async () => {
  const broken = [begin, { wait: 5 }, ...text('Let').slice(0, -1), { wait: 5 }, breaks()]
  const whole = [
    begin,
    { wait: 5 },
    ...text('Let me'),
    { wait: 5 },
    ...call('1', 'send', { to: 'ada' }),
    finish('tool-calls'),
  ]
  for (const at of moments(40)) {
    const made = bench()
    const played = model([broken, whole, said])
    const controller = new AbortController()
    let before: number | undefined
    setTimeout(() => {
      before = played.doStreamCalls.length
      controller.abort(new Error('stop'))
    }, at)
    const { errors, ran } = await run({ model: resilient([played], quick), abortSignal: controller.signal }, made)
    expect(errors).toEqual([])
    if (before !== undefined && ran.length === 0) expect(played.doStreamCalls).toHaveLength(before)
    expect(vi.getTimerCount()).toBe(0)
  }
})

test('an abort is one to the SDK, whatever its reason: in a response, in a wait, before a response (RS8)', async () => {
  const inside = [begin, ...text('Let').slice(0, -1), stalls]
  const waiting = [begin, ...text('Let').slice(0, -1), breaks()]
  const never = new MockLanguageModelV4({ doStream: () => new Promise(() => undefined) })
  for (const silent of [model([inside]), model([waiting]), never]) {
    for (const reason of ['manual abort', new Error('stop')]) {
      const controller = new AbortController()
      setTimeout(() => controller.abort(reason), 500)
      const over = resilient([silent], { backoff: { baseDelay: 1_000 } })
      const reading = (async () => {
        const { stream } = await over.doStream({ prompt: [], abortSignal: controller.signal })
        for await (const _ of stream);
      })()
      const [failed] = await Promise.all([reading.catch((error: unknown) => error), vi.runAllTimersAsync()])
      expect(failed).toMatchObject({ name: 'AbortError', cause: reason })
    }
  }
})

test('a reader that leaves during a wait ends it, and no request follows (RS8)', async () => {
  const played = model([[begin, ...text('Let').slice(0, -1), breaks()], said])
  const { stream } = await resilient([played], { backoff: { baseDelay: 1_000 } }).doStream({ prompt: [] })
  const reader = stream.getReader()
  for (let part = 0; part < 3; part++) await reader.read()
  void reader.read()
  await vi.advanceTimersByTimeAsync(10)
  expect(vi.getTimerCount()).toBe(1)
  await reader.cancel()
  await vi.runAllTimersAsync()
  expect(played.doStreamCalls).toHaveLength(1)
})

test('a reader that leaves while an attempt is asked for ends its request (RS8)', async () => {
  const broken = model([[begin, ...text('Let').slice(0, -1), breaks()]])
  const asked: (AbortSignal | undefined)[] = []
  const second = new MockLanguageModelV4({
    doStream: ({ abortSignal }) => {
      asked.push(abortSignal)
      return new Promise(() => undefined)
    },
  })
  const onAttempt = vi.fn()
  const { stream } = await resilient([broken, second], { onAttempt }).doStream({ prompt: [] })
  const reader = stream.getReader()
  for (let part = 0; part < 3; part++) await reader.read()
  void reader.read()
  await vi.advanceTimersByTimeAsync(10)
  expect(asked.map((signal) => signal?.aborted)).toEqual([false])
  await reader.cancel('gone')
  await vi.advanceTimersByTimeAsync(0)
  expect(asked.map((signal) => signal?.reason)).toEqual(['gone'])
  // That is not a failed attempt.
  expect(onAttempt).toHaveBeenCalledTimes(1)
})

test('usage is the sum of what was reported, and the attempts without a report are counted (RS9)', async () => {
  const reported = [begin, ...text('Let').slice(0, -1), finish('error')]
  const silent = [begin, ...text('Let').slice(0, -1), breaks()]
  const came = await run({ model: resilient([model([reported, silent, said])], quick) })
  expect(came.usage).toEqual({ input: 20, output: 10 })
  expect(came.metadata).toEqual({ meanwhile: { attempts: 3, unknownUsage: 1 } })
  const plain = await run({ model: resilient([model([said])]) })
  expect([plain.usage, plain.metadata]).toEqual([{ input: 10, output: 5 }, undefined])
})

test('warnings name each failed attempt, and keep those of all models (RS10)', async () => {
  const warned = (message: string): Part => ({ type: 'stream-start', warnings: [{ type: 'other', message }] })
  const first = model([[warned('one'), breaks()]], { modelId: 'a' })
  const second = model([[warned('two'), ...text('Well'), finish()]], { modelId: 'b' })
  expect((await run({ model: resilient([first, second]) })).warnings).toEqual([
    'one',
    'attempt 1 of a failed after 0 characters: socket hang up',
    'two',
  ])
  // After the first text the SDK reads no warnings any more; other readers get them.
  const late = model([[warned('one'), ...text('We').slice(0, -1), breaks()]], { modelId: 'a' })
  const starts = (await parts(resilient([late, second]))).filter(({ type }) => type === 'stream-start')
  expect(starts).toHaveLength(2)
  expect(starts[1]).toMatchObject({
    warnings: [
      { message: 'one' },
      { message: 'attempt 1 of a failed after 2 characters: socket hang up' },
      { message: 'two' },
    ],
  })
})

test('the error of an observer changes nothing (RS10)', async () => {
  const emitted = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
  const onAttempt = () => {
    throw new Error('observer')
  }
  expect((await run({ model: resilient([model([[breaks()], said])], { ...quick, onAttempt }) })).shown).toBe(
    'Let me look.|',
  )
  expect(emitted).toHaveBeenCalledWith('onAttempt threw: observer', {
    type: 'MeanwhileWarning',
    code: 'observer-failed',
  })
  emitted.mockRestore()
})

test('a whole response is repeated by the same rules, with its usage and its warnings (RS11)', async () => {
  type Whole = Awaited<ReturnType<MockLanguageModelV4['doGenerate']>>
  const whole = (unified: 'stop' | 'error', said: string): Whole => ({
    content: [{ type: 'text', text: said }],
    finishReason: { unified, raw: unified },
    usage: usage(),
    warnings: [{ type: 'other', message: said }],
  })
  const answers = [new Error('socket hang up'), whole('error', 'Half'), whole('stop', 'Well.')]
  const doGenerate = async () => {
    const answer = answers.shift()
    if (!answer || answer instanceof Error) throw answer
    return answer
  }
  const generating = generateText({
    model: resilient([new MockLanguageModelV4({ modelId: 'm', doGenerate })], quick),
    prompt: 'go',
  })
  await vi.runAllTimersAsync()
  const { text, totalUsage, warnings, providerMetadata } = await generating
  expect([text, totalUsage.inputTokens]).toEqual(['Well.', 20])
  expect(providerMetadata).toEqual({ meanwhile: { attempts: 3, unknownUsage: 1 } })
  expect((warnings ?? []).map((warning) => 'message' in warning && warning.message)).toEqual([
    'attempt 1 of m failed after 0 characters: socket hang up',
    'Half',
    'attempt 2 of m failed after 0 characters: the response ended with the finish reason error',
    'Well.',
  ])
})

test('it is the first model to others, and reads only addresses that all models read (RS12)', async () => {
  const urls = (...types: readonly string[]) => Object.fromEntries(types.map((type) => [type, [/^https:/]]))
  const a = new MockLanguageModelV4({ provider: 'p', modelId: 'a', supportedUrls: urls('image/*', 'video/*') })
  const b = new MockLanguageModelV4({ provider: 'q', modelId: 'b', supportedUrls: async () => urls('image/*') })
  const both = resilient([a, b])
  expect(both).toMatchObject({ specificationVersion: 'v4', provider: 'p', modelId: 'a' })
  expect(await both.supportedUrls).toEqual(urls('image/*'))
  expect(await resilient([a, a]).supportedUrls).toEqual(urls('image/*', 'video/*'))
})

test('middleware stands inside or outside, and an agent uses it like any model (RS12)', async () => {
  const whole = [begin, ...text('Well.'), ...call('1', 'send', { to: 'ada' }), finish('tool-calls')]
  const attempts = () => model([[begin, ...text('We').slice(0, -1), breaks()], whole, said])
  const wrapped = (of: Parameters<typeof wrapLanguageModel>[0]['model']) =>
    wrapLanguageModel({ model: of, middleware: { wrapStream: ({ doStream }) => doStream() } })
  for (const one of [resilient([wrapped(attempts())], quick), wrapped(resilient([attempts()], quick))]) {
    const came = await run({ model: one })
    expect([came.shown, came.ran]).toEqual(['Well.|Let me look.|', ['send ada']])
  }
  const { tools, ran } = bench()
  const agent = new ToolLoopAgent({ model: resilient([attempts()], quick), tools })
  const result = await agent.stream({ prompt: 'go' })
  const reading = result.text
  await vi.runAllTimersAsync()
  expect([await reading, ran]).toEqual(['Let me look.', ['send ada']])
})

test('wrong models and options are refused at once (RS12)', () => {
  const one = model([said])
  expect(() => resilient([])).toThrow('models: must have at least one model')
  const wrong: readonly [object, string][] = [
    [{ retries: -1 }, 'retries: must be 0 or a positive integer'],
    [{ idle: 0 }, 'idle: must be milliseconds'],
    [{ firstOutput: '1s' }, 'firstOutput: must be milliseconds'],
    [{ when: true }, 'when: must be a function'],
    [{ text: 'join' }, "text: must be 'close' or 'hold'"],
    [{ toolInput: 'held' }, "toolInput: must be 'live'"],
    [{ backoff: { baseDelay: -1 } }, 'backoff.baseDelay: must be 0 or a positive'],
    [{ maxRetries: 3 }, 'maxRetries: is not an option of resilient; did you mean retries?'],
  ]
  for (const [options, message] of wrong) expect(() => resilient([one], options)).toThrow(message)
})
