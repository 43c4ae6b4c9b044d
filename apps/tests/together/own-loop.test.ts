import Anthropic from '@anthropic-ai/sdk'
import { call, end, fail, respond, say } from '@meanwhile/assemble/testing'
import { createAgent, type Effect, ModelError, type Tool, tool } from '@meanwhile/core'
import { createToolExecutor, eagerTools, type ToolExecutor } from '@meanwhile/eager-tools'
import { mockModels, type WireName } from '@meanwhile/harness'
import { watchLeaks } from '@meanwhile/harness/assert'
import { type Quirk, quirkResponse, quirks } from '@meanwhile/harness/quirks'
import { anthropic, messagesWire } from '@meanwhile/models/anthropic'
import { chatWire, openai, responsesWire } from '@meanwhile/models/openai'
import { byTurns, everyNth, ofEachKind } from '@meanwhile/tests/size'
import OpenAI from 'openai'
import { afterEach, expect, test, vi } from 'vitest'
import { z } from 'zod'

afterEach(() => void vi.useRealTimers())

// Loops that users write with the official clients and createToolExecutor, compared with an agent with eagerTools on the same bytes.

type Fetch = typeof globalThis.fetch

const openaiClient = (fetch: Fetch) => new OpenAI({ apiKey: 'none', fetch, maxRetries: 0, logLevel: 'off' })
const claudeClient = (fetch: Fetch) => new Anthropic({ apiKey: 'none', fetch, maxRetries: 0, logLevel: 'off' })

interface OwnLoop {
  readonly executor: ToolExecutor<never, unknown>
  /** Sends one request, and pushes each event of the response. */
  ask(): Promise<void>
}

/** What the author of such a loop writes, except the loop itself. */
function ownLoop(wire: WireName, fetch: Fetch, tools: readonly Tool[], signal?: AbortSignal): OwnLoop {
  const options = { tools, ...(signal && { signal }) }
  const hi = [{ role: 'user' as const, content: 'Go.' }]
  if (wire === 'anthropic') {
    const executor = createToolExecutor({ ...options, wire: messagesWire() })
    return {
      executor,
      async ask() {
        const request = { model: 'm', max_tokens: 100, messages: hi, stream: true as const }
        for await (const event of await claudeClient(fetch).messages.create(request)) executor.push(event)
      },
    }
  }
  if (wire === 'openai-chat') {
    const executor = createToolExecutor({ ...options, wire: chatWire() })
    return {
      executor,
      async ask() {
        const request = { model: 'm', messages: hi, stream: true as const }
        for await (const chunk of await openaiClient(fetch).chat.completions.create(request)) executor.push(chunk)
      },
    }
  }
  const executor = createToolExecutor({ ...options, wire: responsesWire() })
  return {
    executor,
    async ask() {
      const request = { model: 'm', input: hi, stream: true as const }
      for await (const event of await openaiClient(fetch).responses.create(request)) executor.push(event)
    },
  }
}

function modelOf(wire: WireName, fetch: Fetch) {
  if (wire === 'anthropic') return anthropic({ client: claudeClient(fetch), model: 'm' })
  return openai({ client: openaiClient(fetch), model: 'm', api: wire === 'openai-chat' ? 'chat' : 'responses' })
}

interface Ran {
  /** The response and its results, or the error. */
  readonly came: unknown
  readonly executions: readonly string[]
}

function toolsOf(names: readonly string[], effect: Effect): { tools: Tool[]; executions: string[] } {
  const executions: string[] = []
  const tools = names.map((name) =>
    tool({
      name,
      description: name,
      input: z.looseObject({}),
      effect,
      execute(input) {
        executions.push(`${name} ${JSON.stringify(input)}`)
        return `${name} ran`
      },
    }),
  )
  return { tools, executions }
}

const byWord = (words: readonly string[]) => words.toSorted()

async function inAgent(quirk: Quirk, effect: Effect): Promise<Ran> {
  const { tools, executions } = toolsOf(namesOf(quirk), effect)
  const done = respond(say('Done.'))
  const { fetch } = mockModels({ script: [quirkResponse(quirk, { slice: 'event' }), done] })
  const model = modelOf(quirk.wire, fetch)
  const agent = createAgent({ model, tools, middleware: [eagerTools()] })
  try {
    for await (const event of agent.stream('Go.')) {
      if (event.type === 'step-end') return { came: event.messages, executions: byWord(executions) }
    }
  } catch (error) {
    return { came: error, executions: byWord(executions) }
  }
  throw new Error('a run without a step')
}

