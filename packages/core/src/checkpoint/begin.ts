/** Stores the first checkpoint of a run without running anything, so that another process can continue it. */

import { RunState, type RunWork } from '../state/run.ts'
import { traceIn } from '../telemetry/around.ts'
import type { AgentConfig } from '../vocabulary/agent-config.ts'
import { inputMessages } from '../vocabulary/history.ts'
import { checkOptions } from '../vocabulary/option-checks.ts'
import { checkRunOptions, type RunInput, type RunOptions } from '../vocabulary/run-options.ts'
import type { Checkpoint } from '../vocabulary/saved-run.ts'
import { checkpointOf } from './take.ts'

/** The options of `agent.begin`. */
export type BeginOptions = Pick<RunOptions, 'id' | 'checkpoints'>

/** Implements `Agent.begin`. */
export async function beginRun(
  work: RunWork,
  config: AgentConfig,
  input: RunInput,
  options: BeginOptions = {},
): Promise<Checkpoint> {
  checkOptions('begin', options, { id: 'runId', checkpoints: 'checkpointer' })
  checkRunOptions(options, false)
  const { id = crypto.randomUUID(), checkpoints = config.checkpoints } = options
  const run = new RunState(config, { work, id, checkpoints, show: () => {} })
  run.history.begin({ messages: inputMessages(input) })
  // The first span of the run links to the request that began it.
  const taken = () => checkpointOf(run, 'running', { trace: traceIn(run.context) })
  await run.saver.put(taken()).finally(() => run.halt.close())
  return taken()
}
