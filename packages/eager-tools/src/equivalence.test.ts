import { AgentError, callsOf, type Effect } from '@meanwhile/core'
import { propertyRuns } from '@meanwhile/tests/size'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { accounts, canonical, sorted } from '../test/accounts.ts'
import { type Scenario, scenarios } from '../test/scenario.ts'
import { type Execution, Fatal, type Trial, type TrialClock, trial } from '../test/trial.ts'

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

/** Faster than vitest's own way through all timers, which gives a real millisecond to each. */
const clock: TrialClock = { count: () => vi.getTimerCount(), next: () => void vi.advanceTimersToNextTimer() }

/** The result of the run, except for what eager execution adds. */
function outcome({ result, error }: Trial): unknown {
  if (error instanceof AgentError) {
    const { abandoned: _, messages, usage, ...data } = error
    return { name: error.name, message: error.message, data, messages, usage }
  }
  if (!result) return error
  const { abandoned: _, savings: __, warnings, ...rest } = result
  return { ...rest, warnings: sorted(warnings.filter(({ source }) => source !== 'eager-tools')) }
}

const logical = (step: number | undefined, tool: string, input: unknown) => `${step} ${tool} ${canonical(input)}`

const externals = ({ executions }: Trial) =>
  executions.flatMap((one) => (one.effect === 'external' ? [`${one.tool} ${canonical(one.input)}`] : [])).sort()

/** Counts the occurrences of each value. */
function tally(words: readonly string[]): Map<string, number> {
  const tally = new Map<string, number>()
  for (const word of words) tally.set(word, (tally.get(word) ?? 0) + 1)
  return tally
}

const executed = ({ executions }: Trial) =>
  tally(executions.map(({ step, tool, written }) => logical(step, tool, written)))

/**
 * A call that has started with `n` may be discarded before its tool has the rest, once the reader has the discard
 * event.
 */
const started = (step: number | undefined, tool: string, input: unknown) =>
  logical(step, tool, ['open', 'glance', 'script'].includes(tool) ? { n: Object(input).n } : input)

const begun = ({ executions }: Trial) =>
  tally(executions.map(({ step, tool, written }) => started(step, tool, written)))

interface SaidCall {
  readonly attempt: string
  readonly name: string
  readonly said: string[]
  /** Not before it had its whole input, because no other call can join one that never had it. */
  final: string | undefined
}

/**
 * How often each may have been executed: once for each call of the attempt that requested it most often. Only reads and
 * calls may run once more for each call that closed with this input and was then sealed with another, or started with a
 * member of it and never got the rest, and for each attempt that put a write before it.
 */
function most({ events, executions }: Trial, oneSlot: boolean): Map<string, number> {
  const reads = new Set(
    executions.flatMap(({ effect, step, tool, written }) => (isLight(effect) ? [logical(step, tool, written)] : [])),
  )
  const calls = new Map<string, SaidCall>()
  for (const event of events) {
    if (event.type !== 'tool-input-ready' && event.type !== 'tool-input-closed' && event.type !== 'tool-call') continue
    const { id, name, input } = event.type === 'tool-input-ready' ? event : event.call
    const call = calls.get(id) ?? { attempt: `${event.step}.${event.attempt}`, name, said: [], final: undefined }
    calls.set(id, call)
    const what = logical(event.step, name, input)
    call.said.push(what)
    if (event.type !== 'tool-input-ready') call.final = what
  }
  const most = new Map<string, number>()
  const more = (what: string) => most.set(what, (most.get(what) ?? 0) + 1)
  const finals = [...calls.values()].flatMap(({ attempt, final }) =>
    final === undefined ? [] : [`${attempt}|${final}`],
  )
  for (const [final, count] of tally(finals)) {
    const what = final.slice(final.indexOf('|') + 1)
    most.set(what, Math.max(most.get(what) ?? 0, count))
  }
  for (const { said, attempt, name, final = '' } of calls.values()) {
    for (const early of new Set(said)) if (early !== final && reads.has(early)) more(early)
    const beside = [...calls.values()].filter((other) => other.attempt === attempt && !READS.has(other.name))
    const writes = oneSlot || KEYED.has(name) ? beside.filter((other) => oneSlot || KEYED.has(other.name)) : []
    if (writes.length > 0 && reads.has(final)) more(final)
  }
  return most
}