async function inOwnLoop(quirk: Quirk, effect: Effect): Promise<Ran> {
  const { tools, executions } = toolsOf(namesOf(quirk), effect)
  const { fetch } = mockModels({ script: [quirkResponse(quirk, { slice: 'event' })] })
  const { executor, ask } = ownLoop(quirk.wire, fetch, tools)
  try {
    await ask()
    const { message, toolMessages } = await executor.finish()
    return { came: [message, ...toolMessages], executions: byWord(executions) }
  } catch (error) {
    await executor.abort(error)
    return { came: error, executions: byWord(executions) }
  }
}

/** The tools that the quirk is expected to call. */
function namesOf({ expected, declared }: Quirk): string[] {
  const calls = [expected, declared?.expected].flatMap((outcome) => outcome?.calls ?? [])
  return [...new Set(calls.map(({ name }) => name))].filter((name) => name !== '' && name !== 'parallel')
}

const OF_BYTES: ReadonlySet<string> = new Set(['T12', 'T19', 'T20', 'T22', 'T24', 'C56', 'C64', 'A26', 'R28'])

/** Without hosts that stop sending, since time limits are the client's, and without streams that only a reader of bytes can repair. */
const readable = quirks.filter(
  ({ id, wire, ending }) => ending?.end !== 'stall' && !OF_BYTES.has(id) && !(id === 'T5' && wire === 'anthropic'),
)

const EFFECTS = ['read', 'external'] as const
/** One form of each quirk on each wire, in whole runs all; in small runs of every third: the tests of the adapters read all of them. */
const forms = everyNth(
  ofEachKind(readable, ({ id, wire }) => `${id} ${wire}`),
  3,
)

const cases = forms.map((quirk, at) => ({
  ...quirk,
  effects: byTurns(EFFECTS, { small: 1, middle: 1, whole: 2 }, at),
}))

test.each(cases)('q$id: $title: your own loop gets the same as an agent (H37)', async ({ effects, ...quirk }) => {
  for (const effect of effects) {
    const own = await inOwnLoop(quirk, effect)
    const agents = await inAgent(quirk, effect)
    // If the client throws, the author of the loop has only its error.
    const failed = own.came instanceof OpenAI.APIError || own.came instanceof Anthropic.APIError
    if (failed) expect(agents.came).toBeInstanceOf(ModelError)
    expect(own).toEqual(failed ? { ...agents, came: own.came } : agents)
  }
})

const WIRES: readonly WireName[] = ['openai-chat', 'openai-responses', 'anthropic']

test.each(WIRES)('%s: your own loop sends response and results back as an agent does (H37)', async (wire) => {
  const chart = tool({
    name: 'chart',
    description: 'Draws.',
    input: z.object({ of: z.string() }),
    effect: 'read',
    execute: ({ of }) => of,
    toContent: (of) => [
      { type: 'text', text: `The chart of ${of}:` },
      { type: 'file', mediaType: 'image/png', data: 'aGk=' },
    ],
  })
  const script = [
    respond(
      say('Two charts.'),
      call('chart', { of: 'growth' }, { id: 'same' }),
      call('chart', { of: 'loss' }, { id: 'same' }),
      call('nobody', {}),
    ),
    respond(say('There.')),
  ]
  const mock = mockModels({ script })
  await createAgent({ model: modelOf(wire, mock.fetch), tools: [chart], middleware: [eagerTools()] }).run('Go.')
  const body = mock.requests[1]?.body as { readonly messages?: unknown[]; readonly input?: unknown[] }

  const { executor, ask } = ownLoop(wire, mockModels({ script }).fetch, [chart])
  await ask()
  const { isAnswer, response, results } = await executor.finish()
  expect(isAnswer).toBe(false)
  expect(results.length).toBeGreaterThan(0)
  expect([...response, ...results]).toEqual((body.messages ?? body.input)?.slice(1))
})

