import { sleep } from '@meanwhile/tests/clock'
import { unhandledRejections } from '@meanwhile/tests/rejections'
import { APICallError, StreamProviderError, streamText, ToolLoopAgent, tool } from 'ai'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import {
  A,
  answer,
  B,
  breaks,
  call,
  delta,
  end,
  failing,
  finish,
  type Given,
  generated,
  type Part,
  type Played,
  plainAndEager,
  said,
  start,
  wait,
  whole,
} from '../../test/sdk.ts'

unhandledRejections()
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] }))
afterEach(() => void vi.useRealTimers())

/** A step with one call and 50 ms of other output after it, then the answer. */
const once = [[...whole('1'), wait(50), call('1'), finish()], answer]

/** Aborts the run at this time. */
const aborting = (ms: number) => () => {
  const controller = new AbortController()
  setTimeout(() => controller.abort(new Error('stop')), ms)
  return { abortSignal: controller.signal }
}

interface Case extends Played {
  readonly plain: readonly string[]
  /** The same executions at earlier times, if they differ from `plain`. */
  readonly eager?: readonly string[]
}

const a = '{"q":"a","n":1}'
const b = '{"q":"b","n":1}'

/** A part that only a faulty provider sends. */
const malformed = (part: object): Part => Object.create(null, Object.getOwnPropertyDescriptors(part))

