import { type AIMessageChunk, type BaseMessage, HumanMessage } from '@langchain/core/messages'
import { unhandledRejections } from '@meanwhile/tests/rejections'
import { spaced } from '@meanwhile/tests/size'
import { providerStrategy } from 'langchain'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import {
  answer,
  breaks,
  calls,
  endsBadly,
  finish,
  model,
  outline,
  Played,
  run,
  type Step,
  said,
  says,
  stalls,
} from '../../test/broken-chat-models.ts'
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
const http = (status: number, more: object = {}) => Object.assign(new Error(`HTTP ${status}`), { status, ...more })

/** The chunks of one response, with the times at which they came. */
async function chunks(of: ReturnType<typeof resilient>, options: object = {}) {
  const came: [number, AIMessageChunk][] = []
  const begun = performance.now()
  const reading = (async () => {
    for await (const chunk of await of.stream('go', options)) came.push([performance.now() - begun, chunk])
  })()
  reading.catch(() => undefined)
  await vi.runAllTimersAsync()
  await reading
  return came
}

async function chunksOnly(of: ReturnType<typeof resilient>) {
  return (await chunks(of)).map(([, chunk]) => chunk)
}

const joined = (all: readonly AIMessageChunk[]) => all.reduce((one, other) => one.concat(other))

/** What an agent would store, without the id of a run. */
const stored = (message: BaseMessage) => {
  const { id: _, ...kwargs } = JSON.parse(JSON.stringify(message)).kwargs
  return { kwargs, id: message.id?.startsWith('run-') ? 'run' : message.id, name: message.toJSON().id }
}

test('without a fault the reader gets the chunks of the model, and the same message (RS1, RS2, RS17)', async () => {
  const plain = await chunksOnly(model([answer(1)]))
  const came = await chunksOnly(resilient([model([answer(1)])]))
  expect(came.map(stored)).toEqual(plain.map(stored))
  expect(stored(joined(came))).toEqual(stored(joined(plain)))
})

const ways: Readonly<Record<string, readonly Step[]>> = {
  throw: [breaks()],
  'silent end': [],
  stall: [stalls],
  'finish reason': [endsBadly],
}

/** Where a response is cut. */
const cuts = (place: number) => spaced([...answer(1).keys()], { small: 4, middle: 3, whole: 1 }, place)

for (const [place, [way, ends]] of Object.entries(ways).entries()) {
  test(`cut at any chunk by ${way}, the run is that of a whole response: text once, each call once (RS1, RS2, RS3, RS4, RS17)`, async () => {
    const plain = await run(model([answer(2), last]))
    expect(plain.ran).toEqual(['look a', 'look b', 'send ada'])
    for (const at of cuts(place)) {
      const played = model([[...answer(1).slice(0, at), ...ends], answer(2), last])
      const came = await run(resilient([played], quick))
      expect([came.ran, outline(came.messages), came.shown, came.error], `cut at ${at}`).toEqual([
        plain.ran,
        outline(plain.messages),
        plain.shown,
        undefined,
      ])
      // The agent stores the message of the attempt that stands.
      expect(came.messages.map(({ id }) => id).slice(1, 2)).toEqual(['m2'])
    }
  })
}

test('a run that is read in content blocks has the same text and the same calls, each once (RS1, RS3, RS17)', async () => {
  for (const at of cuts(0)) {
    const played = model([[...answer(1).slice(0, at), breaks()], answer(2), last])
    const came = await run(resilient([played], quick), { inBlocks: true })
    expect([came.ran, came.text, came.messages[1]?.content], `cut at ${at}`).toEqual([
      ['look a', 'look b', 'send ada'],
      'Done.',
      [
        { type: 'text', text: 'Let me look.' },
        { type: 'tool_call', id: '2a', name: 'look', args: { q: 'a' } },
        { type: 'tool_call', id: '2b', name: 'look', args: { q: 'b' } },
        { type: 'tool_call', id: '2c', name: 'send', args: { to: 'ada' } },
      ],
    ])
  }
})

test('text is shown as it comes, and a later attempt goes on where it broke off, under the same id (RS1, RS2, RS4)', async () => {
  const broken: Step[] = [...says('m1', 'Let ', 'me l'), { wait: 50 }, breaks()]
  const came = await chunks(resilient([model([broken, said('m2', 'Let me ', 'look.')])], quick))
  expect(came.flatMap(([at, { id, text }]) => (text ? [[at, id, text]] : []))).toEqual([
    [0, 'm1', 'Let '],
    [0, 'm1', 'me l'],
    [60, 'm1', 'ook.'],
  ])
})

