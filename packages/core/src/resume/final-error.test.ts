import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { expect, test } from 'vitest'
import { z } from 'zod'
import {
  AgentError,
  agentTool,
  createAgent,
  MaxStepsError,
  type Message,
  type Middleware,
  memoryStore,
  tool,
} from '../index.ts'

class StoppedError extends AgentError {
  static override readonly brand: string = 'StoppedError'
  override readonly final = true
  readonly place = 'input'
}

const stopping: Middleware = {
  name: 'stopping',
  async *wrapModel(request, next) {
    const message = yield* next(request)
    if (message.content.length > 0) throw new StoppedError('stopped for good')
    return message
  },
}

function agentWith(middleware: readonly Middleware[], ran: string[] = [], checkpoints = memoryStore()) {
  const send = tool({ name: 'send', description: 's', input: z.object({}), execute: () => void ran.push('sent') })
  const model = scriptedModel([respond(call('send')), respond(say('Sent.'))])
  return createAgent({ model, tools: [send], middleware, checkpoints, maxSteps: 2 })
}

test('a run that ended with a final error ends so in each resume, also after close: same name, message and data, and nothing runs (SE2)', async () => {
  const ran: string[] = []
  const store = memoryStore()
  const error: unknown = await agentWith([stopping], ran, store)
    .run('Hi', { id: 'r' })
    .catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(StoppedError)
  const same = { name: 'StoppedError', message: 'stopped for good', place: 'input', final: true }
  for (const agent of [agentWith([stopping], ran, store), agentWith([], ran, store)]) {
    const again: unknown = await agent.resume('r').result.catch((thrown: unknown) => thrown)
    expect(again).toMatchObject(same)
    expect(again).toBeInstanceOf(AgentError)
    expect((again as AgentError).messages).toEqual([{ role: 'user', content: 'Hi' }])
  }
  await agentWith([], ran, store).close('r')
  await expect(agentWith([], ran, store).resume('r').result).rejects.toMatchObject(same)
  expect(ran).toEqual([])
})

test('a run that ended with an error that is not final goes on in a resume (SE2)', async () => {
  const store = memoryStore()
  const limited = agentWith([], [], store).with({ maxSteps: 1 })
  await expect(limited.run('Hi', { id: 'r' })).rejects.toThrow(MaxStepsError)
  const { text } = await agentWith([], [], store)
    .with({ model: scriptedModel([respond(say('Sent.'))]) })
    .resume('r').result
  expect(text).toBe('Sent.')
})

test('a final error that cannot be stored still ends its run (SE2)', async () => {
  const store = { ...memoryStore(), save: () => Promise.reject(new Error('full')) }
  await expect(agentWith([stopping], [], store).run('Hi')).rejects.toThrow(StoppedError)
})

test('the final error of an agent inside a call is an error result, like any other of its errors (SE2)', async () => {
  const inner = createAgent({
    name: 'inner',
    description: 'i',
    model: scriptedModel([respond(say('x'))]),
    middleware: [stopping],
  })
  const model = scriptedModel([respond(call('inner', { request: 'x' })), respond(say('Never mind.'))])
  const { text } = await createAgent({ model, tools: [agentTool(inner)], checkpoints: memoryStore() }).run('Hi')
  expect(text).toBe('Never mind.')
})

test('run.messages is the history as it is now, frozen (SE3)', async () => {
  const seen: (readonly Message['role'][])[] = []
  const note = ({ messages }: { readonly messages: readonly Message[] }) => {
    seen.push(messages.map(({ role }) => role))
    expect(Object.isFrozen(messages)).toBe(true)
  }
  const noting: Middleware = {
    name: 'noting',
    beforeModel: (_, run) => note(run),
    afterModel: (_, run) => note(run),
    async *wrapToolCall(one, next, run) {
      note(run)
      return yield* next(one)
    },
  }
  await agentWith([noting]).run('Hi')
  expect(seen).toEqual([
    ['user'],
    ['user', 'assistant'],
    ['user', 'assistant'],
    ['user', 'assistant', 'tool'],
    ['user', 'assistant', 'tool', 'assistant'],
  ])
})
