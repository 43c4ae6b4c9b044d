/** Runs that tests write by hand, or draw. */

import fc from 'fast-check'
import type { Call, Dialect, Response, Run, Step } from '../src/model/run.ts'

export interface StepParts {
  readonly responses: readonly (Partial<Response> & { readonly start: number })[]
  readonly calls: readonly (Partial<Call> & { readonly start: number })[]
}

export function runWith(first: StepParts, dialect: Dialect = 'meanwhile', ...more: readonly StepParts[]): Run {
  const steps = [first, ...more].map(stepWith)
  const parts = steps.flatMap((step) => [...step.responses, ...step.calls])
  const isOpen = parts.some(({ end }) => end === undefined)
  return {
    key: 'a-b',
    dialect,
    early: dialect === 'meanwhile' || steps.some(({ calls }) => calls.some(({ early }) => early)),
    service: 'test',
    state: isOpen ? 'running' : 'completed',
    start: Math.min(...parts.map(({ start }) => start)),
    ...(!isOpen && { end: Math.max(...parts.map(({ end = 0 }) => end)) }),
    steps,
    inner: [],
    usage: {},
    calls: steps.reduce((sum, { calls }) => sum + calls.length, 0),
    errors: 0,
    hasContent: false,
    impossible: 0,
    synthetic: false,
  }
}

function stepWith({ responses, calls }: StepParts, before: number): Step {
  const index = before + 1
  return {
    index,
    responses: responses.map((response, n) => ({
      spanId: `${index}-${n}`,
      attempt: n + 1,
      state: response.end === undefined ? 'running' : 'completed',
      usage: {},
      ...response,
    })),
    calls: calls.map((call, n) => ({
      key: `${index}-c${n}`,
      id: `c${n}`,
      tool: `tool${n}`,
      executions: [
        { spanId: `${index}-s${n}`, attempt: 1, start: call.start, ...(call.end !== undefined && { end: call.end }) },
      ],
      waits: [],
      early: false,
      fate: call.end === undefined ? 'running' : 'committed',
      undone: false,
      inner: [],
      ...call,
    })),
  }
}

export interface DrawnRun {
  readonly run: Run
}

const ms = fc.integer({ min: 0, max: 500 })
const drawnCall = fc.record({
  after: ms,
  takes: fc.option(ms, { nil: undefined }),
  early: fc.boolean(),
  effect: fc.constantFrom('read', 'reversible', 'external', undefined),
  deferral: fc.constantFrom('effect', 'conflict', undefined),
  fate: fc.constantFrom('committed', 'discarded', 'failed'),
})
const drawnStep = fc.record({
  pause: fc.constantFrom(0, 20, 30_000),
  first: fc.option(ms, { nil: undefined }),
  takes: fc.option(ms, { nil: undefined, freq: 10 }),
  calls: fc.array(drawnCall, { maxLength: 20 }),
})

/** Runs with early and late calls, calls that still run, retries of nothing, and long pauses. */
export const drawnRun: fc.Arbitrary<DrawnRun> = fc
  .record({
    steps: fc.array(drawnStep, { minLength: 1, maxLength: 20 }),
    dialect: fc.constantFrom<Dialect>('meanwhile', 'gen_ai'),
  })
  .map(({ steps, dialect }) => {
    let at = 1_000
    const [first, ...more] = steps.map(({ pause, first, takes, calls }): StepParts => {
      const start = at + pause
      const end = takes === undefined ? undefined : start + takes
      const made = calls.map(({ after, takes: lasts, fate, effect, deferral, early }) => ({
        start: (early ? start : (end ?? start)) + after,
        early,
        ...(lasts !== undefined && {
          end: (early ? start : (end ?? start)) + after + lasts,
          fate: fate as 'committed',
        }),
        ...(effect !== undefined && { effect }),
        ...(deferral !== undefined && !early && { deferral }),
      }))
      at = Math.max(end ?? start, ...made.map((call) => call.end ?? call.start))
      const response = {
        start,
        ...(end !== undefined && { end }),
        ...(first !== undefined && { first: start + first }),
      }
      return { responses: [response], calls: made }
    })
    return { run: runWith(first ?? { responses: [{ start: 0 }], calls: [] }, dialect, ...more) }
  })
