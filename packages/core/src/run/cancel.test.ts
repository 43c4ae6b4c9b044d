import { getEventListeners } from 'node:events'
import { unhandledRejections } from '@meanwhile/tests/rejections'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { early } from '../../test/early-calls.ts'
import {
  type AgentEvent,
  type AgentOptions,
  type AgentResult,
  type CancelMode,
  type Checkpoint,
  CheckpointStoreError,
  createAgent,
  type Effect,
  interrupt,
  type Message,
  type Middleware,
  type Model,
  memoryStore,
  RunAbortedError,
  type Tool,
  type ToolContext,
  tool,
} from '../index.ts'
import { call, collect, end, fail, respond, type ScriptResponse, say, scriptedModel, think, wait } from '../testing.ts'

unhandledRejections()

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  const timers = vi.getTimerCount()
  vi.useRealTimers()
  if (timers > 0) throw new Error(`${timers} timers are left`)
})

const CUT_OFF = 'The run ended while this call was running. The call was cut off, and its effect may have happened.'
const NOT_STARTED = 'Not run: the run ended before this call started.'
const MAY_HAVE_HAPPENED =
  'This call had started when the run was cancelled. Its result is unknown: it may have happened. It was not run again.'

/** The response to each request depends on its history: a request that is repeated after a resume gets the same response. */
function modelOf(responses: readonly ScriptResponse[]): Model & { readonly requests: number[] } {
  const requests: number[] = []
  return {
    provider: 'scripted',
    id: 'scripted-1',
    requests,
    stream(request) {
      const turn = request.messages.filter(({ role }) => role === 'assistant').length
      requests.push(turn)
      const response = responses[turn]
      if (!response) throw new Error(`no turn ${turn}`)
      return scriptedModel([response], { pace: { firstToken: 10, betweenTokens: 10 } }).stream(request)
    },
  }
}

const log: string[] = []

/** Takes this many milliseconds, and reacts to its signal. */
function work(name: string, ms: number, effect: Effect = 'external'): Tool {
  return toolOf(name, effect, async ({ signal, attempt, idempotencyKey }) => {
    log.push(`${name} ${attempt} ${idempotencyKey.split('/').at(-3)}`)
    await sleep(ms, signal)
    return `${name} done`
  })
}

function toolOf(name: string, effect: Effect, execute: (context: ToolContext) => unknown): Tool {
  const made = tool({ name, description: name, input: z.object({}), effect, execute: (_, context) => execute(context) })
  return made as Tool
}

function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const leave = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', leave)
      resolve()
    }, ms)
    signal?.addEventListener('abort', leave, { once: true })
  })
}

const named = (...names: string[]) => names.map((name) => call(name, {}, { id: name, deltas: 1 }))

beforeEach(() => void log.splice(0))

function start(responses: readonly ScriptResponse[], options: Partial<AgentOptions> = {}) {
  const model = modelOf(responses)
  const agent = createAgent({ model, ...options })
  const controller = new AbortController()
  const run = agent.stream('Go', { signal: controller.signal })
  return { agent, model, run, reading: collect(run), controller }
}

type Started = ReturnType<typeof start>

async function at(ms: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms)
}

/** The end of a run, with nothing of it left. */
async function ended({ run, reading, controller }: Started) {
  await vi.runAllTimersAsync()
  const read = await reading
  expect(getEventListeners(controller.signal, 'abort')).toEqual([])
  return { ...read, ...(read.result && { result: await run.result }) }
}

async function resumed({ agent }: Pick<Started, 'agent'>, result: AgentResult | undefined, answers = {}) {
  const checkpoint = result?.checkpoint
  if (!checkpoint) throw new Error('there is no checkpoint')
  const stored = JSON.parse(JSON.stringify(checkpoint)) as Checkpoint
  expect(stored).toEqual(checkpoint)
  const reading = collect(agent.resume(stored, answers))
  await vi.runAllTimersAsync()
  return await reading
}

/** The transcript of the same run without disturbance. */
async function undisturbed(responses: readonly ScriptResponse[], options: Partial<AgentOptions> = {}) {
  const running = createAgent({ model: modelOf(responses), ...options }).run('Go')
  await vi.runAllTimersAsync()
  return (await running).messages
}

/** One word per event, with its relevant data. */
function brief(events: readonly AgentEvent[]): string[] {
  return events.map((event) => {
    const { type } = event
    if ('delta' in event) return `${type} ${event.attempt}`
    if (type !== 'custom' && 'callId' in event) return `${type} ${event.callId}${'rerun' in event ? ' rerun' : ''}`
    if (type === 'attempt-start') return `${type} ${event.attempt}`
    if (type === 'attempt-failed') return `${type} ${event.attempt} ${event.next}`
    if (type === 'step-start' || type === 'step-end')
      return `${type} ${event.step}${'resumed' in event ? ' resumed' : ''}`
    if (type === 'run-end') return `${type} ${event.result.status}`
    return 'resumed' in event ? `${type} resumed` : type
  })
}

const briefly = (events: readonly AgentEvent[]) => brief(events).filter((line) => !/delta|input|tool-call/.test(line))

function resultsIn(messages: readonly Message[] | undefined) {
  return messages?.flatMap((message) =>
    message.role === 'tool' ? [[message.callId, message.content[0]?.type === 'text' && message.content[0].text]] : [],
  )
}

const answer = respond(say('All is done.'))

