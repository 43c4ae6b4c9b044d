import {
  call,
  collect,
  fail,
  respond,
  type ScriptResponse,
  say,
  scriptedModel,
  think,
  wait,
} from '@meanwhile/assemble/testing'
import { unhandledRejections } from '@meanwhile/tests/rejections'
import { beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { askAgain } from '../../test/again.ts'
import { sleep } from '../../test/clock.ts'
import { startingEarly } from '../../test/early-calls.ts'
import {
  type Agent,
  type AgentEvent,
  type AgentRun,
  agentTool,
  type Checkpoint,
  createAgent,
  InputError,
  interrupt,
  type Message,
  type Middleware,
  type Model,
  map,
  memoryStore,
  type Tool,
  textOf,
  tool,
} from '../index.ts'

// What a cancel leaves of a model call, and what happens to messages that are sent to a run that is stopped, resumed or over.

unhandledRejections()

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

interface Scripted extends Model {
  /** The requests so far, a line for each message. */
  readonly requests: string[][]
}

/** A word per message; a message that was cut off ends with three dots. */
function said(messages: readonly Message[] | undefined): string[] {
  return (messages ?? []).map((message) => {
    const dots = message.role === 'assistant' && message.cutOff ? '…' : ''
    return `${message.role} ${textOf(message)}${dots}`.trim()
  })
}

/** The response depends on the number of requests; the words come every 10 ms. */
function modelOf(responses: readonly ScriptResponse[]): Scripted {
  const requests: string[][] = []
  return {
    provider: 'p',
    id: 'm',
    requests,
    stream(request) {
      const response = responses[requests.length] ?? respond(fail({ status: 400 }))
      requests.push(said(request.messages))
      const pace = { firstToken: 10, betweenTokens: 10 }
      return scriptedModel([response], { pace }).stream(request)
    },
  }
}

const at = (ms: number) => vi.advanceTimersByTimeAsync(ms)

async function ended(run: AgentRun) {
  const reading = collect(run)
  await at(5_000)
  return await reading
}

/** A run that is cancelled this many milliseconds after its beginning. */
async function cancelledAt(ms: number, agent: Agent, input = 'Go') {
  const run = agent.stream(input)
  const reading = collect(run)
  await at(ms)
  void run.cancel()
  await at(5_000)
  const { events, result } = await reading
  if (result?.status !== 'cancelled') throw new Error(`it is ${result?.status}`)
  return { run, events, result, checkpoint: JSON.parse(JSON.stringify(result.checkpoint)) as Checkpoint }
}

const anything = z.looseObject({})

const toolOf = (name: string, effect: 'read' | 'external', execute: () => unknown): Tool =>
  tool({ name, description: name, input: anything, effect, execute }) as Tool

const story = respond(say('Once upon a time'))
const other = respond(say('Something else.', { deltas: 1 }))

test('a cancelled run ends with the text so far; a resume calls the model again without it, or, if a message is sent first, with it and the message (P8, O9)', async () => {
  for (const stored of [false, true]) {
    const model = modelOf([story, other])
    const checkpoints = memoryStore()
    const agent = createAgent({ model, ...(stored && { checkpoints }) })
    const first = await cancelledAt(35, agent)
    const text = {
      role: 'assistant',
      content: [{ type: 'text', text: 'Once upon a' }],
      finishReason: 'other',
      cutOff: true,
    }
    expect(first.result.messages).toEqual([{ role: 'user', content: 'Go' }, text])
    expect(first.checkpoint.messages).toEqual([{ role: 'user', content: 'Go' }])
    expect(first.checkpoint.steps).toMatchObject({ current: { phase: 'model' }, cutOff: 'Once upon a' })

    const plain = await ended(agent.resume(first.checkpoint))
    expect(said(plain.result?.messages)).toEqual(['user Go', 'assistant Something else.'])

    if (stored)
      await checkpoints.save(
        first.run.id,
        { ...first.checkpoint, revision: 90 },
        await revisionIn(checkpoints, first.run.id),
      )
    const again = modelOf([other])
    const resumed = createAgent({ model: again, ...(stored && { checkpoints }) }).resume(
      stored ? first.run.id : first.checkpoint,
    )
    expect(resumed.send('Make it short.')).toBe(true)
    const { events, result } = await ended(resumed)
    const history = ['user Go', 'assistant Once upon a…', 'user Make it short.']
    expect(again.requests).toEqual([history])
    expect(said(result?.messages)).toEqual([...history, 'assistant Something else.'])
    const [step] = events.flatMap((event) => (event.type === 'step-end' ? [event] : []))
    expect([step?.step, step?.attempt, said(step?.messages)]).toEqual([1, 2, said(result?.messages).slice(1)])
    expect(result?.steps).toBe(1)
  }
})

const revisionIn = async (store: ReturnType<typeof memoryStore>, id: string) =>
  ((await store.load(id)) as Checkpoint).revision

test('the messages of a cancelled run are the input of another one (P8, B18)', async () => {
  const model = modelOf([story, other])
  const agent = createAgent({ model })
  const { result } = await cancelledAt(35, agent)
  await ended(agent.stream([...result.messages, { role: 'user', content: 'And?' }]))
  expect(model.requests[1]).toEqual(['user Go', 'assistant Once upon a…', 'user And?'])
})

test('of a cut-off response text and complete calls are kept, each call with its outcome; no reasoning, and no incomplete call (P8, K14)', async () => {
  const late = call('send', { n: 1 }, { id: 'incomplete', deltas: 9 })
  const response = respond(
    think('Hm hm', { deltas: 2 }),
    say('Look:', { deltas: 1 }),
    call('look', {}, { id: 'settled', deltas: 1 }),
    call('slow', {}, { id: 'cut', deltas: 1 }),
    call('send', {}, { id: 'waits', deltas: 1 }),
    say('so', { deltas: 1 }),
    late,
  )
  const tools = [
    toolOf('look', 'read', () => 'seen'),
    toolOf('slow', 'read', () => sleep(1_000)),
    toolOf('send', 'external', () => 'sent'),
  ]
  const agent = createAgent({
    model: modelOf([response]),
    tools,
    middleware: [startingEarly({ ceiling: 'read' })],
    grace: 100,
  })
  const { result, checkpoint } = await cancelledAt(135, agent)
  const [, answer, ...results] = result.messages
  expect(answer).toMatchObject({
    cutOff: true,
    content: [
      { type: 'text', text: 'Look:' },
      { type: 'tool-call', id: 'settled' },
      { type: 'tool-call', id: 'cut' },
      { type: 'tool-call', id: 'waits' },
      { type: 'text', text: 'so' },
    ],
  })
  expect(results).toMatchObject([
    { callId: 'settled', content: [{ text: 'seen' }] },
    { callId: 'cut', isError: true, content: [{ text: expect.stringContaining('cut off') }] },
    { callId: 'waits', isError: true, content: [{ text: expect.stringContaining('Not run') }] },
  ])
  expect(checkpoint.steps.cutOff).toBe('Look:so')
})

test.each([
  ['before the first word', respond(say('Late.', { deltas: 1 })), 5],
  ['after only white space', respond(say('  \n', { deltas: 1 }), wait(100)), 20],
  ['in its reasoning', respond(think('Hm hm hm', { deltas: 3 })), 25],
  ['in its first call', respond(call('look', { n: 1 }, { deltas: 6 })), 35],
] as const)('cancelled %s, a run ends with what it had before (P8)', async (_, response, ms) => {
  const model = modelOf([response, other])
  const agent = createAgent({ model, tools: [toolOf('look', 'read', () => 'seen')] })
  const { result, checkpoint } = await cancelledAt(ms, agent)
  expect(result.messages).toEqual([{ role: 'user', content: 'Go' }])
  expect(checkpoint.steps).not.toHaveProperty('cutOff')
  const resumed = agent.resume(checkpoint)
  resumed.send('Short, please')
  expect(said((await ended(resumed)).result?.messages)).toEqual([
    'user Go',
    'user Short, please',
    'assistant Something else.',
  ])
})

test('the text is that of the running attempt, after the wraps; the text of a failed one is not kept (P8, J9)', async () => {
  const shouting: Middleware = {
    name: 'shouting',
    wrapModel: (request, next) =>
      map(next(request), (event) =>
        event.type === 'text-delta' ? { ...event, delta: event.delta.toUpperCase() } : event,
      ),
  }
  const model = modelOf([respond(say('No good', { deltas: 2 }), fail()), story])
  const agent = createAgent({ model, middleware: [shouting, askAgain] })
  const { events, result } = await cancelledAt(55, agent)
  expect(said(result.messages)).toEqual(['user Go', 'assistant ONCE UPON A…'])
  expect(toldOfAttempts(events)).toEqual([
    '1 attempt-start',
    '1 attempt-failed',
    '2 attempt-start',
    '2 attempt-cancelled',
  ])
})

const toldOfAttempts = (events: readonly AgentEvent[]) =>
  events.flatMap((event) =>
    event.type.startsWith('attempt-') && 'attempt' in event ? [`${event.attempt} ${event.type}`] : [],
  )

test('the reader sees a cancelled attempt as cancelled, and one that was aborted or failed before the cancel as failed (P8, J7)', async () => {
  const aborting = createAgent({ model: modelOf([story]) })
  const abort = new AbortController()
  const run = aborting.stream('Go', { signal: abort.signal })
  const reading = collect(run)
  await at(25)
  abort.abort()
  await at(1_000)
  expect(toldOfAttempts((await reading).events)).toEqual(['1 attempt-start', '1 attempt-failed'])

  const patient: Middleware = {
    name: 'patient',
    async *wrapModel(request, next, view) {
      try {
        return yield* next(request)
      } catch (error) {
        await new Promise((resolve) => view.signal.addEventListener('abort', resolve))
        throw error
      }
    },
  }
  const failing = createAgent({ model: modelOf([respond(say('No'), fail())]), middleware: [patient] })
  const { events, result } = await cancelledAt(100, failing)
  expect(toldOfAttempts(events)).toEqual(['1 attempt-start', '1 attempt-failed'])
  expect(said(result.messages)).toEqual(['user Go'])
})

test('cancelled again before the model is called, it keeps the text; once the model is called the text is gone (P8, O9)', async () => {
  const slow: Middleware = { name: 'slow', beforeAgent: () => sleep(50) }
  const first = await cancelledAt(35, createAgent({ model: modelOf([story]) }))
  const agent = createAgent({ model: modelOf([respond(wait(100), say('Never.'))]), middleware: [slow] })
  for (const [ms, kept] of [
    [20, ['user Go', 'assistant Once upon a…']],
    [80, ['user Go']],
  ] as const) {
    const run = agent.resume(first.checkpoint)
    const reading = collect(run)
    await at(ms)
    void run.cancel()
    await at(1_000)
    const { result } = await reading
    expect(said(result?.messages)).toEqual(kept)
    expect(result?.checkpoint?.steps.cutOff).toBe(kept.length > 1 ? 'Once upon a' : undefined)
  }
})

test('messages that are sent before the cancel and before the resume has loaded the run come in their order after the text (P8, K19)', async () => {
  const checkpoints = memoryStore()
  const { load } = checkpoints
  checkpoints.load = (id) => sleep(30).then(() => load(id))
  const model = modelOf([story, other])
  const agent = createAgent({ model, checkpoints })
  const run = agent.stream('Go')
  const reading = collect(run)
  await at(35)
  expect(run.send('Wait')).toBe(true)
  void run.cancel()
  await at(1_000)
  await reading
  const resumed = agent.resume(run.id)
  expect(resumed.send('Short')).toBe(true)
  await ended(resumed)
  expect(model.requests[1]).toEqual(['user Go', 'assistant Once upon a…', 'user Wait', 'user Short'])
})

test('a message before the first step of a resume comes before its model call, whatever has interrupted the run (P8, K18)', async () => {
  for (const hook of ['beforeModel', 'wrapModel', 'behind'] as const) {
    const asks: Middleware = {
      name: 'asks',
      beforeModel(_, run) {
        if (hook === 'beforeModel' && run.answers.length === 0) throw interrupt('Well?')
      },
      async *wrapModel(request, next, run) {
        if (hook === 'wrapModel' && run.answers.length === 0) throw interrupt('Well?')
        const message = yield* next(request)
        if (hook === 'behind' && run.answers.length === 0) throw interrupt('Well?')
        return message
      },
    }
    const model = modelOf([other, other])
    const agent = createAgent({ model, middleware: [asks] })
    const first = await ended(agent.stream('Go'))
    const resumed = agent.resume(first.result?.checkpoint as Checkpoint, {
      [first.result?.interrupts?.[0]?.id ?? '']: 'Yes',
    })
    expect(resumed.send('And this')).toBe(true)
    const { result } = await ended(resumed)
    expect(said(result?.messages)).toEqual(['user Go', 'user And this', 'assistant Something else.'])
    expect(model.requests.at(-1)).toEqual(['user Go', 'user And this'])
  }
})

test('a resume of a checkpoint knows at once that the run has ended; one of an id reports it in its result, with the messages, before any call (P8)', async () => {
  const checkpoints = memoryStore()
  const model = modelOf([other, other])
  const agent = createAgent({ model, checkpoints })
  const run = agent.stream('Go')
  await ended(run)
  const stored = (await checkpoints.load(run.id)) as Checkpoint
  const known = agent.resume(stored)
  expect(known.send('And?')).toBe(false)
  expect((await ended(known)).result).toMatchObject({ status: 'completed', text: 'Something else.' })

  const unknown = agent.resume(run.id)
  expect(unknown.send('And?')).toBe(true)
  expect(unknown.send({ role: 'user', content: 'Well?' })).toBe(true)
  const { error, events } = await ended(unknown)
  expect(error).toBeInstanceOf(InputError)
  expect(error).toMatchObject({
    given: 'message',
    problem: 'run-ended',
    notTaken: [
      { role: 'user', content: 'And?' },
      { role: 'user', content: 'Well?' },
    ],
  })
  expect(JSON.stringify(error)).not.toContain('Well?')
  expect(unknown.send('Hello?')).toBe(false)
  expect(events).toEqual([])
  expect(model.requests).toHaveLength(1)
  expect(await checkpoints.load(run.id)).toEqual(stored)
  expect((await ended(agent.resume(run.id))).result?.text).toBe('Something else.')
})

test('a run whose answer was accepted accepts no message either, although a wrapAgent has stopped it on the way out (P8, L11)', async () => {
  const sign: Middleware = {
    name: 'sign',
    async *wrapAgent(setup, next, run) {
      const result = yield* next(setup)
      if (run.answers.length === 0) throw interrupt('Sign?')
      return result
    },
  }
  const checkpoints = memoryStore()
  const model = modelOf([other])
  const agent = createAgent({ model, checkpoints, middleware: [sign] })
  const first = await ended(agent.stream('Go'))
  const checkpoint = first.result?.checkpoint as Checkpoint
  const answers = { [first.result?.interrupts?.[0]?.id ?? '']: 'Yes' }
  const unknown = agent.resume(checkpoint.runId, answers)
  expect(unknown.send('And?')).toBe(true)
  expect((await ended(unknown)).error).toMatchObject({ problem: 'run-ended', notTaken: [{ content: 'And?' }] })
  const known = agent.resume(checkpoint, answers)
  expect(known.send('And?')).toBe(false)
  expect((await ended(known)).result?.status).toBe('completed')
})

test('a message that waits when a wrapAgent answers itself is not lost silently (P8)', async () => {
  const cache: Middleware = {
    name: 'cache',
    async *wrapAgent(_, __, run) {
      await sleep(50)
      run.emit({ name: 'cached', data: null })
      const message = { role: 'assistant' as const, content: [], finishReason: 'stop' as const }
      const { usage } = run
      return {
        status: 'completed',
        message,
        text: '',
        finishReason: 'stop',
        messages: [],
        steps: 0,
        usage,
        warnings: [],
      }
    },
  }
  const agent = createAgent({ model: modelOf([]), middleware: [cache] })
  const run = agent.stream('Go')
  const reading = collect(run)
  await at(10)
  expect(run.send('And?')).toBe(true)
  await at(1_000)
  expect((await reading).error).toMatchObject({
    name: 'InputError',
    problem: 'run-ended',
    notTaken: [{ content: 'And?' }],
  })
  expect((await ended(agent.stream('Go'))).result?.status).toBe('completed')
})

test('whenever a message is sent, in whatever turn, it is accepted or refused (P8, K18, K19)', async () => {
  for (let turns = 0; turns < 40; turns++) {
    const gate: Middleware = {
      name: 'gate',
      beforeFinalAnswer() {
        void later()
      },
    }
    let taken: boolean | undefined
    const later = async () => {
      for (let turn = 0; turn < turns; turn++) await Promise.resolve()
      taken ??= run.send('And?')
    }
    const run = createAgent({ model: modelOf([other, other, other]), middleware: [gate] }).stream('Go')
    const { result } = await ended(run)
    expect([turns, said(result?.messages).includes('user And?')]).toEqual([turns, taken])
  }
})

test('for a nested agent that is cancelled with its run the reader sees the same, and its text waits in its checkpoint (P8, K16)', async () => {
  const expert = createAgent({ name: 'expert', description: 'e', model: modelOf([story, other]) })
  const model = modelOf([respond(call('expert', { request: 'Tell' }, { id: 'a', deltas: 1 })), respond(say('Done.'))])
  const agent = createAgent({ model, tools: [agentTool(expert)] })
  const { events, checkpoint } = await cancelledAt(40, agent)
  expect(events.flatMap((event) => (event.type === 'attempt-cancelled' ? [event.path?.[0]?.agent] : []))).toEqual([
    'expert',
  ])
  expect(events.filter(({ type }) => type === 'attempt-failed')).toEqual([])
  expect(checkpoint.calls[0]?.runs[0]?.checkpoint.steps.cutOff).toMatch(/^Once/)
  const { result } = await ended(agent.resume(checkpoint))
  expect(said(result?.messages)).toEqual(['user Go', 'assistant', 'tool Something else.', 'assistant Done.'])
})
