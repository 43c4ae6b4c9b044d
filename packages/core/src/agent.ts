/** An agent: immutable, and able to run many times at once. */

import { type AgentRun, type RunInput, type RunOptions, startRun } from './agent-run.ts'
import { type AgentOptions, configOf } from './config.ts'
import type { AgentResult } from './events.ts'

export interface Agent {
  readonly name: string | undefined
  /** Runs to the end and gives the result: what `stream(input).result` gives, keeping no events (B14). */
  run(input: RunInput, options?: RunOptions): Promise<AgentResult>
  /** Starts a run and gives it at once. */
  stream(input: RunInput, options?: RunOptions): AgentRun
}

/** Makes an agent. Throws {@link ConfigError} naming the option that cannot work (A2). */
export function createAgent(options: AgentOptions): Agent {
  const config = configOf(options)
  return Object.freeze({
    name: config.name,
    run: (input: RunInput, options: RunOptions = {}) => startRun(config, input, options, 'dropped').result,
    stream: (input: RunInput, options: RunOptions = {}) => startRun(config, input, options, 'kept'),
  })
}