/** Two slow tools that write down what they do. `started` resolves when one has started. */
function slowTools() {
  const log: string[] = []
  let start = () => {}
  const started = new Promise<void>((resolve) => {
    start = resolve
  })
  const make = (name: string, effect: Effect) =>
    tool({
      name,
      description: name,
      input: z.object({ n: z.number() }),
      effect,
      async execute({ n }, { signal }) {
        log.push(`${name} ${n}`)
        start()
        await new Promise<void>((resolve, reject) => {
          const timer = setTimeout(resolve, 1_000)
          const abort = () => {
            clearTimeout(timer)
            log.push(`${name} ${n} aborted`)
            reject(signal.reason)
          }
          signal.addEventListener('abort', abort, { once: true })
        })
        return `${name} ${n}`
      },
    })
  return { log, started, tools: [make('look', 'read'), make('send', 'external')] }
}

/** On the fake clock. */
async function played<T>(work: Promise<T>): Promise<T> {
  work.catch(() => undefined)
  await vi.runAllTimersAsync()
  return await work
}

const pace = { firstToken: 5, betweenTokens: 5 }
const BROKEN = { after: { events: 11 }, end: 'reset' } as const

test.each(WIRES)(
  '%s: the calls of a response that breaks off are kept for the next response (H38, H22)',
  async (wire) => {
    vi.useFakeTimers()
    for (const asked of [1, 2]) {
      const { log, tools } = slowTools()
      const more = say('So that is that, and this is this, as far as anybody can tell from here.')
      const script = [
        { ...respond(call('look', { n: 1 }, { deltas: 1 }), more), fault: BROKEN },
        respond(call('look', { n: asked }, { deltas: 1 }), call('send', { n: 3 }, { deltas: 1 })),
      ]
      const { executor, ask } = ownLoop(wire, mockModels({ script, pace }).fetch, tools)
      const error = await played(ask().catch((error: unknown) => error))
      executor.retry(error)
      await played(ask())
      const { toolMessages } = await played(executor.finish())
      expect(toolMessages.map(({ output }) => output)).toEqual([`look ${asked}`, 'send 3'])
      const started = log.filter((line) => !line.endsWith('aborted'))
      expect(started).toEqual(asked === 1 ? ['look 1', 'send 3'] : ['look 1', 'look 2', 'send 3'])
    }
  },
)

test.each(WIRES)(
  '%s: an error that the client throws becomes a ModelError with the partial response (H38)',
  async (wire) => {
    const script = [respond(say('Hello'), fail({ status: 503, code: 'server_error' }))]
    const { executor, ask } = ownLoop(wire, mockModels({ script }).fetch, [])
    const thrown = await ask().catch((error: unknown) => error)
    // The wire has already read an error that comes as an event.
    executor.retry(thrown)
    void executor.finish()
    const failures: unknown[] = []
    try {
      for await (const event of executor.events) if (event.type === 'attempt-failed') failures.push(event.error)
    } catch {}
    expect(failures[0]).toMatchObject({
      name: 'ModelError',
      retryable: true,
      partial: { content: [{ text: 'Hello' }] },
    })
  },
)

test.each(WIRES)('%s: a response that is cut off by its limit, or filtered, commits nothing (H18)', async (wire) => {
  vi.useFakeTimers()
  for (const finishReason of ['length', 'content-filter'] as const) {
    const { log, tools } = slowTools()
    const steps = [call('look', { n: 1 }), call('send', { n: 2 }), end({ finishReason })]
    const { executor, ask } = ownLoop(wire, mockModels({ script: [respond(...steps)], pace }).fetch, tools)
    const { isAnswer, message, toolMessages } = await played(ask().then(() => executor.finish()))
    expect([isAnswer, message.finishReason]).toEqual([finishReason === 'content-filter', finishReason])
    expect(toolMessages.map(({ isError }) => isError)).toEqual([true, true])
    expect(log).toEqual(['look 1', 'look 1 aborted'])
  }
})

test.each(WIRES)(
  '%s: an aborted response leaves nothing behind, even if nobody reads the outcome (H38)',
  async (wire) => {
    const { signal } = new AbortController()
    const leaks = watchLeaks({ signals: [signal] })
    const { log, started, tools } = slowTools()
    const { executor, ask } = ownLoop(
      wire,
      mockModels({ script: [respond(call('look', { n: 1 }), say('So.'))], pace }).fetch,
      tools,
      signal,
    )
    await ask()
    await started
    void executor.finish()
    await executor.abort()
    expect(log).toEqual(['look 1', 'look 1 aborted'])
    await leaks.assertNone()
  },
)
