import { call, respond, say, scriptedModel, wait } from '@meanwhile/assemble/testing'
import { beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { startingEarly } from '../../test/early-calls.ts'
import { played } from '../../test/played-runs.ts'
import { type Checkpoint, createAgent, type Effect, interrupt, type Middleware, type Tool } from '../index.ts'

// Early calls that have not settled when their run stops while the response streams.

let did: string[] = []
beforeEach(() => {
  did = []
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

/** Never ends by itself in its first attempt. */
const slow = (effect: Effect): Tool => ({
  name: 'slow',
  description: 's',
  input: z.object({}),
  effect,
  execute: (_, { attempt, signal }) => {
    did.push(`attempt ${attempt}`)
    if (attempt > 1) return 'seen'
    return new Promise((_resolve, reject) =>
      signal.addEventListener('abort', () => {
        did.push('aborted')
        reject(signal.reason as Error)
      }),
    )
  },
})

/** Asks while the response streams. */
const asks: Middleware = {
  name: 'asks',
  async *wrapModel(request, next, { step, answers }) {
    const flow = next(request)
    for (;;) {
      const one = await flow.next()
      if (one.done) return one.value
      yield one.value
      if (one.value.type === 'text-delta' && step === 1 && answers.length === 0) throw interrupt('May I?')
    }
  },
}

function agentOf(effect: Effect, middleware: readonly Middleware[]) {
  const slowly = respond(call('slow', {}), say('Well.'), wait(1_000))
  const model = {
    provider: 'p',
    id: 'm',
    stream: (request: Parameters<ReturnType<typeof scriptedModel>['stream']>[0]) =>
      scriptedModel([request.messages.length > 1 ? respond(say('Done.')) : slowly]).stream(request),
  }
  return createAgent({
    model,
    tools: [slow(effect)],
    grace: 100,
    middleware: [...middleware, startingEarly({ ceiling: effect })],
  })
}

test.each([
  ['an interrupt', 100],
  ['a cancel now', 100],
] as const)(
  'at %s an early read that has not settled is aborted after the grace time, and made again (W11)',
  async (how, grace) => {
    const agent = agentOf('read', how === 'an interrupt' ? [asks] : [])
    const run = agent.stream('Go')
    const begin = performance.now()
    let took = 0
    void run.result.then(() => {
      took = performance.now() - begin
    })
    if (how === 'a cancel now') setTimeout(() => void run.cancel(), 0)
    const { result } = await played(run)
    expect(took).toBeLessThanOrEqual(grace + 10)
    expect(did).toEqual(['attempt 1', 'aborted'])
    const [question] = result.interrupts ?? []
    const stored = JSON.parse(JSON.stringify(result.checkpoint)) as Checkpoint
    const second = await played(agent.resume(stored, question && { [question.id]: 'yes' }))
    expect(second.result).toMatchObject({ status: 'completed', text: 'Done.' })
    expect(did).toEqual(['attempt 1', 'aborted', 'attempt 2'])
  },
)

test('at an interrupt an early call that may have an effect gets the same time, and is never made again (W11, L21)', async () => {
  const agent = agentOf('idempotent', [asks])
  const { result } = await played(agent.stream('Go'))
  const [question] = result.interrupts ?? []
  const { result: later } = await played(agent.resume(result.checkpoint ?? '', { [question?.id ?? '']: 'yes' }))
  expect(did).toEqual(['attempt 1', 'aborted'])
  expect(later).toMatchObject({ status: 'completed', unknown: ['call_1_1_1'] })
})

test('at an interrupt a call that a wrap has made by itself ends as it would without (W11)', async () => {
  const pay: Tool = {
    name: 'pay',
    description: 'p',
    input: z.object({}),
    execute: async (_, { signal }) => {
      await new Promise((resolve) => setTimeout(resolve, 5_000))
      did.push(signal.aborted ? 'aborted' : 'paid')
    },
  }
  const paying: Middleware = {
    name: 'paying',
    wrapModel(request, next, run) {
      void run.callTool({ type: 'tool-call', id: 'own', name: 'pay', input: {} }).catch(() => undefined)
      return next(request)
    },
  }
  const model = scriptedModel([respond(say('Well.'), wait(1_000))])
  const agent = createAgent({ model, tools: [pay], grace: 100, middleware: [paying, asks] })
  const { result } = await played(agent.stream('Go'))
  expect(result.status).toBe('interrupted')
  expect(did).toEqual(['paid'])
})