const cases: Readonly<Record<string, Case>> = {
  'a malformed piece of arguments changes nothing for the caller (R4)': {
    responses: [
      [start('1'), malformed({ type: 'tool-input-delta', id: '1', delta: { q: 'a' } }), wait(50), call('1'), finish()],
      answer,
    ],
    plain: [`50 1 ${a}`],
  },
  'arguments that are no JSON value change nothing for the caller (R4)': {
    responses: [[malformed({ type: 'tool-call', toolCallId: '1', toolName: 'look', input: 1n }), finish()], answer],
    plain: [],
  },
  'a read starts when its arguments have closed (R2)': {
    responses: [[...whole('1'), wait(100), ...said('x'), call('1'), finish()], answer],
    plain: [`100 1 ${a}`],
    eager: [`0 1 ${a}`],
  },
  'an idempotent call whose schema fills in a member is executed by the loop (W4)': {
    provider: 'openai.responses',
    effects: { look: 'idempotent' },
    responses: [[...whole('1'), wait(50), call('1'), wait(100), finish()], answer],
    plain: [`150 1 ${a}`],
  },
  'an idempotent tool starts with the part that seals its call, if the provider sends one (R2, W4)': {
    provider: 'openai.responses',
    effects: { look: 'idempotent' },
    settings: { schemas: { look: 'fixed' } },
    responses: [[...whole('1'), wait(50), call('1'), wait(100), finish()], answer],
    plain: [`150 1 ${a}`],
    eager: [`50 1 ${a}`],
  },
  'with a provider that seals nothing, the loop executes an idempotent tool (R5)': {
    effects: { look: 'idempotent' },
    responses: [[...whole('1'), call('1'), wait(100), finish()], answer],
    plain: [`100 1 ${a}`],
  },
  'a tool that is declared external executes when the loop executes it (R1)': {
    effects: { look: 'external' },
    provider: 'openai.responses',
    responses: [[...whole('1'), call('1'), wait(100), finish()], answer],
    plain: [`100 1 ${a}`],
  },
  'a read after a call of an undeclared tool does not start early (R1)': {
    responses: [
      [
        ...whole('1', '{"to":"x"}', 'send'),
        ...whole('2'),
        wait(100),
        call('1', '{"to":"x"}', 'send'),
        call('2'),
        finish(),
      ],
      answer,
    ],
    plain: ['100 1 {"to":"x"}', `100 2 ${a}`],
  },
  'a stream that breaks off after the call: the early call is aborted (R4)': {
    ms: 200,
    responses: [[...whole('1'), wait(50), breaks()], answer],
    plain: [],
    eager: [`0 1 ${a}`, `50 1 ${a} aborted`],
  },
  'a stream that ends without a finish: the early call is aborted (R4)': {
    ms: 200,
    responses: [[...whole('1'), wait(50)], answer],
    plain: [],
    eager: [`0 1 ${a}`, `50 1 ${a} aborted`],
  },
  'a response that ends with `length` after the call: the early call is aborted (R4)': {
    ms: 200,
    responses: [[...whole('1'), wait(50), call('1'), finish('length')], answer],
    plain: [],
    eager: [`0 1 ${a}`, `50 1 ${a} aborted`],
  },
  'a response that ends with a content filter after the call: the early call is aborted (R4)': {
    ms: 200,
    responses: [[...whole('1'), wait(50), call('1'), finish('content-filter')], answer],
    plain: [],
    eager: [`0 1 ${a}`, `50 1 ${a} aborted`],
  },
  'a response that reports an error and goes on executes each call once (W46)': {
    effects: { look: 'idempotent' },
    provider: 'openai.responses',
    settings: { schemas: { look: 'fixed' } },
    responses: [[...whole('1'), call('1'), wait(50), failing(), ...whole('2'), call('2'), wait(50), finish()], answer],
    plain: [`100 1 ${a}`, `100 2 ${a}`],
    eager: [`0 1 ${a}`, `100 2 ${a}`],
  },
  'a retried response with the same call and another id joins it (R4)': {
    ms: 150,
    options: () => ({ streamRetries: 1 }),
    responses: [[...whole('1'), wait(50), failing()], [...whole('9'), wait(50), call('9'), finish()], answer],
    plain: [`100 9 ${a}`],
    eager: [`0 1 ${a}`],
  },
  'a retried response joins the call of one that was cancelled after its error (R4)': {
    ms: 150,
    options: () => ({ streamRetries: 1 }),
    responses: [
      [...whole('1'), wait(50), failing(), wait(10), ...said('late'), finish()],
      [...whole('9'), wait(50), call('9'), finish()],
      answer,
    ],
    plain: [`100 9 ${a}`],
    eager: [`0 1 ${a}`],
  },
  'a retried response with another call discards the first one (R4)': {
    ms: 150,
    options: () => ({ streamRetries: 1 }),
    responses: [[...whole('1'), wait(50), failing()], [...whole('1', B), wait(50), call('1', B), finish()], answer],
    plain: [`100 1 ${b}`],
    eager: [`0 1 ${a}`, `50 1 ${b}`, `100 1 ${a} aborted`],
  },
  'a response that onError retries joins the call (R4)': {
    ms: 150,
    options: () => ({
      streamRetries: 0,
      onError: ({ error }: { readonly error: Error }) => ({ retry: error.message === 'overloaded' }),
    }),
    responses: [[...whole('1'), wait(50), failing()], [...whole('9'), wait(50), call('9'), finish()], answer],
    plain: [`100 9 ${a}`],
    eager: [`0 1 ${a}`],
  },
  'if arguments change in the last part, the final ones are executed (R3)': {
    ms: 150,
    responses: [[...whole('1'), wait(50), call('1', B), finish()], answer],
    plain: [`50 1 ${b}`],
    eager: [`0 1 ${a}`, `50 1 ${b}`, `50 1 ${a} aborted`],
  },
  'if arguments continue after they have closed, the final ones are executed (R3)': {
    ms: 150,
    responses: [
      [start('1'), delta('1', A), wait(50), delta('1', `,${B}`), end('1'), call('1', '{"q":"a","n":2}'), finish()],
      answer,
    ],
    plain: ['50 1 {"q":"a","n":2}'],
    eager: [`0 1 ${a}`, '50 1 {"q":"a","n":2}', `50 1 ${a} aborted`],
  },
  'white space and the order of keys are not a change (R2)': {
    ms: 100,
    responses: [
      [start('1'), delta('1', '{ "n": 2, "q":"a" }'), end('1'), wait(50), call('1', '{"q":"a","n":2}'), finish()],
      answer,
    ],
    plain: ['50 1 {"q":"a","n":2}'],
    eager: ['0 1 {"q":"a","n":2}'],
  },
  'a call that comes in one part starts with it (R2)': {
    responses: [[call('1'), wait(50), finish()], answer],
    plain: [`50 1 ${a}`],
    eager: [`0 1 ${a}`],
  },
  'a tool with needsApproval never starts early (R6)': {
    look: ({ work }) => tool({ inputSchema: z.object({ q: z.string() }), needsApproval: true, execute: work }),
    responses: once,
    plain: [],
  },
  'a tool with an approval in the options never starts early (R6)': {
    options: () => ({ toolApproval: { look: 'user-approval' } }),
    responses: once,
    plain: [],
  },
  'a tool that the options approve automatically never starts early (R6)': {
    options: () => ({ toolApproval: { look: () => 'approved' } }),
    responses: once,
    plain: [`50 1 ${a}`],
  },
  'a tool whose approval is `not-applicable` starts early (R6)': {
    options: () => ({ toolApproval: { look: 'not-applicable' } }),
    responses: once,
    plain: [`50 1 ${a}`],
    eager: [`0 1 ${a}`],
  },
  'with an approval of all tools none starts early (R6)': {
    options: () => ({ toolApproval: () => 'user-approval' }),
    responses: once,
    plain: [],
  },
  'a tool that is frozen starts early (R4)': {
    look: ({ work }) =>
      Object.freeze(tool({ inputSchema: z.object({ q: z.string(), n: z.number().default(1) }), execute: work })),
    responses: once,
    plain: [`50 1 ${a}`],
    eager: [`0 1 ${a}`],
  },
  'a tool listed in `approval` never starts early (R6)': {
    settings: { approval: ['look'] },
    responses: once,
    plain: [`50 1 ${a}`],
  },
  'a tool with onInputAvailable never starts early (R6)': {
    look: ({ work, log, now }) =>
      tool({
        inputSchema: z.object({ q: z.string(), n: z.number().default(1) }),
        onInputAvailable: () => void log.push(`${now()} available`),
        execute: work,
      }),
    responses: once,
    plain: ['50 available', `50 1 ${a}`],
  },
  'a tool with onInputStart never starts early: with streamRetries it is called after the response (W48)': {
    look: ({ work, log, now }) =>
      tool({
        inputSchema: z.object({ q: z.string(), n: z.number().default(1) }),
        onInputStart: () => void log.push(`${now()} onInputStart`),
        execute: work,
      }),
    options: () => ({ streamRetries: 1 }),
    responses: once,
    plain: ['50 onInputStart', `50 1 ${a}`],
  },
  'a tool with onInputDelta never starts early: with streamRetries it is called after the response (W48)': {
    look: ({ work, log, now }) =>
      tool({
        inputSchema: z.object({ q: z.string(), n: z.number().default(1) }),
        onInputDelta: () => void log.push(`${now()} onInputDelta`),
        execute: work,
      }),
    options: () => ({ streamRetries: 1 }),
    responses: once,
    plain: ['50 onInputDelta', `50 1 ${a}`],
  },
  'an abort in the middle of the stream aborts what has started (R12)': {
    ms: 300,
    options: aborting(80),
    responses: [[...whole('1'), wait(200), call('1'), finish()], answer],
    plain: [],
    eager: [`0 1 ${a}`, `80 1 ${a} aborted`],
  },
  'an abort while the loop waits for the call aborts it (R12)': {
    ms: 400,
    options: aborting(150),
    responses: once,
    plain: [`50 1 ${a}`, `150 1 ${a} aborted`],
    eager: [`0 1 ${a}`, `150 1 ${a} aborted`],
  },
  'two equal calls are two executions (R2)': {
    responses: [[...whole('1'), ...whole('2'), wait(50), call('1'), call('2'), finish()], answer],
    plain: [`50 1 ${a}`, `50 2 ${a}`],
    eager: [`0 1 ${a}`, `0 2 ${a}`],
  },
  'if an id occurs twice in a response, each call has its own input (R2)': {
    responses: [[...whole('1'), ...whole('1', B), wait(50), call('1'), call('1', B), finish()], answer],
    plain: [`50 1 ${a}`, `50 1 ${b}`],
    eager: [`0 1 ${a}`, `0 1 ${b}`],
  },
  'the same id and arguments in the next step are another call (R2)': {
    responses: [[...whole('1'), wait(50), call('1'), finish()], [...whole('1'), wait(50), call('1'), finish()], answer],
    plain: [`50 1 ${a}`, `120 1 ${a}`],
    eager: [`0 1 ${a}`, `50 1 ${a}`],
  },
  'input that the schema rejects is never executed (R6)': {
    responses: [[...whole('1', '{"q":1}'), wait(50), call('1', '{"q":1}'), finish()], answer],
    plain: [],
  },
  'a call that is repaired is executed by the loop (R6)': {
    options: () => ({
      repairToolCall: async ({ toolCall }: { readonly toolCall: object }) => ({ ...toolCall, input: A }),
    }),
    responses: [[...whole('1', '{"q":1}'), wait(50), call('1', '{"q":1}'), finish()], answer],
    plain: [`50 1 ${a}`],
  },
  'a tool whose input is refined never starts early (R6)': {
    options: () => ({ experimental_refineToolInput: { look: (input: object) => ({ ...input, q: 'refined' }) } }),
    responses: once,
    plain: ['50 1 {"q":"refined","n":1}'],
  },
  'an input that the schema transforms is the same call: defaults, dates (R2)': {
    look: ({ work }) =>
      tool({
        inputSchema: z.object({ q: z.string(), when: z.string().transform((text) => new Date(text)) }),
        execute: work,
      }),
    responses: [
      [...whole('1', '{"q":"a","when":"2026-01-01"}'), wait(50), call('1', '{"q":"a","when":"2026-01-01"}'), finish()],
      answer,
    ],
    plain: ['50 1 {"q":"a","when":"2026-01-01T00:00:00.000Z"}'],
    eager: ['0 1 {"q":"a","when":"2026-01-01T00:00:00.000Z"}'],
  },
  'with the tool choice `none` nothing starts (R6)': {
    options: () => ({ toolChoice: 'none' }),
    responses: once,
    plain: [],
  },
  'if the model must call one tool, only that one starts early: without a call of it the SDK executes nothing (W47)': {
    options: () => ({ toolChoice: { type: 'tool', toolName: 'send' } }),
    responses: once,
    plain: [],
  },
  'a tool that is not active in the step is not started (R6)': {
    options: () => ({ activeTools: ['send'] }),
    responses: once,
    plain: [],
  },
  'a tool that throws: the loop gets its error (R12)': {
    look: ({ work }) =>
      tool({
        inputSchema: z.object({ q: z.string() }),
        execute: async (input, options): Promise<string> => {
          await work(input, options)
          throw new Error('broken')
        },
      }),
    responses: once,
    plain: ['50 1 {"q":"a"}'],
    eager: ['0 1 {"q":"a"}'],
  },
  'a tool that yields: the loop gets its preliminary results from the beginning (R12)': {
    look: ({ log, now }) =>
      tool({
        inputSchema: z.object({ q: z.string() }),
        async *execute() {
          for (const word of ['one', 'two', 'three']) {
            log.push(`${now()} ${word}`)
            yield word
            await sleep(40)
          }
        },
      }),
    responses: [[...whole('1'), wait(80), call('1'), finish()], answer],
    plain: ['80 one', '120 two', '160 three'],
    eager: ['0 one', '40 two', '80 three'],
  },
  'a tool gets its context and the messages of its step (R2)': {
    options: () => ({ toolsContext: { look: { key: 'secret' } } }),
    look: ({ log, now }) =>
      tool({
        inputSchema: z.object({ q: z.string() }),
        contextSchema: z.object({ key: z.string() }),
        execute: async (_, { context, messages }) => {
          log.push(`${now()} ${context.key} ${messages.length}`)
          return 'ok'
        },
      }),
    responses: once,
    plain: ['50 secret 1'],
    eager: ['0 secret 1'],
  },
  'a call that waits for a slot gets the context as the schema has returned it for this call (R2)': {
    options: () => ({ toolsContext: { look: { key: 'secret' } }, toolCallConcurrency: 1 }),
    look({ log, now }, checks = 0) {
      return tool({
        inputSchema: z.object({ q: z.string() }),
        contextSchema: z.object({ key: z.string() }).transform(({ key }) => ({ own: `${key} ${++checks}` })),
        execute: async (_, { context }) => {
          log.push(`${now()} ${context.own}`)
          await sleep(20)
          return 'ok'
        },
      })
    },
    responses: [
      [...whole('1'), ...whole('2'), ...whole('3'), wait(50), call('1'), call('2'), call('3'), finish()],
      answer,
    ],
    plain: ['50 secret 1', '70 secret 2', '90 secret 3'],
    eager: ['0 secret 1', '20 secret 2', '40 secret 3'],
  },
  'the loop rejects a context that does not match its schema (R6)': {
    options: () => ({ toolsContext: { look: { key: 5 } } }),
    look: ({ work }) =>
      tool({ inputSchema: z.object({ q: z.string() }), contextSchema: z.object({ key: z.string() }), execute: work }),
    responses: once,
    plain: [],
  },
  'empty arguments mean `{}`, which is uncertain until the end (R5)': {
    look: ({ work }) => tool({ inputSchema: z.object({}), execute: work }),
    responses: [[start('1'), delta('1', ''), end('1'), wait(50), call('1', ''), finish()], answer],
    plain: ['50 1 {}'],
  },
  'a call that the provider executes is not started (R6)': {
    responses: [
      [
        { ...start('1'), providerExecuted: true } as Part,
        delta('1', A),
        end('1'),
        wait(50),
        { ...call('1'), providerExecuted: true } as Part,
        { type: 'tool-result', toolCallId: '1', toolName: 'look', result: 'theirs' },
        finish('stop'),
      ],
      answer,
    ],
    plain: [],
  },
  'early calls respect the loop’s limit of simultaneous executions (R2)': {
    ms: 60,
    options: () => ({ toolCallConcurrency: 1 }),
    responses: [[...whole('1'), ...whole('2', B), wait(100), call('1'), call('2', B), finish()], answer],
    plain: [`100 1 ${a}`, `160 2 ${b}`],
    eager: [`0 1 ${a}`, `60 2 ${b}`],
  },
  'two simultaneous runs of one agent do not share calls (R2)': {
    ms: 60,
    responses: [[...whole('1'), wait(50), call('1'), finish()], [...whole('1'), wait(90), call('1'), finish()], answer],
    async go(options: Given) {
      const agent = new ToolLoopAgent(options as ConstructorParameters<typeof ToolLoopAgent>[0])
      const stream = async (prompt: string) => (await agent.stream({ prompt, options: undefined })).text
      return Promise.all([stream('a'), stream('b')])
    },
    plain: [`50 1 ${a}`, `90 1 ${a}`],
    eager: [`0 1 ${a}`, `0 1 ${a}`],
  },
  'a reader that stops reading does not end the loop: the call is executed once (R2)': {
    ms: 300,
    responses: [[...whole('1'), wait(50), ...said('x'), wait(200), call('1'), finish()], answer],
    async go(options: Given) {
      const { fullStream } = streamText(options as Parameters<typeof streamText>[0])
      for await (const part of fullStream) if (part.type === 'text-delta') break
      return 'left'
    },
    plain: [`250 1 ${a}`],
    eager: [`0 1 ${a}`],
  },
  'generateText with alwaysStream starts reads early, and its steps are the same (R2)': {
    settings: { alwaysStream: true },
    go: generated,
    responses: [[...said('look'), ...whole('1'), wait(100), call('1'), finish()], answer],
    plain: [`100 1 ${a}`],
    eager: [`0 1 ${a}`],
  },
  'generateText that ends with `length` discards the early call (R4)': {
    settings: { alwaysStream: true },
    ms: 200,
    go: generated,
    responses: [[...whole('1'), wait(100), call('1'), finish('length')], answer],
    plain: [],
    eager: [`0 1 ${a}`, `100 1 ${a} aborted`],
  },
  'a retried generateText joins the same call with another id (R4)': {
    settings: { alwaysStream: true },
    ms: 150,
    options: () => ({ maxRetries: 1 }),
    go: generated,
    responses: [[...whole('1'), wait(50), breaks(retryable())], [...whole('9'), wait(50), call('9'), finish()], answer],
    plain: [`101 9 ${a}`],
    eager: [`0 1 ${a}`],
  },
  'generateText without alwaysStream is unchanged (R1)': {
    go: generated,
    responses: once,
    plain: [`50 1 ${a}`],
  },
}

