/** Which eager run the SDK is executing: it calls agents, models and tools in the async context of their run. */

import { AsyncLocalStorage } from 'node:async_hooks'
import type { AgentRun } from './agent-run.ts'

const runs = new AsyncLocalStorage<AgentRun>()

/** Everything that `work` calls belongs to this run. */
export function within<Result>(run: AgentRun, work: () => Result): Result {
  return runs.run(run, work)
}

/** The eager run that calls this, perhaps from inside a tool. */
export function currentRun(): AgentRun | undefined {
  return runs.getStore()
}

/** The eager run that calls this, if this is its context. A run inside a tool may have the same one. */
export function runOf(context: unknown): AgentRun | undefined {
  const run = runs.getStore()
  return run?.options.context === context ? run : undefined
}
