import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { AgentError, type AgentRun, createAgent, type Middleware, tool } from '../index.ts'

test('a call that threw an error that ends its run, and whose repetition the stop of the run prevents, may have happened (L20, A12)', async () => {
  let sent = 0
  let running: AgentRun | undefined
  const send = tool({
    name: 'send',
    description: 'Sends.',
    input: z.object({}),
    execute() {
      sent++
      throw new AgentError('that was it')
    },
  })
  const again: Middleware = {
    name: 'again',
    async *wrapToolCall(request, next) {
      try {
        return yield* next(request)
      } catch {
        void running?.cancel({ at: 'after-model' })
        return yield* next(request)
      }
    },
  }
  const model = scriptedModel([respond(call('send', {}, { id: 'a' })), respond(say('Done.'))])
  const agent = createAgent({ model, tools: [send], middleware: [again] })
  running = agent.stream('Go')
  const first = await running.result
  if (first.status !== 'cancelled') throw new Error(`it is ${first.status}`)
  const second = await agent.resume(first.checkpoint).result.catch((error: unknown) => error)
  expect([sent, second]).toMatchObject([1, { status: 'completed', unknown: ['a'] }])
})
