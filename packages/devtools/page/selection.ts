/** What can be selected: responses and calls, in the timeline, the table and the transcript alike. */

import type { Call, Response, Run } from '../src/model/run.ts'

export const barOfResponse = ({ spanId }: Response): string => `r-${spanId}`
export const barOfCall = ({ key }: Call): string => `c-${key}`

/** All bars of a run, in the order in which they are drawn. */
export function barsOf(run: Run): string[] {
  const own = run.steps.flatMap(({ responses, calls }) => [
    ...responses.map(barOfResponse),
    ...calls.flatMap((call) => [barOfCall(call), ...call.inner.flatMap(barsOf)]),
  ])
  return [...own, ...run.inner.flatMap(barsOf)]
}

/** The bars of responses and calls with an error. */
export function errorsOf(run: Run): string[] {
  return run.steps.flatMap(({ responses, calls }) => [
    ...responses.filter(({ state }) => state === 'failed').map(barOfResponse),
    ...calls.filter(({ executions }) => executions.some(({ error }) => error !== undefined)).map(barOfCall),
  ])
}