test('cancel() stops in the middle of a stream, and the resumed step calls the model again (K4, K15, B20, J10, P8)', async () => {
  const responses = [respond(say('One two three', { deltas: 3 }))]
  const started = start(responses)
  await at(25)
  const cancelled = started.run.cancel()
  const { events, result } = await ended(started)
  expect(await cancelled).toEqual({ status: 'cancelled' })
  expect(brief(events)).toEqual([
    'run-start',
    'step-start 1',
    'attempt-start 1',
    'text-delta 1',
    'text-delta 1',
    'attempt-cancelled',
    'message',
    'run-end cancelled',
  ])
  expect(events.at(-1)).toEqual({ runId: started.run.id, type: 'run-end', result })
  expect(result).toEqual({
    status: 'cancelled',
    text: '',
    messages: [
      { role: 'user', content: 'Go' },
      { role: 'assistant', content: [{ type: 'text', text: 'One two t' }], finishReason: 'other', cutOff: true },
    ],
    steps: 1,
    usage: {},
    warnings: [],
    cancelled: { at: 'now' },
    checkpoint: expect.objectContaining({ status: 'cancelled', runId: started.run.id }),
  })
  const { events: later, result: final } = await resumed(started, result)
  expect(brief(later)).toEqual([
    'run-start resumed',
    'step-start 1 resumed',
    'attempt-start 2',
    'text-delta 2',
    'text-delta 2',
    'text-delta 2',
    'message',
    'step-end 1',
    'run-end completed',
  ])
  expect(final?.messages).toEqual(await undisturbed(responses))
  expect(started.model.requests).toEqual([0, 0])
})

test('the checkpoint of now is taken before anything is stopped; each call has a result in the messages and is open in it (K4, K14, K15, L20, L21)', async () => {
  const responses = [respond(...named('quick', 'look', 'send', 'late')), answer]
  const seen: boolean[] = []
  const look = toolOf('look', 'read', async ({ signal, attempt }) => {
    log.push(`look ${attempt}`)
    await sleep(100, signal).catch(() => seen.push(true))
    return attempt === 1 ? 'tidied up' : 'looked'
  })
  const tools = [work('quick', 10), look, work('send', 100), work('late', 10)]
  const options = { tools, toolConcurrency: 3 }
  // With three slots `quick` makes room for `late`, which the cancel holds back.
  const started = start(responses, options)
  await at(85)
  expect(log).toEqual(['quick 1 quick', 'look 1', 'send 1 send'])
  const cancelled = started.run.cancel()
  const { events, result } = await ended(started)
  expect(await cancelled).toEqual({ status: 'cancelled' })
  expect(seen).toEqual([true])
  expect(resultsIn(result?.messages)).toEqual([
    ['quick', CUT_OFF],
    ['look', 'tidied up'],
    ['send', CUT_OFF],
    ['late', NOT_STARTED],
  ])
  expect(result?.checkpoint?.messages.map(({ role }) => role)).toEqual(['user', 'assistant'])
  expect(result?.checkpoint?.calls.map(({ id, effect, message }) => [id, effect, message])).toEqual([
    ['quick', 'external', undefined],
    ['look', 'read', undefined],
    ['send', 'external', undefined],
    ['late', undefined, undefined],
  ])
  expect(briefly(events)).not.toContainEqual(expect.stringMatching(/tool-end|step-end/))

  log.length = 0
  const { events: later, result: final } = await resumed(started, result)
  expect(log).toEqual(['look 2', 'late 1 late'])
  expect(final?.unknown).toEqual(['quick', 'send'])
  expect(resultsIn(final?.messages)).toEqual([
    ['quick', MAY_HAVE_HAPPENED],
    ['look', 'looked'],
    ['send', MAY_HAVE_HAPPENED],
    ['late', 'late done'],
  ])
  expect(briefly(later)).toEqual([
    'run-start resumed',
    'step-start 1 resumed',
    'tool-end quick',
    'tool-start look rerun',
    'tool-end send',
    'tool-start late',
    'tool-entered look',
    'tool-entered late',
    'tool-end late',
    'tool-end look',
    'message',
    'message',
    'message',
    'message',
    'step-end 1',
    'step-start 2',
    'attempt-start 1',
    'message',
    'step-end 2',
    'run-end completed',
  ])
})

test('a call that would start in the turn in which another one cancels does not start: a resume makes it, once (K4, L20, H26)', async () => {
  const stop = toolOf('stop', 'external', () => {
    log.push('stop')
    void started.run.cancel()
  })
  const tools = [stop, work('send', 100)]
  const started = start([respond(...named('stop', 'send')), respond(say('Done.'))], { tools })
  const { result } = await ended(started)
  expect(result?.status).toBe('cancelled')
  expect(log).toEqual(['stop'])
  const { result: final } = await resumed(started, result)
  expect(final?.status).toBe('completed')
  expect(log).toEqual(['stop', expect.stringMatching(/^send/)])
})

test('after-tools stops at the next complete step, and a resume continues with the next model call (K5, K15)', async () => {
  const responses = [respond(...named('a', 'b')), answer]
  const options = { tools: [work('a', 50), work('b', 100)] }
  for (const moment of [5, 35, 60, 120]) {
    const started = start(responses, options)
    await at(moment)
    const cancelled = started.run.cancel({ at: 'after-tools' })
    const { events, result } = await ended(started)
    expect(await cancelled).toEqual({ status: 'cancelled' })
    expect(result).toMatchObject({ status: 'cancelled', cancelled: { at: 'after-tools' }, steps: 1 })
    expect(result?.cancelled).toEqual({ at: 'after-tools' })
    expect(briefly(events).slice(-2)).toEqual(['step-end 1', 'run-end cancelled'])
    expect(result?.messages).toEqual(result?.checkpoint?.messages)
    const { events: later, result: final } = await resumed(started, result)
    expect(briefly(later)).toEqual([
      'run-start resumed',
      'step-start 2',
      'attempt-start 1',
      'message',
      'step-end 2',
      'run-end completed',
    ])
    expect(final?.messages).toEqual(await undisturbed(responses, options))
  }
})