test('chunks of a call wait for the end of their response, and those of a broken one never come (RS2, RS3)', async () => {
  const broken: Step[] = [...says('m1', 'Well'), ...calls(0, '1', 'look', { q: 'a' }), { wait: 50 }, breaks()]
  const came = await chunks(resilient([model([broken, answer(2)])], quick))
  expect(came.filter(([at]) => at === 0).map(([, { text }]) => text)).toEqual(['Well'])
  const message = joined(came.map(([, chunk]) => chunk))
  expect(message.tool_calls?.map(({ id, args }) => [id, args])).toEqual([
    ['2a', { q: 'a' }],
    ['2b', { q: 'b' }],
    ['2c', { to: 'ada' }],
  ])
})

test('a failure before the first text leaves the next attempt as it is (RS1, RS6)', async () => {
  const thinks: Step = { chunk: { content: '', additional_kwargs: { reasoning_content: 'Hm' }, id: 'm2' } }
  const plain = await chunksOnly(model([[thinks, ...answer(2)]]))
  const came = await chunksOnly(
    resilient(
      [
        model([
          [{ chunk: { content: '', id: 'm1' } }, breaks()],
          [thinks, ...answer(2)],
        ]),
      ],
      quick,
    ),
  )
  expect(came.slice(0, -1).map(stored)).toEqual(plain.map(stored))
  expect(came.at(-1)?.response_metadata).toEqual({ meanwhile: { attempts: 2, unknownUsage: 1 } })
})

test('a differing text is followed by the whole text of its attempt, and the message is that of the attempt (RS4)', async () => {
  const broken = [...says('m1', 'Let me ', 'look'), breaks()]
  const came = await run(resilient([model([broken, said('m2', 'Let us ', 'see.')])], quick))
  expect([came.shown, came.text]).toEqual(['Let me lookLet us see.|', 'Let us see.'])
})

test('a text that ends before the shown one differs, and text that is not said again stays with the reader (RS4)', async () => {
  const broken = [...says('m1', 'Let me look'), breaks()]
  const shorter = await run(resilient([model([broken, said('m2', 'Let me')])], quick))
  expect([shorter.shown, shorter.text]).toEqual(['Let me lookLet me|', 'Let me'])
  const silent = [...calls(0, '1', 'look', { q: 'a' }), finish('tool_calls')]
  const came = await run(resilient([model([broken, silent, last])], quick))
  expect([came.shown, came.messages[1]?.text]).toEqual(['Let me look|Done.|', ''])
})

test('reasoning of a broken response is not in the message, and the one of the next is not shown again (RS4)', async () => {
  const thinks = (id: string, thinking: string, signature: string): Step[] => [
    { chunk: { content: [{ type: 'thinking', index: 0, thinking }], id } },
    { chunk: { content: [{ type: 'thinking', index: 0, signature }], id } },
  ]
  const text = (id: string, text: string): Step => ({ chunk: { content: [{ type: 'text', index: 1, text }], id } })
  const whole = [...thinks('m2', 'Rather', 's2'), text('m2', 'Well.'), finish()]
  const came = await chunksOnly(
    resilient([model([[...thinks('m1', 'Hm', 's1'), text('m1', 'We'), breaks()], whole])], quick),
  )
  expect(
    came.flatMap(({ content }) => (Array.isArray(content) ? content.map(({ thinking }) => thinking) : [])),
  ).toEqual(expect.not.arrayContaining(['Rather']))
  expect(joined(came).content).toEqual([
    { type: 'thinking', index: 0, thinking: 'Rather', signature: 's2' },
    { type: 'text', index: 1, text: 'Well.' },
  ])
})

test('text: hold, and JSON, show nothing before an attempt has ended well (RS4, RS5)', async () => {
  const broken = [...says('m1', '{"a":', '"he'), breaks()]
  const spaced = said('m2', '{ "a" :', ' "hello" }')
  const held = await run(resilient([model([broken, spaced])], { ...quick, text: 'hold' }))
  expect(held.shown).toBe('{ "a" : "hello" }|')
  const responseFormat = providerStrategy(z.object({ a: z.string() }))
  const json = await run(resilient([model([broken, spaced])], quick), { agent: { responseFormat } })
  expect([json.shown, json.error]).toEqual(['{ "a" : "hello" }|', undefined])
})