function retryable(): APICallError {
  const responseHeaders = { 'retry-after-ms': '1' }
  return new APICallError({
    message: 'cut',
    url: '',
    requestBodyValues: {},
    isRetryable: true,
    statusCode: 500,
    responseHeaders,
  })
}

test.for(Object.entries(cases))('%s', async ([, { plain, eager = plain, ...played }]) => {
  const came = await plainAndEager(played)
  expect(came.eager.result).toEqual(came.plain.result)
  expect({ plain: came.plain.log, eager: came.eager.log }).toEqual({ plain, eager })
  expect(came.eager.warnings.filter((code) => code !== 'breaker')).toEqual([])
  expect(vi.getTimerCount()).toBe(0)
})

test('generateText with alwaysStream rejects with the error that streamText reports for an error in the stream (R12)', async () => {
  const error = { type: 'server_error', message: 'try later', code: 503 }
  const streamed = async (options: Given) => {
    let reported: unknown
    const onError = (event: { readonly error: unknown }) => {
      reported = event.error
    }
    const given = { ...options, onError, streamRetries: 0, prompt: 'go' }
    await streamText(given as Parameters<typeof streamText>[0]).consumeStream()
    return reported
  }
  const whole = (options: Given) => generated(options).catch((thrown: unknown) => thrown)
  const responses: Played['responses'] = [[...said('look'), { type: 'error', error }]]
  const { plain } = await plainAndEager({ responses, go: streamed })
  const { eager } = await plainAndEager({ responses, go: whole, settings: { alwaysStream: true } })
  expect(plain.result).toBeInstanceOf(StreamProviderError)
  expect(eager.result).toBeInstanceOf(StreamProviderError)
  expect({ ...Object(eager.result) }).toEqual({ ...Object(plain.result) })
})
