import { unhandledRejections } from '@meanwhile/tests/rejections'
import { sized } from '@meanwhile/tests/size'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { AGENT, membersOf, RUN, RUNNER, SCRIPT, TOOL, type Values } from '../../test/agent-options.ts'
import { type Added, countOf, type Program, RUN_EVENTS, told, type Way } from '../../test/agent-programs.ts'

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

/** In the small size, the last value of each option comes in one way. */
const isWhole = sized({ small: 0, middle: 1, whole: 1 }) === 1
const ways: readonly Way[] = ['given', 'with the call', 'spread']
const rows = Object.entries(TABLE).flatMap(([of, values]) => Object.keys(values).map((option) => [of, option] as const))

test.each(rows)(
  '%s option `%s`: given in the options, with the call or spread over, nothing differs but the times of tools (W48)',
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
      }
    }
  },
)
