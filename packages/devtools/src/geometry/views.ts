/** Where the calls of a run are, and where they would be if they had started at other times. */

import { schedule } from '@meanwhile/eager-tools/makespan'
import type { Call, Run, Step } from '../model/run.ts'
import { counts, isEarly, type StepTimes, timesOf, workOf } from './times.ts'

/**
 * `was`: as it was. `after`: all calls after the stream. `serial`: after the stream, one by one. `bound`: each at the first time that its
 * effect allows; without early tools, each at the first token.
 */
export type View = 'was' | 'after' | 'serial' | 'bound'

export interface PlacedStep {
  readonly step: Step
  /** As it was. */
  readonly times: StepTimes
  /** How much later the step is than it was. */
  readonly shift: number
  /** When its calls start in the view, in the order of `step.calls`. */
  readonly starts: readonly number[]
  /** When it ends in the view. */
  readonly end: number
}

export interface Layout {
  readonly steps: readonly PlacedStep[]
  /** When the run ends in the view. */
  readonly end: number
  /** How much longer the run takes than it did; negative if it takes less. */
  readonly difference: number
}

/** Each step keeps its length and the pause before it. What differs is when its calls run, and so when the next step begins. */
export function layoutOf(run: Run, view: View, now: number): Layout {
  // Of a run that has ended each view is computed once: zooming asks for it with each frame.
  if (run.end === undefined || run.state === 'running') return computeLayout(run, view, now)
  const views = LAYOUTS.get(run) ?? new Map<View, Layout>()
  LAYOUTS.set(run, views)
  const layout = views.get(view) ?? computeLayout(run, view, run.end)
  views.set(view, layout)
  return layout
}

const LAYOUTS = new WeakMap<Run, Map<View, Layout>>()

function computeLayout(run: Run, view: View, now: number): Layout {
  const moved = run.steps.map((step) => {
    const times = timesOf(step, now)
    return { step, times, ...movedTo(view, step, times, run, now) }
  })
  const computed = moved.map(({ step, times, end }) => {
    const grows = view !== 'after' || step.calls.some((call) => isEarly(call, times, run.dialect))
    return view !== 'was' && step.calls.length > 0 && grows ? end - times.end : 0
  })
  const differences = view === 'after' ? asMeasured(computed, run) : computed
  let shift = 0
  const steps = moved.map(({ step, times, starts }, index) => {
    const before = shift
    const difference = differences[index] ?? 0
    shift += difference
    const end = times.end + difference + before
    return { step, times, shift: before, starts: starts.map((start) => start + before), end }
  })
  return { steps, end: (run.end ?? now) + shift, difference: shift }
}

/**
 * What the run itself measured is more exact than the times of its spans. If it told only the sum, the step that saved most gets the
 * rest.
 */
function asMeasured(computed: readonly number[], { savedBySteps, saved }: Run): readonly number[] {
  if (savedBySteps?.length === computed.length) return savedBySteps
  if (saved === undefined) return computed
  const most = computed.indexOf(Math.max(...computed))
  const rest = saved - computed.reduce((sum, one) => sum + one, 0)
  return computed.map((one, index) => (index === most && one !== 0 ? one + rest : one))
}

interface Moved {
  readonly starts: readonly number[]
  readonly end: number
}

function movedTo(view: View, step: Step, times: StepTimes, run: Run, now: number): Moved {
  if (view === 'was') return { starts: step.calls.map(({ start }) => start), end: times.end }
  if (view === 'bound') return earliest(step, times, run, now)
  return afterStream(step, times, view === 'serial' ? 1 : (run.slots ?? Number.POSITIVE_INFINITY), now)
}

function afterStream({ calls }: Step, { stood }: StepTimes, slots: number, now: number): Moved {
  const asked = calls.filter(counts).sort((a, b) => (a.closed ?? a.start) - (b.closed ?? b.start))
  const { starts, end } = schedule(
    asked.map((call) => ({ ms: workOf(call, now) })),
    Math.max(1, slots),
  )
  const at = new Map(asked.map((call, index) => [call, stood + (starts[index] ?? 0)]))
  return { starts: calls.map((call) => at.get(call) ?? call.start), end: stood + end }
}

function earliest({ calls, responses }: Step, times: StepTimes, { early }: Run, now: number): Moved {
  const first = responses.at(-1)?.first
  const starts = calls.map((call) => {
    if (!counts(call)) return call.start
    if (!early) return Math.min(call.start, first ?? call.start)
    const { stood } = times
    const allowed = mayStartEarly(call) ? (call.closed ?? call.start) : Math.max(stood, call.closed ?? stood)
    return Math.min(call.start, allowed)
  })
  const ends = calls.map((call, index) => (counts(call) ? (starts[index] ?? call.start) + workOf(call, now) : 0))
  return { starts, end: ends.reduce((a, b) => Math.max(a, b), times.stood) }
}

const EARLY: ReadonlySet<string | undefined> = new Set(['read', 'idempotent', 'reversible', 'calls'])

/** Whether the effect of a call lets it start while the response runs, and nothing else kept it. */
function mayStartEarly({ early, effect, deferral }: Call): boolean {
  return early || (EARLY.has(effect) && (deferral === undefined || deferral === 'effect'))
}

/**
 * What early tools could save at most in a run that has none: no call can be complete before the first token. `undefined` if the trace
 * does not say when that came.
 */
export function mostSaved(run: Run, now: number): number | undefined {
  if (run.early) return undefined
  const asked = run.steps.filter(({ calls }) => calls.length > 0)
  if (asked.length === 0 || asked.some(({ responses }) => responses.at(-1)?.first === undefined)) return undefined
  return Math.max(0, -layoutOf(run, 'bound', now).difference)
}
