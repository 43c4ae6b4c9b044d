import { unhandledRejections } from '@meanwhile/tests/rejections'
import { propertyRuns } from '@meanwhile/tests/size'
import type { StreamEvent } from '@openai/agents'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { done, type Item, requested } from '../../test/agents.ts'
import { breaks, calls, message, model, run, type Step, said, says, stalls, started } from '../../test/broken-agents.ts'
import { eager, resilient } from './index.ts'

unhandledRejections()
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] }))
afterEach(() => void vi.useRealTimers())

const pieces = fc.array(fc.constantFrom('a', 'ab', 'ba', 'b '), { minLength: 1, maxLength: 3 })

/** Something that a model writes. */
const item = fc.oneof(
  fc.record({ kind: fc.constant('text' as const), pieces }),
  fc.record({ kind: fc.constant('call' as const), q: fc.constantFrom('x', 'y', 'z') }),
)
type Written = typeof item extends fc.Arbitrary<infer Value> ? Value : never

const items = fc.array(item, { minLength: 1, maxLength: 5 })

/** How an attempt breaks off: where, as a share of its events, and in which way. */
const cut = fc.record({
  at: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
  way: fc.constantFrom('throw', 'end', 'stall'),
})
type Cut = typeof cut extends fc.Arbitrary<infer Value> ? Value : never

/** The events of an answer; ids differ in each attempt. */
function eventsOf(answer: readonly Written[], attempt: number): StreamEvent[] {
  const written = answer.map((one, place): [StreamEvent[], Item] => {
    const id = `${attempt}-${place}`
    if (one.kind === 'text') return [says(id, ...one.pieces), message(id, one.pieces.join(''))]
    const [name, args] = one.q === 'z' ? ['send', { to: one.q }] : ['look', { q: one.q }]
    return [calls(id, name, args, place), requested(id, name, JSON.stringify(args))]
  })
  return [started, ...written.flatMap(([events]) => events), done(...written.map(([, output]) => output))]
}

const endings: Readonly<Record<Cut['way'], readonly Step[]>> = { throw: [breaks()], end: [], stall: [stalls] }

function brokenOff(answer: readonly Written[], { at, way }: Cut, attempt: number): Step[] {
  const events = eventsOf(answer, attempt)
  return [...events.slice(0, Math.floor(at * events.length)), ...endings[way]]
}

const options = { retries: 3, backoff: { baseDelay: 0 } }
const last = said('end', 'Done.')
const runs = propertyRuns({ small: 6, middle: 9, whole: 10_000 })

for (const isEager of [false, true]) {
  test(`${isEager ? 'with' : 'without'} eager(), attempts that say the same are one response, and each call is made once (RS2, RS3, RS4, RS13, RS14, RS16)`, async () => {
    await fc.assert(
      fc.asyncProperty(items, fc.array(cut, { minLength: 1, maxLength: 3 }), async (answer, cuts) => {
        const attempts = cuts.map((one, attempt) => brokenOff(answer, one, attempt))
        const whole = eventsOf(answer, cuts.length)
        const plain = await run(model([whole, last]))
        const came = await run(resilient([model([...attempts, whole, last])], options), {
          ms: 2,
          ...(isEager && { change: (runner) => eager(runner, { look: 'read' }) }),
        })
        expect([came.history, came.shown, came.error]).toEqual([plain.history, plain.shown, undefined])
        expect([...came.ran].sort()).toEqual([...plain.ran].sort())
      }),
      runs,
    )
  })
}

test('attempts that say something else: the message is that of the last one, and no call of another is made (RS3, RS4)', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(items, cut), { minLength: 1, maxLength: 3 }), items, async (broken, answer) => {
      const attempts = broken.map(([one, how], attempt) => brokenOff(one, how, attempt))
      const whole = eventsOf(answer, broken.length)
      const plain = await run(model([whole, last]))
      const came = await run(resilient([model([...attempts, whole, last])], options))
      expect([came.history, came.ran, came.error]).toEqual([plain.history, plain.ran, undefined])
      const text = answer.flatMap((one) => (one.kind === 'text' ? one.pieces : [])).join('')
      let place = 0
      for (const letter of came.shown) if (letter === text[place]) place++
      expect(place).toBe(text.length)
    }),
    runs,
  )
})
