import { unhandledRejections } from '@meanwhile/tests/rejections'
import { propertyRuns } from '@meanwhile/tests/size'
import fc from 'fast-check'
import { createMiddleware } from 'langchain'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { answer, begin, breaks, more, type Part, plainAndEager, retry, text, wait } from '../../test/langchain.ts'

unhandledRejections()
beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const asked = fc.record({
  id: fc.constantFrom('1', '2', '3'),
  name: fc.constantFrom('look', 'look', 'send'),
  value: fc.constantFrom('a', 'b', 'bad'),
  pieces: fc.integer({ min: 1, max: 6 }),
  pause: fc.constantFrom(0, 5, 30),
  /** The arguments continue after they have closed. */
  goesOn: fc.constantFrom(false, false, false, true),
})
type Asked = typeof asked extends fc.Arbitrary<infer Value> ? Value : never

/** The log identifies tools by their values, because it has no names. */
function textOf({ name, value }: Asked): string {
  if (value === 'bad') return '{"q":5}'
  return JSON.stringify({ q: `${name} ${value}` })
}

const response = fc
  .record({
    calls: fc.array(asked, { maxLength: 3 }),
    ends: fc.constantFrom('stands', 'stands', 'stands', 'breaks'),
  })
  .map(({ calls, ends }): readonly Part[] => {
    const parts = calls.flatMap((call, index) => {
      const whole = textOf(call)
      const size = Math.ceil(whole.length / call.pieces)
      const pieces = Array.from({ length: call.pieces }, (_, at) => whole.slice(at * size, (at + 1) * size))
      const rest = call.goesOn ? [wait(call.pause), more(index, ',"n":1}')] : []
      return [begin(index, call.id, call.name), ...pieces.map((one) => more(index, one)), ...rest, wait(call.pause)]
    })
    return [...parts, ends === 'breaks' ? breaks() : text('x')]
  })

const script = fc.record({
  responses: fc.array(response, { minLength: 1, maxLength: 3 }),
  retries: fc.boolean(),
  /** A middleware adds another call. */
  changes: fc.constantFrom(false, false, true),
  version: fc.constantFrom('v1', 'v2'),
  ms: fc.constantFrom(0, 20, 100),
})

const changing = createMiddleware({
  name: 'changing',
  wrapToolCall: ({ toolCall, ...request }, ask) =>
    ask({ ...request, toolCall: toolCall.args.q === 'look a' ? { ...toolCall, args: { q: 'look b' } } : toolCall }),
})

/** The executions of one tool that were not aborted. */
const madeBy = (log: readonly string[], name: string) => {
  const aborted = log.filter((line) => line.endsWith(' aborted')).map((line) => line.slice(line.indexOf(' '), -8))
  return log.flatMap((line) => {
    const made = line.slice(line.indexOf(' '))
    if (!made.includes(`"${name} `) || line.endsWith(' aborted')) return []
    const at = aborted.indexOf(made)
    if (at >= 0) aborted.splice(at, 1)
    return at >= 0 ? [] : [made]
  })
}

test('with any stream the caller gets the same, and undeclared tools execute as often (R1, R2, R3, R4)', async () => {
  let sooner = 0
  await fc.assert(
    fc.asyncProperty(script, async ({ responses, retries, changes, version, ms }) => {
      const { plain, eager } = await plainAndEager({
        responses: [...responses, answer],
        ms,
        options: () => ({
          version,
          middleware: [...(retries ? [retry()] : []), ...(changes ? [changing] : [])],
        }),
      })
      expect(vi.getTimerCount()).toBe(0)
      expect(eager.result).toEqual(plain.result)
      expect(madeBy(eager.log, 'send')).toEqual(madeBy(plain.log, 'send'))
      // Reads that the agent makes are made in both runs, perhaps with another id. An early read may be made once more
      // for each streamed call.
      const [reads, early] = [madeBy(plain.log, 'look'), madeBy(eager.log, 'look')]
      for (const value of ['look a', 'look b']) {
        const count = (lines: readonly string[]) => lines.filter((line) => line.includes(value)).length
        expect(count(early)).toBeGreaterThanOrEqual(count(reads))
      }
      const heard = responses.flat().filter((part) => 'call' in part && part.call.name !== undefined)
      expect(early.length - reads.length).toBeLessThanOrEqual(heard.length)
      sooner += eager.log.filter((line) => !plain.log.includes(line)).length
    }),
    propertyRuns({ small: 10, middle: 15, whole: 20_000 }),
  )
  // Some calls did start early.
  expect(sooner).toBeGreaterThan(5)
})