/** It may be made again while it has only made reads. */
const isLight = (effect: Effect) => effect === 'read' || effect === 'calls'

const READS: ReadonlySet<string> = new Set([
  'look',
  'peek',
  'scan',
  'open',
  'glance',
  'direct',
  'fetch',
  'odd',
  'leaf',
  'relay',
  'dispatch',
])
const KEYED: ReadonlySet<string> = new Set(['fetch', 'odd', 'leaf', 'store', 'wire', 'batch'])

/** The calls that began before an earlier call with the same key had ended. */
function outOfOrder({ events, executions }: Trial): string[] {
  // Nobody gets the result of aborted calls.
  const seen = executions.filter(({ signal }) => !signal.aborted)
  const latest = new Map(seen.map((execution) => [execution.callId, execution]))
  const startedAs = new Map<string, string>()
  for (const event of events) {
    if (event.type === 'tool-committed' && event.startedAs !== undefined) startedAs.set(event.callId, event.startedAs)
  }
  const steps = events.flatMap((event) => (event.type === 'step-end' ? [event.messages] : []))
  return steps.flat().flatMap((message) => {
    const calls = message.role === 'assistant' ? callsOf(message) : []
    const keyed = calls.flatMap(({ id, name }) => {
      const execution = latest.get(startedAs.get(id) ?? id)
      return execution && name !== 'odd' && KEYED.has(name) ? [{ ...execution, joined: startedAs.has(id) }] : []
    })
    return keyed.flatMap((later, index) => {
      // An existing effect is not made again, whatever now comes before it.
      if (later.joined && !isLight(later.effect)) return []
      const before = keyed.slice(0, index).filter(({ effect }) => effect !== 'read' || later.effect !== 'read')
      // A finished call that has only read through its own calls is not made again after a read.
      const hasOnlyRead = ({ effect, started }: Execution) =>
        later.joined && later.effect === 'calls' && effect === 'read' && later.ended < started
      const meeting = before.filter((earlier) => nOf(earlier) === nOf(later) && !hasOnlyRead(earlier))
      const late = meeting.filter(({ ended }) => ended > later.started)
      return late.map((earlier) => `${later.callId} before ${earlier.callId}`)
    })
  })
}

function nOf({ input }: Execution): unknown {
  return typeof input === 'object' && input !== null && 'n' in input ? input.n : undefined
}

/** Savings are valid JSON, add up, and contain every call that has a result. */
function checkSavings({ result }: Trial): void {
  if (!result) return
  const { savings } = result
  expect(JSON.parse(JSON.stringify(savings))).toEqual(savings)
  const steps = savings?.steps ?? []
  const calls = steps.flatMap(({ calls }) => calls)
  const results = result.messages.flatMap((message) => (message.role === 'tool' ? message.callId : []))
  expect(calls.flatMap(({ outcome, callId }) => (outcome === 'discarded' ? [] : callId))).toEqual(results)
  expect(calls.filter(({ durationMs, waitedMs = 0 }) => durationMs < waitedMs)).toEqual([])
  const early = ({ calls }: (typeof steps)[number]) => calls.some(({ evidence }) => evidence)
  expect(steps.filter((step) => !early(step) && step.savedMs !== 0)).toEqual([])
  expect(savings?.savedMs).toBeCloseTo(
    steps.reduce((sum, { savedMs }) => sum + savedMs, 0),
    2,
  )
}

/** Calls made by tools happen equally often, except for reads of discarded calls, and each only once. */
function compareInner(eager: Trial, waiting: Trial): void {
  const made = ({ inner }: Trial, effect: string) =>
    inner.flatMap((one) => (one.effect === effect ? [`${one.tool} ${one.n}`] : [])).sort()
  for (const effect of ['external', 'idempotent']) expect(made(eager, effect)).toEqual(made(waiting, effect))
  const reads = tally(made(eager, 'read'))
  const missing = [...tally(made(waiting, 'read'))].filter(([what, count]) => (reads.get(what) ?? 0) < count)
  expect(missing).toEqual([])
  for (const { inner } of [eager, waiting]) expect(inner).toHaveLength(new Set(inner.map(({ key }) => key)).size)
}