test('after-model lets the model call finish and starts no tool; the resume makes the calls without another model call (K5, K14, K15)', async () => {
  const responses = [respond(think('Hm'), ...named('a', 'b')), answer]
  const options = { tools: [work('a', 50), work('b', 100)] }
  const started = start(responses, options)
  await at(15)
  const cancelled = started.run.cancel({ at: 'after-model' })
  const { events, result } = await ended(started)
  expect(await cancelled).toEqual({ status: 'cancelled' })
  expect(log).toEqual([])
  expect(briefly(events)).toEqual([
    'run-start',
    'step-start 1',
    'attempt-start 1',
    'message',
    'message',
    'message',
    'run-end cancelled',
  ])
  expect(resultsIn(result?.messages)).toEqual([
    ['a', NOT_STARTED],
    ['b', NOT_STARTED],
  ])
  const { events: later, result: final } = await resumed(started, result)
  expect(started.model.requests).toEqual([0, 1])
  expect(log).toEqual(['a 1 a', 'b 1 b'])
  expect(briefly(later)).toEqual([
    'run-start resumed',
    'step-start 1 resumed',
    'tool-start a',
    'tool-start b',
    'tool-entered a',
    'tool-entered b',
    'tool-end a',
    'tool-end b',
    'message',
    'message',
    'step-end 1',
    'step-start 2',
    'attempt-start 1',
    'message',
    'step-end 2',
    'run-end completed',
  ])
  expect(later.find(({ type }) => type === 'step-end')).toMatchObject({ attempt: 1 })
  expect(final?.messages).toEqual(await undisturbed(responses, options))
})

test.each([1, 2])(
  'after-model lets running tools settle; a call queued for one of %i slots does not start (K5, K7, K15)',
  async (toolConcurrency) => {
    const responses = [respond(...named('a', 'b', 'c')), answer]
    const options = { tools: [work('a', 50), work('b', 5_000), work('c', 10)], toolConcurrency }
    const started = start(responses, options)
    await at(75)
    const cancelled = started.run.cancel({ at: 'after-model' })
    const { result } = await ended(started)
    expect(await cancelled).toEqual({ status: 'cancelled' })
    const atWork = ['a', 'b'].slice(0, toolConcurrency)
    expect(log).toEqual(atWork.map((name) => `${name} 1 ${name}`))
    expect(resultsIn(result?.messages)).toEqual(
      ['a', 'b', 'c'].map((name) => [name, atWork.includes(name) ? `${name} done` : NOT_STARTED]),
    )
    log.length = 0
    const { events, result: final } = await resumed(started, result)
    const rest = ['a', 'b', 'c'].slice(toolConcurrency)
    expect(log).toEqual(rest.map((name) => `${name} 1 ${name}`))
    // The reader saw the others before.
    expect(events.flatMap((event) => (event.type === 'tool-end' ? event.callId : [])).sort()).toEqual(rest)
    expect(final?.messages).toEqual(await undisturbed(responses, options))
  },
)

test('with after-model a running tool may still make inner calls, because otherwise it could not settle (K5, H39)', async () => {
  const outer = toolOf('outer', 'external', async ({ run, signal }) => {
    log.push('outer')
    await sleep(50, signal)
    const inner = await run?.callTool({ type: 'tool-call', id: 'inner', name: 'inner', input: {} })
    return inner?.content
  })
  const responses = [respond(...named('outer')), answer]
  const options = { tools: [outer, work('inner', 10)] }
  const started = start(responses, options)
  await at(45)
  void started.run.cancel({ at: 'after-model' })
  const { result } = await ended(started)
  expect(log).toEqual(['outer', expect.stringMatching(/^inner 1/)])
  expect(result?.status).toBe('cancelled')
  const { result: final } = await resumed(started, result)
  expect(log).toHaveLength(2)
  expect(final?.messages).toEqual(await undisturbed(responses, options))
})

test('a run whose model call ends in an accepted answer completes, and cancel returns ended (K6)', async () => {
  for (const mode of ['after-model', 'after-tools'] as const) {
    const started = start([answer])
    await at(15)
    const cancelled = started.run.cancel({ at: mode })
    const { result } = await ended(started)
    expect(result).toMatchObject({ status: 'completed', text: 'All is done.' })
    expect(result?.cancelled).toBeUndefined()
    expect(await cancelled).toEqual({ status: 'ended' })
  }
})

test('between a rejected answer and the next model call both modes stop; the resume continues with the feedback (K6, L11)', async () => {
  const responses = [respond(say('Maybe.')), answer]
  let judged = 0
  const gate: Middleware = {
    name: 'gate',
    async beforeFinalAnswer({ messages }) {
      judged++
      await sleep(50)
      const sure = messages.filter(({ role }) => role === 'assistant').length > 1
      return sure ? { accept: true } : { accept: false, feedback: 'Be sure.' }
    },
  }
  const options = { middleware: [gate] }
  for (const mode of ['after-model', 'after-tools'] as const) {
    judged = 0
    const started = start(responses, options)
    await at(30)
    const cancelled = started.run.cancel({ at: mode })
    const { events, result } = await ended(started)
    expect(await cancelled).toEqual({ status: 'cancelled' })
    expect(briefly(events).slice(-4)).toEqual(['answer-rejected', 'message', 'step-end 1', 'run-end cancelled'])
    const { result: final } = await resumed(started, result)
    expect(judged).toBe(2)
    expect(final?.messages).toEqual(await undisturbed(responses, options))
  }
})

test('calls that may not run need no stop before them: they have results, and the next step does not begin (K5, A17)', async () => {
  const responses = [respond(...named('a'), { type: 'end', options: { finishReason: 'length' } }), answer]
  const options = { tools: [work('a', 1)] }
  const started = start(responses, options)
  await at(5)
  void started.run.cancel({ at: 'after-model' })
  const { events, result } = await ended(started)
  expect(briefly(events).slice(-4)).toEqual(['tool-end a', 'message', 'step-end 1', 'run-end cancelled'])
  const { result: final } = await resumed(started, result)
  expect(final?.messages).toEqual(await undisturbed(responses, options))
  expect(log).toEqual([])
})

