/** One run of an eager runner: its turns, and what they have in common. */

import type { Agent, AgentOutputType, InputGuardrail, RunConfig, RunContext, RunState, Tool } from '@openai/agents'
import { type Declared, unknownTool } from '../host/declared.ts'
import type { EagerLoop, HostRun } from '../host/eager-loop.ts'
import { unknownNames } from '../host/settings.ts'
import { earlyTools } from './early-tools.ts'
import { Turn } from './turn.ts'

/** What is read of an agent, whatever its context and its output are. */
export type AnyAgent = Pick<
  Agent<unknown, AgentOutputType>,
  'model' | 'tools' | 'inputGuardrails' | 'handoffs' | 'mcpServers'
>
type AnyState = Pick<RunState<unknown, Agent<unknown, AgentOutputType>>, 'pendingInput'>

/** The result of a run that streams. */
interface StreamedResult {
  readonly state: AnyState
  readonly completed: Promise<void>
}

export interface AgentRunOptions {
  readonly loop: EagerLoop
  readonly declared: Declared
  readonly config: RunConfig
  readonly context: RunContext<unknown>
  /** Of a run that is resumed. */
  readonly state: AnyState | undefined
  readonly isStreamed: boolean
  readonly toolConcurrency: number | undefined
}

/** A run is known by its context, which the SDK hands to the tools of each turn. */
const runs: WeakMap<object, AgentRun> = new WeakMap()

export function runOf(context: object): AgentRun | undefined {
  return runs.get(context)
}

export class AgentRun {
  readonly options: AgentRunOptions
  readonly host: HostRun
  /** Ids of calls that earlier responses have requested: the SDK makes no call with such an id again. */
  readonly seen: Set<string> = new Set()
  #state: AnyState | undefined
  #turns = 0
  #turn: Turn | undefined

  constructor(options: AgentRunOptions) {
    const { context, state, loop } = options
    this.options = options
    this.host = loop.run()
    this.#state = state
    runs.set(context, this)
  }

  /** A turn begins, with these tools. */
  async turn(agent: AnyAgent, tools: readonly Tool[]): Promise<Tool[]> {
    void this.#turn?.release()
    this.#turn = undefined
    const isFirst = this.#turns++ === 0
    if (isFirst) this.#nameUnknown(agent, tools)
    if (this.#mayBeRefused(agent, isFirst)) return [...tools]
    const { declared, context, loop } = this.options
    const early = await earlyTools(tools, { declared, own: agent.tools, context, loop })
    this.#turn = new Turn({ run: this, agent, tools, early })
    return this.#turn.tools
  }

  /** Its result streams: it is over when the stream is. */
  async streams(result: StreamedResult): Promise<void> {
    this.#state = result.state
    try {
      await result.completed
    } catch {
      // Whoever awaits the run is told.
    }
    this.over()
  }

  over(): void {
    void this.#turn?.release()
  }

  /** Guardrails that run beside the model may still refuse what it was asked. */
  #mayBeRefused(agent: AnyAgent, isFirst: boolean): boolean {
    const guardrails: readonly Pick<InputGuardrail, 'runInParallel'>[] = [
      ...(this.options.config.inputGuardrails ?? []),
      ...agent.inputGuardrails,
    ]
    const isGuarded = guardrails.some(({ runInParallel }) => runInParallel !== false)
    return isGuarded && (isFirst || (this.#state?.pendingInput.length ?? 0) > 0)
  }

  /** Tools are only known in a turn. Those of an MCP server that another agent has are never known here. */
  #nameUnknown(agent: AnyAgent, tools: readonly Tool[]): void {
    const agents = reachable(agent)
    if ([...agents].some((other) => other !== agent && other.mcpServers.length > 0)) return
    const names = [tools, ...[...agents].map((one) => one.tools)].flat().map(({ name }) => name)
    const { declared, loop } = this.options
    for (const name of declared.keys())
      if (!names.includes(name)) loop.warnOnce('unknown-tool', `effects.${name} ${unknownTool(name, names)}`)
    for (const [setting, reason] of unknownNames(loop.settings, names))
      loop.warnOnce('unknown-tool', `${setting}: ${reason}`)
  }
}

/** An agent and all to which it may hand over. */
function reachable(agent: AnyAgent, found: Set<AnyAgent> = new Set()): Set<AnyAgent> {
  if (found.has(agent)) return found
  found.add(agent)
  for (const handoff of agent.handoffs) reachable('agent' in handoff ? handoff.agent : handoff, found)
  return found
}
