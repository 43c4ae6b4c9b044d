import { type AgentEvent, ModelError } from '@meanwhile/core'
import { unhandledRejections } from '@meanwhile/tests/rejections'
import { propertyRuns } from '@meanwhile/tests/size'
import fc from 'fast-check'
import { beforeEach, expect, test, vi } from 'vitest'
import { ran, told } from '../test/prefix-runs.ts'
import { retrying } from '../test/retrying.ts'
import type { Moment } from '../test/telling-model.ts'

const unhandled = unhandledRejections()

beforeEach(() => {
  vi.useFakeTimers()
  return () => vi.useRealTimers()
})

/** Arguments as models may write them: members in any order, some twice, missing or wrong, in any pieces. */
const written = fc
  .record({
    members: fc.array(
      fc.constantFrom(
        '"path":"a"',
        '"path" : "b"',
        '"p\\u0061th":"a"',
        '"from":7',
        '"from":8 ',
        '"from":"x"',
        '"path":1',
      ),
      { maxLength: 4 },
    ),
    more: fc.constantFrom('', ' ', 'junk'),
    cuts: fc.array(fc.nat({ max: 60 }), { maxLength: 5 }),
    final: fc.constantFrom(
      undefined,
      undefined,
      '{"path":"a","from":7}',
      '{"from":9,"path":"a"}',
      '{"path":"c","from":7}',
    ),
  })
  .map(({ members, more, cuts, final }) => {
    const text = `{${members.join(',')}}${more}`
    const places = [...new Set(cuts.filter((cut) => cut < text.length))].sort((a, b) => a - b)
    const deltas = [0, ...places].map((from, index) => text.slice(from, places[index])).filter((delta) => delta !== '')
    return { deltas, final }
  })

const endings = fc.constantFrom('tool-calls', 'tool-calls', 'tool-calls', 'length', 'fails', 'cut')

const response = fc
  .record({ calls: fc.array(written, { minLength: 1, maxLength: 2 }), share: fc.constantFrom(1, 1, 0.5), end: endings })
  .map(({ calls, share, end }) => (prefix: string): Moment[] => {
    const tells = calls.flatMap(({ deltas, final }, label): Moment[1][] => [
      (to) => to.call(label, { id: `${prefix}${label}`, name: 'read' }),
      ...deltas.map(
        (delta): Moment[1] =>
          (to) =>
            to.call(label, { delta }),
      ),
      (to) => to.seal(label, final),
    ])
    const said = tells.slice(0, Math.ceil(tells.length * (end === 'tool-calls' ? 1 : share)))
    const last: Moment[1] = (to) => {
      if (end === 'fails') throw new ModelError('gone', { code: 'gone', retryable: true })
      if (end !== 'cut') to.finish(end)
    }
    return [...said, last].map((tell, index) => [index * 10, tell])
  })

test('whatever a model writes, and however it fails, starting on needed members gives the same history, and each extra start is discarded (H31, H32, H16)', async () => {
  const starts = ({ log }: { readonly log: readonly string[] }) => log.filter((line) => line.includes('open')).length
  const ends = ({ events }: { readonly events: readonly AgentEvent[] }) =>
    events.filter(({ type }) => type === 'tool-discarded').length
  await fc.assert(
    fc.asyncProperty(
      fc.array(response, { minLength: 1, maxLength: 3 }),
      fc.constantFrom(0, 25),
      fc.constantFrom(1, Number.POSITIVE_INFINITY),
      fc.boolean(),
      async (made, ms, toolConcurrency, retries) => {
        const options = {
          responses: made.map((response, index) => response(`r${index}c`)),
          ms,
          toolConcurrency,
          middleware: retries ? [retrying()] : [],
        }
        const eager = await ran(options)
        const waiting = await ran({ ...options, eager: false })
        expect(told(eager.events)).toEqual(told(waiting.events))
        expect(eager.result?.messages).toEqual(waiting.result?.messages)
        expect(eager.error).toEqual(waiting.error)
        expect(starts(eager) - starts(waiting)).toBeLessThanOrEqual(ends(eager))
        expect(unhandled).toEqual([])
      },
    ),
    propertyRuns({ small: 4, middle: 6, whole: 20_000 }),
  )
}, 120_000)