/** Retries a failed model call after this many milliseconds. */
const retrying = (waitMs: number): Middleware => ({
  name: 'retrying',
  async *wrapModel(request, next) {
    for (;;) {
      try {
        return yield* next(request)
      } catch (error) {
        if (error instanceof Error && error.name !== 'ModelError') throw error
        if (waitMs > 0) {
          yield { type: 'attempt-failed', error, next: 'retry', waitMs }
          await sleep(waitMs, request.signal)
        }
      }
    }
  },
})

/** Its first request fails after 20 ms, the others return the answer. */
function flaky(): Model & { asked: number } {
  return {
    provider: 'p',
    id: 'm',
    asked: 0,
    stream(request) {
      const response = this.asked++ === 0 ? respond(say('Al', { deltas: 1 }), wait(10), fail()) : answer
      return scriptedModel([response], { pace: { firstToken: 10, betweenTokens: 0 } }).stream(request)
    },
  }
}

test.each([
  ['now', 500],
  ['after-model', 500],
  ['after-tools', 500],
  ['after-model', 5],
  ['after-tools', 5],
] as const)(
  'a wait between attempts is a safe point for %s, requested at %i ms: its timer is cleared (K7, J8)',
  async (mode, moment) => {
    const model = flaky()
    const started = start([], { model, middleware: [retrying(1_000)] })
    await at(moment)
    const cancelled = started.run.cancel({ at: mode })
    await at(20)
    expect(vi.getTimerCount()).toBe(0)
    const { events, result } = await ended(started)
    expect(await cancelled).toEqual({ status: 'cancelled' })
    expect(model.asked).toBe(1)
    expect(result?.cancelled).toEqual({ at: mode })
    expect(brief(events)).toEqual([
      'run-start',
      'step-start 1',
      'attempt-start 1',
      'text-delta 1',
      'attempt-failed 1 retry',
      'run-end cancelled',
    ])
    const { events: later, result: final } = await resumed(started, result)
    expect(briefly(later)).toEqual([
      'run-start resumed',
      'step-start 1 resumed',
      'attempt-start 2',
      'message',
      'step-end 1',
      'run-end completed',
    ])
    expect(final?.messages).toEqual([{ role: 'user', content: 'Go' }, expect.objectContaining({ role: 'assistant' })])
  },
)

test('a wrap that retries at once is stopped between its attempts (K7)', async () => {
  let asked = 0
  const failing: Model = {
    provider: 'p',
    id: 'm',
    stream: (request) =>
      scriptedModel([++asked > 3 ? answer : respond(say('x', { deltas: 1 }), fail())], {
        pace: { firstToken: 10, betweenTokens: 10 },
      }).stream(request),
  }
  for (const mode of ['after-model', 'after-tools'] as const) {
    asked = 0
    const started = start([], { model: failing, middleware: [retrying(0)] })
    await at(15)
    expect(asked).toBe(2)
    void started.run.cancel({ at: mode })
    const { events, result } = await ended(started)
    expect(asked).toBe(2)
    expect(result?.status).toBe('cancelled')
    expect(briefly(events).slice(-3)).toEqual(['attempt-start 2', 'attempt-failed 2 none', 'run-end cancelled'])
    const { events: later, result: final } = await resumed(started, result)
    expect(briefly(later)[2]).toBe('attempt-start 3')
    expect(final?.text).toBe('All is done.')
  }
})

test('a running attempt after a failed parallel one is not a wait: it may be accepted (K5, K7)', async () => {
  const hedge: Middleware = {
    name: 'hedge',
    async *wrapModel(request, next) {
      const slow = next(request)
      const first = slow.next()
      const broken = next({ ...request, model: scriptedModel([respond(fail())]) })
      const error: unknown = await broken.next().catch((error: unknown) => error)
      yield { type: 'attempt-failed', error, next: 'retry' }
      await first
      return yield* slow
    },
  }
  const started = start([answer], { middleware: [hedge] })
  await at(5)
  const cancelled = started.run.cancel({ at: 'after-model' })
  const { result } = await ended(started)
  expect(result?.text).toBe('All is done.')
  expect(await cancelled).toEqual({ status: 'ended' })
})

test('a stronger call raises the mode, another changes nothing, none lowers it (K8)', async () => {
  const responses = [respond(...named('a', 'b')), answer]
  const options = { tools: [work('a', 100), work('b', 100)], toolConcurrency: 1 }
  const orders: [CancelMode[], CancelMode][] = [
    [['after-tools', 'after-model'], 'after-model'],
    [['after-model', 'after-tools'], 'after-model'],
    [['after-tools', 'now'], 'now'],
    [['now', 'after-model', 'after-tools'], 'now'],
    [['after-tools', 'after-tools'], 'after-tools'],
  ]
  for (const [modes, strongest] of orders) {
    log.length = 0
    const started = start(responses, options)
    await at(60)
    const given = modes.map((mode) => started.run.cancel({ at: mode }))
    const { result } = await ended(started)
    expect(result?.cancelled).toEqual({ at: strongest })
    expect(log).toHaveLength(strongest === 'after-tools' ? 2 : 1)
    expect(await Promise.all(given)).toEqual(modes.map(() => ({ status: 'cancelled' })))
  }
})

