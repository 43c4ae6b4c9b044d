import { end, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { expect, test } from 'vitest'
import {
  type AssistantMessage,
  createAgent,
  type Flow,
  type Middleware,
  type Model,
  ModelError,
  type ModelEvent,
  type Usage,
} from '../index.ts'

const answer = (usage?: Usage): AssistantMessage => ({
  role: 'assistant',
  content: [{ type: 'text', text: 'So.' }],
  finishReason: 'stop',
  ...(usage && { usage }),
})

/** A model with these outcomes, one per request. */
function modelOf(...outcomes: readonly (AssistantMessage | Error)[]): Model {
  let requests = 0
  return {
    provider: 'own',
    id: 'own-1',
    async *stream(): Flow<ModelEvent, AssistantMessage> {
      const outcome = outcomes[requests++]
      yield { type: 'text-delta', delta: 'So.' }
      if (!outcome || outcome instanceof Error) throw outcome
      return outcome
    },
  }
}

const failure = (usage?: Usage) => new ModelError('no', { code: 'x', retryable: true, partial: answer(usage) })

const again: Middleware = {
  name: 'again',
  async *wrapModel(request, next) {
    for (;;) {
      try {
        return yield* next(request)
      } catch (error) {
        if (!(error instanceof ModelError) || !error.retryable) throw error
      }
    }
  },
}

const once: Middleware = {
  name: 'once',
  beforeFinalAnswer: (_, run) => (run.step === 1 ? { accept: false, feedback: 'Again.' } : undefined),
}

test('usage adds up every attempt of every step, failed ones included, once each (B17)', async () => {
  const model = modelOf(
    failure({ inputTokens: 1, outputTokens: 10 }),
    failure(),
    answer({ inputTokens: 2, outputTokens: 20, cacheReadTokens: 5 }),
    failure({ inputTokens: 4 }),
    answer({ inputTokens: 8, reasoningTokens: 3 }),
  )
  const result = await createAgent({ model, middleware: [again, once] }).run('Go')
  expect(result.usage).toEqual({ inputTokens: 15, outputTokens: 30, cacheReadTokens: 5, reasoningTokens: 3 })
})

test('an error contains the usage so far, its own attempt included (B17, A24)', async () => {
  const fatal = new ModelError('no', { code: 'x', retryable: false, partial: answer({ inputTokens: 4 }) })
  const model = modelOf(failure({ inputTokens: 1 }), answer({ inputTokens: 2 }), fatal)
  const agent = createAgent({ model, middleware: [again, once] })
  await expect(agent.run('Go')).rejects.toBe(fatal)
  expect(fatal.usage).toEqual({ inputTokens: 7 })
})

test('a response that its model marks as failed counts once (B17)', async () => {
  const model = modelOf({ ...answer({ inputTokens: 4 }), finishReason: 'error' })
  const agent = createAgent({ model })
  await expect(agent.run('Go')).rejects.toMatchObject({ code: 'finish_reason_error', usage: { inputTokens: 4 } })
})

test('a figure that was not reported is absent, and one reported as 0 is 0 (B17)', async () => {
  const model = modelOf(answer(), answer({ outputTokens: 0 }))
  const agent = createAgent({ model })
  expect((await agent.run('Go')).usage).toEqual({})
  expect((await agent.run('Go')).usage).toEqual({ outputTokens: 0 })
})

test('model calls of a wrap after its run has an answer count, too, whatever usage the wrap returns (B17)', async () => {
  const judge: Middleware = {
    name: 'judge',
    async *wrapAgent(setup, next, run) {
      const result = yield* next(setup)
      await run.callModel({ messages: [{ role: 'user', content: 'Is it so?' }] })
      return { ...result, usage: { inputTokens: 1_000 } }
    },
  }
  const agent = createAgent({
    model: modelOf(answer({ inputTokens: 2 }), answer({ inputTokens: 5 })),
    middleware: [judge],
  })
  expect((await agent.run('Go')).usage).toEqual({ inputTokens: 7 })
})

test('a hook sees the usage so far (B17)', async () => {
  const seen: Usage[] = []
  const watcher: Middleware = {
    name: 'watcher',
    beforeModel: (_, run) => void seen.push(run.usage),
    afterModel: (_, run) => void seen.push(run.usage),
  }
  const usage = (inputTokens: number) => end({ usage: { inputTokens } })
  const model = scriptedModel([respond(say('4'), usage(1)), respond(say('5'), usage(2))])
  await createAgent({ model, middleware: [watcher, once] }).run('Go')
  expect(seen).toEqual([{}, { inputTokens: 1 }, { inputTokens: 1 }, { inputTokens: 3 }])
})

test('an answer that a wrap makes itself used no model, and counts nothing (B17)', async () => {
  const cache: Middleware = {
    name: 'cache',
    // A cached response was paid for once.
    async *wrapModel() {
      return answer({ inputTokens: 100 })
    },
  }
  const result = await createAgent({ model: modelOf(), middleware: [cache] }).run('Go')
  expect(result).toMatchObject({ text: 'So.', usage: {} })
})
