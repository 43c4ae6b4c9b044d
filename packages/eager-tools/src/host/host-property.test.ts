import { keptOf } from '@meanwhile/tests/garbage'
import { unhandledRejections } from '@meanwhile/tests/rejections'
import { propertyRuns, sized } from '@meanwhile/tests/size'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { asked, Host, told } from '../../test/host.ts'

unhandledRejections()
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] }))
afterEach(() => void vi.useRealTimers())

/** A call as a model writes it, and what happens to it in the stream. */
const call = fc.record({
  id: fc.constantFrom('a', 'b', 'c', undefined),
  name: fc.constantFrom('look', 'look', 'put', 'move', 'send', 'odd'),
  n: fc.integer({ min: 0, max: 2 }),
  ms: fc.constantFrom(0, 5, 40),
  deaf: fc.boolean(),
  fails: fc.boolean(),
  pieces: fc.integer({ min: 1, max: 9 }),
  /** When the provider states the end of the call: at the end of the response, at once, or later with another input. */
  seal: fc.constantFrom('late', 'at once', 'changed'),
  /** Whether the host makes this call in the end: an approval may deny it. */
  isAsked: fc.constantFrom(true, true, true, false),
  pause: fc.constantFrom(0, 0, 1, 10, 50),
})

type Call = typeof call extends fc.Arbitrary<infer Value> ? Value : never

const response = fc.record({ calls: fc.array(call, { maxLength: 5 }), ends: fc.constantFrom('stood', 'failed') })

const script = fc.record({
  attempts: fc.array(response, { minLength: 1, maxLength: 3 }),
  slots: fc.constantFrom(1, 2, Number.POSITIVE_INFINITY),
  independent: fc.subarray(['put', 'move', 'send', 'odd']),
  aborts: fc.option(fc.integer({ min: 0, max: 120 }), { nil: undefined, freq: 6 }),
  abortsHost: fc.boolean(),
})

const inputOf = ({ n, ms, deaf, fails, seal }: Call) => ({ n: seal === 'changed' ? n + 10 : n, ms, deaf, fails })

/** The same call, as a string. */
const wordOf = (name: string, n: number) => `${name} ${n}`

test('a host gets the same results with any stream, and no external call starts early (R1, R2, R3, R4, R5)', async () => {
  await fc.assert(
    fc.asyncProperty(script, async ({ attempts, slots, independent, aborts, abortsHost }) => {
      vi.clearAllTimers()
      const host = new Host({ independent, toolConcurrency: slots })
      const controller = new AbortController()
      const { signal } = controller
      const odd = host.early('odd', ({ n }) => (n === 0 ? 'read' : 'external'))
      const calls = host.step({ tools: [...host.tools, odd], ...(abortsHost && { signal }) })
      if (aborts !== undefined) setTimeout(() => controller.abort(new Error('stop')), aborts)

      const heard: string[] = []
      let stands: readonly Call[] = []
      for (const [index, { calls: said, ends }] of attempts.entries()) {
        if (index > 0 && !calls.again()) break
        for (const one of said) {
          const { ms, deaf, fails, n } = one
          const label = told(calls, one.id, one.name, { n, ms, deaf, fails }, one.pieces)
          heard.push(wordOf(one.name, n))
          await vi.advanceTimersByTimeAsync(one.pause)
          if (one.seal === 'late') continue
          if (one.seal === 'changed') heard.push(wordOf(one.name, n + 10))
          calls.seal(label, JSON.stringify(inputOf(one)))
          await vi.advanceTimersByTimeAsync(one.pause)
        }
        if (ends === 'failed') calls.failed()
        else {
          calls.stood()
          stands = said
          break
        }
      }

      const begun = host.log.length
      await vi.advanceTimersByTimeAsync(1)
      const isStop = signal.aborted || aborts !== undefined
      // Nothing starts once the response is accepted.
      const startsOf = (log: readonly string[]) =>
        log.map((line) => line.split(' ').slice(1)).filter((words) => words.length === 2)
      if (stands.length > 0) expect(startsOf(host.log.slice(begun))).toEqual([])

      const late: string[] = []
      const results = stands
        .filter(({ isAsked }) => isAsked)
        .map(async (one) => {
          const input = inputOf(one)
          const given = await asked(calls, one.id, one.name, input)
          if (given !== 'by the host') return given
          late.push(wordOf(one.name, input.n))
          return one.fails ? `threw ${wordOf(one.name, input.n)} failed` : wordOf(one.name, input.n)
        })
      await vi.advanceTimersByTimeAsync(50)
      const released = calls.release()
      await vi.advanceTimersByTimeAsync(1_000)
      await released

      // The caller gets what the plain loop returns.
      const expected = stands
        .filter(({ isAsked }) => isAsked)
        .map((one) =>
          one.fails ? `threw ${wordOf(one.name, inputOf(one).n)} failed` : wordOf(one.name, inputOf(one).n),
        )
      const given = await Promise.all(results)
      if (isStop) for (const [place, word] of given.entries()) expect([expected[place], 'threw stop']).toContain(word)
      else expect(given).toEqual(expected)

      // No external call, and each other call at most as often as it was streamed.
      const early = startsOf(host.log).map((words) => words.join(' '))
      expect(early.filter((word) => /^send|^odd [^0]/.test(word))).toEqual([])
      const count = (words: readonly string[], word: string) => words.filter((one) => one === word).length
      for (const word of new Set(early)) {
        expect(count(early, word)).toBeLessThanOrEqual(count(heard, word))
        // Every call that the host has not made itself had begun, once each.
        const wanted = count(
          stands.filter(({ isAsked }) => isAsked).map((one) => wordOf(one.name, inputOf(one).n)),
          word,
        )
        expect(count(early, word)).toBeGreaterThanOrEqual(wanted - count(late, word))
      }
      await vi.advanceTimersByTimeAsync(200)
      expect(vi.getTimerCount()).toBe(0)
    }),
    propertyRuns({ small: 30, middle: 45, whole: 100_000 }),
  )
})

test('nothing is left after many steps (R7)', async () => {
  const host = new Host()
  const released: WeakRef<object>[] = []
  const step = async (n: number) => {
    const calls = host.step()
    told(calls, 'a', 'look', { n }, 1)
    await vi.advanceTimersByTimeAsync(0)
    calls.stood()
    if (n % 2 === 0) calls.take('a', 'look', { n })
    await calls.release()
    if (n % 500 < 2) released.push(new WeakRef(calls))
    host.log.length = 0
    host.started.length = 0
  }
  const steps = sized({ small: 100, middle: 150, whole: 100_000 })
  for (let n = 0; n < steps; n++) await step(n)
  expect(vi.getTimerCount()).toBe(0)
  expect(host.warnings).toEqual([])
  expect(await keptOf(() => released)).toBe(0)
})
