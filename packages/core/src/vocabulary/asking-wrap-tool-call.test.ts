import { call, fail, respond, say } from '@meanwhile/assemble/testing'
import { expect, test } from 'vitest'
import { anything, askingAgent } from '../../test/asking-agent.ts'
import { played } from '../../test/played-runs.ts'
import { answersTo, checkpointOf, textsOf } from '../../test/results.ts'
import {
  AgentError,
  Interrupt,
  interrupt,
  type Middleware,
  ModelError,
  messageOf,
  ToolTimeoutError,
  tool,
} from '../index.ts'

const { did, agentOf } = askingAgent()

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
