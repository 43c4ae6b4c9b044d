import { call, collect, end, fail, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { expect, test } from 'vitest'
import { askAgain } from '../../test/again.ts'
import { echo } from '../../test/tools.ts'
import {
  type AgentState,
  type AssistantMessage,
  createAgent,
  DEFAULT_FEEDBACK,
  MaxStepsError,
  type Message,
  type Middleware,
  MiddlewareError,
  ModelError,
  textOf,
  tool,
  type Verdict,
} from '../index.ts'

const direct = tool({ ...echo, name: 'direct', returnDirect: true })

const user = (content: string, origin?: string): Message => ({ role: 'user', content, ...(origin && { origin }) })

const answer = (text: string): AssistantMessage => ({
  role: 'assistant',
  content: [{ type: 'text', text }],
  finishReason: 'stop',
})

const texts = (messages: readonly Message[] = []) => messages.map(textOf)
const lastText = ({ messages }: AgentState) => texts(messages.slice(-1)).join('')

/** Rejects the answers that have feedback here. */
const gate = (feedback: Readonly<Record<string, string | readonly Message[]>>, seen: string[] = []): Middleware => ({
  name: 'gate',
  beforeFinalAnswer(state) {
    const text = lastText(state)
    seen.push(text)
    const said = feedback[text]
    return said === undefined ? undefined : { accept: false, feedback: said }
  },
})

/** Rejects everything. */
const never = (feedback: string | readonly Message[] = 'no'): Middleware => ({
  name: 'never',
  beforeFinalAnswer: () => ({ accept: false, feedback }),
})

test('an accepted first answer costs one model call and calls each gate hook once; returning nothing accepts (E1)', async () => {
  const seen: string[] = []
  const asked = (name: string, verdict: Verdict | undefined): Middleware => ({
    name,
    beforeFinalAnswer() {
      seen.push(name)
      return verdict
    },
  })
  const model = scriptedModel([respond(say('fine'))])
  const middleware = [asked('A', undefined), asked('B', { accept: true }), { name: 'no gate' }, asked('C', undefined)]
  const result = await createAgent({ model, middleware }).run('Go')
  expect(seen).toEqual(['A', 'B', 'C'])
  expect(model.requests).toHaveLength(1)
  expect(result).toMatchObject({ text: 'fine', steps: 1, stopReason: 'answer' })
})

test('without gate hooks every answer is accepted (E1)', async () => {
  for (const script of [respond(say('fine')), respond(say('')), respond(say('cut'), end({ finishReason: 'length' }))]) {
    const model = scriptedModel([script])
    expect(await createAgent({ model }).run('Go')).toMatchObject({ status: 'completed', steps: 1 })
  }
})

test('a rejection adds its feedback after the answer, which stays; the next request ends with it (E2)', async () => {
  const model = scriptedModel([respond(say('first')), respond(say('second'))])
  const result = await createAgent({ model, middleware: [gate({ first: 'Shorter, please.' })] }).run('Go')
  const history = [user('Go'), { ...answer('first') }, user('Shorter, please.', 'gate')]
  expect(model.requests[1]?.messages).toEqual(history)
  expect(result.messages).toEqual([...history, answer('second')])
})

test('feedback may be messages (E2)', async () => {
  const model = scriptedModel([respond(say('first')), respond(say('second'))])
  const feedback: readonly Message[] = [
    answer('Let me think again.'),
    {
      role: 'user',
      content: [
        { type: 'text', text: 'Shorter.' },
        { type: 'file', mediaType: 'image/png', data: 'AA==' },
      ],
    },
    user('In French.', 'me'),
  ]
  const { events, result } = await collect(createAgent({ model, middleware: [gate({ first: feedback })] }).stream('Go'))
  const [think, shorter, french] = feedback
  const appended = [think, { ...shorter, origin: 'gate' }, french]
  expect(model.requests[1]?.messages).toEqual([user('Go'), answer('first'), ...appended])
  expect(result?.messages).toEqual([user('Go'), answer('first'), ...appended, answer('second')])
  expect(events.flatMap((event) => (event.type === 'answer-rejected' ? [event.feedback] : []))).toEqual([feedback])
})

test('run and stream loop alike, with tools and without (E3)', async () => {
  const make = (tools: boolean) => {
    const seen: string[] = []
    const model = scriptedModel([
      ...(tools ? [respond(say('Wait.'), call('echo', { text: 'a' }))] : []),
      respond(say('first')),
      ...(tools ? [respond(call('echo', { text: 'b' }))] : []),
      respond(say('second')),
      respond(say('third')),
    ])
    const middleware = [gate({ first: 'once more', second: 'and again' }, seen)]
    return { seen, model, agent: createAgent({ model, tools: [echo], middleware }) }
  }
  for (const tools of [false, true]) {
    const [ran, streamed] = [make(tools), make(tools)]
    const result = await ran.agent.run('Go')
    expect((await collect(streamed.agent.stream('Go'))).result).toEqual(result)
    expect(result).toMatchObject({ text: 'third', steps: tools ? 5 : 3 })
    expect(texts(result.messages)).toEqual(
      tools
        ? ['Go', 'Wait.', 'a', 'first', 'once more', '', 'b', 'second', 'and again', 'third']
        : ['Go', 'first', 'once more', 'second', 'and again', 'third'],
    )
    for (const { seen, model } of [ran, streamed]) {
      expect(seen).toEqual(['first', 'second', 'third'])
      model.assertComplete()
    }
  }
})

test('rejected answers count toward the step limit, whose error contains the last feedback (E4, A9)', async () => {
  const model = scriptedModel([respond(say('first')), respond(say('second')), respond(say('third'))])
  const middleware = [gate({ first: 'no', second: 'no, no', third: 'never' })]
  const { events, error } = await collect(createAgent({ model, maxSteps: 3, middleware }).stream('Go'))
  expect(model.requests).toHaveLength(3)
  expect(error).toBeInstanceOf(MaxStepsError)
  const message = 'no final answer within 3 steps'
  expect(error).toMatchObject({ maxSteps: 3, feedback: 'never', message })
  expect(texts(error instanceof MaxStepsError ? error.messages : [])).toEqual([
    'Go',
    'first',
    'no',
    'second',
    'no, no',
    'third',
    'never',
  ])
  expect(events.filter(({ type }) => type === 'answer-rejected')).toHaveLength(3)
})

test('the last feedback of the error is the text of messages, too (E4)', async () => {
  const model = scriptedModel([respond(say('first'))])
  const agent = createAgent({ model, maxSteps: 1, middleware: [never([user('one'), user('two')])] })
  expect((await collect(agent.stream('Go'))).error).toMatchObject({ name: 'MaxStepsError', feedback: 'one\ntwo' })
})

test('a limit reached without rejection has no feedback, even if an earlier answer was rejected (E4)', async () => {
  const model = scriptedModel([respond(say('first')), respond(call('echo', { text: 'a' }))])
  const agent = createAgent({ model, tools: [echo], maxSteps: 2, middleware: [gate({ first: 'no' })] })
  const { error } = await collect(agent.stream('Go'))
  expect(error).toBeInstanceOf(MaxStepsError)
  expect(error).not.toHaveProperty('feedback')
})

test('the gate is not called on tool steps, errors, aborts and the limit (E5)', async () => {
  const seen: string[] = []
  const middleware = [gate({}, seen)]
  const make = (...responses: Parameters<typeof scriptedModel>[0]) =>
    createAgent({ model: scriptedModel(responses), tools: [echo], maxSteps: 2, middleware })
  const tools = respond(say('Wait.'), call('echo', { text: 'a' }))

  expect((await collect(make(tools, tools).stream('Go'))).error).toBeInstanceOf(MaxStepsError)
  expect((await collect(make(respond(say('half'), fail())).stream('Go'))).error).toBeInstanceOf(ModelError)
  const cut = respond(call('echo', { text: 'a' }), end({ finishReason: 'length' }))
  expect((await collect(make(cut, cut).stream('Go'))).error).toBeInstanceOf(MaxStepsError)
  const controller = new AbortController()
  const run = make(respond(say('fine'))).stream('Go', { signal: controller.signal })
  controller.abort()
  expect((await collect(run)).error).toHaveProperty('name', 'AbortError')
  expect(seen).toEqual([])

  expect((await make(tools, respond(say('fine'))).run('Go')).text).toBe('fine')
  expect(seen).toEqual(['fine'])
})

test('an abort during the gate ends the run, and calls no further hook (E5)', async () => {
  const controller = new AbortController()
  const seen: string[] = []
  const agent = createAgent({
    model: scriptedModel([respond(say('fine'))]),
    middleware: [
      {
        name: 'stops',
        beforeFinalAnswer() {
          seen.push('stops')
          controller.abort()
        },
      },
      { name: 'late', beforeFinalAnswer: () => void seen.push('late') },
    ],
  })
  const { error } = await collect(agent.stream('Go', { signal: controller.signal }))
  expect(error).toHaveProperty('name', 'AbortError')
  expect(seen).toEqual(['stops'])
})

test('hooks are called first to last; the first rejection ends the round; an answer is accepted when all accept it (E6)', async () => {
  const seen: string[] = []
  const rejecting = (name: string, rejected: string): Middleware => ({
    name,
    beforeFinalAnswer(state) {
      seen.push(`${name}: ${lastText(state)}`)
      return lastText(state) === rejected ? { accept: false, feedback: `${name} says no` } : { accept: true }
    },
  })
  const model = scriptedModel([respond(say('1')), respond(say('2')), respond(say('3')), respond(say('4'))])
  const middleware = [rejecting('A', '2'), rejecting('B', '1'), rejecting('C', '3')]
  const { events, result } = await collect(createAgent({ model, middleware }).stream('Go'))
  expect(seen).toEqual(['A: 1', 'B: 1', 'A: 2', 'A: 3', 'B: 3', 'C: 3', 'A: 4', 'B: 4', 'C: 4'])
  expect(events.flatMap((event) => (event.type === 'answer-rejected' ? [event.middleware] : []))).toEqual([
    'B',
    'A',
    'C',
  ])
  expect(result?.text).toBe('4')
})

test('an accepted message replaces the answer for later hooks, wrapAgent, result and history (E7)', async () => {
  const seen: string[] = []
  const better: AssistantMessage = { ...answer('better'), finishReason: 'other' }
  const agent = createAgent({
    model: scriptedModel([respond(say('good'))]),
    middleware: [
      {
        name: 'betters',
        beforeFinalAnswer: (state) => {
          seen.push(`betters ${lastText(state)}`)
          return { accept: true, message: better }
        },
        async *wrapAgent(setup, next) {
          const result = yield* next(setup)
          seen.push(`wrapAgent ${result.text}`)
          return result
        },
      },
      { name: 'later', beforeFinalAnswer: (state) => void seen.push(`later ${lastText(state)}`) },
    ],
  })
  const { events, result } = await collect(agent.stream('Go'))
  expect(seen).toEqual(['betters good', 'later better', 'wrapAgent better'])
  expect(result).toMatchObject({ message: better, text: 'better', finishReason: 'other' })
  expect(result?.messages).toEqual([user('Go'), better])
  expect(events.flatMap((event) => (event.type === 'step-end' ? [event.messages] : []))).toEqual([[better]])
})

test('an answer that one hook replaced and a later one rejects stays as replaced (E6, E7)', async () => {
  const model = scriptedModel([respond(say('first')), respond(say('second'))])
  const agent = createAgent({
    model,
    middleware: [
      {
        name: 'loud',
        beforeFinalAnswer: (state) => ({ accept: true, message: answer(lastText(state).toUpperCase()) }),
      },
      gate({ FIRST: 'Quiet!' }),
    ],
  })
  const result = await agent.run('Go')
  expect(texts(model.requests[1]?.messages)).toEqual(['Go', 'FIRST', 'Quiet!'])
  expect(texts(result.messages)).toEqual(['Go', 'FIRST', 'Quiet!', 'SECOND'])
})

test('a message that replaces a direct result follows it: the result keeps its place (E7, A14)', async () => {
  const model = scriptedModel([respond(call('direct', { text: 'raw' }), call('echo', { text: 'b' }))])
  const agent = createAgent({
    model,
    tools: [echo, direct],
    middleware: [{ name: 'explains', beforeFinalAnswer: () => ({ accept: true, message: answer('explained') }) }],
  })
  const result = await agent.run('Go')
  expect(texts(result.messages)).toEqual(['Go', '', 'raw', 'b', 'explained'])
  expect(result).toMatchObject({ text: 'explained', message: answer('explained'), stopReason: 'return-direct' })
})

test('an accepted message with tool calls is a MiddlewareError (E7)', async () => {
  const message: AssistantMessage = {
    ...answer('yes'),
    content: [{ type: 'tool-call', id: 'mine', name: 'echo', input: { text: 'a' } }],
  }
  const agent = createAgent({
    model: scriptedModel([respond(say('fine'))]),
    tools: [echo],
    middleware: [{ name: 'calls', beforeFinalAnswer: () => ({ accept: true, message }) }],
  })
  const { error } = await collect(agent.stream('Go'))
  expect(error).toBeInstanceOf(MiddlewareError)
  expect(error).toMatchObject({ middleware: 'calls', hook: 'beforeFinalAnswer' })
})

test('the gate’s state contains the whole history, the answer last, with its finish reason, empty text included (E8)', async () => {
  const states: AgentState[] = []
  const model = scriptedModel([
    respond(call('echo', { text: 'a' })),
    respond(say('')),
    respond(say('cut'), end({ finishReason: 'length' })),
    respond(say('filtered'), end({ finishReason: 'content-filter' })),
    respond(say('fine')),
  ])
  const agent = createAgent({
    model,
    tools: [echo],
    middleware: [
      {
        name: 'looks',
        beforeFinalAnswer(state) {
          states.push(state)
          return states.length < 4 ? { accept: false, feedback: 'again' } : { accept: true }
        },
      },
    ],
  })
  const result = await agent.run('Go')
  expect(states.map(({ finishReason }) => finishReason)).toEqual(['stop', 'length', 'content-filter', 'stop'])
  for (const [index, { messages }] of states.entries()) {
    expect(messages).toEqual(result.messages.slice(0, 4 + 2 * index))
  }
  expect(texts(states[0]?.messages)).toEqual(['Go', '', 'a', ''])
  expect(states[0]?.messages.at(-1)).toMatchObject({ role: 'assistant', content: [] })
  expect(texts(states[3]?.messages)).toEqual(['Go', '', 'a', '', 'again', 'cut', 'again', 'filtered', 'again', 'fine'])
})

test('for a direct result the gate’s state ends with its tool message, with the finish reason of the response (E8)', async () => {
  const states: AgentState[] = []
  const agent = createAgent({
    model: scriptedModel([
      respond(call('direct', { text: 'raw' }), call('echo', { text: 'b' }), end({ finishReason: 'stop' })),
    ]),
    tools: [echo, direct],
    middleware: [{ name: 'looks', beforeFinalAnswer: (state) => void states.push(state) }],
  })
  const result = await agent.run('Go')
  expect(states.map(({ finishReason }) => finishReason)).toEqual(['stop'])
  expect(texts(states[0]?.messages)).toEqual(['Go', '', 'b', 'raw'])
  expect(states[0]?.messages.at(-1)).toMatchObject({ role: 'tool', callId: 'call_1_1', output: 'raw' })
  expect(texts(result.messages)).toEqual(['Go', '', 'raw', 'b'])
  expect(result.message).toBe(result.messages[2])
})

test('a rejected direct result stays; the feedback follows all results of its step, and any step may follow (E9)', async () => {
  const model = scriptedModel([
    respond(call('direct', { text: 'raw' }), call('echo', { text: 'b' })),
    respond(call('direct', { text: 'done' }), call('echo', { text: 'c' })),
    respond(call('echo', { text: 'd' })),
    respond(say('in words')),
  ])
  const seen: string[] = []
  const middleware = [gate({ raw: 'Cook it.', done: 'Explain it.' }, seen)]
  const result = await createAgent({ model, tools: [echo, direct], middleware }).run('Go')
  expect(seen).toEqual(['raw', 'done', 'in words'])
  expect(result.messages.map(({ role }) => role)).toEqual([
    'user',
    'assistant',
    'tool',
    'tool',
    'user',
    'assistant',
    'tool',
    'tool',
    'user',
    'assistant',
    'tool',
    'assistant',
  ])
  expect(texts(result.messages)).toEqual([
    'Go',
    '',
    'raw',
    'b',
    'Cook it.',
    '',
    'done',
    'c',
    'Explain it.',
    '',
    'd',
    'in words',
  ])
  expect(result).toMatchObject({ stopReason: 'answer', text: 'in words', steps: 4 })
})

test('each rejection is an answer-rejected event before its step-end (E10)', async () => {
  const model = scriptedModel([respond(say('first')), respond(say('second')), respond(say('third'))])
  const middleware = [gate({ first: 'no', second: 'no, no' })]
  const { events } = await collect(createAgent({ model, middleware }).stream('Go'))
  const own = events.map(({ runId: _, ...event }) => event).filter(({ type }) => !type.includes('delta'))
  const model1 = { provider: 'scripted', id: 'scripted-1' }
  expect(own.slice(1, -1)).toEqual([
    { type: 'step-start', step: 1 },
    { type: 'attempt-start', step: 1, attempt: 1, model: model1 },
    { type: 'message', step: 1, message: answer('first') },
    { type: 'answer-rejected', step: 1, middleware: 'gate', feedback: 'no' },
    { type: 'message', step: 1, message: user('no', 'gate') },
    { type: 'step-end', step: 1, attempt: 1, messages: [answer('first'), user('no', 'gate')] },
    { type: 'step-start', step: 2 },
    { type: 'attempt-start', step: 2, attempt: 1, model: model1 },
    { type: 'message', step: 2, message: answer('second') },
    { type: 'answer-rejected', step: 2, middleware: 'gate', feedback: 'no, no' },
    { type: 'message', step: 2, message: user('no, no', 'gate') },
    { type: 'step-end', step: 2, attempt: 1, messages: [answer('second'), user('no, no', 'gate')] },
    { type: 'step-start', step: 3 },
    { type: 'attempt-start', step: 3, attempt: 1, model: model1 },
    { type: 'message', step: 3, message: answer('third') },
    { type: 'step-end', step: 3, attempt: 1, messages: [answer('third')] },
  ])
})

test('with empty feedback the model reads a default sentence, and there is a warning; the limit holds as usual (E11, B15)', async () => {
  for (const feedback of ['', []]) {
    const model = scriptedModel([respond(say('first')), respond(say('second')), respond(say('third'))])
    const { events, result } = await collect(
      createAgent({ model, middleware: [gate({ first: feedback, second: feedback })] }).stream('Go'),
    )
    expect(texts(model.requests[2]?.messages)).toEqual(['Go', 'first', DEFAULT_FEEDBACK, 'second', DEFAULT_FEEDBACK])
    const warning = { code: 'empty-feedback', message: 'gate rejected an answer without feedback', source: 'core' }
    expect(result?.warnings).toEqual([warning, warning])
    const told = events.filter(({ type }) => ['warning', 'answer-rejected', 'step-end'].includes(type))
    expect(told.map(({ type }) => type)).toEqual([
      'warning',
      'answer-rejected',
      'step-end',
      'warning',
      'answer-rejected',
      'step-end',
      'step-end',
    ])
    expect(told[1]).toMatchObject({ feedback: DEFAULT_FEEDBACK })

    const limited = scriptedModel([respond(say('first')), respond(say('second'))])
    const agent = createAgent({ model: limited, maxSteps: 2, middleware: [never(feedback)] })
    const { error } = await collect(agent.stream('Go'))
    expect(error).toMatchObject({ name: 'MaxStepsError', feedback: DEFAULT_FEEDBACK })
  }
})

test('retries of the model call and rejections of the gate are counted separately (E12, J10)', async () => {
  const steps = ['first', 'second', 'third'].map((text) => [respond(fail()), respond(say(text))])
  const middleware = [askAgain, gate({ first: 'no', second: 'no' })]
  const model = scriptedModel(steps.flat())
  const { events, result } = await collect(createAgent({ model, maxSteps: 3, middleware }).stream('Go'))
  expect(result).toMatchObject({ text: 'third', steps: 3 })
  expect(events.flatMap((event) => (event.type === 'attempt-start' ? [[event.step, event.attempt]] : []))).toEqual([
    [1, 1],
    [1, 2],
    [2, 1],
    [2, 2],
    [3, 1],
    [3, 2],
  ])

  const unlucky = scriptedModel([respond(say('first')), respond(fail()), respond(fail())])
  const failed = await collect(createAgent({ model: unlucky, middleware }).stream('Go'))
  expect(failed.error).toBeInstanceOf(ModelError)
})
