import { unhandledRejections } from '@meanwhile/tests/rejections'
import { propertyRuns } from '@meanwhile/tests/size'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import {
  breaks,
  calls,
  endsBadly,
  finish,
  model,
  outline,
  run,
  type Step,
  said,
  says,
  stalls,
} from '../../test/broken-chat-models.ts'
import { eager, resilient } from './index.ts'

unhandledRejections()
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] }))
afterEach(() => void vi.useRealTimers())

const pieces = fc.array(fc.constantFrom('a', 'ab', 'ba', 'b '), { minLength: 1, maxLength: 3 })

/** Something that a model writes. */
const item = fc.oneof(
  fc.record({ kind: fc.constant('text' as const), pieces }),
  fc.record({ kind: fc.constant('thinking' as const), pieces }),
  fc.record({ kind: fc.constant('call' as const), q: fc.constantFrom('x', 'y', 'z') }),
)
type Written = typeof item extends fc.Arbitrary<infer Value> ? Value : never

const items = fc.array(item, { minLength: 1, maxLength: 5 })

/** How an attempt breaks off: where, as a share of its chunks, and in which way. */
const cut = fc.record({
  at: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
  way: fc.constantFrom('throw', 'end', 'stall', 'finish'),
})
type Cut = typeof cut extends fc.Arbitrary<infer Value> ? Value : never

/** The chunks of an answer; ids differ in each attempt. `isMany`: the content is in blocks, as with Anthropic. */
function stepsOf(answer: readonly Written[], attempt: number, isMany: boolean): Step[] {
  const steps = answer.flatMap((one, place): Step[] => {
    const id = `m${attempt}`
    if (one.kind === 'call') {
      const [name, args] = one.q === 'z' ? ['send', { to: one.q }] : ['look', { q: one.q }]
      return calls(place, `${attempt}-${place}`, name, args)
    }
    if (isMany) {
      const block = { type: one.kind, index: place }
      return one.pieces.map((piece) => ({ chunk: { content: [{ ...block, [one.kind]: piece }], id } }))
    }
    return one.kind === 'text' ? says(id, ...one.pieces) : []
  })
  return [...steps, finish(answer.some(({ kind }) => kind === 'call') ? 'tool_calls' : 'stop')]
}

const endings: Readonly<Record<Cut['way'], readonly Step[]>> = {
  throw: [breaks()],
  end: [],
  stall: [stalls],
  finish: [endsBadly],
}

function brokenOff(steps: readonly Step[], { at, way }: Cut): Step[] {
  return [...steps.slice(0, Math.floor(at * steps.length)), ...endings[way]]
}

const options = { retries: 3, backoff: { baseDelay: 0 } }
const last = said('end', 'Done.')
const runs = propertyRuns({ small: 5, middle: 7, whole: 10_000 })

for (const isEager of [false, true]) {
  test(`${isEager ? 'with' : 'without'} eager(), attempts that say the same are one message, and each call is made once (RS2, RS3, RS4, RS13, RS14, RS17)`, async () => {
    await fc.assert(
      fc.asyncProperty(
        items,
        fc.array(cut, { minLength: 1, maxLength: 3 }),
        fc.boolean(),
        async (answer, cuts, isMany) => {
          const attempts = cuts.map((one, attempt) => brokenOff(stepsOf(answer, attempt, isMany), one))
          const whole = stepsOf(answer, cuts.length, isMany)
          const plain = await run(model([whole, last]))
          const came = await run(resilient([model([...attempts, whole, last])], options), {
            ms: 2,
            ...(isEager && { change: (given) => eager<object>(given, { look: 'read' }) }),
          })
          expect([outline(came.messages), came.shown, came.error]).toEqual([
            outline(plain.messages),
            plain.shown,
            undefined,
          ])
          expect(came.messages[1]?.content).toEqual(plain.messages[1]?.content)
          expect([...came.ran].sort()).toEqual([...plain.ran].sort())
        },
      ),
      runs,
    )
  })
}

test('attempts that say something else: the message is that of the last one, and no call of another is made (RS3, RS4)', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(items, cut, fc.boolean()), { minLength: 1, maxLength: 3 }),
      items,
      fc.boolean(),
      async (broken, answer, isMany) => {
        const attempts = broken.map(([one, how, many], attempt) => brokenOff(stepsOf(one, attempt, many), how))
        const whole = stepsOf(answer, broken.length, isMany)
        const plain = await run(model([whole, last]))
        const came = await run(resilient([model([...attempts, whole, last])], options))
        expect([outline(came.messages), came.ran, came.error]).toEqual([outline(plain.messages), plain.ran, undefined])
        expect(came.messages[1]?.content).toEqual(plain.messages[1]?.content)
        const text = plain.messages[1]?.text ?? ''
        let place = 0
        for (const letter of came.shown) if (letter === text[place]) place++
        expect(place).toBe(text.length)
      },
    ),
    runs,
  )
})
