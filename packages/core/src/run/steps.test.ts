import { call, collect, cut, end, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { echo } from '../../test/tools.ts'
import {
  type AgentEvent,
  type AssistantMessage,
  createAgent,
  MaxStepsError,
  type Message,
  type Middleware,
  ModelError,
  type Run,
  type ToolMessage,
  textOf,
  tool,
} from '../index.ts'

function setup() {
  const executed: string[] = []
  const note = tool({
    name: 'note',
    description: 'Notes something.',
    input: z.object({ text: z.string() }),
    execute({ text }) {
      executed.push(text)
      return `noted ${text}`
    },
  })
  return { executed, note }
}

const rejectAll: Middleware = {
  name: 'strict',
  beforeFinalAnswer: () => ({ accept: false, feedback: 'Not good enough.' }),
}

function withoutRun({ runId: _, ...event }: AgentEvent) {
  return event
}

test('a step is one model call with the calls it requests, and steps count from 1 (A7)', async () => {
  const seen: (readonly [string, number])[] = []
  const where = tool({
    name: 'where',
    description: 'Which step is it?',
    input: z.object({}),
    execute: (_, { run }) => void seen.push(['tool', (run as Run).step]),
  })
  const watcher: Middleware = {
    name: 'watcher',
    beforeAgent: (_, run) => void seen.push(['beforeAgent', run.step]),
    beforeModel: (_, run) => void seen.push(['beforeModel', run.step]),
    beforeFinalAnswer: (_, run) => void seen.push(['gate', run.step]),
  }
  const model = scriptedModel([respond(call('where'), call('where')), respond(say('Here.'))])
  const result = await createAgent({ model, tools: [where], middleware: [watcher] }).run('Where?')
  expect(seen).toEqual([
    ['beforeAgent', 0],
    ['beforeModel', 1],
    ['tool', 1],
    ['tool', 1],
    ['beforeModel', 2],
    ['gate', 2],
  ])
  expect(result.steps).toBe(2)
})

test('further attempts of a model call are the same step (A7)', async () => {
  const steps: number[] = []
  const again: Middleware = {
    name: 'again',
    async *wrapModel(request, next, run) {
      for (;;) {
        steps.push(run.step)
        try {
          return yield* next(request)
        } catch (error) {
          if (!(error instanceof ModelError)) throw error
        }
      }
    },
  }
  const model = scriptedModel([respond(say('no'), cut()), respond(cut()), respond(say('yes'))])
  const agent = createAgent({ model, maxSteps: 1, middleware: [again] })
  const { events, result } = await collect(agent.stream('Well?'))
  expect(result).toMatchObject({ text: 'yes', steps: 1 })
  expect(steps).toEqual([1, 1, 1])
  const starts = events.filter(({ type }) => type === 'step-start' || type === 'attempt-start').map(withoutRun)
  const attemptStart = { type: 'attempt-start', step: 1, model: { provider: 'scripted', id: 'scripted-1' } }
  expect(starts).toEqual([
    { type: 'step-start', step: 1 },
    { ...attemptStart, attempt: 1 },
    { ...attemptStart, attempt: 2 },
    { ...attemptStart, attempt: 3 },
  ])
})

const kinds = [
  ['a call after text', respond(say('Let me see.'), call('note', { text: 'a' })), 'tool step'],
  ['text after a call', respond(call('note', { text: 'a' }), say('So.')), 'tool step'],
  ['a call that ends with stop', respond(call('note', { text: 'a' }), end({ finishReason: 'stop' })), 'tool step'],
  ['text that ends with tool-calls', respond(say('So.'), end({ finishReason: 'tool-calls' })), 'answer'],
  ['text that ends with stop', respond(say('So.')), 'answer'],
  ['nothing that ends with tool-calls', respond(end({ finishReason: 'tool-calls' })), 'answer'],
] as const

test.for(kinds)('%s is distinguished only by its calls (A8)', async ([, response, kind]) => {
  const { executed, note } = setup()
  const model = scriptedModel([response, respond(say('done'))])
  const result = await createAgent({ model, tools: [note] }).run('Go')
  expect(result.steps).toBe(kind === 'answer' ? 1 : 2)
  expect(executed).toEqual(kind === 'answer' ? [] : ['a'])
})

test('the kind of a step is decided when its stream has ended: a late call makes its text no answer (A8)', async () => {
  const { note } = setup()
  const asked: string[] = []
  const gate: Middleware = {
    name: 'gate',
    beforeFinalAnswer: ({ messages }) => void asked.push(textOf(messages.at(-1) as Message)),
  }
  const model = scriptedModel([respond(say('It is 4.'), call('note', { text: 'a' })), respond(say('It is 5.'))])
  const result = await createAgent({ model, tools: [note], middleware: [gate] }).run('2 + 3?')
  expect(asked).toEqual(['It is 5.'])
  expect(result.text).toBe('It is 5.')
})

test.for([1, 2, 5])(
  'with maxSteps %d tool steps end with MaxStepsError after this many model calls (A9)',
  async (maxSteps) => {
    const usage = end({ usage: { inputTokens: 10, outputTokens: 1 } })
    const model = scriptedModel(Array.from({ length: 9 }, () => respond(call('echo', { text: 'x' }), usage)))
    const error = await createAgent({ model, tools: [echo], maxSteps })
      .run('Go on')
      .catch((error: unknown) => error)
    expect(error).toBeInstanceOf(MaxStepsError)
    expect(model.requests).toHaveLength(maxSteps)
    expect(error).toMatchObject({
      maxSteps,
      usage: { inputTokens: 10 * maxSteps, outputTokens: maxSteps },
      messages: [
        { role: 'user', content: 'Go on' },
        ...Array.from({ length: maxSteps }, () => [{ role: 'assistant' }, { role: 'tool' }]).flat(),
      ],
    })
  },
)

test('without tools rejected answers end with MaxStepsError as well (A9)', async () => {
  const model = scriptedModel(Array.from({ length: 9 }, () => respond(say('4'))))
  const error = await createAgent({ model, middleware: [rejectAll], maxSteps: 2 })
    .run('2 + 2?')
    .catch((error: unknown) => error)
  expect(error).toBeInstanceOf(MaxStepsError)
  expect(model.requests).toHaveLength(2)
  const answer = { role: 'assistant', content: [{ type: 'text', text: '4' }], finishReason: 'stop' }
  const feedback = { role: 'user', content: 'Not good enough.', origin: 'strict' }
  expect(error).toMatchObject({
    maxSteps: 2,
    messages: [{ role: 'user', content: '2 + 2?' }, answer, feedback, answer, feedback],
    usage: {},
  })
})

test('an answer in the last permitted step completes the run (A9)', async () => {
  const model = scriptedModel([respond(call('echo', { text: 'x' })), respond(say('x'))])
  const result = await createAgent({ model, tools: [echo], maxSteps: 2 }).run('Go')
  expect(result).toMatchObject({ status: 'completed', stopReason: 'answer', text: 'x', steps: 2 })
})

test('calls of the last permitted step do not run, and their results state the limit (A10)', async () => {
  const { executed, note } = setup()
  const model = scriptedModel([
    respond(call('note', { text: 'a' }, { id: 'one' })),
    respond(call('note', { text: 'b' }, { id: 'two' }), call('nothing', {}, { id: 'three' })),
  ])
  const { events, error } = await collect(createAgent({ model, tools: [note], maxSteps: 2 }).stream('Go'))
  expect(executed).toEqual(['a'])
  const text = 'Not run: the limit of 2 steps is reached, so no model call could read the result.'
  const refused = (callId: string, name: string): ToolMessage => ({
    role: 'tool',
    callId,
    name,
    content: [{ type: 'text', text }],
    isError: true,
  })
  expect(error).toBeInstanceOf(MaxStepsError)
  expect((error as MaxStepsError).messages?.slice(2)).toEqual([
    { role: 'tool', callId: 'one', name: 'note', content: [{ type: 'text', text: 'noted a' }], output: 'noted a' },
    expect.objectContaining({ role: 'assistant' }),
    refused('two', 'note'),
    refused('three', 'nothing'),
  ])
  const ofCalls = events.filter((event) => event.step === 2 && 'callId' in event).map(withoutRun)
  expect(ofCalls).toEqual([
    { type: 'tool-end', step: 2, callId: 'two', toolName: 'note', message: refused('two', 'note') },
    { type: 'tool-end', step: 2, callId: 'three', toolName: 'nothing', message: refused('three', 'nothing') },
  ])
})

test('if one of the calls of the last permitted step is direct, all run, and its result is the answer (A10)', async () => {
  const { executed, note } = setup()
  const direct = { ...note, name: 'direct', returnDirect: true }
  const model = scriptedModel([respond(call('note', { text: 'a' }), call('direct', { text: 'b' }))])
  const result = await createAgent({ model, tools: [note, direct], maxSteps: 1 }).run('Go')
  expect(executed).toEqual(['a', 'b'])
  expect(result).toMatchObject({ stopReason: 'return-direct', text: 'noted b', steps: 1 })
})

test('a direct call that fails in the last permitted step leaves MaxStepsError with all results (A10, M6)', async () => {
  const { note } = setup()
  const direct = tool({
    name: 'direct',
    description: 'Fails.',
    input: z.object({}),
    returnDirect: true,
    execute: () => {
      throw new Error('no luck')
    },
  })
  const model = scriptedModel([respond(call('direct'), call('note', { text: 'a' }))])
  const error = await createAgent({ model, tools: [note, direct], maxSteps: 1 })
    .run('Go')
    .catch((error: unknown) => error)
  expect(error).toBeInstanceOf(MaxStepsError)
  expect((error as MaxStepsError).messages?.slice(2)).toMatchObject([
    { name: 'direct', isError: true, content: [{ text: 'no luck' }] },
    { name: 'note', content: [{ text: 'noted a' }] },
  ])
})

test('an unlimited agent goes on until there is an answer (A9)', async () => {
  const model = scriptedModel([
    ...Array.from({ length: 60 }, () => respond(call('echo', { text: 'x' }))),
    respond(say('Enough.')),
  ])
  const result = await createAgent({ model, tools: [echo], maxSteps: Number.POSITIVE_INFINITY }).run('Go')
  expect(result.steps).toBe(61)
  expect((result.message as AssistantMessage).content).toEqual([{ type: 'text', text: 'Enough.' }])
})
