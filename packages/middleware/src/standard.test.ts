import { createAgent, type Middleware } from '@meanwhile/core'
import { respond, say, scriptedModel } from '@meanwhile/core/testing'
import { expect, test } from 'vitest'
import { memoryBackend } from './memory-backend.ts'
import { standard } from './standard.ts'

const names = (list: readonly Middleware[]) => list.map(({ name }) => name)
const model = scriptedModel([respond(say('Hello.'))])

test('the standard list passes the check of the order, with all its parts and with few (O20, N4)', async () => {
  const backend = memoryBackend()
  const all = standard({
    fallbackModel: { models: [model] },
    callLimits: { modelCalls: 9 },
    approve: { tools: [] },
    summarize: {},
    agentsMd: { backend },
    skills: { backend },
    planTasks: {},
    toolSearch: { tools: [] },
    redact: {},
  })
  expect(names(all)).toEqual([
    'patch-tool-calls',
    'clear-tool-results',
    'summarize',
    'agents-md',
    'skills',
    'plan-tasks',
    'tool-search',
    'early-stop',
    'answer-guard',
    'call-limits',
    'fallback-model',
    'retry-model',
    'approve',
    'retry-tool',
    'redact',
    'timeout',
  ])
  expect(() => createAgent({ model, middleware: all })).not.toThrow()
  expect((await createAgent({ model, middleware: standard() }).run('Hi')).text).toBe('Hello.')
})

test('without options it holds what needs none; false leaves one out (O20)', () => {
  const bare = [
    'patch-tool-calls',
    'clear-tool-results',
    'early-stop',
    'answer-guard',
    'retry-model',
    'retry-tool',
    'timeout',
  ]
  expect(names(standard())).toEqual(bare)
  expect(
    names(standard({ earlyStop: false, clearToolResults: false, timeout: false, retryModel: { maxRetries: 9 } })),
  ).toEqual(['patch-tool-calls', 'answer-guard', 'retry-model', 'retry-tool'])
  expect(() => standard({ retryModel: { maxRetries: -1 } })).toThrow(expect.objectContaining({ option: 'maxRetries' }))
})
