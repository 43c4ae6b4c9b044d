import { unhandledRejections } from '@meanwhile/tests/rejections'
import { propertyRuns } from '@meanwhile/tests/size'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type Case, consumed, done, type Part, played, raw, requested, sealed, text } from '../../test/agents.ts'

unhandledRejections()
beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const asked = fc.record({
  id: fc.constantFrom('1', '2', '3', '4'),
  name: fc.constantFrom('look', 'look', 'send'),
  value: fc.constantFrom('a', 'b', 'bad'),
  pieces: fc.integer({ min: 1, max: 6 }),
  pause: fc.constantFrom(0, 5, 30),
  /** The final response has other arguments. */
  changes: fc.constantFrom(false, false, false, true),
})
type Asked = typeof asked extends fc.Arbitrary<infer Value> ? Value : never

const textOf = (value: Asked['value']): string => JSON.stringify({ q: value === 'bad' ? 5 : value })

type Wire = 'chat' | 'responses'

/** A call in the wire's format, in pieces. */
function saidOn(wire: Wire, { id, name, value, pieces }: Asked, index: number): Part[] {
  const whole = textOf(value)
  if (wire === 'responses') return sealed(id, name, whole, index)
  const size = Math.ceil(whole.length / pieces)
  const parts = Array.from({ length: pieces }, (_, at) => whole.slice(at * size, (at + 1) * size))
  return [{ id, function: { name, arguments: '' } }, ...parts.map((piece) => ({ function: { arguments: piece } }))].map(
    (call) => raw({ choices: [{ index: 0, delta: { tool_calls: [{ index, ...call }] } }] }),
  )
}

const response = fc.record({
  calls: fc.array(asked, { maxLength: 3 }),
  ends: fc.constantFrom('done', 'done', 'done', 'fails', 'stops'),
})
type Response = typeof response extends fc.Arbitrary<infer Value> ? Value : never

function partsOf(wire: Wire, { calls, ends }: Response): Part[] {
  const parts = calls.flatMap((call, index) => [...saidOn(wire, call, index), call.pause])
  if (ends === 'fails') return [...parts, new Error('socket hang up')]
  if (ends === 'stops') return parts
  const final = calls.map(({ id, name, value, changes }) => requested(id, name, textOf(changes ? 'b' : value)))
  return [...parts, done(...(final.length > 0 ? final : [text]))]
}

const script = fc.record({
  wire: fc.constantFrom<Wire[]>('chat', 'responses'),
  responses: fc.array(response, { minLength: 1, maxLength: 3 }),
  streams: fc.boolean(),
  maxFunctionToolConcurrency: fc.constantFrom(undefined, 1, 2),
  ms: fc.constantFrom(0, 20, 100),
})

const retry = { maxRetries: 1, policy: () => true, backoff: { initialDelayMs: 10, jitter: false } }

const whole: Case['go'] = async (runner, agent) => {
  const { finalOutput, history } = await runner.run(agent, 'go')
  return { finalOutput, history }
}
const streamed: Case['go'] = async (runner, agent) => consumed(await runner.run(agent, 'go', { stream: true }))

/** The executions of one tool that were not aborted. */
const madeBy = (log: readonly string[], name: string) =>
  log.flatMap((line) =>
    line.includes(` ${name} `) && !line.endsWith('aborted') ? [line.slice(line.indexOf(' '))] : [],
  )

test('with any stream the caller gets the same, and undeclared tools execute as often (R1, R2, R3, R4)', async () => {
  vi.spyOn(console, 'warn').mockReturnValue()
  let joined = 0
  await fc.assert(
    fc.asyncProperty(script, async ({ wire, responses, streams, maxFunctionToolConcurrency, ms }) => {
      const scenario: Case = {
        responses: [...responses.map((one) => partsOf(wire, one)), [done(text)]],
        agent: { modelSettings: { retry } },
        runner: { toolExecution: { maxFunctionToolConcurrency } },
        settings: { alwaysStream: true },
        go: streams ? streamed : whole,
        ms,
      }
      const plain = await played(scenario, false)
      const eager = await played(scenario, true)
      expect(vi.getTimerCount()).toBe(0)
      expect(eager.result).toEqual(plain.result)
      expect(eager.model.requests.map(({ input }) => input)).toEqual(plain.model.requests.map(({ input }) => input))
      expect(madeBy(eager.log, 'send')).toEqual(madeBy(plain.log, 'send'))
      // Reads that the SDK makes are made in both runs, perhaps with another id. An early read may be made once more
      // for each streamed call.
      const [reads, early] = [madeBy(plain.log, 'look'), madeBy(eager.log, 'look')]
      for (const value of ['a', 'b']) {
        const count = (lines: readonly string[]) => lines.filter((line) => line.endsWith(` ${value}`)).length
        expect(count(early)).toBeGreaterThanOrEqual(count(reads))
      }
      const heard = responses.flatMap(({ calls }) => calls)
      expect(early.length - reads.length).toBeLessThanOrEqual(heard.length)
      const sooner = early.filter((read) => eager.log.some((line) => line.endsWith(read) && !plain.log.includes(line)))
      joined += sooner.length
    }),
    propertyRuns({ small: 20, middle: 30, whole: 20_000 }),
  )
  // Some calls did start early.
  expect(joined).toBeGreaterThan(3)
})
