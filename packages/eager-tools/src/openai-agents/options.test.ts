import { unhandledRejections } from '@meanwhile/tests/rejections'
import { sized } from '@meanwhile/tests/size'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { AGENT, membersOf, RUN, RUNNER, SCRIPT, TOOL, type Values } from '../../test/agent-options.ts'
import { type Added, countOf, isSooner, type Program, RUN_EVENTS, told, type Way } from '../../test/agent-programs.ts'

unhandledRejections()
beforeEach(() => {
  vi.useFakeTimers()
  for (const name of ['warn', 'error', 'debug'] as const) vi.spyOn(console, name).mockReturnValue()
})
afterEach(() => void vi.useRealTimers())

const TABLE: Readonly<Record<keyof Added, Values>> = { agent: AGENT, runner: RUNNER, run: RUN, tool: TOOL }

test('the table has each option and each hook that the types of the SDK have (W48)', () => {
  const named = (...types: readonly (readonly [file: string, name: string])[]) =>
    [...new Set(types.flatMap(([file, name]) => membersOf(file, name)))].sort()
  const tried = (values: Values) => Object.keys(values).sort()
  expect(tried(AGENT)).toEqual(named(['agent.d.ts', 'AgentConfiguration']))
  expect(tried(RUNNER)).toEqual(named(['run.d.ts', 'RunConfig']))
  expect(tried(RUN)).toEqual(named(['run.d.ts', 'SharedRunOptions'], ['run.d.ts', 'StreamRunOptions']))
  expect(tried(TOOL)).toEqual(
    named(
      ['tool.d.ts', 'StrictToolOptionsBase'],
      ['tool.d.ts', 'ToolGuardrailOptions'],
      ['tool.d.ts', 'ToolTimeoutOptions'],
    ),
  )
  for (const hooks of ['RunHookEvents', 'AgentHookEvents'])
    expect([...RUN_EVENTS].sort()).toEqual(named(['lifecycle.d.ts', hooks]))
})

/**
 * Values with which the SDK makes every call itself, or with which there is no call of these tools: that of an approval or a guardrail may prevent the
 * call, that of a schema or an extractor reads details of the SDK. `execute` is here because it records no execution.
 */
const LATE: ReadonlySet<string> = new Set([
  'agent tools 0',
  'agent inputGuardrails 1',
  'agent inputGuardrails 3',
  'tool execute 0',
  'tool deferLoading 0',
  'tool allowedCallers 1',
  'tool outputSchema 0',
  'tool needsApproval 0',
  'tool needsApproval 2',
  'tool needsApproval 3',
  'tool isEnabled 1',
  'tool inputGuardrails 0',
  'tool inputGuardrails 1',
  'tool inputGuardrails 2',
  'tool customDataExtractor 0',
])
/** Guardrails of a runner count as it got them when it was made. */
const LATE_IF_GIVEN: ReadonlySet<string> = new Set(['runner inputGuardrails 1', 'runner inputGuardrails 3'])

/** In the small size, the last value of each option comes in one way. */
const isWhole = sized({ small: 0, middle: 0, whole: 1 }) === 1
const ways: readonly Way[] = ['given', 'with the call', 'spread']
const rows = Object.entries(TABLE).flatMap(([of, values]) => Object.keys(values).map((option) => [of, option] as const))

test.each(rows)(
  '%s option `%s`: given in the options, with the call or spread over, calls start early, unless the SDK makes them itself, and nothing else differs (W48)',
  async (of, option) => {
    const values = TABLE[of as keyof Added][option]
    const count = values?.(() => undefined).length ?? 0
    for (let at = isWhole ? 0 : Math.max(0, count - 1); at < count; at++) {
      const adds: Program['adds'] = (tell) => ({ [of]: { [option]: values?.(tell)[at] } })
      const one = ways.slice(at % ways.length).slice(0, 1)
      for (const way of isWhole ? ways : one) {
        const program: Program = { responses: SCRIPT, adds, way, settings: { alwaysStream: true } }
        const plain = await told(program, false)
        const { times, undone, calls, warnings, ...early } = await told(program, true)
        expect({ ...early, times: [], undone: [], calls: [], warnings: [] }).toEqual({ ...plain, times: [], calls: [] })
        for (const tool of ['book', 'send']) expect(countOf(tool, { calls, undone })).toEqual(countOf(tool, plain))
        expect(warnings).toEqual([])
        const row = `${of} ${option} ${at}`
        const isLate = LATE.has(row) || (way === 'given' && LATE_IF_GIVEN.has(row))
        expect([row, way, isSooner(times, plain.times)]).toEqual([row, way, !isLate])
      }
    }
  },
)
