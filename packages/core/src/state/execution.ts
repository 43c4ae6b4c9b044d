/** The handle of an execution of a tool's function. It is kept until the span of the execution ends. */

import type { ExecutionFacts } from '../telemetry/around.ts'
import type { Wait } from './rest.ts'

export interface Execution extends ExecutionFacts {
  /** How many runs of agents it has begun. */
  agents?: number
  /** The inner calls of its function. */
  readonly children: { abort(reason: unknown, grace: number): void }[]
  wait?: Wait
}