/** What must hold for the two runs of one scenario (`eager.md`, "What the rule means"). */
function compare(scenario: Scenario, eager: Trial, waiting: Trial): void {
  const told = accounts(eager.events)
  const toldWaiting = accounts(waiting.events)
  checkSavings(eager)
  for (const trial of [eager, waiting]) {
    expect(trial.mostAtOnce).toBeLessThanOrEqual(scenario.toolConcurrency)
    expect(trial.mostOfOne).toBeLessThanOrEqual(scenario.innerConcurrency)
    expect(trial.mostNarrow).toBeLessThanOrEqual(1)
    expect(trial.clashes).toBe(0)
    if (!scenario.edits) expect(outOfOrder(trial)).toEqual([])
  }
  expect([eager.timersLeft, waiting.timersLeft]).toEqual([0, 0])
  expect(unhandled.splice(0)).toEqual([])

  expect(told.others).toEqual(toldWaiting.others)
  expect(eager.executions).toHaveLength(new Set(eager.executions.map(({ key }) => key)).size)
  if (waiting.error instanceof Fatal) {
    // How far other calls had come is a matter of timing, and so is which of them had a slot or a key; all others were
    // entered.
    expect(eager.error).toBeInstanceOf(Fatal)
    const entered = (trial: Trial) => externals(trial).filter((what) => !what.startsWith('wire'))
    if (scenario.toolConcurrency === Number.POSITIVE_INFINITY) expect(entered(eager)).toEqual(entered(waiting))
    return
  }
  expect(externals(eager)).toEqual(externals(waiting))
  compareInner(eager, waiting)
  expect(outcome(eager)).toEqual(outcome(waiting))
  expect(told.calls).toEqual(toldWaiting.calls)

  const times = executed(eager)
  const usual = executed(waiting)
  const discarded = tally(told.discarded.map(({ step, name, input }) => started(step, name, input)))
  const usuallyBegun = begun(waiting)
  const allowed = most(eager, scenario.toolConcurrency === 1)
  const missing = [...usual].filter(([what, count]) => (times.get(what) ?? 0) < count)
  const unexplained = [...begun(eager)].filter(
    ([what, count]) => count - (usuallyBegun.get(what) ?? 0) > (discarded.get(what) ?? 0),
  )
  // No logical call runs twice: a retry's equal call joins. No model event contains the calls that afterModel adds.
  const twice = scenario.edits ? [] : [...times].filter(([what, count]) => count > (allowed.get(what) ?? 0))
  expect({ missing, unexplained, twice }).toEqual({ missing: [], unexplained: [], twice: [] })

  // Only for these the key may differ, because an equal one changed its input or was not joined.
  const keys = ({ executions }: Trial) => executions.flatMap(({ effect, key }) => (isLight(effect) ? [] : [key]))
  expect(keys(eager)).toEqual(expect.arrayContaining(keys(waiting)))

  const moved = eager.executions.filter(({ tool, succeeded }) => tool === 'move' && succeeded)
  const kept = waiting.executions.filter(({ tool, succeeded }) => tool === 'move' && succeeded)
  expect(eager.undone).toHaveLength(moved.length - kept.length)
  expect(waiting.undone).toEqual([])
}

test('eager may change when a tool runs, never whether, how often, or with what (P5, H16, H1, H8, H15, H18, H19, H21, H22, H23, H25, H34, Q1, Q2, Q4, Q8, Q9, Q10)', async () => {
  await fc.assert(
    fc.asyncProperty(scenarios, async (scenario) => {
      compare(scenario, await trial(scenario, true, clock), await trial(scenario, false, clock))
    }),
    propertyRuns({ small: 15, middle: 22, whole: 100_000 }),
  )
})
