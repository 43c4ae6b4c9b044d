import { beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { early } from '../../test/early-calls.ts'
import {
  AgentError,
  type AgentOptions,
  type AgentResult,
  type AgentRun,
  agentTool,
  ConfigError,
  createAgent,
  Interrupt,
  interrupt,
  type Json,
  type Middleware,
  ModelError,
  map,
  messageOf,
  type Run,
  type Tool,
  ToolTimeoutError,
  tool,
} from '../index.ts'
import { call, collect, fail, respond, type ScriptedResponse, say, scriptedModel, wait } from '../testing.ts'

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

let did: string[] = []
beforeEach(() => {
  did = []
})

const anything = z.record(z.string(), z.unknown())

/** Asks once, and returns the answer. */
const book = tool({
  name: 'book',
  description: 'Books',
  input: anything,
  execute: ({ what = 'it' }, { answers, attempt }) => {
    did.push(`book ${String(what)} ${attempt} ${JSON.stringify(answers)}`)
    if (answers.length === 0) throw interrupt({ book: what as Json })
    return `booked ${String(what)}: ${answers[0] as string}`
  },
})

const look = tool({
  name: 'look',
  description: 'Looks',
  input: anything,
  effect: 'read',
  async execute({ ms = 0 }, { attempt }) {
    did.push(`look ${attempt}`)
    if (Number(ms) > 0) await new Promise((resolve) => setTimeout(resolve, Number(ms)))
    did.push('looked')
    return 'seen'
  },
})

type Options = Omit<AgentOptions, 'model'>

function agentOf(responses: readonly ScriptedResponse[], options: Options = {}) {
  const model = scriptedModel(responses)
  return { model, agent: createAgent({ model, name: 'travel', tools: [book, look], ...options }) }
}

async function played(run: AgentRun) {
  const reading = collect(run)
  await vi.runAllTimersAsync()
  const { events, result, error } = await reading
  if (!result) throw error
  return { events, result }
}

const idsOf = ({ interrupts = [] }: AgentResult) => interrupts.map(({ id }) => id)
const answersTo = ({ interrupts = [] }: AgentResult, answer: Json = 'yes') =>
  Object.fromEntries(interrupts.map(({ id }) => [id, answer]))
const textsOf = ({ messages }: AgentResult) =>
  messages.flatMap(({ content }) =>
    typeof content === 'string' ? [content] : content.flatMap((part) => (part.type === 'text' ? [part.text] : [])),
  )

function checkpointOf({ checkpoint }: AgentResult) {
  if (!checkpoint) throw new Error('no checkpoint')
  return checkpoint
}

test('an interrupt ends the run with its question and a checkpoint, without a store, message or further model call (L1, B20)', async () => {
  const { agent, model } = agentOf([respond(call('book', { what: 'a room' }, { deltas: 1 }))])
  const { events, result } = await played(agent.stream('Go'))
  const runId = events[0]?.runId
  const id = expect.stringMatching(/^interrupt_\w+$/)
  const address = [{ agent: 'travel' }, { tool: 'book', callId: 'call_1_1' }]
  expect(result).toEqual({
    status: 'interrupted',
    text: '',
    messages: [
      { role: 'user', content: 'Go' },
      expect.objectContaining({ role: 'assistant', finishReason: 'tool-calls' }),
    ],
    steps: 1,
    usage: {},
    warnings: [],
    interrupts: [{ id, address, payload: { book: 'a room' } }],
    settled: [],
    checkpoint: expect.objectContaining({ format: 2, runId, agent: 'travel', status: 'interrupted' }),
  })
  expect(events.map(({ type }) => type)).toEqual([
    'run-start',
    'step-start',
    'attempt-start',
    'tool-input-start',
    'tool-input-delta',
    'tool-input-closed',
    'tool-call',
    'message',
    'tool-start',
    'tool-entered',
    'question',
    'run-end',
  ])
  expect(events.at(-1)).toEqual({ type: 'run-end', runId, step: undefined, result })
  expect(model.requests).toHaveLength(1)
  expect(vi.getTimerCount()).toBe(0)
})

test('the events of an interrupted and of a resumed run are JSON (B2)', async () => {
  const { agent } = agentOf([respond(call('book')), respond(say('Done'))])
  const { events, result } = await played(agent.stream('Go'))
  const resumed = await played(agent.resume(checkpointOf(result), answersTo(result)))
  for (const event of [...events, ...resumed.events]) expect(JSON.parse(JSON.stringify(event))).toEqual(event)
})

test.each(['beforeAgent', 'beforeModel', 'afterModel', 'beforeFinalAnswer', 'wrapAgent', 'wrapModel', 'wrapToolCall'])(
  '%s asks, and finds its answer; its address is its own (L1, L4, L8)',
  async (hook) => {
    const asks = (run: { readonly answers: readonly Json[] }) => {
      did.push(`${hook} ${JSON.stringify(run.answers)}`)
      if (run.answers.length === 0) throw interrupt(hook)
    }
    const asking: Middleware = {
      name: 'asking',
      ...(hook.startsWith('before') || hook === 'afterModel'
        ? { [hook]: (_: unknown, run: never) => asks(run) }
        : {
            async *[hook](
              request: never,
              next: (request: never) => AsyncGenerator<never, never, undefined>,
              run: never,
            ) {
              asks(run)
              return yield* next(request)
            },
          }),
    }
    const { agent, model } = agentOf([respond(call('look')), respond(say('Done'))], { middleware: [asking] })
    const first = await played(agent.stream('Go'))
    const place = { middleware: 'asking', hook }
    expect(first.result).toMatchObject({
      status: 'interrupted',
      interrupts: [
        {
          address:
            hook === 'wrapToolCall'
              ? [{ agent: 'travel' }, { tool: 'look', callId: 'call_1_1' }, place]
              : [{ agent: 'travel' }, place],
          payload: hook,
        },
      ],
    })
    // Without an answer, it asks the same.
    const requests = model.requests.length
    const again = await played(agent.resume(checkpointOf(first.result)))
    expect(again.result.interrupts).toEqual(first.result.interrupts)
    expect(model.requests).toHaveLength(requests)
    // Later steps ask again, with a new id.
    const seen = new Set(idsOf(first.result))
    let { result } = await played(agent.resume(checkpointOf(again.result), answersTo(again.result)))
    for (let n = 0; n < 5 && result.status === 'interrupted'; n++) {
      for (const id of idsOf(result)) expect(seen).not.toContain(id)
      for (const id of idsOf(result)) seen.add(id)
      ;({ result } = await played(agent.resume(checkpointOf(result), answersTo(result))))
    }
    expect(result).toMatchObject({ status: 'completed', text: 'Done', steps: 2 })
    const times = ['beforeModel', 'afterModel', 'wrapModel'].includes(hook) ? 2 : 1
    expect(seen.size).toBe(times)
    expect(did.filter((word) => word.startsWith('look '))).toEqual(['look 1'])
    expect(model.requests).toHaveLength(2)
  },
)

test('other calls finish, several questions are listed in call order, and only what asked is made again (L3, L7)', async () => {
  const responses = [
    respond(call('book', { what: 'a' }), call('look', { ms: 50 }), call('book', { what: 'b' })),
    respond(say('Done')),
  ]
  const { agent, model } = agentOf(responses)
  const first = await played(agent.stream('Go'))
  expect(did).toEqual(['book a 1 []', 'look 1', 'book b 1 []', 'looked'])
  expect(first.result.interrupts?.map(({ payload }) => payload)).toEqual([{ book: 'a' }, { book: 'b' }])
  expect(first.events.filter(({ type }) => type === 'tool-end')).toMatchObject([{ callId: 'call_1_2' }])

  did = []
  const { result, events } = await played(agent.resume(checkpointOf(first.result), answersTo(first.result)))
  expect(did).toEqual(['book a 2 ["yes"]', 'book b 2 ["yes"]'])
  expect(textsOf(result)).toEqual(['Go', 'booked a: yes', 'seen', 'booked b: yes', 'Done'])
  expect(model.requests).toHaveLength(2)
  expect(events.slice(0, 2)).toMatchObject([
    { type: 'run-start', resumed: true },
    { type: 'step-start', step: 1 },
  ])
  expect(events.filter(({ type }) => type === 'tool-end')).toMatchObject([
    { callId: 'call_1_1' },
    { callId: 'call_1_3' },
  ])
})

test('a call without an answer stays pending with its id, and does not run; the model is called when all have answers (L6, L5)', async () => {
  const { agent, model } = agentOf([
    respond(call('book', { what: 'a' }), call('book', { what: 'b' })),
    respond(say('Done')),
  ])
  const first = await played(agent.stream('Go'))
  const [a, b] = idsOf(first.result)
  const second = await played(agent.resume(checkpointOf(first.result), { [b ?? '']: 'B' }))
  expect(did.slice(2)).toEqual(['book b 2 ["B"]'])
  expect(idsOf(second.result)).toEqual([a])
  expect(second.result.status).toBe('interrupted')
  expect(model.requests).toHaveLength(1)

  const none = await played(agent.resume(checkpointOf(second.result)))
  expect(idsOf(none.result)).toEqual([a])
  expect(did).toHaveLength(3)

  const third = await played(agent.resume(checkpointOf(none.result), { [a ?? '']: 'A' }))
  expect(did.slice(3)).toEqual(['book a 2 ["A"]'])
  expect(textsOf(third.result)).toEqual(['Go', 'booked a: A', 'booked b: B', 'Done'])
})

test('a tool and a wrap around it ask one after the other, at different addresses (L4, L7, L8)', async () => {
  const approve: Middleware = {
    name: 'approve',
    async *wrapToolCall(call, next, run) {
      did.push(`approve ${JSON.stringify(run.answers)}`)
      if (run.answers.length === 0) throw interrupt('may it?')
      return yield* next(call)
    },
  }
  const { agent } = agentOf([respond(call('book')), respond(say('Done'))], { middleware: [approve] })
  const first = await played(agent.stream('Go'))
  const second = await played(agent.resume(checkpointOf(first.result), answersTo(first.result, 'may')))
  const third = await played(agent.resume(checkpointOf(second.result), answersTo(second.result)))
  expect(did).toEqual(['approve []', 'approve ["may"]', 'book it 1 []', 'approve ["may"]', 'book it 2 ["yes"]'])
  expect([first, second].map(({ result }) => result.interrupts?.[0]?.address.length)).toEqual([3, 2])
  expect(textsOf(third.result)).toEqual(['Go', 'booked it: yes', 'Done'])
})

test('a wrap that asks after its tool finds the result again: the tool is not executed twice (L7, L8, C14)', async () => {
  const send = tool({
    name: 'send',
    description: 's',
    input: anything,
    execute: (_, { attempt }) => {
      did.push(`send ${attempt}`)
      if (attempt === 1) throw new Error('busy')
      return 'sent'
    },
  })
  const audit: Middleware = {
    name: 'audit',
    async *wrapToolCall(call, next, run) {
      const message = yield* next(call)
      did.push(`audit ${JSON.stringify(message.output)} ${JSON.stringify(run.answers)}`)
      if (run.answers.length < 2) throw interrupt('was that right?')
      return message
    },
  }
  const again: Middleware = {
    name: 'again',
    async *wrapToolCall(call, next) {
      try {
        return yield* next(call)
      } catch (error) {
        did.push(`again ${error instanceof Error && error.message}`)
        return yield* next(call)
      }
    },
  }
  const { agent } = agentOf([respond(call('send')), respond(say('Done'))], {
    tools: [send],
    middleware: [audit, again],
  })
  let { result } = await played(agent.stream('Go'))
  for (const _ of [1, 2]) {
    expect(result.status).toBe('interrupted')
    ;({ result } = await played(agent.resume(checkpointOf(result), answersTo(result))))
  }
  expect(did).toEqual([
    'send 1',
    'again busy',
    'send 2',
    'audit "sent" []',
    'again busy',
    'audit "sent" ["yes"]',
    'again busy',
    'audit "sent" ["yes","yes"]',
  ])
  expect(textsOf(result)).toEqual(['Go', 'sent', 'Done'])
})

test('a wrap that asks what to do about a time limit finds that again: the tool is not executed twice (L7, L8, I10)', async () => {
  const send = tool({
    name: 'send',
    description: 's',
    input: anything,
    timeout: 100,
    async execute(_, { attempt, signal }) {
      did.push(`send ${attempt}`)
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    },
  })
  const supervise: Middleware = {
    name: 'supervise',
    async *wrapToolCall(call, next, run) {
      try {
        return yield* next(call)
      } catch (error) {
        did.push(`${error instanceof ToolTimeoutError && error.timeout} ${JSON.stringify(run.answers)}`)
        if (run.answers.length === 0) throw interrupt('it may have been sent; and now?')
        throw error
      }
    },
  }
  const { agent } = agentOf([respond(call('send')), respond(say('Done'))], { tools: [send], middleware: [supervise] })
  const first = await played(agent.stream('Go'))
  const { result } = await played(agent.resume(checkpointOf(first.result), answersTo(first.result, 'leave it')))
  expect(did).toEqual(['send 1', '100 []', '100 ["leave it"]'])
  expect(textsOf(result)).toEqual(['Go', new ToolTimeoutError('send', 100).message, 'Done'])
})

test.each(['reacts to its signal', 'ignores its signal', 'is at a yield'])(
  'a wrap that leaves its tool and asks finds that it was cut off: one that %s is not executed twice (L7, L8, C15)',
  async (how) => {
    const send = tool({
      name: 'send',
      description: 's',
      input: anything,
      async *execute(_, { attempt, signal }) {
        did.push(`send ${attempt}`)
        if (how === 'is at a yield') yield { message: 'sending' }
        const heed = how === 'reacts to its signal' ? signal : undefined
        await new Promise((_, reject) => heed?.addEventListener('abort', () => reject(heed.reason)))
      },
    })
    const impatient: Middleware = {
      name: 'impatient',
      async *wrapToolCall(call, next, run) {
        const flow = next(call)
        const late = new Promise((resolve) => setTimeout(resolve, 100))
        try {
          const step = flow.next()
          step.catch(() => undefined)
          await Promise.race([step, late])
        } catch (error) {
          did.push(`${messageOf(error)} ${JSON.stringify(run.answers)}`)
        }
        if (run.answers.length === 0) throw interrupt('it may have been sent; and now?')
        return { role: 'tool', callId: call.id, name: call.name, content: [] }
      },
    }
    const { agent } = agentOf([respond(call('send')), respond(say('Done'))], { tools: [send], middleware: [impatient] })
    const first = await played(agent.stream('Go'))
    await played(agent.resume(checkpointOf(first.result), answersTo(first.result, 'leave it')))
    expect(did).toEqual([
      'send 1',
      'The call was cut off before its result was known: its effect may have happened. ["leave it"]',
    ])
  },
)

test('a question in the run of a tool belongs only to that run: a wrapAgent of the calling run only passes it on (L4, L9)', async () => {
  const passing: Middleware = { name: 'passing', wrapAgent: (setup, next) => map(next(setup), (event) => event) }
  const agents = agentOf([respond(call('book'), call('look')), respond(say('Booked'))], { description: 'Books trips' })
  const { agent } = agentOf([respond(call('travel', { request: 'Book' })), respond(say('Done'))], {
    name: 'desk',
    tools: [agentTool(agents.agent)],
    middleware: [passing],
  })
  const first = await played(agent.stream('Go'))
  const path = [{ agent: 'desk' }, { tool: 'travel', callId: 'call_1_1' }, { agent: 'travel' }]
  expect(first.result.interrupts).toMatchObject([{ address: [...path, { tool: 'book', callId: 'call_1_1' }] }])
  const { result } = await played(agent.resume(checkpointOf(first.result), answersTo(first.result)))
  expect(textsOf(result)).toEqual(['Go', 'Booked', 'Done'])
})

test.each(['background work', 'a wrap'])(
  'a run that asks is not delayed by %s of an early call that waits for its response (L1, O10)',
  async (who) => {
    const later = tool({
      name: 'later',
      description: 'l',
      input: anything,
      background: true,
      execute: () => did.push('l'),
    })
    const patient: Middleware = {
      name: 'patient',
      async *wrapToolCall(one, next, run) {
        if (who === 'a wrap') await run.stood(one.id)
        return yield* next(one)
      },
      afterModel(_, run) {
        if (run.step === 1 && run.answers.length === 0) throw interrupt('Go on?')
      },
    }
    const answers = [respond(say('Done')), respond(say('Done'))]
    const { agent } = agentOf([respond(call(who === 'a wrap' ? 'look' : 'later')), ...answers], {
      tools: [later, look],
      middleware: [patient, early],
    })
    const first = await played(agent.stream('Go'))
    expect(first.result.status).toBe('interrupted')
    expect(did).toEqual([])
    const { result } = await played(agent.resume(checkpointOf(first.result), answersTo(first.result)))
    expect(result.status).toBe('completed')
    expect(did).toEqual(who === 'a wrap' ? ['look 1', 'looked'] : ['l'])
  },
)

test('a wrapAgent that asks after the answer finds it again, without a model call, hook or gate (L8, L11)', async () => {
  const sign: Middleware = {
    name: 'sign',
    async *wrapAgent(setup, next, run) {
      const result = yield* next(setup)
      if (run.answers.length === 0) throw interrupt(result.text)
      return result
    },
    beforeFinalAnswer: () => void did.push('gate'),
    beforeModel: () => void did.push('beforeModel'),
  }
  const { agent, model } = agentOf([respond(say('Done'))], { middleware: [sign] })
  const first = await played(agent.stream('Go'))
  expect(first.result.interrupts).toMatchObject([{ payload: 'Done' }])
  const { result, events } = await played(agent.resume(checkpointOf(first.result), answersTo(first.result)))
  expect(result).toMatchObject({ status: 'completed', stopReason: 'answer', text: 'Done', steps: 1 })
  expect(events.map(({ type }) => type)).toEqual(['run-start', 'run-end'])
  expect(did).toEqual(['beforeModel', 'gate'])
  expect(model.requests).toHaveLength(1)
})

test('a wrapModel that asks after its model call makes another attempt of the same step (L8, J10)', async () => {
  const review: Middleware = {
    name: 'review',
    async *wrapModel(request, next, run) {
      const message = yield* next(request)
      if (run.answers.length === 0) throw interrupt('good?')
      return message
    },
  }
  const { agent } = agentOf([respond(say('One')), respond(say('Two'))], { middleware: [review] })
  const first = await played(agent.stream('Go'))
  const { result, events } = await played(agent.resume(checkpointOf(first.result), answersTo(first.result)))
  expect(events.flatMap((event) => (event.type === 'attempt-start' ? [[event.step, event.attempt]] : []))).toEqual([
    [1, 2],
  ])
  expect(result).toMatchObject({ text: 'Two', steps: 1 })
})

test('finished hooks are not repeated, beforeAgent runs on every resume, and does not change the history (L8, C6)', async () => {
  const noting = (name: string): Middleware => ({
    name,
    beforeAgent: (setup) => {
      did.push(`beforeAgent ${name}`)
      return { ...setup, instructions: `${setup.instructions}${name}` }
    },
    beforeModel: (state) => {
      did.push(`beforeModel ${name}`)
      return { messages: [...state.messages, { role: 'user', content: name, origin: name }] }
    },
    async *wrapModel(request, next) {
      did.push(`wrapModel ${name}`)
      return yield* next(request)
    },
    afterModel: () => void did.push(`afterModel ${name}`),
  })
  const asking: Middleware = {
    name: 'asking',
    beforeModel: (_, run) => {
      if (run.answers.length === 0) throw interrupt()
    },
    afterModel: (_, run) => {
      if (run.answers.length === 0) throw interrupt()
    },
  }
  const { agent, model } = agentOf([respond(say('Done'))], { middleware: [noting('A'), asking, noting('B')] })
  let { result } = await played(agent.stream('Go'))
  for (const _ of [1, 2]) ({ result } = await played(agent.resume(checkpointOf(result), answersTo(result))))
  expect(did).toEqual([
    'beforeAgent A',
    'beforeAgent B',
    'beforeModel A',
    'beforeAgent A',
    'beforeAgent B',
    'beforeModel B',
    'wrapModel A',
    'wrapModel B',
    'afterModel B',
    'beforeAgent A',
    'beforeAgent B',
    'afterModel A',
  ])
  expect(textsOf(result)).toEqual(['Go', 'A', 'B', 'Done'])
  expect(model.requests).toMatchObject([{ instructions: 'AB' }])
})

test('an interrupt is neither retried nor turned into an error result (L2, J14)', async () => {
  const stubborn: Middleware = {
    name: 'stubborn',
    async *wrapModel(request, next) {
      try {
        return yield* next(request)
      } catch (error) {
        if (error instanceof AgentError && !(error instanceof ModelError)) throw error
        return yield* next(request)
      }
    },
    async *wrapToolCall(call, next) {
      try {
        return yield* next(call)
      } catch (error) {
        expect(error).toBeInstanceOf(Interrupt)
        throw error
      }
    },
  }
  const asking: Middleware = {
    name: 'asking',
    async *wrapModel(request, next, run) {
      if (run.step === 2 && run.answers.length === 0) throw interrupt('two')
      return yield* next(request)
    },
  }
  const { agent, model } = agentOf([respond(fail()), respond(call('book')), respond(say('Done'))], {
    middleware: [stubborn, asking],
  })
  const first = await played(agent.stream('Go'))
  expect(first.result.interrupts).toMatchObject([{ payload: { book: 'it' } }])
  const second = await played(agent.resume(checkpointOf(first.result), answersTo(first.result)))
  expect(second.result.interrupts).toMatchObject([{ payload: 'two' }])
  expect(model.requests).toHaveLength(2)
  const third = await played(agent.resume(checkpointOf(second.result), answersTo(second.result)))
  expect(textsOf(third.result)).toEqual(['Go', 'booked it: yes', 'Done'])
})

test('the count of attempts continues after an interrupt between two of them (J10, L11)', async () => {
  const retry: Middleware = {
    name: 'retry',
    async *wrapModel(request, next, run) {
      if (run.answers.length > 0) return yield* next(request)
      try {
        return yield* next(request)
      } catch {
        throw interrupt('again?')
      }
    },
  }
  const { agent } = agentOf([respond(fail({ code: 'x' })), respond(say('Done'))], { middleware: [retry] })
  const first = await played(agent.stream('Go'))
  const second = await played(agent.resume(checkpointOf(first.result), answersTo(first.result)))
  const attempts = [...first.events, ...second.events].flatMap((event) =>
    event.type === 'attempt-start' || event.type === 'attempt-failed' || event.type === 'step-end'
      ? [`${event.type} ${event.attempt}`]
      : [],
  )
  expect(attempts).toEqual(['attempt-start 1', 'attempt-failed 1', 'attempt-start 2', 'step-end 2'])
})

test('one Interrupt thrown by two tools is two questions (L3, L5)', async () => {
  const shared = new Interrupt('both')
  const one: Tool = { ...book, name: 'one', execute: (_, { answers }) => answers[0] ?? raise(shared) }
  const two: Tool = { ...one, name: 'two' }
  const { agent } = agentOf([respond(call('one'), call('two')), respond(say('Done'))], { tools: [one, two] })
  const { result } = await played(agent.stream('Go'))
  expect(new Set(idsOf(result)).size).toBe(2)
  const [first = '', second = ''] = idsOf(result)
  const resumed = await played(agent.resume(checkpointOf(result), { [first]: 1, [second]: 2 }))
  expect(textsOf(resumed.result)).toEqual(['Go', '1', '2', 'Done'])
})

function raise(error: unknown): never {
  throw error
}

test('a question that a wrap has caught is dropped: no later interrupt lists it (L1)', async () => {
  const calm: Middleware = {
    name: 'calm',
    async *wrapToolCall(call, next) {
      try {
        return yield* next(call)
      } catch {
        return { role: 'tool', callId: call.id, name: call.name, content: [{ type: 'text', text: 'never mind' }] }
      }
    },
    async *wrapModel(request, next) {
      try {
        return yield* next(request)
      } catch {
        return yield* next(request)
      }
    },
    beforeFinalAnswer: (_, run) => {
      if (run.answers.length === 0) throw interrupt('last')
    },
  }
  let asked = 0
  const asking: Middleware = {
    name: 'asking',
    async *wrapModel(request, next) {
      if (asked++ === 0) throw interrupt('caught')
      return yield* next(request)
    },
  }
  const { agent } = agentOf([respond(call('book')), respond(say('Done'))], { middleware: [calm, asking] })
  const { result } = await played(agent.stream('Go'))
  expect(result.interrupts).toMatchObject([{ payload: 'last' }])
  const resumed = await played(agent.resume(checkpointOf(result), answersTo(result)))
  expect(textsOf(resumed.result)).toEqual(['Go', 'never mind', 'Done'])
})

test('an inner call asks; its maker starts again from the beginning and finds the answer (L4, L7)', async () => {
  const plan = tool({
    name: 'plan',
    description: 'p',
    input: anything,
    async execute(_, { run, callId, attempt }) {
      did.push(`plan ${attempt}`)
      const [a, b] = await Promise.all(
        ['a', 'b'].map((what) =>
          (run as Run).callTool({ type: 'tool-call', id: `${callId}-${what}`, name: 'book', input: { what } }),
        ),
      )
      return [a?.output, b?.output]
    },
  })
  const { agent } = agentOf([respond(call('plan')), respond(say('Done'))], { tools: [plan, book] })
  const first = await played(agent.stream('Go'))
  const outer = [{ agent: 'travel' }, { tool: 'plan', callId: 'call_1_1' }]
  expect(first.result.interrupts).toMatchObject([
    { address: [...outer, { tool: 'book', callId: 'call_1_1-a' }], payload: { book: 'a' } },
    { address: [...outer, { tool: 'book', callId: 'call_1_1-b' }], payload: { book: 'b' } },
  ])
  const [a = '', b = ''] = idsOf(first.result)
  const second = await played(agent.resume(checkpointOf(first.result), { [a]: 'A' }))
  expect(idsOf(second.result)).toEqual([b])
  const third = await played(agent.resume(checkpointOf(second.result), { [b]: 'B' }))
  expect(did.toSorted()).toEqual([
    'book a 1 []',
    'book a 2 ["A"]',
    'book b 1 []',
    'book b 2 ["B"]',
    'plan 1',
    'plan 2',
    'plan 3',
  ])
  expect(textsOf(third.result)).toEqual(['Go', '["booked a: A","booked b: B"]', 'Done'])
})

test('a question of an inner call that its maker has caught is dropped (L1)', async () => {
  const calm = tool({
    name: 'calm',
    description: 'c',
    input: anything,
    async execute(_, { run, callId }) {
      const asked = run?.callTool({ type: 'tool-call', id: `${callId}-inner`, name: 'book', input: {} })
      return await asked?.catch(() => 'never mind')
    },
  })
  const { agent } = agentOf([respond(call('calm'), call('book', { what: 'b' })), respond(say('Done'))], {
    tools: [calm, book],
  })
  const first = await played(agent.stream('Go'))
  expect(first.result.interrupts).toMatchObject([{ payload: { book: 'b' } }])
  const { result } = await played(agent.resume(checkpointOf(first.result), answersTo(first.result)))
  expect(textsOf(result)).toEqual(['Go', 'never mind', 'booked b: yes', 'Done'])
})

test('the hook that made a side call that asks makes it again (L4, L8)', async () => {
  const aside: Middleware = {
    name: 'aside',
    async beforeModel(_, run) {
      const { output } = await run.callTool({ type: 'tool-call', id: 'side', name: 'book', input: {} })
      did.push(`aside ${String(output)}`)
    },
  }
  const { agent } = agentOf([respond(say('Done'))], { middleware: [aside] })
  const first = await played(agent.stream('Go'))
  expect(first.result.interrupts).toMatchObject([{ address: [{ agent: 'travel' }, { tool: 'book', callId: 'side' }] }])
  const none = await played(agent.resume(checkpointOf(first.result)))
  expect(idsOf(none.result)).toEqual(idsOf(first.result))
  const { result } = await played(agent.resume(checkpointOf(none.result), answersTo(first.result)))
  expect(did).toEqual(['book it 1 []', 'book it 2 ["yes"]', 'aside booked it: yes'])
  expect(result.text).toBe('Done')
})

test('with one slot a call that asks keeps later ones from starting; they start after the resume (A22, L6)', async () => {
  const responses = [
    respond(call('look'), call('book'), call('look', { n: 1 }), call('book', { what: 'b' })),
    respond(say('Done')),
  ]
  const { agent } = agentOf(responses, { toolConcurrency: 1 })
  const first = await played(agent.stream('Go'))
  expect(did).toEqual(['look 1', 'looked', 'book it 1 []'])
  expect(idsOf(first.result)).toHaveLength(1)
  const none = await played(agent.resume(checkpointOf(first.result)))
  expect(idsOf(none.result)).toEqual(idsOf(first.result))
  expect(did).toHaveLength(3)
  const second = await played(agent.resume(checkpointOf(none.result), answersTo(none.result)))
  expect(did.slice(3)).toEqual(['book it 2 ["yes"]', 'look 1', 'looked', 'book b 1 []'])
  const third = await played(agent.resume(checkpointOf(second.result), answersTo(second.result, 'B')))
  expect(textsOf(third.result)).toEqual(['Go', 'seen', 'booked it: yes', 'seen', 'booked b: B', 'Done'])
})

test('an AgentError of another call replaces a question: the run fails, and every call has a result (A12, A24)', async () => {
  const failure = new ModelError('no', { code: 'x', retryable: false })
  const broken: Tool = { ...book, name: 'broken', execute: () => raise(failure) }
  const { agent } = agentOf([respond(call('book'), call('broken'), call('look', { ms: 10 }))], {
    tools: [book, broken, look],
  })
  const reading = collect(agent.stream('Go'))
  await vi.runAllTimersAsync()
  expect((await reading).error).toBe(failure)
  expect(failure.messages?.filter(({ role }) => role === 'tool')).toHaveLength(3)
  expect(vi.getTimerCount()).toBe(0)
})

test('after a stop no timer is left, and the signal has only the listeners it had before (A25)', async () => {
  const signal = new AbortController().signal
  let listeners = 0
  const count =
    (method: 'addEventListener' | 'removeEventListener', by: number): typeof signal.addEventListener =>
    (...args: Parameters<typeof signal.addEventListener>) => {
      listeners += by
      AbortSignal.prototype[method].apply(signal, args)
    }
  Object.assign(signal, {
    addEventListener: count('addEventListener', 1),
    removeEventListener: count('removeEventListener', -1),
  })
  const { agent } = agentOf([respond(call('book'), call('look', { ms: 50 })), respond(say('Done'))])
  const first = await played(agent.stream('Go', { signal }))
  expect([listeners, vi.getTimerCount()]).toEqual([0, 0])
  await played(agent.resume(checkpointOf(first.result), answersTo(first.result), { signal }))
  expect([listeners, vi.getTimerCount()]).toEqual([0, 0])
})

test('an abort replaces a question while other calls finish (K11, A25)', async () => {
  const { agent } = agentOf([respond(call('book'), call('look', { ms: 5_000 }))])
  const controller = new AbortController()
  const reading = collect(agent.stream('Go', { signal: controller.signal }))
  await vi.advanceTimersByTimeAsync(100)
  controller.abort()
  await vi.advanceTimersByTimeAsync(1_001)
  expect((await reading).error).toMatchObject({ name: 'AbortError', abandoned: ['call_1_2'] })
})

const nested = (depth: number): Json => (depth === 0 ? 0 : [nested(depth - 1)])

test.each<[string, () => unknown]>([
  ['undefined in a list', () => [undefined]],
  ['a function', () => () => 1],
  ['a symbol', () => Symbol('s')],
  ['a bigint', () => 1n],
  ['NaN', () => Number.NaN],
  ['a date', () => new Date(0)],
  ['a map', () => new Map()],
  ['a toJSON', () => ({ toJSON: () => 1 })],
  ['a list with a toJSON', () => Object.assign([], { toJSON: () => 1 })],
  ['513 levels', () => nested(513)],
  [
    'itself',
    () => {
      const self: unknown[] = []
      self.push(self)
      return self
    },
  ],
])('a payload or answer of %s throws where it is set (L10)', async (_, make) => {
  expect(() => interrupt(make())).toThrow(ConfigError)
  const { agent } = agentOf([respond(call('book'))])
  const { result } = await played(agent.stream('Go'))
  const answers = Object.fromEntries(idsOf(result).map((id) => [id, make()]))
  const run: AgentRun = Reflect.apply(agent.resume, agent, [result.checkpoint, answers])
  await expect(run.result).rejects.toThrow(TypeError)
  expect(did).toHaveLength(1)
})

test('512 levels are JSON, in a payload and in an answer; a key named __proto__ is a key (L10)', async () => {
  const echo = tool({ ...book, execute: (_, { answers }) => answers[0] ?? interrupt(nested(512)) })
  for (const answer of [nested(512), JSON.parse('{"__proto__":{"a":1}}') as Json]) {
    const { agent } = agentOf([respond(call('book')), respond(say('Done'))], { tools: [echo] })
    const { result } = await played(agent.stream('Go'))
    expect(result.interrupts?.[0]?.payload).toEqual(nested(512))
    const resumed = await played(agent.resume(checkpointOf(result), answersTo(result, answer)))
    expect(textsOf(resumed.result)[1]).toBe(JSON.stringify(answer))
  }
})

test('an invalid question ends the run, and does not become an error result for the model (L10)', async () => {
  const when = tool({ ...book, execute: () => interrupt({ when: new Date(0) }) })
  const { agent } = agentOf([respond(call('book'))], { tools: [when] })
  await expect(agent.run('Go')).rejects.toMatchObject({
    name: 'ConfigError',
    option: 'interrupt',
    message: 'interrupt: payload.when is not JSON: it has a toJSON',
  })
})

test('interrupt asks by itself, with throw or without, awaited or not (L1)', async () => {
  const executes: readonly (() => unknown)[] = [
    () => interrupt('?'),
    async () => {
      const answer: unknown = await Promise.resolve(interrupt('?'))
      return answer ? 'deleted' : 'kept'
    },
    async () => {
      throw interrupt('?')
    },
  ]
  for (const execute of executes) {
    const { agent } = agentOf([respond(call('book'))], { tools: [tool({ ...book, execute })] })
    const { result } = await played(agent.stream('Go'))
    expect(result).toMatchObject({ status: 'interrupted', interrupts: [{ payload: '?' }] })
  }
})

test('changes of the caller to an answer after the resume have no effect (L7)', async () => {
  const { agent } = agentOf([respond(call('book')), respond(say('Done'))])
  const { result } = await played(agent.stream('Go'))
  const answer = ['yes']
  const answers = answersTo(result, answer)
  const run = agent.resume(checkpointOf(result), answers)
  answer[0] = 'no'
  expect(textsOf((await played(run)).result)).toEqual(['Go', 'booked it: yes', 'Done'])
  expect(Object.isFrozen(answer)).toBe(false)
})

test('progress and events of a call that asks come in order, and its wraps close (C15, B7)', async () => {
  const slow = tool({
    name: 'slow',
    description: 's',
    input: anything,
    async *execute(_, { answers }) {
      try {
        yield { message: 'asking' }
        if (answers.length === 0) throw interrupt()
        return 'ok'
      } finally {
        did.push('closed')
      }
    },
  })
  const outer: Middleware = {
    name: 'outer',
    wrapToolCall: (call, next) => map(next(call), (event) => event),
  }
  const { agent } = agentOf([respond(call('slow'), wait(5)), respond(say('Done'))], {
    tools: [slow],
    middleware: [outer],
  })
  const first = await played(agent.stream('Go'))
  expect(first.events.map(({ type }) => type).slice(-5)).toEqual([
    'tool-start',
    'tool-entered',
    'tool-progress',
    'question',
    'run-end',
  ])
  expect(did).toEqual(['closed'])
})