test('each way to end badly is repeated: a throw, no finish, a finish that says so, silence (RS6)', async () => {
  const bad: Readonly<Record<string, Step[]>> = {
    'socket hang up': [breaks()],
    'the response was cut off: its stream ended without a finish reason (if the provider sends none, set finishes: false)':
      says('m', 'D'),
    'the response ended with the finish reason error': [...says('m', 'D'), finish('error')],
    'the model sent nothing for 300000 ms': [{ chunk: { content: '', id: 'm' } }, stalls],
    'the model sent nothing for 60000 ms': [...says('m', 'D'), stalls],
  }
  for (const [text, broken] of Object.entries(bad)) {
    const onAttempt = vi.fn<NonNullable<ResilientOptions['onAttempt']>>()
    expect((await run(resilient([model([broken, last])], { ...quick, onAttempt }))).text).toBe('Done.')
    expect(onAttempt.mock.calls.map(([{ attempt, error }]) => [attempt, (error as Error).message])).toEqual([[1, text]])
  }
})

test('with finishes: false a response without a finish reason is whole (RS6, RS17)', async () => {
  const played = model([says('m', 'Done.')])
  expect((await run(resilient([played], { finishes: false }))).text).toBe('Done.')
  expect(played.requests).toHaveLength(1)
})

test('a model that does not stream answers as a whole, and needs no finish reason (RS6, RS11)', async () => {
  const whole = [...says('m', 'Well.'), ...calls(0, '1', 'look', { q: 'a' })]
  const played = model([[breaks()], whole, says('end', 'Done.')])
  played.disableStreaming = true
  const came = await run(resilient([played], quick))
  expect([came.ran, came.text, came.error]).toEqual([['look a'], 'Done.', undefined])
})