test('escalateAfter sets the mode to now, counted from its own call; of several the earliest counts (K9)', async () => {
  const responses = [respond(...named('a')), answer]
  const started = start(responses, { tools: [work('a', 10_000)] })
  await at(50)
  const cancelled = [started.run.cancel({ at: 'after-tools', escalateAfter: 900 })]
  await at(100)
  cancelled.push(started.run.cancel({ at: 'after-model', escalateAfter: 300 }))
  cancelled.push(started.run.cancel({ at: 'after-tools', escalateAfter: 700 }))
  await at(299)
  // The timer of the tool, and three limits.
  expect(vi.getTimerCount()).toBe(4)
  await at(1)
  const { result } = await ended(started)
  expect(result?.cancelled).toEqual({ at: 'now', escalated: true })
  expect(await Promise.all(cancelled)).toEqual(Array(3).fill({ status: 'cancelled' }))
})

test('a run that stops before its limit, or was already cancelled with now, is not escalated (K9)', async () => {
  const responses = [respond(...named('a')), answer]
  const options = { tools: [work('a', 100)] }
  const soon = start(responses, options)
  void soon.run.cancel({ at: 'after-tools', escalateAfter: 5_000 })
  expect((await ended(soon)).result?.cancelled).toEqual({ at: 'after-tools' })
  const now = start(responses, options)
  await at(50)
  void now.run.cancel({ at: 'after-tools', escalateAfter: 20 })
  await at(10)
  void now.run.cancel()
  expect((await ended(now)).result?.cancelled).toEqual({ at: 'now' })
})

test('a limit that passes while a run is stopping with now changes nothing, and one of a run that is over leaves no timer (K9)', async () => {
  const responses = [respond(...named('deaf')), answer]
  const deaf = toolOf('deaf', 'external', () => sleep(10_000))
  const stopping = start(responses, { tools: [deaf], grace: 300 })
  await at(50)
  void stopping.run.cancel({ at: 'after-tools', escalateAfter: 100 })
  await at(50)
  void stopping.run.cancel()
  expect((await ended(stopping)).result?.cancelled).toEqual({ at: 'now' })
  const over = start(responses, { tools: [work('deaf', 100)] })
  await at(50)
  void over.run.cancel({ at: 'after-tools', escalateAfter: 5_000 })
  await at(100)
  expect((await over.run.result).status).toBe('cancelled')
  expect(vi.getTimerCount()).toBe(0)
})

test.each(['by a time limit', 'by a call'])(
  'a run with a value that is not JSON is still stopped, %s, and fails with the reason (K4, K9, L16)',
  async (how) => {
    const tools = [work('slow', 500)]
    const big: Middleware = {
      name: 'big',
      async *wrapModel(request, next) {
        const message = yield* next(request)
        const content = message.content.map((part) => ({ ...part, providerMetadata: { p: { big: 1n } } }))
        return { ...message, content }
      },
    }
    const model = modelOf([respond(...named('slow'))])
    const run = createAgent({ model, tools, middleware: [big] }).stream('Go')
    const reading = collect(run)
    await at(100)
    const cancelling = run.cancel(how === 'by a call' ? {} : { at: 'after-tools', escalateAfter: 10 })
    await at(10)
    expect(await Promise.allSettled([cancelling, run.result])).toMatchObject([
      { status: 'fulfilled', value: { status: 'ended' } },
      { status: 'rejected', reason: { name: 'CheckpointStoreError', operation: 'take' } },
    ])
    expect((await reading).error).toBeInstanceOf(CheckpointStoreError)
    expect(log).toEqual(['slow 1 slow'])
  },
)

test('invalid options are refused, and stop nothing (K9)', async () => {
  const started = start([answer])
  const bad: readonly (readonly [option: string, options: unknown])[] = [
    ['at', { at: 'soon' }],
    ['escalateAfter', { escalateAfter: -1 }],
    ['escalateAfter', { escalateAfter: Number.NaN }],
    ['options', 'now'],
    ['options', null],
  ]
  for (const [option, options] of bad) {
    const refused = started.run.cancel(options as { at: 'now' })
    await expect(refused).rejects.toMatchObject({ name: 'ConfigError', option })
  }
  expect((await ended(started)).result?.status).toBe('completed')
})

test('any number of cancels lead to one stop, one checkpoint and one result (K10)', async () => {
  const saved: Checkpoint[] = []
  const store = memoryStore()
  const save = store.save.bind(store)
  store.save = async (id, checkpoint, expected) => {
    const whole = checkpoint as Checkpoint
    if (whole.status === 'cancelled') saved.push(whole)
    await save(id, checkpoint, expected)
  }
  const started = start([respond(...named('a')), answer], { tools: [work('a', 100)], checkpoints: store })
  await at(50)
  const given = Array.from({ length: 50 }, (_, index) =>
    started.run.cancel({ at: (['after-tools', 'after-model', 'now'] as const)[index % 3] as CancelMode }),
  )
  const { result } = await ended(started)
  expect(await Promise.all(given)).toEqual(Array(50).fill({ status: 'cancelled' }))
  expect(saved).toHaveLength(1)
  expect(saved[0]).toEqual(result?.checkpoint)
  expect(await store.load(started.run.id)).toEqual(result?.checkpoint)
})

test.each(['now', 'after-model', 'after-tools'] as const)(
  'cancel %s before the first event makes no request, and the resume makes them all (K11)',
  async (mode) => {
    const responses = [respond(...named('a')), answer]
    const options = { tools: [work('a', 10)] }
    const started = start(responses, options)
    const cancelled = started.run.cancel({ at: mode })
    const { events, result } = await ended(started)
    expect(await cancelled).toEqual({ status: 'cancelled' })
    expect(brief(events)).toEqual(['run-start', 'run-end cancelled'])
    expect(started.model.requests).toEqual([])
    const { result: final } = await resumed(started, result)
    expect(final?.messages).toEqual(await undisturbed(responses, options))
  },
)

