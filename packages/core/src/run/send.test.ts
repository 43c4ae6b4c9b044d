import {
  call,
  collect,
  fail,
  respond,
  type ScriptResponse,
  say,
  scriptedModel,
  wait,
} from '@meanwhile/assemble/testing'
import { beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { sleep } from '../../test/clock.ts'
import {
  AgentError,
  type AgentEvent,
  type AgentOptions,
  type AgentRun,
  type Checkpoint,
  createAgent,
  hasFinalAnswer,
  InputError,
  MaxStepsError,
  type Message,
  type Middleware,
  type Model,
  memoryStore,
  TimeoutError,
  type Tool,
  textOf,
  tool,
} from '../index.ts'

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

const at = (ms: number) => vi.advanceTimersByTimeAsync(ms)

function toolOf(name: string, options: Omit<Partial<Tool>, 'needs'> = {}): Tool {
  const execute = () => sleep(50).then(() => `${name} done`)
  return tool({ name, description: name, input: z.object({}), execute, ...options }) as Tool
}

/** The response to each request depends on its history. */
function modelOf(responses: readonly ScriptResponse[]): Model {
  return {
    provider: 'scripted',
    id: 'scripted-1',
    stream(request) {
      const turn = request.messages.filter(({ role }) => role === 'assistant').length
      const pace = { firstToken: 10, betweenTokens: 10 }
      return scriptedModel([responses[turn] ?? respond(fail({ status: 400 }))], { pace }).stream(request)
    },
  }
}

function start(responses: readonly ScriptResponse[], options: Partial<AgentOptions> = {}) {
  const agent = createAgent({ model: modelOf(responses), ...options })
  const run = agent.stream('Go')
  return { agent, run, reading: collect(run) }
}

async function ended<Read>(reading: Promise<Read>): Promise<Read> {
  await vi.runAllTimersAsync()
  const read = await reading
  expect(vi.getTimerCount()).toBe(0)
  return read
}

/** One word per message. */
function said(messages: readonly Message[] | undefined): string[] {
  return (messages ?? []).map((message) =>
    message.role === 'tool' ? `tool ${message.callId}` : `${message.role} ${textOf(message)}`.trim(),
  )
}

/** What the steps of a run and its resumes have added. With the input it is the history. */
const added = (events: readonly AgentEvent[]) =>
  said(events.flatMap((event) => (event.type === 'step-end' ? event.messages : [])))

const calls = respond(call('a', {}, { id: 'a', deltas: 1 }), call('b', {}, { id: 'b', deltas: 1 }))
const tools = [toolOf('a'), toolOf('b')]

test('sent messages enter the history at the next safe point, in order, never between a call and its result (K18)', async () => {
  const responses = [calls, respond(say('Both.')), respond(say('Never asked.'))]
  for (const moment of [15, 60, 85]) {
    const { run, reading } = start(responses, { tools })
    await at(moment)
    expect(run.send('First')).toBe(true)
    expect(run.send({ role: 'user', content: [{ type: 'text', text: 'Second' }] })).toBe(true)
    const { events, result } = await ended(reading)
    const rest = ['assistant', 'tool a', 'tool b', 'user First', 'user Second', 'assistant Both.']
    expect(said(result?.messages)).toEqual(['user Go', ...rest])
    expect(added(events)).toEqual(rest)
    expect(run.send('Too late')).toBe(false)
    expect(result?.messages).toHaveLength(7)
  }
})

test('messages sent before the first step come after the input (K18)', async () => {
  const { run, reading } = start([respond(say('Hi.'))])
  expect(run.send('And more')).toBe(true)
  expect(said((await ended(reading)).result?.messages)).toEqual(['user Go', 'user And more', 'assistant Hi.'])
})

test('a message that waits when an answer is offered comes first: the gate is not called, and a further step follows (K19)', async () => {
  const judged: string[] = []
  const gate: Middleware = {
    name: 'gate',
    beforeFinalAnswer: ({ messages }) => void judged.push(said(messages).at(-1) ?? ''),
  }
  const { run, reading } = start([respond(say('One two', { deltas: 2 })), respond(say('Three.'))], {
    middleware: [gate],
  })
  await at(15)
  run.send('Wait')
  const { events, result } = await ended(reading)
  expect(said(result?.messages)).toEqual(['user Go', 'assistant One two', 'user Wait', 'assistant Three.'])
  expect(judged).toEqual(['assistant Three.'])
  expect(result).toMatchObject({ status: 'completed', text: 'Three.', steps: 2 })
  expect(events.map(({ type, step }) => [type, step]).filter(([type]) => String(type).startsWith('step'))).toEqual([
    ['step-start', 1],
    ['step-end', 1],
    ['step-start', 2],
    ['step-end', 2],
  ])
})

test('a message that arrives during the gate is not lost: an accepted answer stays, and a further step follows (K18, K19)', async () => {
  const gate: Middleware = { name: 'gate', beforeFinalAnswer: () => sleep(100) }
  const { run, reading } = start([respond(say('One.')), respond(say('Two.'))], { middleware: [gate] })
  await at(50)
  expect(run.send('Wait')).toBe(true)
  const { result } = await ended(reading)
  expect(said(result?.messages)).toEqual(['user Go', 'assistant One.', 'user Wait', 'assistant Two.'])
})

test('a message that arrives while the gate rejects comes after the feedback (K18, E2)', async () => {
  const gate: Middleware = {
    name: 'gate',
    async beforeFinalAnswer({ messages }) {
      await sleep(100)
      return messages.length > 3 ? { accept: true } : { accept: false, feedback: 'Better.' }
    },
  }
  const { run, reading } = start([respond(say('One.')), respond(say('Two.'))], { middleware: [gate] })
  await at(50)
  run.send('Wait')
  const { result } = await ended(reading)
  const expected = ['user Go', 'assistant One.', 'user Better.', 'user Wait', 'assistant Two.']
  expect(said(result?.messages)).toEqual(expected)
})

test('a returnDirect result is not an answer either while a message waits (K19)', async () => {
  const direct = [toolOf('a', { returnDirect: true }), toolOf('b')]
  const { run, reading } = start([calls, respond(say('Both.'))], { tools: direct })
  await at(60)
  run.send('Wait')
  const { result } = await ended(reading)
  expect(said(result?.messages).slice(2)).toEqual(['tool a', 'tool b', 'user Wait', 'assistant Both.'])
  expect(result?.stopReason).toBe('answer')
})

test('if no step is left the run ends with MaxStepsError, whose messages contain the sent ones (K19, A9)', async () => {
  const { run, reading } = start([respond(say('One.'))], { maxSteps: 1 })
  await at(5)
  run.send('Wait')
  const { error } = await ended(reading)
  expect(error).toBeInstanceOf(MaxStepsError)
  expect(said((error as MaxStepsError).messages)).toEqual(['user Go', 'assistant One.', 'user Wait'])
})

/** How a run may fail while its model streams, or after that. */
const failures: Readonly<
  Record<string, [Partial<AgentOptions>, ((run: AgentRun, abort: AbortController) => unknown)?]>
> = {
  'is aborted in the same turn': [{}, (_, abort) => abort.abort()],
  'loses its reader': [{}, (run) => run[Symbol.asyncIterator]().return?.()],
  'has a model that fails': [{ model: modelOf([respond(say('One.'), wait(30), fail({ status: 400 }))]) }],
  'has a hook that throws': [{ middleware: [{ name: 'h', afterModel: () => Promise.reject(new Error('broken')) }] }],
  'runs out of time': [{ middleware: [{ name: 'limit', wrapAgent: lateAfter(30) }] }],
  'has a tool that ends it': [
    { model: modelOf([calls]), tools: [toolOf('a', { execute: () => Promise.reject(new AgentError('over')) })] },
  ],
}

function lateAfter(ms: number): NonNullable<Middleware['wrapAgent']> {
  return async function* (setup, next) {
    const flow = next(setup)
    const late = sleep(ms).then(() => Promise.reject(new TimeoutError('run', ms)))
    for (;;) {
      const step = await Promise.race([flow.next(), late])
      if (step.done) return step.value
      yield step.value
    }
  }
}

test.each(Object.keys(failures))(
  'messages sent to a run that then %s are in the messages of its error, and in the store if there is one (P8)',
  async (how) => {
    const [options, act] = failures[how] ?? []
    for (const checkpoints of [undefined, memoryStore()]) {
      const abort = new AbortController()
      const agent = createAgent({
        model: modelOf([respond(say('One.'), wait(50))]),
        ...options,
        ...(checkpoints && { checkpoints }),
      })
      const run = agent.stream('Go', { signal: abort.signal })
      const failed = run.result.catch((error: unknown) => error)
      await at(12)
      expect(run.send('Late')).toBe(true)
      await act?.(run, abort)
      const { messages } = (await ended(failed)) as AgentError
      expect(messages?.at(-1)).toMatchObject({ role: 'user', content: 'Late' })
      expect(said(messages).filter((one) => one === 'user Late')).toHaveLength(1)
      const stored = (await checkpoints?.load(run.id)) as Checkpoint | undefined
      expect(stored?.sent).toEqual(checkpoints && [{ role: 'user', content: 'Late' }])
    }
  },
)

test('messages sent to a run that turns out to have ended are in notTaken, and not also in messages (P8)', async () => {
  const checkpoints = memoryStore()
  const { agent, run, reading } = start([respond(say('One.'))], { checkpoints })
  await ended(reading)
  const resumed = agent.resume(run.id)
  const failed = resumed.result.catch((error: unknown) => error)
  expect(resumed.send('Late')).toBe(true)
  const error = (await ended(failed)) as InputError
  expect(error).toMatchObject({ name: 'InputError', problem: 'run-ended', notTaken: [{ content: 'Late' }] })
  expect(said(error.messages)).toEqual(['user Go', 'assistant One.'])
})

test('messages that were not read are in the checkpoint, and the resume reads them first (K19, L11, P8)', async () => {
  for (const mode of ['now', 'after-model', 'after-tools'] as const) {
    const { agent, run, reading } = start([calls, respond(say('Both.'))], {
      tools: tools.map((one) => ({ ...one, effect: 'read' as const })),
    })
    await at(35)
    run.send('Wait')
    void run.cancel({ at: mode })
    // Once `now` has taken its checkpoint nothing more can be sent.
    expect(run.send('More')).toBe(mode !== 'now')
    const { result } = await ended(reading)
    expect(result?.status).toBe('cancelled')
    expect(result?.checkpoint?.sent).toHaveLength(mode === 'now' ? 1 : 2)
    expect(said(result?.messages)).not.toContain('user Wait')
    const again = agent.resume(JSON.parse(JSON.stringify(result?.checkpoint)) as Checkpoint)
    expect(again.send('Last')).toBe(true)
    const { result: final } = await ended(collect(again))
    const made = ['assistant', 'tool a', 'tool b']
    const waited = ['user Wait', ...(mode === 'now' ? [] : ['user More']), 'user Last']
    // The model is called again, and messages that were sent meanwhile come before that.
    const rest = mode === 'now' ? [...waited, ...made] : [...made, ...waited]
    expect(said(final?.messages)).toEqual(['user Go', ...rest, 'assistant Both.'])
  }
})

test('a message sent during the gate of a run that is cancelled there is read when the answer is offered again (K19)', async () => {
  let judged = 0
  const gate: Middleware = {
    name: 'gate',
    beforeFinalAnswer: async () => {
      judged++
      await sleep(100)
    },
  }
  const { agent, run, reading } = start([respond(say('One.')), respond(say('Two.'))], { middleware: [gate] })
  await at(50)
  run.send('Wait')
  void run.cancel()
  const { result } = await ended(reading)
  expect(result?.checkpoint?.sent).toEqual([{ role: 'user', content: 'Wait' }])
  const { result: final } = await ended(collect(agent.resume(result?.checkpoint as Checkpoint)))
  expect(said(final?.messages)).toEqual(['user Go', 'assistant One.', 'user Wait', 'assistant Two.'])
  expect(judged).toBe(2)
})

test('send returns false as soon as nothing can read the message: after an accepted answer, an abort or a failure (K18)', async () => {
  const slowly: Middleware = {
    name: 'slowly',
    async *wrapAgent(setup, next) {
      try {
        return yield* next(setup)
      } finally {
        await sleep(100)
      }
    },
  }
  const accepted = start([respond(say('One.'))], { middleware: [slowly] })
  await at(50)
  expect(accepted.run.send('Late')).toBe(false)
  expect((await ended(accepted.reading)).result?.messages).toHaveLength(2)

  const controller = new AbortController()
  const run = createAgent({ model: modelOf([respond(say('One.'))]) }).stream('Go', { signal: controller.signal })
  await at(5)
  controller.abort()
  expect(run.send('Late')).toBe(false)
  await ended(collect(run))
})

test('a wrapAgent that requests further steps can receive messages again (K18)', async () => {
  const twice: Middleware = {
    name: 'twice',
    async *wrapAgent(setup, next) {
      yield* next(setup)
      return yield* next(setup)
    },
  }
  const { run, reading } = start([respond(say('One.')), respond(say('Two.', { deltas: 2 })), respond(say('Three.'))], {
    middleware: [twice],
  })
  await at(25)
  expect(run.send('Wait')).toBe(true)
  const { result } = await ended(reading)
  expect(said(result?.messages)).toEqual([
    'user Go',
    'assistant One.',
    'assistant Two.',
    'user Wait',
    'assistant Three.',
  ])
})

test('so can one after a resume that begins with the final answer of its first steps (K18, L11)', async () => {
  const twice: Middleware = {
    name: 'twice',
    async *wrapAgent(setup, next) {
      yield* next(setup)
      await sleep(100)
      return yield* next(setup)
    },
  }
  const responses = [respond(say('One.')), respond(say('Two.', { deltas: 2 })), respond(say('Three.'))]
  const checkpoints = memoryStore()
  const first = start(responses, { middleware: [twice], checkpoints })
  await at(50)
  const left = structuredClone(await checkpoints.load(first.run.id)) as Checkpoint
  await ended(first.reading)
  expect(hasFinalAnswer(left)).toBe(true)
  const run = createAgent({ model: modelOf(responses), middleware: [twice] }).resume(left)
  const reading = collect(run)
  await at(50)
  expect(run.send('Too early')).toBe(false)
  await at(65)
  expect(run.send('Wait')).toBe(true)
  const { result } = await ended(reading)
  expect(said(result?.messages)).toEqual([
    'user Go',
    'assistant One.',
    'assistant Two.',
    'user Wait',
    'assistant Three.',
  ])
})

test('a value that is not a user message is refused, and the run keeps its own copy of a sent message (K18, A16)', async () => {
  const { run, reading } = start([respond(say('One two', { deltas: 2 })), respond(say('Three.'))])
  await at(5)
  for (const content of ['', []])
    expect(() => run.send({ role: 'user', content })).toThrow(new InputError('message', 'empty'))
  const wrong = ['', 7, null, { role: 'assistant', content: [] }, { role: 'user' }] as unknown[]
  for (const message of wrong) {
    const problem = message === '' ? 'empty' : 'malformed'
    expect(() => run.send(message as string)).toThrow(expect.objectContaining({ given: 'message', problem }))
  }
  expect(() => run.send(JSON.parse('{"role":"system","content":"Be kind."}'))).toThrow(/the option instructions$/)
  expect(() => run.send(JSON.parse('{"role":"user","content":[{"type":"image"}]}'))).toThrow(/a part of its content is/)
  const message = { role: 'user' as const, content: 'Mine' }
  run.send(message)
  message.content = 'changed'
  const { result } = await ended(reading)
  expect(result?.messages[2]).toEqual({ role: 'user', content: 'Mine' })
  expect(Object.isFrozen(result?.messages[2])).toBe(true)
})

test.each<[unknown, string]>([
  [{}, 'this has no role'],
  [undefined, 'this is undefined'],
  [null, 'this is null'],
  [5, 'this is a number'],
  [['Hi.'], 'this is a list'],
  [{ role: 'user' }, 'this has no content; a part of its content is'],
  [{ role: 'system', content: 'Hi.' }, 'this has another role than user; a system prompt is the option instructions'],
  ['', 'this is empty'],
])('for a sent value that is not a message, %j, the error explains what is missing (K18, P16)', async (sent, why) => {
  const run = createAgent({ model: scriptedModel([respond(say('Hi.'))]) }).stream('Go')
  const message = `a message to a run must be a text or a user message; ${why}`
  expect(() => run.send(sent as string)).toThrow(message)
  await run.result
})
