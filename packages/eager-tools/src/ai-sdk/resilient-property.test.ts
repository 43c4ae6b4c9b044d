import { unhandledRejections } from '@meanwhile/tests/rejections'
import { propertyRuns } from '@meanwhile/tests/size'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import {
  begin,
  bench,
  block,
  breaks,
  call,
  finish,
  model,
  type Options,
  type Part,
  readAll,
  run,
  type SdkPart,
  stalls,
} from '../../test/broken-models.ts'
import type { DeclaredEffect } from '../host/declared.ts'
import { eager, resilient } from './index.ts'

unhandledRejections()
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] }))
afterEach(() => void vi.useRealTimers())

const pieces = fc.array(fc.constantFrom('a', 'ab', 'ba', 'b '), { minLength: 1, maxLength: 3 })

/** Something that a model writes. */
const item = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('text' as const), pieces }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('reasoning' as const), pieces }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('call' as const), q: fc.constantFrom('x', 'y', 'z') }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('file' as const) }) },
)
type Item = typeof item extends fc.Arbitrary<infer Value> ? Value : never

const items = fc.array(item, { minLength: 1, maxLength: 5 })

/** How an attempt breaks off: where, as a share of its parts, and in which way. */
const cut = fc.record({
  at: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
  way: fc.constantFrom('throw', 'error', 'end', 'stall', 'finish'),
})
type Cut = typeof cut extends fc.Arbitrary<infer Value> ? Value : never

const FILE: SdkPart = { type: 'file', mediaType: 'text/plain', data: { type: 'data', data: 'aGk=' } }

/** The parts of an answer. Ids of calls differ in each attempt, those of blocks are the same, as with real providers. */
function partsOf(answer: readonly Item[], attempt: number): SdkPart[] {
  const parts = answer.flatMap((one, place): SdkPart[] => {
    if (one.kind === 'file') return [FILE]
    if (one.kind === 'call')
      return call(`c${attempt}${place}`, one.q === 'z' ? 'send' : 'look', one.q === 'z' ? { to: one.q } : { q: one.q })
    return block(one.kind, String(place), ...one.pieces)
  })
  const hasCall = answer.some(({ kind }) => kind === 'call')
  return [begin, ...parts, finish(hasCall ? 'tool-calls' : 'stop')]
}

const endings: Readonly<Record<Cut['way'], readonly Part[]>> = {
  throw: [breaks()],
  error: [{ type: 'error', error: new Error('overloaded') }],
  end: [],
  stall: [stalls],
  finish: [finish('error')],
}

function brokenOff(answer: readonly Item[], { at, way }: Cut, attempt: number): Part[] {
  const parts = partsOf(answer, attempt)
  return [...parts.slice(0, Math.floor(at * parts.length)), ...endings[way]]
}

const options = { retries: 3, backoff: { baseDelay: 0 } }
const done = [begin, ...block('text', '0', 'Done.'), finish()]
const runs = propertyRuns({ small: 8, middle: 12, whole: 20_000 })

/** The content of a message without the ids of its calls, which are those of an attempt. */
const withoutIds = (content: readonly (readonly object[])[]) =>
  content.map((step) => step.map((part) => JSON.stringify(part).replaceAll(/c\d\d/g, 'c')).sort())

for (const isEager of [false, true]) {
  test(`${isEager ? 'with' : 'without'} eager(), attempts that say the same are one message, and each call is made once (RS2, RS3, RS4, RS13, RS14)`, async () => {
    const effects: Readonly<Record<string, DeclaredEffect>> = { look: 'read' }
    const change = (given: Options) => (isEager ? eager(given, effects) : given)
    await fc.assert(
      fc.asyncProperty(items, fc.array(cut, { minLength: 1, maxLength: 3 }), async (answer, cuts) => {
        const attempts = cuts.map((one, attempt) => brokenOff(answer, one, attempt))
        const whole = partsOf(answer, cuts.length)
        const plain = await run({ model: model([whole, done]) })
        const came = await run({ model: resilient([model([...attempts, whole, done])], options) }, bench(2), change)
        expect(withoutIds(came.content)).toEqual(withoutIds(plain.content))
        expect([...came.ran].sort()).toEqual([...plain.ran].sort())
        expect(came.shown).toBe(plain.shown)
        expect(came.errors).toEqual([])
      }),
      runs,
    )
  })
}

/** The texts of the blocks in a stream, by kind. Each block must begin once, go on while it is open, and end. */
function blocksOf(parts: readonly SdkPart[], kind: 'text' | 'reasoning'): string[] {
  const texts = new Map<string, string>()
  const open = new Set<string>()
  for (const part of parts) {
    if (part.type === `${kind}-start` && 'id' in part) {
      expect(texts.has(part.id)).toBe(false)
      texts.set(part.id, '')
      open.add(part.id)
    } else if (part.type === `${kind}-delta` && 'delta' in part) {
      expect(open.has(part.id)).toBe(true)
      texts.set(part.id, texts.get(part.id) + part.delta)
    } else if (part.type === `${kind}-end` && 'id' in part) expect(open.delete(part.id)).toBe(true)
  }
  expect(open.size).toBe(0)
  return [...texts.values()]
}

/** Whether all of these come in this order among others. */
function isIn(some: readonly string[], all: readonly string[]): boolean {
  let place = 0
  for (const one of all) if (one === some[place]) place++
  return place === some.length
}

test('attempts that say something else: the last one comes whole, and of the others only text that was shown before (RS3, RS4)', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(items, cut), { minLength: 1, maxLength: 3 }), items, async (broken, last) => {
      const attempts = broken.map(([answer, one], attempt) => brokenOff(answer, one, attempt))
      const whole = partsOf(last, broken.length)
      const asked = readAll(resilient([model([...attempts, whole])], options))
      await vi.runAllTimersAsync()
      const came = await asked
      expect(came.filter(({ type }) => type === 'finish')).toHaveLength(1)
      expect(came.at(-1)?.type).toBe('finish')
      const others = (parts: readonly SdkPart[]) =>
        parts.filter(({ type }) => !/^(?:text|reasoning|stream|finish)/.test(type))
      expect(others(came)).toEqual(others(whole))
      for (const kind of ['text', 'reasoning'] as const) {
        const texts = blocksOf(came, kind)
        expect(isIn(blocksOf(whole, kind), texts)).toBe(true)
        const known = [...broken.map(([answer]) => answer), last].flatMap((answer) =>
          answer.flatMap((one) => (one.kind === kind ? [one.pieces.join('')] : [])),
        )
        for (const one of texts) expect(known.some((whole) => whole.startsWith(one))).toBe(true)
      }
    }),
    runs,
  )
})