test('after the end cancel returns ended and changes nothing, also for a failed run (K11)', async () => {
  const done = start([answer])
  const { result } = await ended(done)
  expect(await done.run.cancel()).toEqual({ status: 'ended' })
  expect(await done.run.result).toBe(result)
  const failed = start([respond(fail({ status: 400 }))])
  const { error } = await ended(failed)
  expect(await failed.run.cancel({ at: 'after-tools', escalateAfter: 10 })).toEqual({ status: 'ended' })
  await expect(failed.run.result).rejects.toBe(error)
})

test.each(['now', 'after-model', 'after-tools'] as const)(
  'an abort during a cancel %s replaces it, and nothing is saved after it (K11, K1)',
  async (mode) => {
    const store = memoryStore()
    const stubborn = toolOf('stubborn', 'read', () => sleep(700))
    const tools = [stubborn]
    const started = start([respond(...named('stubborn')), answer], { tools, checkpoints: store })
    await at(50)
    const cancelled = started.run.cancel({ at: mode })
    await at(100)
    const before = await store.load(started.run.id)
    started.controller.abort('enough')
    const { error, events } = await ended(started)
    expect(error).toBeInstanceOf(RunAbortedError)
    expect(await cancelled).toEqual({ status: 'aborted' })
    expect(await store.load(started.run.id)).toEqual(before)
    expect(before).toMatchObject({ status: 'running' })
    // The history of the error has a result for each call, and the reader saw it once (A24, B6).
    expect(resultsIn((error as RunAbortedError).messages)).toHaveLength(1)
    expect(briefly(events).filter((line) => line.startsWith('tool-end'))).toEqual(['tool-end stubborn'])
  },
)

test('calls that a cancel leaves to the resume are undone when an abort replaces it (K11, H23)', async () => {
  const hold = tool({
    name: 'hold',
    description: 'hold',
    input: z.object({}),
    effect: 'reversible',
    execute: () => void log.push('held'),
    compensate: () => void log.push('undone'),
  })
  const stubborn = toolOf('stubborn', 'read', () => new Promise((resolve) => setTimeout(resolve, 500)))
  const response = respond(...named('stubborn', 'hold'), wait(1_000))
  const started = start([response], { tools: [stubborn, hold], middleware: [early] })
  await at(100)
  void started.run.cancel()
  await at(100)
  expect(log).toEqual(['held'])
  started.controller.abort()
  const { error } = await ended(started)
  expect(error).toBeInstanceOf(RunAbortedError)
  expect(log).toEqual(['held', 'undone'])
})

test('an abort whose listener cancels undoes what it discards, like any abort (K11, H23)', async () => {
  const hold = tool({
    name: 'hold',
    description: 'hold',
    input: z.object({}),
    effect: 'reversible',
    execute: () => void log.push('held'),
    compensate: () => void log.push('undone'),
  })
  const response = respond(...named('hold'), wait(1_000))
  const cancelling: Middleware = {
    name: 'cancelling',
    beforeModel: (_, run) => run.signal.addEventListener('abort', () => void started.run.cancel()),
  }
  const started = start([response], { tools: [hold], middleware: [cancelling, early] })
  await at(100)
  started.controller.abort()
  const { error } = await ended(started)
  expect(error).toBeInstanceOf(RunAbortedError)
  expect(log).toEqual(['held', 'undone'])
})

test.each(['cancel', 'abort'])(
  'a run ends although a wrap ends it by %s in the turn in which an early call begins (K1, K4, H24)',
  async (how) => {
    const stopping: Middleware = {
      name: 'stopping',
      async *wrapToolCall(one, next) {
        if (how === 'cancel') void started.run.cancel()
        else started.controller.abort()
        return yield* next(one)
      },
    }
    const options = { tools: [work('send', 50)], middleware: [stopping, early] }
    const started = start([respond(...named('send'), wait(100))], options)
    const { result, error } = await ended(started)
    expect(result?.status ?? (error as Error).name).toBe(how === 'cancel' ? 'cancelled' : 'AbortError')
    expect(log).toEqual([])
  },
)

test('a run that a refused call cancels while it is running reports the refusal once: the resume does (A17, B6, K4)', async () => {
  const hold = toolOf('hold', 'read', ({ signal }) => {
    signal.addEventListener('abort', () => void started.run.cancel(), { once: true })
    return sleep(100, signal)
  })
  const response = respond(...named('hold'), end({ finishReason: 'length' }))
  const started = start([response, answer], { tools: [hold], middleware: [early] })
  const first = await ended(started)
  expect(first.result?.status).toBe('cancelled')
  const second = await resumed(started, first.result)
  expect(second.result?.status).toBe('completed')
  const ends = [...first.events, ...second.events].filter(({ type }) => type === 'tool-end')
  expect(ends).toMatchObject([{ callId: 'hold' }])
})

test('a cancel during an abort changes nothing (K11)', async () => {
  const stubborn = toolOf('stubborn', 'read', () => sleep(700))
  const started = start([respond(...named('stubborn')), answer], { tools: [stubborn] })
  await at(50)
  started.controller.abort('enough')
  await at(100)
  const cancelled = [started.run.cancel(), started.run.cancel({ at: 'after-tools', escalateAfter: 10 })]
  const { error } = await ended(started)
  expect(error).toMatchObject({ name: 'AbortError', cause: 'enough' })
  expect(await Promise.all(cancelled)).toEqual([{ status: 'aborted' }, { status: 'aborted' }])
})

test('a reader that leaves during a cancel aborts the run (B10, K11)', async () => {
  const stubborn = toolOf('stubborn', 'read', () => sleep(700))
  const agent = createAgent({ model: modelOf([respond(...named('stubborn')), answer]), tools: [stubborn] })
  const run = agent.stream('Go')
  const iterator = run[Symbol.asyncIterator]()
  await iterator.next()
  await at(50)
  const cancelled = run.cancel()
  await at(10)
  const left = iterator.return?.()
  await vi.runAllTimersAsync()
  await left
  await expect(run.result).rejects.toBeInstanceOf(RunAbortedError)
  expect(await cancelled).toEqual({ status: 'aborted' })
})

