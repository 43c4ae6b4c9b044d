import { call, collect, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, type Effect, type NeedsContext, type Tool, type ToolContext, textOf } from '@meanwhile/core'
import { eagerTools } from '@meanwhile/eager-tools'
import { type RetryToolOptions, retryTool } from '@meanwhile/middleware'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

interface Try {
  readonly attempt: number
  readonly input: unknown
  /** The rest of the input, for a tool with needs that awaits it. */
  readonly rest?: unknown
}

interface Work {
  readonly effect?: Effect
  /** It starts with its `path`. */
  readonly needs?: boolean
  /** How many tries fail: before the rest of the input has come, or after that. */
  readonly failures?: number
  readonly awaits?: boolean
  readonly options?: RetryToolOptions
}

const READ = { path: 'a.txt', from: { line: 7 } }

/** A run with one call of `read`, whose arguments come in 8 pieces of 20 ms each, and then four words. */
async function ran({ effect = 'read', needs = false, failures = 9, awaits = false, options }: Work, eager: boolean) {
  const begin = performance.now()
  const tries: Try[] = []
  let startedAt = Number.NaN
  const read: Tool = {
    name: 'read',
    description: 'Reads.',
    input: z.object({ path: z.string(), from: z.object({ line: z.number() }) }),
    effect,
    ...(needs && { needs: ['path'] }),
    compensate: () => undefined,
    async execute(input, context: ToolContext | NeedsContext<unknown>) {
      if (tries.length === 0) startedAt = performance.now() - begin
      const rest = awaits && 'rest' in context ? await context.rest : undefined
      tries.push(structuredClone({ attempt: context.attempt, input, rest }))
      // The next try does not see changes that a try makes to its input.
      for (const own of [input, rest]) if (own) Object.assign(own, { path: 'changed', from: 'changed' })
      if (context.attempt <= failures) throw new Error(`failure ${context.attempt}`)
      return 'Read.'
    },
  }
  const agent = createAgent({
    model: scriptedModel(
      [respond(call('read', READ, { id: 'c1', deltas: 8 }), say('That is all now.')), respond(say('Done.'))],
      {
        pace: { firstToken: 0, betweenTokens: 20 },
      },
    ),
    tools: [read],
    middleware: [retryTool({ random: () => 0, ...options }), ...(eager ? [eagerTools()] : [])],
  })
  const collected = collect(agent.stream('Go'))
  await vi.runAllTimersAsync()
  const { result } = await collected
  const [message] = result?.messages.flatMap((one) => (one.role === 'tool' ? [textOf(one)] : [])) ?? []
  return { tries, startedAt, message, messages: result?.messages }
}

/** The run with eager tools, which must equal the run without them, except for its times. */
async function both(work: Work) {
  const [{ startedAt: early, ...eager }, { startedAt: late, ...waiting }] = [
    await ran(work, true),
    await ran(work, false),
  ]
  expect(eager).toEqual(waiting)
  return { ...waiting, early, late }
}

test('retryTool repeats a tool that started on its needs as often as one that waited, each try with its own copy of the input (P4)', async () => {
  for (const awaits of [false, true]) {
    for (const failures of [1, 2]) {
      const { tries, message, early, late } = await both({ needs: true, failures, awaits })
      const one = { input: { path: 'a.txt' }, rest: awaits ? READ : undefined }
      expect(tries).toEqual(Array.from({ length: failures + 1 }, (_, index) => ({ attempt: index + 1, ...one })))
      expect(message).toBe('Read.')
      expect([early, late]).toEqual([80, 240])
    }
  }
  expect((await both({ needs: true })).message).toBe('failure 3 (tried 3 times)')
})

test('retryTool repeats tools that start with their whole input the same way, whatever their effect (P4)', async () => {
  for (const [effect, early] of [
    ['read', 160],
    ['idempotent', 160],
    ['reversible', 160],
    ['external', 240],
  ] as const) {
    for (const options of [{}, { tools: ['read'] }, { tools: [] }]) {
      const repeats = options.tools ? options.tools.length > 0 : effect === 'read' || effect === 'idempotent'
      const whole = await both({ effect, options })
      expect([whole.tries.length, whole.early]).toEqual([repeats ? 3 : 1, early])
      expect(whole.tries.every(({ input }) => JSON.stringify(input) === JSON.stringify(READ))).toBe(true)
    }
  }
})

test('with when, which receives the call, a tool with needs waits for its whole input (P4)', async () => {
  const seen: unknown[] = []
  const when: RetryToolOptions['when'] = (_, { call }) => {
    seen.push(call.input)
    return seen.length % 2 === 1
  }
  const { tries, early } = await both({ needs: true, options: { when } })
  expect(seen).toEqual(Array.from({ length: 4 }, () => READ))
  expect([tries.length, early]).toEqual([2, 160])
})
