import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { early } from '../../test/early-calls.ts'
import { played, settled } from '../../test/played-runs.ts'
import {
  type AgentOptions,
  type AssistantMessage,
  type Checkpoint,
  createAgent,
  interrupt,
  type Middleware,
  type Model,
  type ModelRequest,
  type Tool,
  type ToolCall,
} from '../index.ts'

// Inputs that are not JSON, ids that were used before, and answers that are proxies.

let did: unknown[] = []
beforeEach(() => {
  did = []
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

const pay: Tool = {
  name: 'pay',
  description: 'Pays.',
  input: z.looseObject({}),
  effect: 'read',
  execute: (input) => void did.push(input),
}

const answerOf = (...calls: readonly ToolCall[]): AssistantMessage => ({
  role: 'assistant',
  content: calls,
  finishReason: 'tool-calls',
})

const callOf = (input: unknown, id = 'a'): ToolCall => ({ type: 'tool-call', id, name: 'pay', input })

const done: AssistantMessage = { role: 'assistant', content: [{ type: 'text', text: 'Done.' }], finishReason: 'stop' }

/** A model that a user wrote: `answers` are its messages, with or without events. */
function modelOf(answers: readonly AssistantMessage[], streams: boolean): Model {
  return {
    provider: 'mine',
    id: 'm',
    async *stream({ messages }: ModelRequest) {
      const answer = answers[messages.filter(({ role }) => role === 'assistant').length] ?? done
      for (const part of answer.content) {
        if (!streams || part.type !== 'tool-call') continue
        yield { type: 'tool-input-start', id: part.id, name: part.name }
        yield { type: 'tool-call', call: part }
      }
      return answer
    },
  }
}

const agentOf = (options: Partial<AgentOptions>) => createAgent({ model: modelOf([], false), tools: [pay], ...options })

class Money {
  readonly amount = 10
}

const values: Readonly<Record<string, readonly [value: unknown, problem: string]>> = {
  'a bigint': [{ amount: 10n }, 'it contains a bigint'],
  'a bigint in a list': [{ amounts: [[10n]] }, 'it contains a bigint'],
  'a function': [{ amount: () => 10 }, 'it contains a function'],
  'a symbol': [{ amount: Symbol('ten') }, 'it contains a symbol'],
  'a map': [{ amount: new Map() }, 'it contains an object of a class'],
  'an object of a class': [{ amount: new Money() }, 'it contains an object of a class'],
}

const cases = Object.keys(values).flatMap((what) => [true, false].map((streams) => [what, streams] as const))

test.each(cases)(
  '%s in a call of a model (streamed: %s) is a ModelError, and no event contains it (W7)',
  async (what, streams) => {
    const [value, problem] = values[what] ?? []
    const run = agentOf({ model: modelOf([answerOf(callOf(value))], streams), middleware: [early] }).stream('Go')
    const { events, error } = await settled(run)
    expect(error).toMatchObject({ name: 'ModelError', messages: [{ role: 'user' }] })
    expect((error as Error).message).toContain(`call a of pay, whose input is not JSON: ${problem}`)
    expect(events.some((event) => 'call' in event)).toBe(false)
    expect(did).toEqual([])
  },
)

test.each(Object.keys(values))(
  '%s in a call that a hook or wrap gives is an error of that middleware (W7)',
  async (what) => {
    const [value] = values[what] ?? []
    const gives: readonly Omit<Middleware, 'name'>[] = [
      {
        afterModel: ({ messages }) => ({ messages: [...messages.slice(0, -1), answerOf(callOf(value))] }),
      },
      {
        async *wrapModel(request, next) {
          yield* next(request)
          return answerOf(callOf(value))
        },
      },
      {
        async *wrapModel(request, next) {
          yield { type: 'tool-call', call: callOf(value) }
          return yield* next(request)
        },
      },
    ]
    for (const one of gives) {
      const { events, error } = await settled(agentOf({ middleware: [{ name: 'gives', ...one }] }).stream('Go'))
      expect(error).toMatchObject({ name: 'MiddlewareError', middleware: 'gives' })
      expect((error as Error).message).toContain('call a of pay, whose input is not JSON')
      expect(events.some((event) => 'call' in event)).toBe(false)
    }
    expect(did).toEqual([])
  },
)

test('members without a value, and numbers beyond the range of JSON, are accepted (W7)', async () => {
  const input = { amount: undefined, most: Number.POSITIVE_INFINITY, at: null }
  const run = agentOf({ model: modelOf([answerOf(callOf(input))], true) }).stream('Go')
  expect((await played(run)).result.status).toBe('completed')
  expect(did).toEqual([input])
})

test.each([true, false])(
  'a model that repeats the id of an earlier step (streamed: %s) is refused before the tool runs (W8)',
  async (streams) => {
    const model = modelOf([answerOf(callOf({ n: 1 })), answerOf(callOf({ n: 2 }))], streams)
    const { error } = await settled(agentOf({ model, middleware: [early] }).stream('Go'))
    expect(error).toMatchObject({ name: 'ModelError', code: 'invalid_call_id' })
    expect((error as Error).message).toContain('call id a was used by an earlier step')
    expect(did).toEqual([{ n: 1 }])
  },
)

test('the ids that a run has used are taken after a resume, also those of calls that its history lacks (W8, G10)', async () => {
  const taken: (readonly string[])[] = []
  const forgetting: Middleware = {
    name: 'forgetting',
    beforeModel: ({ messages }, { step }) => (step === 2 ? { messages: messages.slice(0, 1) } : undefined),
    wrapModel(request, next, { step, answers }) {
      taken.push([...request.takenIds])
      if (step === 2 && answers.length === 0) throw interrupt('May I?')
      return next(request)
    },
  }
  const model = scriptedModel([respond(call('pay', {}, { id: 'kept' })), respond(say('Done.'))])
  const agent = agentOf({ model, middleware: [forgetting] })
  const first = await played(agent.stream('Go'))
  const stored = JSON.parse(JSON.stringify(first.checkpoint)) as Checkpoint
  const [question] = first.result.interrupts ?? []
  await played(agent.resume(stored, { [question?.id ?? '']: 'yes' }))
  expect(taken).toEqual([[], ['kept'], ['kept']])
})

test('an answer may be a proxy, and is read as its values (W8, L13)', async () => {
  const asking: Tool = {
    ...pay,
    execute: (_, { answers }) => {
      if (answers.length === 0) throw interrupt({ amount: proxied({ value: 3 }) })
      did.push(...answers)
    },
  }
  const agent = agentOf({ model: scriptedModel([respond(call('pay', {})), respond(say('Done.'))]), tools: [asking] })
  const { result } = await played(agent.stream('Go'))
  const [question] = result.interrupts ?? []
  expect(question?.payload).toEqual({ amount: { value: 3 } })
  await played(agent.resume(result.checkpoint ?? '', { [question?.id ?? '']: proxied({ decision: 'allow' }) }))
  expect(did).toEqual([{ decision: 'allow' }])
  const wrong = agent.resume(result.checkpoint ?? '', { [question?.id ?? '']: proxied({ at: new Date(0) }) as never })
  await expect(settled(wrong)).resolves.toMatchObject({ error: { name: 'TypeError' } })
})

/** A value as Vue or MobX give it. */
function proxied<Value extends object>(value: Value): Value {
  return new Proxy(value, {
    get: (target, key, receiver) => {
      const member: unknown = Reflect.get(target, key, receiver)
      return typeof member === 'object' && member !== null ? proxied(member) : member
    },
  })
}

test('an id stays used when a hook takes its call out of the history (W8)', async () => {
  const forgetting: Middleware = {
    name: 'forgetting',
    beforeModel: ({ messages }, { step }) => (step === 2 ? { messages: messages.slice(0, 1) } : undefined),
  }
  let turn = 0
  const model: Model = {
    provider: 'mine',
    id: 'm',
    async *stream() {
      return answerOf(callOf({ n: ++turn }))
    },
  }
  const { error } = await settled(agentOf({ model, middleware: [forgetting] }).stream('Go'))
  expect(error).toMatchObject({ name: 'ModelError', code: 'invalid_call_id' })
  expect(did).toEqual([{ n: 1 }])
})

test('a hook may make a call with the same id on each resume (W8, L9)', async () => {
  const texts: unknown[] = []
  const loading: Middleware = {
    name: 'loading',
    async beforeAgent(_, run) {
      const { isError } = await run.callTool({ ...callOf({ n: 0 }, 'load') })
      texts.push(isError)
    },
    wrapModel(request, next, { answers }) {
      if (answers.length === 0) throw interrupt('May I?')
      return next(request)
    },
  }
  const agent = agentOf({ model: scriptedModel([respond(say('Done.'))]), middleware: [loading] })
  const { result } = await played(agent.stream('Go'))
  const [question] = result.interrupts ?? []
  const { result: later } = await played(agent.resume(result.checkpoint ?? '', { [question?.id ?? '']: 'yes' }))
  expect(later.status).toBe('completed')
  expect(texts).toEqual([undefined, undefined])
})