test('a tool that ignores the cancel has the grace time, then is abandoned; the resume does not trust it (K12, K13)', async () => {
  const deaf = toolOf('deaf', 'external', async ({ run }) => {
    log.push('deaf')
    await sleep(10_000)
    run?.emit({ name: 'too late', data: 1 })
    return 'too late'
  })
  const responses = [respond(...named('deaf')), answer]
  const started = start(responses, { tools: [deaf], grace: 300 })
  await at(50)
  const begun = performance.now()
  let took: number | undefined
  void started.run.result.then(() => {
    took = performance.now() - begun
  })
  void started.run.cancel()
  const { events, result } = await ended(started)
  expect(took).toBe(300)
  expect(result).toMatchObject({ status: 'cancelled', abandoned: ['deaf'] })
  expect(resultsIn(result?.messages)).toEqual([['deaf', CUT_OFF]])
  expect(events.some(({ type }) => type === 'custom')).toBe(false)
  const { result: final } = await resumed(started, result)
  expect(final).toMatchObject({ status: 'completed', unknown: ['deaf'] })
  expect(log).toEqual(['deaf'])
})

test.each(['after-model', 'after-tools'] as const)(
  'an interrupt that is raised during %s is included: cancelled lists it, and the resume may answer it (K17)',
  async (mode) => {
    const asks = toolOf('asks', 'external', async ({ answers, signal }) => {
      if (answers.length > 0) return `told ${JSON.stringify(answers)}`
      await sleep(100, signal)
      throw interrupt({ sure: true })
    })
    const started = start([respond(...named('asks', 'b')), answer], { tools: [asks, work('b', 50)] })
    await at(60)
    const cancelled = started.run.cancel({ at: mode })
    const { events, result } = await ended(started)
    expect(await cancelled).toEqual({ status: 'cancelled' })
    expect(result).toMatchObject({
      status: 'cancelled',
      cancelled: { at: mode },
      interrupts: [{ payload: { sure: true }, address: [{ agent: null }, { tool: 'asks', callId: 'asks' }] }],
    })
    expect(briefly(events).filter((line) => line.startsWith('tool-end'))).toEqual(['tool-end b'])
    const id = result?.interrupts?.[0]?.id ?? ''
    const { result: final } = await resumed(started, result, { [id]: 'yes' })
    expect(resultsIn(final?.messages)).toEqual([
      ['asks', 'told ["yes"]'],
      ['b', 'b done'],
    ])
    const { result: still } = await resumed(started, result)
    expect(still).toMatchObject({ status: 'interrupted', interrupts: [{ id }] })
  },
)

test('cancelled while a hook asks a question, the run keeps both (K17, L8)', async () => {
  const asking: Middleware = {
    name: 'asking',
    async afterModel(_, run) {
      if (run.answers.length > 0) return
      await sleep(50)
      throw interrupt('May I?')
    },
  }
  const started = start([respond(...named('a')), answer], { tools: [work('a', 10)], middleware: [asking] })
  await at(40)
  void started.run.cancel({ at: 'after-model' })
  const { result } = await ended(started)
  expect(result).toMatchObject({ status: 'cancelled', interrupts: [{ payload: 'May I?' }] })
  expect(log).toEqual([])
})

const hanging = (hook: 'beforeAgent' | 'beforeModel' | 'afterModel' | 'beforeFinalAnswer'): Middleware => ({
  name: 'hanging',
  async [hook](_: unknown, run: { signal: AbortSignal }) {
    if (first) await sleep(1_000, run.signal)
  },
})
let first = true

test.each(['beforeAgent', 'beforeModel', 'afterModel', 'beforeFinalAnswer'] as const)(
  'cancel now inside %s: the resume repeats that hook and no other (K4, L8)',
  async (hook) => {
    first = true
    const responses = [respond(...named('a')), answer]
    const before: Middleware = { name: 'before', beforeModel: () => void log.push('beforeModel') }
    const options = { tools: [work('a', 10)], middleware: [before, hanging(hook)] }
    const started = start(responses, options)
    await at(900)
    const cancelled = started.run.cancel()
    const { result } = await ended(started)
    expect(await cancelled).toEqual({ status: 'cancelled' })
    first = false
    const { result: final } = await resumed(started, result)
    expect(log.filter((line) => line === 'beforeModel')).toHaveLength(2)
    expect(log.filter((line) => line.startsWith('a '))).toHaveLength(1)
    expect(final?.messages).toEqual(await undisturbed(responses, options))
  },
)

test('at whatever millisecond a run is cancelled, the resumed one has the transcript of the undisturbed run (K4, K5, K15)', {
  timeout: 60_000,
}, async () => {
  const responses = [
    respond(say('Let me see.'), ...named('a', 'b')),
    respond(...named('c'), call('a', {}, { id: 'a2', deltas: 1 })),
    answer,
  ]
  const options = (): Partial<AgentOptions> => ({
    tools: [work('a', 33, 'read'), work('b', 15, 'read'), work('c', 20, 'read')],
    toolConcurrency: 2,
    middleware: [
      { name: 'slow', beforeModel: () => sleep(5), afterModel: () => sleep(5), beforeFinalAnswer: () => sleep(5) },
    ],
  })
  const expected = await undisturbed(responses, options())
  for (const mode of ['now', 'after-model', 'after-tools'] as const) {
    for (let moment = 0; moment <= 260; moment += 5) {
      const started = start(responses, options())
      await at(moment)
      void started.run.cancel({ at: mode })
      const { result } = await ended(started)
      if (result?.status === 'completed') {
        expect(result.messages).toEqual(expected)
        continue
      }
      expect(result?.status).toBe('cancelled')
      const { result: final } = await resumed(started, result)
      expect(final?.messages).toEqual(expected)
      expect(final?.unknown).toBeUndefined()
    }
  }
})

