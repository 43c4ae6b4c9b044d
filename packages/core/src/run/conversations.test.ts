import { propertyRuns } from '@meanwhile/tests/size'
import fc from 'fast-check'
import { beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { sleep } from '../../test/clock.ts'
import { early, withdrawing } from '../../test/early-calls.ts'
import { toFormat1 } from '../../test/format-1.ts'
import {
  AgentError,
  type AgentEvent,
  type AgentOptions,
  type AgentResult,
  type AgentRun,
  AnswerError,
  agentTool,
  type Checkpoint,
  createAgent,
  hasFinalAnswer,
  interrupt,
  type Json,
  type Message,
  type Middleware,
  memoryStore,
  type Tool,
  type ToolSchema,
  textOf,
  tool,
} from '../index.ts'
import { call, collect, fail, respond, type ScriptResponse, say, scriptedModel, wait } from '../testing.ts'

// What a run offers to code that keeps a conversation: what enters its history, what it asks, and how it is closed.

beforeEach(() => {
  vi.useFakeTimers({ now: 0 })
  return () => vi.useRealTimers()
})

const anything = z.object({})

/** Takes this many milliseconds. */
const working = (name: string, ms: number, effect: 'read' | 'external' = 'read') =>
  tool({
    name,
    description: name,
    input: anything,
    effect,
    async execute() {
      await sleep(ms)
      return `${name} is done`
    },
  }) as Tool

/** Asks for the answer, and returns it. */
const asking = (name: string, answer?: ToolSchema) =>
  tool({
    name,
    description: name,
    input: anything,
    execute(_, { answers: [first] }) {
      if (first === undefined) throw interrupt({ what: name }, answer && { answer })
      return first
    },
  }) as Tool

async function played(run: AgentRun) {
  const reading = collect(run)
  await vi.runAllTimersAsync()
  return await reading
}

const user = (content: string) => ({ role: 'user', content }) as const
const said = (text: string, more = {}) => ({
  role: 'assistant',
  content: [{ type: 'text', text }],
  finishReason: 'stop',
  ...more,
})
const result = (callId: string, name: string) => ({
  role: 'tool',
  callId,
  name,
  content: [{ type: 'text', text: `${name} is done` }],
  output: `${name} is done`,
})
const failure = (callId: string, name: string, text: string) => ({
  role: 'tool',
  callId,
  name,
  content: [{ type: 'text', text }],
  isError: true,
})

/** Without the run's id. */
const bare = (events: readonly AgentEvent[]) => events.map(({ runId: _, ...event }) => event)

/** The type of an event, with the data that identifies it. */
const brief = (events: readonly AgentEvent[]) =>
  events.flatMap((event) => {
    if ('delta' in event || event.type.startsWith('tool-input')) return []
    const id = 'callId' in event ? event.callId : 'attempt' in event ? event.attempt : undefined
    return [id === undefined ? event.type : `${event.type} ${id}`]
  })

/** The history as a reader reconstructs it from the beginning and the events. */
function historyOf(events: readonly AgentEvent[], beginning: readonly Message[]): readonly Message[] {
  let history = [...beginning]
  for (const event of events) {
    if (event.path) continue
    if (event.type === 'message') history.push(event.message)
    if (event.type === 'history-replaced') history = [...event.messages]
  }
  return history
}

const checkpointIn = (outcome: AgentResult | undefined): Checkpoint => {
  if (!outcome?.checkpoint) throw new Error('there is no checkpoint')
  return JSON.parse(JSON.stringify(outcome.checkpoint)) as Checkpoint
}

const answersTo = (outcome: Pick<AgentResult, 'interrupts'> | undefined, answer: Json = 'yes') =>
  Object.fromEntries((outcome?.interrupts ?? []).map(({ id }) => [id, answer]))

const again: Middleware = {
  name: 'again',
  async *wrapModel(request, next) {
    try {
      return yield* next(request)
    } catch {
      return yield* next(request)
    }
  },
}

test('a cancel is reported as attempt-cancelled, and not as a failed attempt; the partial response is kept (CC1, P8)', async () => {
  const model = scriptedModel([
    respond(say('Lost', { deltas: 1 }), fail()),
    respond(say('One', { deltas: 1 }), wait(50), say('two')),
  ])
  const run = createAgent({ model, middleware: [again] }).stream('Go')
  const reading = collect(run)
  await vi.advanceTimersByTimeAsync(20)
  const cancelled = run.cancel()
  await vi.runAllTimersAsync()
  expect(await cancelled).toEqual({ status: 'cancelled' })
  const { events, result } = await reading
  const step = 1
  const partial = said('One', { finishReason: 'other', cutOff: true })
  const at = { provider: 'scripted', id: 'scripted-1' }
  expect(bare(events)).toEqual([
    { type: 'run-start' },
    { type: 'step-start', step },
    { type: 'attempt-start', step, attempt: 1, model: at },
    { type: 'text-delta', step, attempt: 1, delta: 'Lost' },
    { type: 'attempt-failed', step, attempt: 1, error: expect.any(AgentError), next: 'retry' },
    { type: 'attempt-start', step, attempt: 2, model: at },
    { type: 'text-delta', step, attempt: 2, delta: 'One' },
    { type: 'attempt-cancelled', step, attempt: 2 },
    { type: 'message', step, message: partial },
    { type: 'run-end', result },
  ])
  expect(result?.messages).toEqual([user('Go'), partial])
})

test('a run that has completed accepts no message, and neither does a resume of it (CC1, P8)', async () => {
  const agent = createAgent({ model: scriptedModel([respond(say('Hi'))]), checkpoints: memoryStore() })
  const run = agent.stream('Go', { id: 'r' })
  const { result } = await played(run)
  expect(run.send('Wait!')).toBe(false)
  const resumed = agent.resume('r')
  const { result: same } = await played(resumed)
  expect(resumed.send('Wait!')).toBe(false)
  expect(same).toEqual({ ...result, steps: 1 })
})

test('each appended message has an event when it enters the history: responses, results, feedback, and sent messages (CC2, B1)', async () => {
  const model = scriptedModel([
    respond(call('look', {}, { id: 'a' }), call('look', {}, { id: 'b' })),
    respond(say('Draft', { deltas: 1 })),
    respond(say('Answer', { deltas: 1 })),
  ])
  const gate: Middleware = {
    name: 'gate',
    beforeFinalAnswer: ({ messages }) =>
      textOf(messages.at(-1) ?? user('')) === 'Draft' ? { accept: false, feedback: 'No draft' } : { accept: true },
  }
  const run = createAgent({ model, tools: [working('look', 10)], middleware: [gate] }).stream('Go')
  const reading = collect(run)
  await vi.advanceTimersByTimeAsync(5)
  run.send('Be quick')
  await vi.runAllTimersAsync()
  const { events, result: outcome } = await reading
  const called = { role: 'assistant', content: [expect.anything(), expect.anything()], finishReason: 'tool-calls' }
  const feedback = { ...user('No draft'), origin: 'gate' }
  const story = bare(events).filter(
    ({ type }) => type === 'message' || type.startsWith('step-') || type === 'answer-rejected',
  )
  expect(story).toEqual([
    { type: 'step-start', step: 1 },
    { type: 'message', step: 1, message: called },
    { type: 'message', step: 1, message: result('a', 'look') },
    { type: 'message', step: 1, message: result('b', 'look') },
    { type: 'step-end', step: 1, attempt: 1, messages: [called, result('a', 'look'), result('b', 'look')] },
    { type: 'step-start', step: 2 },
    { type: 'message', step: 2, message: user('Be quick') },
    { type: 'message', step: 2, message: said('Draft') },
    { type: 'answer-rejected', step: 2, middleware: 'gate', feedback: 'No draft' },
    { type: 'message', step: 2, message: feedback },
    { type: 'step-end', step: 2, attempt: 1, messages: [user('Be quick'), said('Draft'), feedback] },
    { type: 'step-start', step: 3 },
    { type: 'message', step: 3, message: said('Answer') },
    { type: 'step-end', step: 3, attempt: 1, messages: [said('Answer')] },
  ])
  expect(historyOf(events, [user('Go')])).toEqual(outcome?.messages)
})

test('a hook that rewrites the history causes history-replaced, and one that returns it unchanged does not (CC2)', async () => {
  const shortening: Middleware = {
    name: 'shortening',
    beforeModel: ({ messages }) => ({ messages: messages.slice(-1) }),
    afterModel: (state) => state,
    beforeFinalAnswer: () => ({
      accept: true,
      message: { role: 'assistant', content: [{ type: 'text', text: 'Rewritten' }], finishReason: 'stop' },
    }),
  }
  const model = scriptedModel([respond(say('Answer', { deltas: 1 }))])
  const input = [user('Old'), user('Go')]
  const { events, result } = await played(createAgent({ model, middleware: [shortening] }).stream(input))
  const step = 1
  expect(bare(events).filter(({ type }) => type === 'message' || type === 'history-replaced')).toEqual([
    { type: 'history-replaced', step, messages: [user('Go')] },
    { type: 'message', step, message: said('Answer') },
    { type: 'history-replaced', step, messages: [user('Go'), said('Rewritten')] },
  ])
  expect(result?.messages).toEqual([user('Go'), said('Rewritten')])
})

test('the results that close the calls of a failed or cancelled run have events, and so have sent messages that were not read (CC2, K14, A24)', async () => {
  const broken = tool({
    name: 'broken',
    description: 'b',
    input: anything,
    async execute() {
      await sleep(20)
      throw new AgentError('No more')
    },
  }) as Tool
  const model = () => scriptedModel([respond(call('broken', {}, { id: 'a' }), call('look', {}, { id: 'b' }))])
  const ended = async (act: (run: AgentRun) => void) => {
    const run = createAgent({ model: model(), tools: [broken, working('look', 50)] }).stream('Go')
    const reading = collect(run)
    await vi.advanceTimersByTimeAsync(10)
    act(run)
    await vi.runAllTimersAsync()
    return await reading
  }
  const failed = await ended((run) => run.send('Hurry'))
  expect(failed.error).toBeInstanceOf(AgentError)
  const { messages } = failed.error as AgentError
  const cutOff = 'The run ended while this call was running. The call was cut off, and its effect may have happened.'
  expect(messages?.slice(2)).toEqual([failure('a', 'broken', cutOff), result('b', 'look'), user('Hurry')])
  expect(historyOf(failed.events, [user('Go')])).toEqual(messages)
  const cancelled = await ended((run) => void run.cancel())
  expect(cancelled.result?.messages).toHaveLength(4)
  expect(historyOf(cancelled.events, [user('Go')])).toEqual(cancelled.result?.messages)
})

interface Life {
  readonly ms: number
  readonly act: 'none' | 'send' | 'abort' | 'now' | 'after-model' | 'after-tools'
}

test('whatever stops a run, and however often it continues, its events reproduce its messages (CC2, CC6, K14, A24, B18)', async () => {
  const parts = fc.array(fc.constantFrom('say', 'look', 'ask', 'fail'), { minLength: 1, maxLength: 3 })
  const life: fc.Arbitrary<Life> = fc.record({
    ms: fc.integer({ min: 0, max: 60 }),
    act: fc.constantFrom('none', 'send', 'abort', 'now', 'after-model', 'after-tools'),
  })
  await fc.assert(
    fc.asyncProperty(
      fc.array(parts, { maxLength: 3 }),
      fc.array(life, { minLength: 1, maxLength: 4 }),
      fc.record({ isEager: fc.boolean(), rewrites: fc.boolean(), rejects: fc.boolean() }),
      async (scripts, lives, { isEager, rewrites, rejects }) => {
        const responses = scripts.map(
          (names, n): ScriptResponse =>
            respond(
              ...names.map((name, at) =>
                name === 'say' ? say('Well') : name === 'fail' ? fail() : call(name, {}, { id: `c${n}_${at}` }),
              ),
            ),
        )
        const hooks: Middleware = {
          name: 'hooks',
          ...(rewrites && { beforeModel: ({ messages }) => ({ messages: [...messages, user('Mind the gap')] }) }),
          ...(rejects && { beforeFinalAnswer: (_, { step }) => ({ accept: step > 2, feedback: 'Again' }) as const }),
        }
        const pace = { firstToken: 5, betweenTokens: 5 }
        const agent = createAgent({
          model: scriptedModel([...responses, ...Array.from({ length: 20 }, () => respond(say('Done')))], { pace }),
          tools: [working('look', 15), asking('ask')],
          middleware: [hooks, again, ...(isEager ? [early] : [])],
        })
        let controller = new AbortController()
        let run = agent.stream('Go', { signal: controller.signal })
        let beginning: readonly Message[] = [user('Go')]
        const open = new Set<string>()
        for (const { ms, act } of [...lives, { ms: 0, act: 'none' } as const]) {
          const reading = collect(run)
          await vi.advanceTimersByTimeAsync(ms)
          if (act === 'send') run.send('And?')
          else if (act === 'abort') controller.abort()
          else if (act !== 'none') void run.cancel({ at: act })
          await vi.runAllTimersAsync()
          const { events, result, error } = await reading
          const ended = result?.messages ?? (error as AgentError).messages
          expect(historyOf(events, beginning)).toEqual(ended)
          // Each question is asked once, in the run in which it comes up.
          const asked = events.flatMap((event) => (event.type === 'question' ? [event.id] : []))
          for (const id of asked) expect(open.has(id)).toBe(false)
          for (const id of asked) open.add(id)
          expect((result?.interrupts ?? []).filter(({ id }) => !open.has(id))).toEqual([])
          if (!result?.checkpoint) return
          beginning = result.checkpoint.messages
          controller = new AbortController()
          run = agent.resume(result.checkpoint, answersTo(result), { signal: controller.signal })
        }
        await vi.runAllTimersAsync()
      },
    ),
    propertyRuns({ small: 50, middle: 300, whole: 10_000 }),
  )
})

async function interrupted(options: Partial<AgentOptions> = {}, id = 'r') {
  const hooks: string[] = []
  const counting: Middleware = {
    name: 'counting',
    beforeAgent: () => void hooks.push('beforeAgent'),
    beforeModel: () => void hooks.push('beforeModel'),
  }
  const model = scriptedModel([
    respond(say('Let me see', { deltas: 1 }), call('look', {}, { id: 'a' }), call('ask', {}, { id: 'b' })),
    respond(say('Well', { deltas: 1 })),
  ])
  const made = { model, tools: [working('look', 10), asking('ask')], middleware: [counting], ...options }
  const agent = createAgent(made)
  const { result, events } = await played(agent.stream('Go', { id }))
  return { agent, model, hooks, events, result, checkpoint: checkpointIn(result) }
}

test('close answers open calls with the reason and keeps settled ones, without hook or model (CC3)', async () => {
  const { agent, model, hooks, checkpoint } = await interrupted()
  const [before, requests] = [[...hooks], model.requests.length]
  const closed = await agent.close(checkpoint, { reason: 'The user wrote instead.' })
  expect([hooks, model.requests.length]).toEqual([before, requests])
  const messages = [
    user('Go'),
    expect.objectContaining({ role: 'assistant' }),
    result('a', 'look'),
    failure('b', 'ask', 'The user wrote instead.'),
  ]
  expect(closed).toEqual({
    status: 'cancelled',
    cancelled: { at: 'now' },
    text: '',
    messages,
    steps: 1,
    usage: {},
    warnings: [],
    checkpoint: expect.objectContaining({ runId: 'r', status: 'cancelled', messages, calls: [], interrupts: [] }),
  })
  const next = await played(agent.stream([...closed.messages, user('Never mind')]))
  expect(next.result?.text).toBe('Well')
  const [byDefault] = (await agent.close(checkpoint)).messages.slice(-1)
  expect(byDefault && textOf(byDefault)).toBe('No result: the run was closed before this call had one.')
})

test('a closed run in a store is closed for every process, and the history of a resume contains the reason (CC3, L14, L19)', async () => {
  const store = memoryStore()
  const { agent, checkpoint, result: outcome } = await interrupted({ checkpoints: store })
  await agent.close('r', { reason: 'Over.' })
  const late = await played(agent.resume(checkpoint, answersTo(outcome)))
  expect(late.error).toMatchObject({ name: 'CheckpointConflictError' })
  await expect(agent.close(checkpoint)).rejects.toMatchObject({ name: 'CheckpointConflictError' })
  expect((await played(agent.resume('r', answersTo(outcome)))).error).toMatchObject({ name: 'UnknownInterruptError' })
  const resumed = await played(agent.resume('r'))
  expect(resumed.result?.messages.slice(3)).toEqual([failure('b', 'ask', 'Over.'), said('Well')])
})

test('a stopped run is closed with its partial response, the calls that may have happened, and the sent messages (CC3, P8, L21)', async () => {
  const speaking = createAgent({ model: scriptedModel([respond(say('One', { deltas: 1 }), wait(50))]) })
  const talk = speaking.stream('Go')
  setTimeout(() => void talk.cancel(), 10)
  const closed = await speaking.close(checkpointIn((await played(talk)).result))
  expect(closed.messages).toEqual([user('Go'), said('One', { finishReason: 'other', cutOff: true })])

  const child = createAgent({
    name: 'child',
    description: 'c',
    model: scriptedModel([respond(call('send', {}, { id: 'x' }))]),
    tools: [working('send', 50, 'external')],
  })
  const agent = createAgent({
    model: scriptedModel([
      respond(
        call('send', {}, { id: 'a' }),
        call('look', {}, { id: 'b' }),
        call('child', { request: 'Go' }, { id: 'c' }),
      ),
    ]),
    tools: [working('send', 50, 'external'), working('look', 50), agentTool(child) as Tool],
  })
  const run = agent.stream('Go')
  setTimeout(() => {
    run.send('Stop!')
    void run.cancel()
  }, 20)
  const { unknown, messages } = await agent.close(checkpointIn((await played(run)).result), { reason: 'Stopped.' })
  const cutOff =
    'This call had started when the run was cancelled. Its result is unknown: it may have happened. It was not run again. Stopped.'
  expect(unknown).toEqual(['a', 'c/x'])
  expect(messages.slice(2)).toEqual([
    failure('a', 'send', cutOff),
    failure('b', 'look', 'Stopped.'),
    failure('c', 'child', cutOff),
    user('Stop!'),
  ])
})

test('close refuses what it cannot close, and changes nothing (CC3, L18)', async () => {
  const { agent, checkpoint } = await interrupted()
  const { result: over } = await played(agent.resume(checkpoint, answersTo(checkpoint)))
  expect(over?.status).toBe('completed')
  const store = memoryStore()
  const done = createAgent({ model: scriptedModel([respond(say('Hi'))]), checkpoints: store })
  await played(done.stream('Go', { id: 'done' }))
  for (const [closing, name] of [
    [done.close('done'), 'CheckpointError'],
    [done.close('nothing'), 'CheckpointMissingError'],
    [agent.close('r'), 'ConfigError'],
    [agent.close({ ...checkpoint, steps: { ...checkpoint.steps, begun: 5 } }), 'CheckpointCorruptError'],
    [createAgent({ name: 'other', model: scriptedModel([]) }).close(checkpoint), 'CheckpointMismatchError'],
    [agent.close(checkpoint, { reson: 'x' } as object), 'ConfigError'],
  ] as const) {
    await expect(closing).rejects.toMatchObject({ name })
  }
})

test('hasFinalAnswer shows for every checkpoint whether its answer was accepted, so that a resume judges none (CC3, L11, L19)', async () => {
  let judged = 0
  const signing: Middleware = {
    name: 'sign',
    beforeFinalAnswer: () => void judged++,
    async *wrapAgent(setup, next, { answers: [first] }) {
      const outcome = yield* next(setup)
      if (first === undefined) throw interrupt('Sign it?')
      return outcome
    },
  }
  const saved: Checkpoint[] = []
  const store = memoryStore()
  const checkpoints: typeof store = {
    ...store,
    async save(id, checkpoint, expected) {
      await store.save(id, checkpoint, expected)
      saved.push((await store.load(id)) as Checkpoint)
    },
  }
  const { agent, result: outcome } = await interrupted({ checkpoints, middleware: [signing] })
  const second = await played(agent.resume('r', answersTo(outcome)))
  await played(agent.resume('r', answersTo(second.result)))
  const told: [string, boolean, boolean, number][] = []
  for (const checkpoint of saved) {
    const { status, messages } = checkpoint
    const answer = respond(say('Well'))
    const model = scriptedModel(messages.length > 1 ? [answer] : [respond(call('look', {}, { id: 'a' })), answer])
    const other = createAgent({ model, tools: [working('look', 10), asking('ask')], middleware: [signing] })
    judged = 0
    let { result } = await played(other.resume(checkpoint, answersTo(checkpoint)))
    if (result?.status === 'interrupted')
      result = (await played(other.resume(result.checkpoint, answersTo(result)))).result
    told.push([status, hasFinalAnswer(checkpoint), hasFinalAnswer(toFormat1(checkpoint)), judged])
  }
  const accepted = told.splice(told.findIndex(([, isOver]) => isOver))
  expect(new Set(told.map(String))).toEqual(new Set(['running,false,false,1', 'interrupted,false,false,1']))
  expect(accepted).toEqual(['running', 'interrupted', 'running', 'completed'].map((status) => [status, true, true, 0]))
  expect([undefined, null, 'r', {}, { steps: null }].filter(hasFinalAnswer)).toEqual([])
})

const form = z.object({ decision: z.enum(['yes', 'no']), seats: z.array(z.int()).optional() })

test('a question contains the JSON Schema of its answer, and another process refuses a wrong one before anything runs (CC4, P17, L13)', async () => {
  const { result: outcome } = await interrupted({ tools: [working('look', 10), asking('ask', form)] })
  const checkpoint = checkpointIn(outcome)
  const [pending] = checkpoint.interrupts
  expect(pending).toEqual({
    id: expect.any(String),
    address: [{ agent: null }, { tool: 'ask', callId: 'b' }],
    payload: { what: 'ask' },
    answerSchema: expect.objectContaining({ type: 'object', required: ['decision'] }),
  })
  // Uses only the schema in the checkpoint.
  const model = scriptedModel([respond(say('Well'))])
  const other = createAgent({ model, tools: [working('look', 10), asking('ask')] })
  const refused = await played(other.resume(checkpoint, answersTo(outcome, { decision: 'perhaps' })))
  expect(refused.error).toEqual(
    new AnswerError(pending?.id ?? '', 'tool ask', [{ path: 'decision', message: 'must be "yes" or "no"' }]),
  )
  expect(refused.events).toEqual([])
  expect(model.requests).toEqual([])
  const taken = await played(other.resume(checkpoint, answersTo(outcome, { decision: 'yes' })))
  expect(taken.result).toMatchObject({ status: 'completed', text: 'Well' })
})

const tree = z.object({
  name: z.string(),
  get children() {
    return z.array(tree)
  },
})

test.each<[string, ToolSchema, readonly Json[], readonly Json[]]>([
  ['text', z.string(), ['', 'a'], [1, null, ['a'], { a: 1 }]],
  ['a number', z.number(), [1, 0.5], ['1', true]],
  ['a whole number', z.int(), [1], [0.5, '1']],
  ['a choice', z.enum(['a', 'b']), ['a'], ['c', 1]],
  ['a constant', z.literal(1), [1], [2, '1']],
  ['true or false', z.boolean(), [true], ['true', 0]],
  ['null', z.null(), [null], [0, '']],
  ['a list', z.array(z.string()), [[], ['a']], [[1], ['a', null], { 0: 'a' }]],
  ['an object', form, [{ decision: 'no' }, { decision: 'no', seats: [1] }], [{}, { decision: 'no', seats: ['1'] }, []]],
  ['an exact object', z.strictObject({ a: z.string() }), [{ a: '' }], [{ a: '', b: 1 }]],
  ['a record', z.record(z.string(), z.number()), [{}, { a: 1 }], [{ a: 'b' }]],
  ['one of several', z.union([z.string(), z.object({ a: z.number() })]), ['a', { a: 1 }], [1, { a: 'b' }]],
  [
    'both of two',
    z.intersection(z.object({ a: z.string() }), z.object({ b: z.string() })),
    [{ a: '', b: '' }],
    [{ a: '' }],
  ],
  ['a pair', z.tuple([z.string(), z.number()]), [['a', 1]], ['a', 1]],
  [
    'a tree',
    tree,
    [{ name: 'a', children: [{ name: 'b', children: [] }] }],
    [{ name: 'a', children: [{ name: 'b' }] }],
  ],
])('an answer that must be %s is accepted or refused by its JSON Schema (CC4)', async (_, schema, fitting, wrong) => {
  const { result: outcome } = await interrupted({ tools: [working('look', 10), asking('ask', schema)] })
  const checkpoint = checkpointIn(outcome)
  const answered = async (answer: Json) => {
    const agent = createAgent({
      model: scriptedModel([respond(say('Well'))]),
      tools: [working('look', 10), asking('ask')],
    })
    return (await played(agent.resume(checkpoint, answersTo(outcome, answer)))).error
  }
  for (const answer of fitting) expect(await answered(answer)).toBeUndefined()
  for (const answer of wrong) expect(await answered(answer)).toBeInstanceOf(AnswerError)
})

test('a question whose schema cannot be written as JSON Schema ends the run (CC4)', async () => {
  const { '~standard': standard } = z.string()
  const schema = { '~standard': { ...standard, jsonSchema: undefined } } as unknown
  const agent = createAgent({
    model: scriptedModel([respond(call('ask'))]),
    tools: [asking('ask', schema as ToolSchema)],
  })
  const { error } = await played(agent.stream('Go'))
  expect(error).toMatchObject({ name: 'ConfigError', option: 'interrupt.answer' })
})

test('a run has the id and the store from its options, and of several with one id one continues (CC5, L14)', async () => {
  const [own, given] = [memoryStore(), memoryStore()]
  const { agent } = await interrupted({ checkpoints: own }, 'mine')
  const { agent: other } = await interrupted({ checkpoints: own }, 'other')
  expect(await own.load('mine')).toMatchObject({ runId: 'mine', status: 'interrupted' })
  const run = other.stream('Go', { id: 'theirs', checkpoints: given })
  expect(run.id).toBe('theirs')
  await played(run)
  expect(await own.load('theirs')).toBeUndefined()
  expect(await given.load('theirs')).toMatchObject({ runId: 'theirs', status: 'completed' })
  const again = await played(agent.resume('theirs', {}, { checkpoints: given }))
  expect(again.result).toMatchObject({ status: 'completed', text: 'Well' })
  const twice = createAgent({ model: scriptedModel([respond(say('Hi'))]), checkpoints: own })
  expect((await played(twice.stream('Go', { id: 'mine' }))).error).toMatchObject({ name: 'CheckpointConflictError' })
})

test.each([
  [{ id: '' }, 'id', 'id: must be a non-empty string'],
  [{ id: 5 }, 'id', 'id: must be a non-empty string'],
  [{ checkpoints: {} }, 'checkpoints', 'must be a store'],
] as const)('the options %j of a run are refused (CC5, A2)', async (options, option, problem) => {
  const agent = createAgent({ model: scriptedModel([respond(say('Hi'))]) })
  const error = { name: 'ConfigError', option, message: expect.stringContaining(problem) }
  await expect(agent.run('Go', options as object)).rejects.toMatchObject(error)
})

test('a resume accepts no id, because its run has one (CC5)', async () => {
  const { agent, checkpoint } = await interrupted()
  const { error } = await played(agent.resume(checkpoint, {}, { id: 'x' } as object))
  expect(error).toMatchObject({ name: 'ConfigError', option: 'id' })
})

test('a question is emitted when it is asked, before the other calls have settled; their results are in the result (CC6, CC7)', async () => {
  const { events, result: outcome } = await interrupted({ tools: [working('look', 100), asking('ask')] })
  const [pending] = outcome?.interrupts ?? []
  const step = 1
  const a = { callId: 'a', toolName: 'look' }
  const b = { callId: 'b', toolName: 'ask' }
  const asked = (id: string, name: string) => ({ type: 'tool-call', id, name, input: {} })
  const message = {
    role: 'assistant',
    content: [{ type: 'text', text: 'Let me see' }, asked('a', 'look'), asked('b', 'ask')],
    finishReason: 'tool-calls',
  }
  expect(
    bare(events)
      .slice(3)
      .filter(({ type }) => !/delta|input/.test(type)),
  ).toEqual([
    { type: 'tool-call', step, attempt: 1, call: asked('a', 'look') },
    { type: 'tool-call', step, attempt: 1, call: asked('b', 'ask') },
    { type: 'message', step, message },
    { type: 'tool-start', step, ...a, call: asked('a', 'look') },
    { type: 'tool-start', step, ...b, call: asked('b', 'ask') },
    { type: 'tool-entered', step, ...a, attempt: 1 },
    { type: 'tool-entered', step, ...b, attempt: 1 },
    { type: 'question', step, ...b, ...pending },
    { type: 'tool-end', step, ...a, message: result('a', 'look') },
    { type: 'run-end', result: outcome },
  ])
  expect(outcome).toMatchObject({ status: 'interrupted', settled: [result('a', 'look')] })
  expect(outcome?.messages).toHaveLength(2)
})

test('a resume emits only its new questions, and shows that its step continues (CC6, CC7, L7)', async () => {
  const twice = tool({
    name: 'ask',
    description: 'a',
    input: anything,
    execute(_, { answers }) {
      if (answers.length < 2) throw interrupt({ nth: answers.length + 1 })
      return answers
    },
  }) as Tool
  const model = scriptedModel([
    respond(call('ask', {}, { id: 'a' }), call('ask', {}, { id: 'b' })),
    respond(say('Well', { deltas: 1 })),
  ])
  const agent = createAgent({ model, tools: [twice] })
  const first = await played(agent.stream('Go'))
  expect(brief(first.events)).toEqual([
    'run-start',
    'step-start',
    'attempt-start 1',
    'tool-call 1',
    'tool-call 1',
    'message',
    'tool-start a',
    'tool-start b',
    'tool-entered a',
    'tool-entered b',
    'question a',
    'question b',
    'run-end',
  ])
  const [a] = first.result?.interrupts ?? []
  const second = await played(agent.resume(checkpointIn(first.result), { [a?.id ?? '']: 'yes' }))
  expect(brief(second.events)).toEqual([
    'run-start',
    'step-start',
    'tool-start a',
    'tool-entered a',
    'question a',
    'run-end',
  ])
  expect(bare(second.events)[1]).toEqual({ type: 'step-start', step: 1, resumed: true })
  expect(bare(second.events)[3]).toEqual({ type: 'tool-entered', step: 1, callId: 'a', toolName: 'ask', attempt: 2 })
  expect(second.events.find(({ type }) => type === 'question')).toMatchObject({ payload: { nth: 2 } })
  expect(second.result?.interrupts).toHaveLength(2)
})

test('hooks and wraps ask without a call, and an agent inside a call asks by its whole address, once (CC6, L4, L9)', async () => {
  const hook: Middleware = {
    name: 'hook',
    beforeModel(_, run) {
      if (run.answers.length === 0) throw interrupt('May I?')
    },
  }
  const asked = await played(createAgent({ model: scriptedModel([]), middleware: [hook] }).stream('Go'))
  expect(bare(asked.events)).toEqual([
    { type: 'run-start' },
    { type: 'step-start', step: 1 },
    { type: 'question', step: 1, ...asked.result?.interrupts?.[0] },
    { type: 'run-end', result: asked.result },
  ])
  expect(asked.result?.interrupts).toMatchObject([
    { address: [{ agent: null }, { middleware: 'hook', hook: 'beforeModel' }] },
  ])

  for (const events of [true, false]) {
    const child = createAgent({
      name: 'child',
      description: 'c',
      model: scriptedModel([respond(call('ask', {}, { id: 'x' }))]),
      tools: [asking('ask')],
    })
    const nested = await played(
      createAgent({
        model: scriptedModel([respond(call('child', { request: 'Go' }, { id: 'c' }))]),
        tools: [agentTool(child, { events }) as Tool],
      }).stream('Go'),
    )
    const told = nested.events.filter(({ type }) => type === 'question')
    expect(bare(told)).toEqual([
      { type: 'question', step: 1, callId: 'c', toolName: 'child', ...nested.result?.interrupts?.[0] },
    ])
    expect(nested.result?.interrupts?.[0]?.address).toHaveLength(4)
  }
})

test('the question of a discarded early call is never emitted; that of a committed one comes after its commit (CC6, O7)', async () => {
  const responses = () => [respond(call('ask', {}, { id: 'a' }), wait(50)), respond(say('Well'))]
  const agentOf = (...middleware: readonly Middleware[]) =>
    createAgent({ model: scriptedModel(responses()), tools: [asking('ask')], middleware: [...middleware, early] })
  const taken = await played(agentOf(withdrawing()).stream('Go'))
  expect(taken.result?.status).toBe('completed')
  expect(brief(taken.events).filter((one) => /^(tool-(?!call)|question)/.test(one))).toEqual([
    'tool-start a',
    'tool-entered a',
    'tool-discarded a',
  ])
  const stood = await played(agentOf().stream('Go'))
  expect(brief(stood.events).slice(-4)).toEqual(['message', 'tool-committed a', 'question a', 'run-end'])
})

test('tool-entered comes when the function is called, once for each attempt, and after an approval (CC7, C5, C14)', async () => {
  const flaky = tool({
    name: 'flaky',
    description: 'f',
    input: anything,
    async execute(_, { attempt, run }) {
      run?.emit({ name: 'trying', data: attempt })
      if (attempt < 3) throw new Error('no')
      return 'yes'
    },
  }) as Tool
  const approving: Middleware = {
    name: 'approving',
    async *wrapToolCall(call, next, run) {
      if (run.answers.length === 0) throw interrupt('May it?')
      for (;;) {
        try {
          return yield* next(call)
        } catch {}
      }
    },
  }
  const model = scriptedModel([respond(call('flaky', {}, { id: 'a' })), respond(say('Well'))])
  const agent = createAgent({ model, tools: [flaky], middleware: [approving] })
  const first = await played(agent.stream('Go'))
  expect(brief(first.events).slice(-3)).toEqual(['tool-start a', 'question a', 'run-end'])
  const second = await played(agent.resume(checkpointIn(first.result), answersTo(first.result)))
  const ofCall = { step: 1, callId: 'a', toolName: 'flaky' }
  const custom = (data: number) => ({ type: 'custom', ...ofCall, name: 'trying', data, source: 'flaky' })
  expect(bare(second.events).filter((event) => 'callId' in event)).toEqual([
    { type: 'tool-start', ...ofCall, call: { type: 'tool-call', id: 'a', name: 'flaky', input: {} } },
    { type: 'tool-entered', ...ofCall, attempt: 1 },
    custom(1),
    { type: 'tool-entered', ...ofCall, attempt: 2 },
    custom(2),
    { type: 'tool-entered', ...ofCall, attempt: 3 },
    custom(3),
    { type: 'tool-end', ...ofCall, message: expect.objectContaining({ output: 'yes' }) },
  ])
})

test('tool-settled shows that early work has ended; each event of a call has the name of its tool (CC7, B8)', async () => {
  const model = scriptedModel([
    respond(call('look', {}, { id: 'a' }), call('look', {}, { id: 'b' }), wait(50), call('look', {}, { id: 'c' })),
    respond(say('Well')),
  ])
  const dropping: Middleware = {
    name: 'dropping',
    afterModel({ messages }) {
      const answer = messages.at(-1)
      if (answer?.role !== 'assistant' || messages.length > 2) return
      return { messages: [...messages.slice(0, -1), { ...answer, content: answer.content.slice(1) }] }
    },
  }
  const agent = createAgent({ model, tools: [working('look', 10)], middleware: [dropping, early] })
  const { events } = await played(agent.stream('Go'))
  expect(brief(events).filter((one) => /^tool-(?!call)/.test(one))).toEqual([
    'tool-start a',
    'tool-entered a',
    'tool-start b',
    'tool-entered b',
    'tool-settled a',
    'tool-settled b',
    'tool-start c',
    'tool-entered c',
    'tool-discarded a',
    'tool-committed b',
    'tool-end b',
    'tool-committed c',
    'tool-end c',
  ])
  expect(bare(events).find(({ type }) => type === 'tool-settled')).toEqual({
    type: 'tool-settled',
    step: 1,
    callId: 'a',
    toolName: 'look',
    provisional: true,
  })
  const names = events.flatMap((event) => ('callId' in event ? [event.toolName] : []))
  expect(new Set(names)).toEqual(new Set(['look']))
})
