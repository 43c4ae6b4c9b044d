import { call, respond, type ScriptedResponse, say, scriptedModel } from '@meanwhile/assemble/testing'
import { beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { early, startingEarly } from '../../test/early-calls.ts'
import { played } from '../../test/played-runs.ts'
import {
  type AgentOptions,
  type Checkpoint,
  createAgent,
  interrupt,
  type Middleware,
  type Model,
  ModelError,
  memoryStore,
  type Tool,
  type ToolMessage,
  textOf,
} from '../index.ts'

// Calls of tools that the request did not offer to the model.

let did: string[] = []
beforeEach(() => {
  did = []
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

const toolOf = (name: string, more: Partial<Tool> = {}): Tool => ({
  name,
  description: name,
  input: z.object({}),
  effect: 'read',
  execute: () => {
    did.push(name)
    return `${name} done`
  },
  ...more,
})

const look = toolOf('look', { aliases: { names: ['see'] } })
const send = toolOf('send')

/** Takes a tool out of each request. */
const without = (name: string): Middleware => ({
  name: `without ${name}`,
  wrapModel: (request, next) => next({ ...request, tools: request.tools.filter((one) => one.name !== name) }),
})

const forbidding: Middleware = {
  name: 'forbidding',
  wrapModel: (request, next) => next({ ...request, toolChoice: 'none' }),
}

function agentOf(responses: readonly ScriptedResponse[], options: Partial<AgentOptions> = {}) {
  return createAgent({ model: scriptedModel(responses), tools: [look, send], ...options })
}

const resultsIn = (messages: readonly { readonly role: string }[]) =>
  messages.filter(({ role }) => role === 'tool').map((message) => textOf(message as ToolMessage))

const both = respond(call('look', {}, { id: 'a' }), call('send', {}, { id: 'b' }), say('And more.'))
const refused = 'Not run: send is not available in this step.'

test.each([
  ['outside of early starts', [without('send'), early]],
  ['inside of early starts', [early, without('send')]],
  ['without early starts', [without('send')]],
] as const)('a tool that a wrapModel took out of the request is not executed: %s (W2)', async (_, middleware) => {
  const agent = agentOf([both, respond(say('Done.'))], { middleware: [...middleware] })
  const { events, result } = await played(agent.stream('Go'))
  expect(did).toEqual(['look'])
  expect(resultsIn(result.messages)).toEqual(['look done', refused])
  const types = events.flatMap((event) => ('callId' in event && event.callId === 'b' ? [event.type] : []))
  expect(types).toEqual(['tool-start', 'tool-end'])
})

test.each([[[forbidding, early]], [[early, forbidding]], [[forbidding]]])(
  'under `toolChoice: none` no tool is executed, wherever a wrap set it (W2)',
  async (middleware) => {
    const { result } = await played(agentOf([both, respond(say('Done.'))], { middleware }).stream('Go'))
    expect(did).toEqual([])
    expect(resultsIn(result.messages)).toEqual(['Not run: look is not available in this step.', refused])
  },
)

test('the request decides also if the model sends its calls in one piece, and an alias is the name of its tool (W2)', async () => {
  const whole: Model = {
    provider: 'mine',
    id: 'm',
    async *stream({ messages }) {
      if (messages.length > 1)
        return { role: 'assistant', content: [{ type: 'text', text: 'Done.' }], finishReason: 'stop' }
      const calls = ['see', 'send'].map((name) => ({ type: 'tool-call', id: name, name, input: {} }) as const)
      return { role: 'assistant', content: calls, finishReason: 'tool-calls' }
    },
  }
  const { result } = await played(agentOf([], { model: whole, middleware: [without('send')] }).stream('Go'))
  expect(did).toEqual(['look'])
  expect(resultsIn(result.messages)).toEqual(['look done', refused])
})

test('a call that afterModel adds, or that a wrap answers with, is judged by the tools of the run (W2, C9, C12)', async () => {
  const adding: Middleware = {
    name: 'adding',
    afterModel({ messages }, { step }) {
      const last = messages.at(-1)
      if (step > 1 || last?.role !== 'assistant') return
      const added = { type: 'tool-call', id: 'added', name: 'send', input: {} } as const
      return { messages: [...messages.slice(0, -1), { ...last, content: [...last.content, added] }] }
    },
  }
  await played(agentOf([both, respond(say('Done.'))], { middleware: [without('send'), adding] }).stream('Go'))
  expect(did).toEqual(['look', 'send'])
  did = []
  const answering: Middleware = {
    name: 'answering',
    async *wrapModel(request, next, { step }) {
      if (step > 1) return yield* next(request)
      const invented = { type: 'tool-call', id: 'invented', name: 'send', input: {} } as const
      return { role: 'assistant', content: [invented], finishReason: 'tool-calls' }
    },
  }
  await played(agentOf([respond(say('Done.'))], { middleware: [answering, without('send')] }).stream('Go'))
  expect(did).toEqual(['send'])
})

test('a wrap that offers a tool under another name, and renames its calls, may use it (W2)', async () => {
  const renaming: Middleware = {
    name: 'renaming',
    async *wrapModel(request, next) {
      const tools = request.tools.map((one) => (one.name === 'send' ? { ...one, name: 'post' } : one))
      const message = yield* next({ ...request, tools })
      const content = message.content.map((part) =>
        part.type === 'tool-call' && part.name === 'post' ? { ...part, name: 'send' } : part,
      )
      return { ...message, content }
    },
  }
  const responses = [respond(call('post', {}, { id: 'b' })), respond(say('Done.'))]
  await played(agentOf(responses, { middleware: [renaming] }).stream('Go'))
  expect(did).toEqual(['send'])
})

test.each(['after the model', 'in a tool'])('a resume decides the same: it was stopped %s (W2, L2)', async (where) => {
  const asks: Middleware = {
    name: 'asks',
    afterModel(_, { answers, step }) {
      if (where === 'after the model' && step === 1 && answers.length === 0) throw interrupt('May I?')
    },
  }
  const asking = toolOf('look', {
    execute: (_, { answers }) => {
      if (where === 'in a tool' && answers.length === 0) throw interrupt('May I?')
      return 'look done'
    },
  })
  const options = { tools: [asking, send], middleware: [without('send'), asks] }
  const first = await played(agentOf([both], options).stream('Go'))
  const [question] = first.result.interrupts ?? []
  const stored = JSON.parse(JSON.stringify(first.checkpoint)) as Checkpoint
  // The wrap is gone: the request that was sent counts.
  const later = agentOf([respond(say('Done.'))], { tools: [asking, send], middleware: [asks] })
  const { result } = await played(later.resume(stored, { [question?.id ?? '']: 'yes' }))
  expect(did).toEqual([])
  expect(resultsIn(result.messages)).toEqual(['look done', refused])
})

test('a call of a wrap that asked about it is not executed after the resume either (W2, L2)', async () => {
  const asking: Middleware = {
    name: 'asking',
    async *wrapToolCall(one, next, { answers }) {
      if (one.name === 'send' && answers.length === 0) throw interrupt('May I?')
      return yield* next(one)
    },
  }
  const first = await played(agentOf([both], { middleware: [without('send'), asking] }).stream('Go'))
  const [question] = first.result.interrupts ?? []
  const stored = JSON.parse(JSON.stringify(first.checkpoint)) as Checkpoint
  const later = agentOf([respond(say('Done.'))], { middleware: [asking] })
  const { result } = await played(later.resume(stored, { [question?.id ?? '']: 'yes' }))
  expect(did).toEqual(['look'])
  expect(resultsIn(result.messages)).toEqual(['look done', refused])
})

test('the direct result of a tool that was not offered does not end the run (W2, A10)', async () => {
  const direct = toolOf('send', { returnDirect: true })
  const agent = agentOf([both, respond(say('Done.'))], { tools: [look, direct], middleware: [without('send')] })
  const { result } = await played(agent.stream('Go'))
  expect(result).toMatchObject({ status: 'completed', stopReason: 'answer', text: 'Done.' })
})

test('a closing request may still be answered by the output tool (W2, F4)', async () => {
  const agent = createAgent({
    model: scriptedModel([respond(call('final_answer', { sum: 3 }))]),
    tools: [look],
    output: z.object({ sum: z.number() }),
    middleware: [forbidding],
    checkpoints: memoryStore(),
  })
  const { result } = await played(agent.stream('Go'))
  expect(result).toMatchObject({ status: 'completed', output: { sum: 3 } })
})

test('under `toolChoice: none` an agent with an output schema executes no tool either (W2, O13)', async () => {
  const model = scriptedModel([respond(call('send', {}, { id: 'b' }), call('final_answer', { sum: 3 }))])
  const agent = createAgent({
    model,
    tools: [send],
    output: z.object({ sum: z.number() }),
    middleware: [forbidding, early],
  })
  const { result } = await played(agent.stream('Go'))
  expect(did).toEqual([])
  expect(result).toMatchObject({ status: 'completed', output: { sum: 3 } })
})

test.each([
  ['the same id', 'b'],
  ['another id', 'c'],
])(
  'an early call is not taken over by a later attempt that was not offered its tool, with %s (W2, H11)',
  async (_, id) => {
    let attempts = 0
    const repeating: Model = {
      provider: 'mine',
      id: 'm',
      async *stream({ messages }) {
        if (messages.length > 1)
          return { role: 'assistant', content: [{ type: 'text', text: 'Done.' }], finishReason: 'stop' }
        const one = { type: 'tool-call', id: attempts === 0 ? 'b' : id, name: 'send', input: {} } as const
        yield { type: 'tool-call', call: one }
        await new Promise((resolve) => setTimeout(resolve, 10))
        if (++attempts === 1) throw new ModelError('broken', { code: 'x', retryable: true })
        return { role: 'assistant', content: [one], finishReason: 'tool-calls' }
      },
    }
    const narrowing: Middleware = {
      name: 'narrowing',
      async *wrapModel(request, next) {
        try {
          return yield* next(request)
        } catch {
          return yield* next({ ...request, tools: [] })
        }
      },
    }
    const middleware = [narrowing, startingEarly({ only: (one) => one.id === 'b' })]
    const { result } = await played(agentOf([], { model: repeating, middleware }).stream('Go'))
    expect(resultsIn(result.messages)).toEqual([refused])
    expect(did).toEqual(['send'])
  },
)

test('a call that a wrap or hook gives another tool is judged by that tool (W2, C9)', async () => {
  const replacing: Middleware = {
    name: 'replacing',
    afterModel({ messages }) {
      const last = messages.at(-1)
      if (last?.role !== 'assistant') return
      const content = last.content.map((part) => (part.type === 'tool-call' ? { ...part, name: 'look' } : part))
      return { messages: [...messages.slice(0, -1), { ...last, content }] }
    },
  }
  const responses = [respond(call('send', {}, { id: 'b' })), respond(say('Done.'))]
  await played(agentOf(responses, { middleware: [without('send'), replacing] }).stream('Go'))
  expect(did).toEqual(['look'])
})

test('a direct tool that was not offered does not let the calls of the last step run (W2, A10)', async () => {
  const direct = toolOf('send', { returnDirect: true })
  const agent = agentOf([both], { tools: [look, direct], middleware: [without('send')], maxSteps: 1 })
  await expect(played(agent.stream('Go'))).rejects.toMatchObject({ name: 'MaxStepsError' })
  expect(did).toEqual([])
})
