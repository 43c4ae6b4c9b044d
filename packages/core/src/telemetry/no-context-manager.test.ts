import { call, respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { spanOutline } from '@meanwhile/harness/otlp'
import { context, ROOT_CONTEXT } from '@opentelemetry/api'
import { beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { early } from '../../test/early-calls.ts'
import { observed } from '../../test/observed.ts'
import { agentTool, createAgent, type Middleware, type Tool, tool } from '../index.ts'

// No context manager is registered, so no context is ever active. Parents are explicit, so the tree is still correct.

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

const input = z.object({})

const round: Middleware = {
  name: 'round',
  beforeModel: () => undefined,
  wrapAgent: (setup, next) => next(setup),
  wrapModel: (request, next) => next(request),
  wrapToolCall: (call, next) => next(call),
}

const modes = [
  ['eager', [round, early]],
  ['waiting', [round, { name: 'early', wrapModel: (request, next) => next(request) }]],
] satisfies readonly (readonly [string, readonly Middleware[]])[]

/** The same with early starts and without. */
const tree = [
  'invoke_agent planner',
  '  middleware round wrapAgent',
  '    middleware round beforeModel',
  '    middleware round wrapModel',
  '      middleware early wrapModel',
  '        chat scripted-1',
  '    middleware round wrapToolCall',
  '      execute_tool expert',
  '        invoke_agent expert',
  '          middleware round wrapAgent',
  '            middleware round beforeModel',
  '            middleware round wrapModel',
  '              middleware early wrapModel',
  '                chat small-1',
  '            middleware round wrapToolCall',
  '              execute_tool look',
  '            middleware round beforeModel',
  '            middleware round wrapModel',
  '              middleware early wrapModel',
  '                chat small-1',
  '    middleware round beforeModel',
  '    middleware round wrapModel',
  '      middleware early wrapModel',
  '        chat scripted-1',
  '    middleware round wrapToolCall',
  '      execute_tool asks',
  '        middleware round wrapToolCall',
  '          execute_tool look',
  '    middleware round beforeModel',
  '    middleware round wrapModel',
  '      middleware early wrapModel',
  '        chat scripted-1',
]

test.for(modes)(
  '%s: without a context manager a run has one trace, agents as tools and inner calls included',
  async ([_, middleware]) => {
    expect(context.with(ROOT_CONTEXT.setValue(Symbol(), 1), () => context.active())).toBe(ROOT_CONTEXT)
    const { telemetry, spans } = observed()
    const look = tool({ name: 'look', description: 'l', input, effect: 'read', execute: () => 'seen' })
    const asks = tool({
      name: 'asks',
      description: 'a',
      input,
      effect: 'read',
      execute: async (_, { run }) =>
        (await run?.callTool({ type: 'tool-call', id: 'side', name: 'look', input: {} }))?.output,
    })
    const expert = createAgent({
      name: 'expert',
      description: 'Knows.',
      model: scriptedModel([respond(wait(5), call('look'), wait(5), say('.')), respond(say('42'))], { id: 'small-1' }),
      tools: [look as Tool],
      middleware,
      telemetry,
    })
    const agent = createAgent({
      name: 'planner',
      model: scriptedModel([
        respond(wait(5), call('expert', { request: 'What?' }), wait(5), say('.')),
        respond(wait(5), call('asks'), wait(5), say('.')),
        respond(say('Done.')),
      ]),
      tools: [agentTool(expert, { effect: 'read' }) as Tool, asks as Tool, look as Tool],
      middleware,
      telemetry,
    })
    const running = agent.run('Go')
    await vi.runAllTimersAsync()
    await running
    expect(new Set(spans().map((span) => span.spanContext().traceId)).size).toBe(1)
    expect(spanOutline(spans()).split('\n')).toEqual(tree)
  },
)
