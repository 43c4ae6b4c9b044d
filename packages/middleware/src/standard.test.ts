import { respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, type Middleware, type Tool, tool } from '@meanwhile/core'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { approve } from './approve.ts'
import { callLimits } from './call-limits.ts'
import { memoryBackend } from './memory-backend.ts'
import { offloadToolResults } from './offload-tool-results.ts'
import { redact } from './redact.ts'
import { retryTool } from './retry-tool.ts'
import { standard } from './standard.ts'
import { timeout } from './timeout.ts'
import { toolSearch } from './tool-search.ts'

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

test('an option that is not an object is an error that names it (O20, A2)', () => {
  for (const approve of [['refund'], true, 'refund'])
    expect(() => standard({ approve } as object)).toThrow('approve: must be an object with the options of approve')
  expect(standard({ approve: false } as object).map(({ name }) => name)).not.toContain('approve')
})

test('without options it contains middleware that needs none; false omits one (O20)', () => {
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

test('calls may start with the members their tool needs inside wraps that ignore inputs, and inside no other (H31, Q6)', async () => {
  const read = tool({
    name: 'read',
    description: 'Reads.',
    input: z.object({ path: z.string(), from: z.number() }),
    effect: 'read',
    needs: ['path'],
    execute: () => 'Read.',
  }) as Tool
  const needs = async (one: Middleware) => {
    const model = scriptedModel([respond(say('Hello.'))])
    await createAgent({ model, tools: [read], middleware: [one] }).run('Hi')
    return model.requests[0]?.tools.find(({ name }) => name === 'read')?.needs
  }
  const backend = memoryBackend()
  const ignoring = [
    offloadToolResults({ backend }),
    approve({ tools: ['send'], mayBeMissing: true }),
    redact({ persist: true }),
    retryTool(),
    timeout({ tool: 1_000 }),
    toolSearch({ tools: [] }),
  ]
  for (const one of ignoring) expect([one.name, await needs(one)]).toEqual([one.name, ['path']])
  for (const one of [approve({ tools: ['read'] }), approve({ tools: () => false }), callLimits({ toolCalls: 1 })])
    expect([one.name, await needs(one)]).toEqual([one.name, undefined])
})
