/** An agent: immutable, and able to run many times at once. */

import { type AgentRun, type RunInput, type RunOptions, startRun } from './agent-run.ts'
import { type AgentOptions, configOf } from './config.ts'
import type { AgentResult } from './events.ts'

/** `Output`: what its `output` schema gives back. */
export interface Agent<Output = unknown> {
  readonly name: string | undefined
  /** Runs to the end and gives the result: what `stream(input).result` gives, keeping no events (B14). */
  run(input: RunInput, options?: RunOptions): Promise<AgentResult<Output>>
  /** Starts a run and gives it at once. */
  stream(input: RunInput, options?: RunOptions): AgentRun<Output>
}

/** Makes an agent. Throws {@link ConfigError} naming the option that cannot work (A2). */
export function createAgent<Output = unknown>(options: AgentOptions<Output>): Agent<Output> {
  const config = configOf(options)
  // The gate has checked the output of every result.
  const start = startRun as StartRun<Output>
  return Object.freeze({
    name: config.name,
    run: (input: RunInput, options: RunOptions = {}) => start(config, input, options, 'dropped').result,
    stream: (input: RunInput, options: RunOptions = {}) => start(config, input, options, 'kept'),
  })
}

type StartRun<Output> = (...options: Parameters<typeof startRun>) => AgentRun<Output>