test('a final error is not repeated on the same model; another model is asked at once, with the same tools (RS6, RS17)', async () => {
  for (const status of [400, 401, 403, 404, 422]) {
    const one = model([[breaks(http(status))]])
    expect((await run(resilient([one], quick))).error).toMatchObject({ status })
    expect(one.requests).toHaveLength(1)
    const other = model([last])
    const begun = performance.now()
    expect((await run(resilient([one, other]))).text).toBe('Done.')
    expect(performance.now() - begun).toBe(0)
    expect(other.requests).toMatchObject([{ tools: [{ name: 'look' }, { name: 'send' }] }])
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
  expect(await times(http(429, { headers: new Headers({ 'retry-after': '2' }) }))).toEqual([0, 2_000, 4_000])
})

test('if all attempts fail, the error has all of them; an error that is not repeated is the error itself (RS7)', async () => {
  const errors = [http(500), http(502)]
  const played = model([[breaks(errors[0])], [breaks(errors[1])]])
  const came = await run(resilient([played], { ...quick, retries: 1 }))
  expect(came.error).toBeInstanceOf(ResilientError)
  expect(came.error).toMatchObject({ errors, message: 'all 2 attempts failed; the last error: HTTP 502' })
  expect(played.requests).toHaveLength(2)
  expect((await run(resilient([model([[breaks(errors[0])]])], { retries: 0 }))).error).toBe(errors[0])
})

test('an abort ends everything, and begins nothing (RS8)', async () => {
  const broken: Step[] = [{ wait: 5 }, ...says('m1', 'Let'), { wait: 5 }, breaks()]
  const whole: Step[] = [{ wait: 5 }, ...answer(2), { wait: 5 }]
  for (const at of moments(40)) {
    const played = model([broken, whole, last])
    const controller = new AbortController()
    let before: number | undefined
    setTimeout(() => {
      before = played.requests.length
      controller.abort()
    }, at)
    const { ran } = await run(resilient([played], quick), { config: { signal: controller.signal } })
    if (before !== undefined && ran.length === 0) expect(played.requests).toHaveLength(before)
    expect(vi.getTimerCount()).toBe(0)
  }
})

test("LangChain's own time limit ends all attempts (RS8)", async () => {
  const played = model([[...says('m', 'W'), { wait: 40 }, breaks()]])
  const controller = new AbortController()
  setTimeout(() => controller.abort(new DOMException('late', 'TimeoutError')), 100)
  const asking = chunks(resilient([played], { retries: 9, backoff: { baseDelay: 0 } }), { signal: controller.signal })
  await expect(asking).rejects.toMatchObject({ name: 'TimeoutError' })
  expect(played.requests).toHaveLength(3)
})

test('usage is the sum of what was reported, and the attempts without a report are counted (RS9)', async () => {
  const silent = [...says('m1', 'Do'), breaks()]
  // With text that the next attempt continues, and without.
  for (const reported of [[...says('m1', 'Do'), finish('error')], [finish('error')]]) {
    const message = joined(
      await chunksOnly(resilient([model([reported, silent, reported, last])], { ...quick, retries: 3 })),
    )
    expect(message.usage_metadata).toMatchObject({ input_tokens: 30, output_tokens: 15, total_tokens: 45 })
    expect(message.response_metadata).toMatchObject({ meanwhile: { attempts: 4, unknownUsage: 1 } })
  }
  const first = joined(await chunksOnly(resilient([model([[finish('error')], last])], quick)))
  expect(first.usage_metadata).toMatchObject({ input_tokens: 20, output_tokens: 10, total_tokens: 30 })
  expect(first.response_metadata).toMatchObject({ meanwhile: { attempts: 2, unknownUsage: 0 } })
  const plain = joined(await chunksOnly(resilient([model([last])])))
  expect(plain.response_metadata).not.toHaveProperty('meanwhile')
})

test('onAttempt receives each failed attempt, with its model and what was shown (RS10)', async () => {
  const [a, b] = [model([[...says('m', 'Do'), breaks()]]), model([[breaks(http(503))], last])]
  const told: unknown[] = []
  const onAttempt: ResilientOptions['onAttempt'] = ({ attempt, model, shown }) =>
    told.push([attempt, model === a ? 'a' : 'b', shown])
  expect((await run(resilient([a, b], { ...quick, onAttempt }))).text).toBe('Done.')
  expect(told).toEqual([
    [1, 'a', 2],
    [2, 'b', 2],
  ])
})

test('callbacks of the call hear one response; those of a model its own attempts (RS1)', async () => {
  const heard = (log: string[]) => ({
    handleChatModelStart: () => void log.push('start'),
    handleLLMNewToken: (token: string) => void log.push(token),
    handleLLMError: () => void log.push('error'),
    handleLLMEnd: () => void log.push('end'),
  })
  const [ofCall, ofModel]: [string[], string[]] = [[], []]
  const played = model([[...says('m1', 'Do'), breaks()], last])
  played.callbacks = [heard(ofModel)]
  await chunks(resilient([played], quick), { callbacks: [heard(ofCall)] })
  expect(ofCall).toEqual(['start', 'Do', 'ne.', '', 'end'])
  expect(ofModel).toEqual(['start', 'Do', 'error', 'start', 'Done.', '', 'end'])
})

test('a request that does not stream is repeated by the same rules (RS11)', async () => {
  const asking = resilient([model([[breaks()], [...says('m1', 'We'), breaks()], last])], quick).invoke('go')
  await vi.runAllTimersAsync()
  const message = await asking
  expect([message.text, message.id]).toEqual(['Done.', 'end'])
  expect(message.response_metadata).toMatchObject({ meanwhile: { attempts: 3, unknownUsage: 2 } })
})

test('a message that was joined can be stored and read again (RS17)', async () => {
  const message = joined(await chunksOnly(resilient([model([[...says('m1', 'Do'), breaks()], last])], quick)))
  expect(message.toJSON()).toMatchObject({ id: ['langchain_core', 'messages', 'AIMessageChunk'] })
  expect(Object.keys(message)).not.toContain('concat')
})

test('it is the first model to others (RS12)', async () => {
  const both = resilient([model([last], 'first'), model([last], 'second')])
  expect([both.getName(), both.getLsParams({}).ls_provider]).toEqual(['first', 'first'])
  expect(both.withConfig({ tags: ['mine'] })).toBeDefined()
  expect(await both.pipe((message) => message.text).invoke([new HumanMessage('go')])).toBe('Done.')
})

test('wrong models and options are refused at once (RS12)', () => {
  const one = model([last])
  expect(() => resilient([])).toThrow('models: must have at least one model')
  expect(() => resilient(['openai:gpt-5' as never])).toThrow(
    "models: must be chat models: await initChatModel('openai:gpt-5')",
  )
  const wrong: readonly [object, string][] = [
    [{ retries: -1 }, 'retries: must be 0 or a positive integer'],
    [{ text: 'join' }, "text: must be 'close' or 'hold'"],
    [{ finishes: 'no' }, 'finishes: must be true or false'],
    [{ maxRetries: 3 }, 'maxRetries: is not an option of resilient; did you mean retries?'],
  ]
  for (const [options, text] of wrong) expect(() => resilient([one], options)).toThrow(text)
  const bare = new Played([last])
  Object.defineProperty(bare, 'bindTools', { value: undefined })
  expect(() => resilient([bare]).bindTools?.([])).toThrow('models: must have bindTools, and played has not')
})
