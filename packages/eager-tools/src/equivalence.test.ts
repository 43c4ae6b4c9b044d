import { AgentError, type AgentEvent } from '@meanwhile/core'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { accounts, canonical } from '../test/accounts.ts'
import { type Scenario, scenarios } from '../test/scenario.ts'
import { type Trial, trial } from '../test/trial.ts'

const unhandled: unknown[] = []
const note = (reason: unknown) => void unhandled.push(reason)

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] })
  process.on('unhandledRejection', note)
})
afterEach(() => {
  vi.useRealTimers()
  process.off('unhandledRejection', note)
})

/** A longer search: EQUIVALENCE_RUNS=100000 EQUIVALENCE_SEED=7 npx vitest run equivalence */
const numRuns = Number(process.env['EQUIVALENCE_RUNS'] ?? 3_000)
const seed = Number(process.env['EQUIVALENCE_SEED'] ?? 1)

/** What the run came to, but for what eager execution adds. */
function outcome({ result, error }: Trial): unknown {
  if (error instanceof AgentError) {
    const { abandoned: _, messages, usage, ...data } = error
    return { name: error.name, message: error.message, data, messages, usage }
  }
  if (!result) return error
  const { abandoned: _, warnings, ...rest } = result
  return { ...rest, warnings: warnings.filter(({ source }) => source !== 'eager-tools') }
}

const logical = (step: number | undefined, tool: string, input: unknown) => `${step} ${tool} ${canonical(input)}`

const externals = ({ executions }: Trial) =>
  executions.flatMap((one) => (one.effect === 'external' ? [`${one.tool} ${canonical(one.input)}`] : [])).sort()

/** How often each of these was said. */
function tally(words: readonly string[]): Map<string, number> {
  const tally = new Map<string, number>()
  for (const word of words) tally.set(word, (tally.get(word) ?? 0) + 1)
  return tally
}

const executed = ({ executions }: Trial) =>
  tally(executions.map(({ step, tool, written }) => logical(step, tool, written)))

/** How many calls of one attempt asked for the same, closed or sealed, at the most. */
function asked(events: readonly AgentEvent[]): Map<string, number> {
  const ids = new Map<string, Map<number, Set<string>>>()
  for (const event of events) {
    if (event.type !== 'tool-input-closed' && event.type !== 'tool-call') continue
    const what = logical(event.step, event.call.name, event.call.input)
    const attempts = ids.get(what) ?? new Map<number, Set<string>>()
    ids.set(what, attempts)
    attempts.set(event.attempt, (attempts.get(event.attempt) ?? new Set()).add(event.call.id))
  }
  return new Map([...ids].map(([what, attempts]) => [what, Math.max(...[...attempts.values()].map((of) => of.size))]))
}

/** What must hold of the two runs of one scenario (`eager.md`, "What the rule means"). */
function compare(scenario: Scenario, eager: Trial, waiting: Trial): void {
  const told = accounts(eager.events)
  const toldWaiting = accounts(waiting.events)
  expect(outcome(eager)).toEqual(outcome(waiting))
  expect(told.others).toEqual(toldWaiting.others)
  expect(told.calls).toEqual(toldWaiting.calls)

  expect(externals(eager)).toEqual(externals(waiting))
  const times = executed(eager)
  const usual = executed(waiting)
  const discarded = tally(told.discarded.map(({ step, name, input }) => logical(step, name, input)))
  const most = asked(eager.events)
  for (const [what, count] of usual) expect(times.get(what) ?? 0, what).toBeGreaterThanOrEqual(count)
  for (const [what, count] of times) {
    const extra = count - (usual.get(what) ?? 0)
    expect(extra, what).toBeLessThanOrEqual(discarded.get(what) ?? 0)
    // No logical call runs twice: a retry's equal call joins.
    if (!scenario.edits) expect(count, what).toBeLessThanOrEqual(most.get(what) ?? 0)
  }
  const keys = eager.executions.flatMap(({ effect, key }) => (effect === 'read' ? [] : [key]))
  expect(keys).toHaveLength(new Set(keys).size)

  const moved = eager.executions.filter(({ tool, succeeded }) => tool === 'move' && succeeded)
  const kept = waiting.executions.filter(({ tool, succeeded }) => tool === 'move' && succeeded)
  expect(eager.undone).toHaveLength(moved.length - kept.length)
  expect(waiting.undone).toEqual([])

  expect(eager.mostAtOnce).toBeLessThanOrEqual(scenario.toolConcurrency)
  expect([eager.timersLeft, waiting.timersLeft]).toEqual([0, 0])
  expect(unhandled.splice(0)).toEqual([])
}

test('eager may change when a tool runs, never whether, how often, or with what (H16, H1, H8, H15, H18, H19, H21, H22, H23, H25)', async () => {
  await fc.assert(
    fc.asyncProperty(scenarios, async (scenario) => {
      compare(scenario, await trial(scenario, true), await trial(scenario, false))
    }),
    { numRuns, seed },
  )
}, 600_000)
