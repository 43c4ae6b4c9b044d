import { createAgent, type Effect, type Tool, tool } from '@meanwhile/core'
import { played } from '@meanwhile/tests/clock'
import { propertyRuns } from '@meanwhile/tests/size'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { type Moment, tellingModel } from '../test/telling-model.ts'
import { after } from '../test/workshop.ts'
import { eagerTools } from './index.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

interface StepPlan {
  readonly calls: readonly { readonly tool: 'look' | 'put' | 'send'; readonly ms: number; readonly late: boolean }[]
  readonly gap: number
  readonly toolConcurrency: number
}

const stepPlan: fc.Arbitrary<StepPlan> = fc.record({
  calls: fc.array(
    fc.record({
      tool: fc.constantFrom('look', 'look', 'put', 'send'),
      ms: fc.constantFrom(0, 10, 35),
      /** Sealed with the response, not with its last delta. */
      late: fc.boolean(),
    }),
    { minLength: 1, maxLength: 6 },
  ),
  gap: fc.constantFrom(0, 10, 20),
  toolConcurrency: fc.constantFrom(1, 1, 2, Number.POSITIVE_INFINITY),
})

const input = z.object({ n: z.number(), ms: z.number() })

/**
 * A step with shared state that every call except `look` changes. Returns what each call saw of it, and the order of
 * the starts.
 */
async function step({ calls, gap, toolConcurrency }: StepPlan, eager: boolean) {
  let version = 0
  const starts: number[] = []
  const make = (name: string, effect: Effect) =>
    tool({
      name,
      description: name,
      input,
      effect,
      async execute({ n, ms }) {
        starts.push(n)
        const before = effect === 'read' ? version : ++version
        await after(ms)
        // What a tool sees at its end is certain only if no other runs at the same time.
        return toolConcurrency === 1 ? [before, version] : before
      },
    }) as Tool
  const moments: Moment[] = calls.flatMap(({ tool: name, ms, late }, n): Moment[] => [
    [(n + 1) * gap, (to) => to.call(n, { id: `c${n}`, name, delta: JSON.stringify({ n, ms }) })],
    [(n + 1) * gap, (to) => late || to.seal(n)],
  ])
  const model = tellingModel([
    [...moments, [(calls.length + 2) * gap, (to) => to.finish('tool-calls')]],
    [
      [0, (to) => to.text('Done.')],
      [0, (to) => to.finish('stop')],
    ],
  ])
  const agent = createAgent({
    model,
    tools: [make('look', 'read'), make('put', 'idempotent'), make('send', 'external')],
    middleware: eager ? [eagerTools()] : [],
    toolConcurrency,
  })
  const begin = performance.now()
  const { messages, took } = await played(
    agent.run('Go').then((result) => ({ ...result, took: performance.now() - begin })),
  )
  const seen = messages.flatMap((message) => (message.role === 'tool' ? [message.output] : []))
  return { seen, starts, took }
}

test('every call sees the writes before it and none after it, as without eager tools; with one slot in call order (H14, H12, A22)', async () => {
  await fc.assert(
    fc.asyncProperty(stepPlan, async (plan) => {
      const eager = await step(plan, true)
      const waiting = await step(plan, false)
      expect(eager.seen).toEqual(waiting.seen)
      if (plan.toolConcurrency === 1) expect(eager.starts).toEqual(plan.calls.map((_, n) => n))
    }),
    propertyRuns({ small: 6, middle: 9, whole: 5_000 }),
  )
})

test('in call order, eager is never later than not eager (H29, H30)', async () => {
  await fc.assert(
    fc.asyncProperty(stepPlan, async (plan) => {
      expect((await step(plan, true)).took).toBeLessThanOrEqual((await step(plan, false)).took)
    }),
    propertyRuns({ small: 6, middle: 9, whole: 5_000 }),
  )
})

test('a step of reads takes as long as the formula predicts, with one slot and with one per call (H29, H30)', async () => {
  const reads = fc.record({
    durations: fc.array(fc.nat({ max: 50 }), { minLength: 1, maxLength: 6 }),
    gap: fc.integer({ min: 1, max: 30 }),
    oneSlot: fc.boolean(),
  })
  await fc.assert(
    fc.asyncProperty(reads, async ({ durations, gap, oneSlot }) => {
      const calls = durations.map((ms) => ({ tool: 'look' as const, ms, late: true }))
      const toolConcurrency = oneSlot ? 1 : Number.POSITIVE_INFINITY
      const { took } = await step({ calls, gap, toolConcurrency }, true)
      const certain = durations.map((_, n) => (n + 1) * gap)
      let free = 0
      const ends = durations.map((ms, n) => (free = Math.max(certain[n] ?? 0, oneSlot ? free : 0) + ms))
      expect(Math.round(took)).toBe(Math.max((durations.length + 2) * gap, ...ends))
    }),
    propertyRuns({ small: 8, middle: 12, whole: 5_000 }),
  )
})
