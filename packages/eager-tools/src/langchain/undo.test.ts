import { AIMessage, ToolMessage } from '@langchain/core/messages'
import { ChatOpenAI } from '@langchain/openai'
import { call, fail, respond, say, wait } from '@meanwhile/assemble/testing'
import { mockModels } from '@meanwhile/harness'
import { createMiddleware, modelRetryMiddleware } from 'langchain'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type Agent, human, type Played, played, shown } from '../../test/langchain.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** In blocks: a finished block seals the call in it. */
const go = async (agent: Agent): Promise<unknown> => {
  const run = await agent.streamEvents(human(), { version: 'v3' })
  return shown(await run.output)
}

/** When `look` was undone, after a first response that requests it and breaks off at 50 ms. */
async function undoneIn({
  middleware = [],
  ...more
}: Partial<Played> & { readonly middleware?: readonly unknown[] }): Promise<readonly number[]> {
  const broken = respond(call('look', { q: 'a' }, { id: '1' }), say('x'), wait(50), fail())
  using mock = mockModels({ script: [broken, respond(say('done'))] })
  mock.listen()
  const model = new ChatOpenAI({
    apiKey: 'none',
    model: 'gpt',
    useResponsesApi: true,
    configuration: { baseURL: 'http://models.test/v1', fetch: mock.fetch },
  })
  const undone: number[] = []
  const began = performance.now()
  const look = { effect: 'reversible', compensate: () => void undone.push(Math.round(performance.now() - began)) }
  const options = () => ({ model, middleware })
  const { log } = await played({ responses: [], effects: { look }, options, go, ...more }, true)
  expect(log).toEqual(['0 1 {"q":"a"}'])
  return undone
}

test('a call of a failed request is undone as soon as its error has left the agent (R4)', async () => {
  expect(await undoneIn({})).toEqual([50])
})

test('a call of a failed request is kept while a middleware may retry (R4)', async () => {
  const middleware = [modelRetryMiddleware({ maxRetries: 1, initialDelayMs: 500, jitter: false })]
  expect(await undoneIn({ middleware })).toEqual([550])
})

test('a tool that returns an error message has not succeeded, and is not undone (R4)', async () => {
  const look = () => () => new ToolMessage({ content: 'broken', tool_call_id: '1', status: 'error' })
  expect(await undoneIn({ look })).toEqual([])
})

test('a call of a failed request is kept for `hold` if a middleware returns a message in place of the error (R4)', async () => {
  const soothing = createMiddleware({
    name: 'soothing',
    wrapModelCall: async (request, ask) => {
      try {
        return await ask(request)
      } catch {
        return new AIMessage('sorry')
      }
    },
  })
  expect(await undoneIn({ middleware: [soothing], settings: { hold: 1_000 } })).toEqual([1_050])
})
