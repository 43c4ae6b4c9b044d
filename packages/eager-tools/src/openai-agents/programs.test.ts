import { unhandledRejections } from '@meanwhile/tests/rejections'
import { propertyRuns } from '@meanwhile/tests/size'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { AGENT, RUN, RUNNER, TOOL, type Values } from '../../test/agent-options.ts'
import { countOf, isSooner, type Program, type Tell, told, type Way } from '../../test/agent-programs.ts'
import { answer, done, type Part, raw, requested, sealed, text } from '../../test/agents.ts'

unhandledRejections()
beforeEach(() => {
  vi.useFakeTimers()
  for (const name of ['warn', 'error', 'debug'] as const) vi.spyOn(console, name).mockReturnValue()
})
afterEach(() => void vi.useRealTimers())

const call = fc.record({
  name: fc.constantFrom('look', 'look', 'look', 'book', 'book', 'book', 'send', 'transfer_to_other'),
  value: fc.constantFrom('a', 'b', 'throws', 'bad'),
  pause: fc.constantFrom(0, 5, 60, 150),
  /** The accepted response has other arguments than the stream. */
  changes: fc.constantFrom(false, false, false, false, false, false, true),
  /** Its id has occurred before. */
  repeats: fc.constantFrom(false, false, false, false, false, false, true),
})
type Call = typeof call extends fc.Arbitrary<infer Value> ? Value : never

const response = fc.record({
  calls: fc.array(call, { maxLength: 3 }),
  ends: fc.constantFrom('done', 'done', 'done', 'done', 'fails', 'stops'),
})

/** Options that would leave nothing to compare: another model, no tools, or an end that depends on how fast tools are. */
const LEFT_OUT: ReadonlySet<string> = new Set([
  'agent tools',
  'agent model',
  'runner model',
  'runner modelProvider',
  'run signal',
  'run stream',
])
const ALL = Object.entries({ agent: AGENT, runner: RUNNER, run: RUN, tool: TOOL }).flatMap(
  ([of, values]: [string, Values]) =>
    Object.entries(values).flatMap(([option, make]) =>
      LEFT_OUT.has(`${of} ${option}`) ? [] : make(() => undefined).map((_, at) => ({ of, option, at })),
    ),
)
const TABLE: Readonly<Record<string, Values>> = { agent: AGENT, runner: RUNNER, run: RUN, tool: TOOL }

const program = fc.record({
  wire: fc.constantFrom<('responses' | 'chat')[]>('responses', 'chat'),
  responses: fc.array(response, { minLength: 1, maxLength: 3 }),
  options: fc.uniqueArray(fc.constantFrom(...ALL), {
    maxLength: 4,
    selector: ({ of, option }) => `${of} ${option}`,
  }),
  way: fc.constantFrom<Way[]>('given', 'with the call', 'spread'),
  streams: fc.boolean(),
  alwaysStream: fc.constantFrom(true, true, true, false),
  retries: fc.boolean(),
})
type Drawn = typeof program extends fc.Arbitrary<infer Value> ? Value : never

const argumentsOf = (value: string): string => JSON.stringify({ q: value === 'bad' ? 5 : value })

function streamed({ wire }: Drawn, { name, value }: Call, id: string, index: number): Part[] {
  const args = argumentsOf(value)
  if (wire === 'responses') return sealed(id, name, args, index)
  const pieces = [{ id, function: { name, arguments: '' } }, { function: { arguments: args } }]
  return pieces.map((piece) => raw({ choices: [{ index: 0, delta: { tool_calls: [{ index, ...piece }] } }] }))
}

/** Whether a call may end the run, so that the result of the others depends on their times. */
const isFatal = ({ option, at }: Drawn['options'][number]): boolean =>
  option === 'outputSchema' ||
  (option === 'errorFunction' && at === 1) ||
  (option === 'timeoutBehavior' && at === 1) ||
  (option.endsWith('Guardrails') && at === 2)

function scriptOf(drawn: Drawn): Part[][] {
  const most = drawn.options.some(isFatal) ? 1 : 3
  const script = drawn.responses.map(({ calls, ends }, turn): Part[] => {
    const asked = calls
      .slice(0, most)
      .map((call, index) => ({ call, index, id: call.repeats ? '0' : `${turn}-${index}` }))
    const parts = asked.flatMap(({ call, id, index }) => [...streamed(drawn, call, id, index), call.pause])
    if (ends === 'fails') return [...parts, new Error('socket hang up')]
    if (ends === 'stops') return parts
    const final = asked.map(({ call, id }) => requested(id, call.name, argumentsOf(call.changes ? 'b' : call.value)))
    return [...parts, done(...(final.length > 0 ? final : [text]))]
  })
  return [...script, answer]
}

const retry = { maxRetries: 1, policy: () => true, backoff: { initialDelayMs: 10, jitter: false } }

function addsOf({ options, retries }: Drawn): Program['adds'] {
  return (tell: Tell) => {
    const added: Record<string, Record<string, unknown>> = { agent: retries ? { modelSettings: { retry } } : {} }
    for (const { of, option, at } of options) added[of] = { ...added[of], [option]: TABLE[of]?.[option]?.(tell)[at] }
    return added
  }
}

test('with any options and hooks, however they are given, and any responses, only the times of tools differ, and no accepted call is made twice or undone (W46, W47, W48)', async () => {
  let joined = 0
  await fc.assert(
    fc.asyncProperty(program, async (drawn) => {
      const { way, streams, alwaysStream, options } = drawn
      const has = (name: string) => options.some(({ option }) => option === name)
      // The SDK refuses such a tool.
      fc.pre(!has('outputSchema') || !has('timeoutBehavior'))
      const adds = addsOf(drawn)
      const scenario: Program = {
        responses: scriptOf(drawn),
        way,
        streams,
        settings: { alwaysStream },
        ...(adds && { adds }),
      }
      const plain = await told(scenario, false)
      const early = await told(scenario, true)
      expect(vi.getTimerCount()).toBe(0)
      const { callbacks, result, requests } = plain
      expect({ callbacks: early.callbacks, result: early.result, requests: early.requests }).toEqual({
        callbacks,
        result,
        requests,
      })
      expect(early.warnings.filter((warning) => !warning.startsWith('breaker'))).toEqual([])
      expect(countOf('send', early)).toEqual(countOf('send', plain))
      // A call that fails changes nothing, and is not undone.
      const { throws: _, ...booked } = countOf('book', early)
      const { throws: __, ...accepted } = countOf('book', plain)
      expect(booked).toEqual(accepted)
      const reads = countOf('look', early)
      for (const [q, count] of Object.entries(countOf('look', plain))) expect(reads[q]).toBeGreaterThanOrEqual(count)
      if (isSooner(early.times, plain.times)) joined++
    }),
    propertyRuns({ small: 10, middle: 15, whole: 3_000 }),
  )
  // Some calls did start early.
  expect(joined).toBeGreaterThan(1)
})