test('an accepted answer is not requested again when wrapAgent is cancelled on its way out (K4, L11)', async () => {
  let judged = 0
  const last: Middleware = {
    name: 'last',
    beforeFinalAnswer: () => void judged++,
    async *wrapAgent(setup, next, run) {
      const result = yield* next(setup)
      if (judged < 2 && first) await sleep(1_000, run.signal)
      return result
    },
  }
  first = true
  const started = start([answer], { middleware: [last] })
  await at(500)
  const cancelled = started.run.cancel()
  const { result } = await ended(started)
  expect(await cancelled).toEqual({ status: 'cancelled' })
  first = false
  const { result: final } = await resumed(started, result)
  expect(final).toMatchObject({ status: 'completed', text: 'All is done.', steps: 1 })
  expect(started.model.requests).toEqual([0])
  expect(judged).toBe(1)
})

test('cancelled while it is loaded or set up, a resumed run has lost nothing of its checkpoint (K11, K15)', async () => {
  const responses = [respond(...named('quick', 'slow')), answer]
  const store = memoryStore()
  const load = store.load.bind(store)
  const slow: Middleware = { name: 'slow', beforeAgent: (_, run) => (first ? sleep(100, run.signal) : undefined) }
  const options = { tools: [work('quick', 10), work('slow', 100, 'read')], checkpoints: store, middleware: [slow] }
  first = false
  const started = start(responses, options)
  await at(80)
  void started.run.cancel()
  const { result } = await ended(started)
  expect(result?.checkpoint?.calls).toMatchObject([{ message: { callId: 'quick' } }, { effect: 'read' }])

  store.load = async (id) => {
    await sleep(100)
    return await load(id)
  }
  let revision = result?.checkpoint?.revision ?? 0
  let sent = 0
  for (const mode of ['now', 'after-model', 'after-tools'] as const) {
    for (const moment of [0, 50, 150]) {
      first = true
      const run = started.agent.resume(started.run.id)
      const reading = collect(run)
      await at(moment)
      expect(run.send('Wait')).toBe(true)
      const cancelled = run.cancel({ at: mode })
      await vi.runAllTimersAsync()
      if (mode === 'after-tools') {
        // The step in which it was stopped continues to its end.
        expect((await run.result).cancelled).toEqual({ at: mode })
        break
      }
      expect(await cancelled).toEqual({ status: 'cancelled' })
      const { checkpoint } = await run.result
      expect(checkpoint?.calls).toHaveLength(2)
      expect(checkpoint?.calls).toMatchObject([{ message: { callId: 'quick' } }, { effect: 'read' }])
      expect(checkpoint?.sent).toHaveLength(++sent)
      expect(checkpoint?.revision).toBeGreaterThan(revision)
      revision = checkpoint?.revision ?? 0
      await reading
    }
  }
  expect(log.filter((line) => line.startsWith('quick'))).toHaveLength(1)
})

test('what an aborted or cancelled run cuts off is not saved as a result (K1, K15)', async () => {
  const store = memoryStore()
  const tidy = toolOf('tidy', 'external', async ({ signal }) => {
    await sleep(500, signal).catch(() => undefined)
    throw new Error('cut short')
  })
  const started = start([respond(...named('tidy')), answer], { tools: [tidy], checkpoints: store })
  await at(50)
  const before = await store.load(started.run.id)
  started.controller.abort()
  await ended(started)
  expect(await store.load(started.run.id)).toEqual(before)
  expect((before as Checkpoint).calls).toMatchObject([{ id: 'tidy', effect: 'external' }])
})

test('stopped before it has restored its calls, a resumed run still knows which of them were made (K14, A24)', async () => {
  const slow: Middleware = { name: 'slow', beforeAgent: (_, run) => (first ? sleep(100, run.signal) : undefined) }
  const responses = [respond(...named('quick', 'slow', 'late')), answer]
  const tools = [work('quick', 10), work('slow', 100), work('late', 1)]
  first = false
  const started = start(responses, { tools, middleware: [slow], toolConcurrency: 2 })
  await at(65)
  const halted = started.run.cancel({ at: 'after-model' })
  await at(10)
  void started.run.cancel()
  const { result } = await ended(started)
  expect(await halted).toEqual({ status: 'cancelled' })
  const expected = [
    ['quick', 'quick done'],
    ['slow', CUT_OFF],
    ['late', NOT_STARTED],
  ]
  first = true
  const cancelled = started.agent.resume(result?.checkpoint as Checkpoint)
  const controller = new AbortController()
  const aborted = started.agent.resume(result?.checkpoint as Checkpoint, {}, { signal: controller.signal })
  const failing = aborted.result.catch((error: unknown) => error)
  await at(50)
  void cancelled.cancel()
  controller.abort()
  expect(resultsIn((await cancelled.result).messages)).toEqual(expected)
  expect(resultsIn(((await failing) as RunAbortedError).messages)).toEqual(expected)
})

test('a save that waits for its turn when the run is aborted does not happen (K1)', async () => {
  const store = memoryStore()
  const save = store.save.bind(store)
  const begun: number[] = []
  store.save = async (...saved) => {
    begun.push(performance.now())
    await sleep(100)
    await save(...saved)
  }
  const tools = [work('a', 10, 'read'), work('b', 20, 'read'), work('c', 5_000, 'read')]
  const started = start([respond(...named('a', 'b', 'c')), answer], { tools, checkpoints: store })
  await at(95)
  const aborted = performance.now()
  started.controller.abort()
  await ended(started)
  expect(begun.length).toBeGreaterThan(0)
  expect(begun.filter((time) => time > aborted)).toEqual([])
})
