import { call, collect, respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { agentTool, createAgent, type Middleware, type Tool, tool } from '@meanwhile/core'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { eagerTools } from './index.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

const pace = { firstToken: 10, betweenTokens: 10 }

function expertWith(log: string[]): Tool {
  const look = tool({
    name: 'look',
    description: 'l',
    input: z.object({}),
    execute: (_, { signal }) =>
      new Promise((resolve, reject) => {
        log.push('looks')
        const timer = setTimeout(() => resolve('seen'), 1_000)
        signal.addEventListener('abort', () => {
          clearTimeout(timer)
          log.push('aborted')
          reject(signal.reason as Error)
        })
      }),
  })
  const model = scriptedModel([respond(call('look')), respond(say('Sunny.'))], { pace })
  const expert = createAgent({ name: 'expert', description: 'knows', model, tools: [look as Tool] })
  return agentTool(expert, { effect: 'read' }) as Tool
}

const responses = [respond(call('expert', { request: 'Weather?' }), say('a b c d'), wait(300)), respond(say('Done.'))]

test('an agent that only reads starts early as a tool, and its events are shown as they happen (H17, M4)', async () => {
  const log: string[] = []
  const model = scriptedModel(responses, { pace })
  const agent = createAgent({ model, tools: [expertWith(log)], middleware: [eagerTools()] })
  const run = collect(agent.stream('Go.'))
  await vi.runAllTimersAsync()
  const { events, result } = await run
  expect(result?.text).toBe('Done.')
  const order = events.flatMap((event) =>
    event.type === 'run-start' || event.type === 'tool-committed' ? [event] : [],
  )
  expect(order.map(({ type, path }) => [type, path?.[0]?.callId])).toEqual([
    ['run-start', undefined],
    ['run-start', 'call_1_1'],
    ['tool-committed', undefined],
  ])
})

test('discarding the caller’s early call aborts the agent’s run with all its calls (O5)', async () => {
  const log: string[] = []
  const withdraw: Middleware = {
    name: 'withdraw',
    afterModel({ messages }) {
      const last = messages.at(-1)
      if (last?.role !== 'assistant') return
      const content = last.content.filter(({ type }) => type !== 'tool-call')
      return { messages: [...messages.slice(0, -1), { ...last, content }] }
    },
  }
  const model = scriptedModel(responses, { pace })
  const agent = createAgent({ model, tools: [expertWith(log)], middleware: [withdraw, eagerTools()] })
  const run = collect(agent.stream('Go.'))
  await vi.runAllTimersAsync()
  const { events, result } = await run
  expect(result?.text).toBe('a b c d')
  expect(log).toEqual(['looks', 'aborted'])
  expect(events.filter(({ type }) => type === 'tool-discarded')).toMatchObject([
    { callId: 'call_1_1', cause: 'call_withdrawn' },
  ])
  expect(result?.abandoned).toBeUndefined()
})
