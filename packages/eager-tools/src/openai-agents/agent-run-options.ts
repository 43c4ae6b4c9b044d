/** What a run of an eager runner and its turns know from the beginning. */

import type { Agent, AgentOutputType, RunConfig, RunContext, RunState } from '@openai/agents'
import type { Declared } from '../host/declared.ts'
import type { EagerLoop } from '../host/eager-loop.ts'

/** The members of an agent that are read, whatever the types of its context and its output. */
export type AnyAgent = Pick<
  Agent<unknown, AgentOutputType>,
  'model' | 'tools' | 'inputGuardrails' | 'handoffs' | 'mcpServers'
>
/** The members of the state of a run that are read. */
export type AnyState = Pick<
  RunState<unknown, Agent<unknown, AgentOutputType>>,
  'pendingInput' | 'history' | '_currentAgentSpan'
>

export interface AgentRunOptions {
  readonly loop: EagerLoop
  readonly declared: Declared
  readonly config: RunConfig
  readonly context: RunContext<unknown>
  /** Only for a resumed run. */
  readonly state: AnyState | undefined
  /** Whether the conversation begins with this run, so that the agents it can reach are all agents there are. */
  readonly isFirst: boolean
  readonly isStreamed: boolean
  readonly toolConcurrency: number | undefined
}
