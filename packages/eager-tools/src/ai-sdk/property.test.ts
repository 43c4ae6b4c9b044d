import { unhandledRejections } from '@meanwhile/tests/rejections'
import { propertyRuns } from '@meanwhile/tests/size'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { breaks, call, delta, failing, finish, type Part, plainAndEager, said, start, wait } from '../../test/sdk.ts'

unhandledRejections()
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] }))
afterEach(() => void vi.useRealTimers())

const asked = fc.record({
  id: fc.constantFrom('1', '2', '3'),
  name: fc.constantFrom('look', 'look', 'send'),
  value: fc.constantFrom('a', 'b', 'bad'),
  pieces: fc.integer({ min: 1, max: 6 }),
  pause: fc.constantFrom(0, 5, 40),
  /** The part with the whole call has other arguments. */
  changes: fc.constantFrom(false, false, false, true),
  whole: fc.constantFrom('at once', 'late'),
})

type Asked = typeof asked extends fc.Arbitrary<infer Value> ? Value : never

function textOf({ name, value }: Pick<Asked, 'name' | 'value'>): string {
  const key = name === 'look' ? 'q' : 'to'
  return JSON.stringify({ [key]: value === 'bad' ? 5 : value })
}

const response = fc
  .record({
    calls: fc.array(asked, { maxLength: 4 }),
    ends: fc.constantFrom<Part>(
      finish(),
      finish(),
      finish(),
      finish('length'),
      finish('stop'),
      failing(),
      breaks(),
      wait(0),
    ),
  })
  .map(({ calls, ends }): Part[] => {
    const parts: Part[] = []
    const late: Part[] = []
    for (const one of calls) {
      const text = textOf(one)
      const size = Math.ceil(text.length / one.pieces)
      parts.push(start(one.id, one.name))
      for (let at = 0; at < text.length; at += size) parts.push(delta(one.id, text.slice(at, at + size)))
      parts.push({ type: 'tool-input-end', id: one.id }, wait(one.pause))
      const whole = call(one.id, one.changes ? textOf({ ...one, value: 'b' }) : text, one.name)
      if (one.whole === 'late') late.push(whole)
      else parts.push(whole, wait(one.pause))
    }
    return [...parts, ...late, ...said('x'), ends]
  })

const script = fc.record({
  responses: fc.array(response, { minLength: 1, maxLength: 4 }),
  provider: fc.constantFrom('mock.chat', 'openai.responses'),
  streamRetries: fc.constantFrom(undefined, 1),
  toolCallConcurrency: fc.constantFrom(undefined, 1, 2),
  ms: fc.constantFrom(0, 20, 100),
  aborts: fc.option(fc.integer({ min: 1, max: 150 }), { nil: undefined, freq: 6 }),
})

/** The executions of one tool that were not aborted. */
const madeBy = (log: readonly string[], key: string) =>
  log.flatMap((line) =>
    line.includes(`{"${key}":`) && !line.endsWith('aborted') ? [line.slice(line.indexOf(' '))] : [],
  )

const inputsOf = (made: readonly string[]) => made.map((line) => line.slice(line.indexOf('{')))

/** Results come in the order in which their tools finish. */
const inAnyOrder = (result: unknown) => {
  const { told, ...rest } = Object(result)
  return { ...rest, told: Array.isArray(told) ? told.map((part) => JSON.stringify(part)).sort() : told }
}

test('with any stream the caller gets the same, and undeclared tools execute as often (R1, R2, R3, R4)', async () => {
  await fc.assert(
    fc.asyncProperty(script, async ({ responses, provider, ms, aborts, ...options }) => {
      const { plain, eager } = await plainAndEager({
        responses: [...responses, [...said('done'), finish('stop')]],
        provider,
        ms,
        options: () => {
          const controller = new AbortController()
          if (aborts !== undefined) setTimeout(() => controller.abort(new Error('stop')), aborts)
          return { ...options, ...(aborts !== undefined && { abortSignal: controller.signal }) }
        },
      })
      expect(vi.getTimerCount()).toBe(0)
      // A faster run may be further along when it is aborted.
      if (aborts !== undefined) return
      expect(inAnyOrder(eager.result)).toEqual(inAnyOrder(plain.result))
      expect(madeBy(eager.log, 'to')).toEqual(madeBy(plain.log, 'to'))
      // Reads that the loop makes are made in both runs, perhaps with the id that an equal call of a failed attempt had.
      // An early read may be made once more for each input that was received: two, if the last part changes it.
      const reads = inputsOf(madeBy(eager.log, 'q'))
      for (const read of inputsOf(madeBy(plain.log, 'q'))) expect(reads).toContain(read)
      const heard = responses
        .flat()
        .filter((part) => 'type' in part && ['tool-input-start', 'tool-call'].includes(part.type))
      expect(reads.length - madeBy(plain.log, 'q').length).toBeLessThanOrEqual(heard.length)
    }),
    propertyRuns({ small: 6, middle: 9, whole: 20_000 }),
  )
})
