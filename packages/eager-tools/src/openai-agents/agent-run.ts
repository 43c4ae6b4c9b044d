/** One run of an eager runner: its turns and their shared state. */

import type { Agent, AgentOutputType, InputGuardrail, RunConfig, RunContext, RunState, Tool } from '@openai/agents'
import { type Declared, unknownTool } from '../host/declared.ts'
import type { EagerLoop, HostRun } from '../host/eager-loop.ts'
import { unknownNames } from '../host/settings.ts'
import { earlyTools, loadInternals } from './early-tools.ts'
import { PreparedInputs } from './prepared-inputs.ts'
import { Turn } from './turn.ts'

/** The members of an agent that are read, whatever the types of its context and its output. */
export type AnyAgent = Pick<
  Agent<unknown, AgentOutputType>,
  'model' | 'tools' | 'inputGuardrails' | 'handoffs' | 'mcpServers'
>
type AnyState = Pick<RunState<unknown, Agent<unknown, AgentOutputType>>, 'pendingInput'>

/** The result of a streamed run. */
interface StreamedResult {
  readonly state: AnyState
  readonly completed: Promise<void>
}

export interface AgentRunOptions {
  readonly loop: EagerLoop
  readonly declared: Declared
  readonly config: RunConfig
  readonly context: RunContext<unknown>
  /** Only for a resumed run. */
  readonly state: AnyState | undefined
  readonly isStreamed: boolean
  readonly toolConcurrency: number | undefined
}

/** A run is found by its context, which the SDK passes to the tools of each turn. */
const runs: WeakMap<object, AgentRun> = new WeakMap()

export function runOf(context: object): AgentRun | undefined {
  return runs.get(context)
}

export class AgentRun {
  readonly options: AgentRunOptions
  readonly host: HostRun
  /** Ids of calls that earlier responses have requested. The SDK never executes a second call with the same id. */
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

  /** A turn begins with these tools. */
  async turn(agent: AnyAgent, tools: readonly Tool[]): Promise<Tool[]> {
    void this.#turn?.release()
    this.#turn = undefined
    const isFirst = this.#turns++ === 0
    if (isFirst) this.#nameUnknown(agent, tools)
    if (this.#mayBeRefused(agent, isFirst)) return [...tools]
    const { declared, context, loop } = this.options
    const early = await earlyTools(tools, { declared, own: agent.tools, context, loop })
    const inputs = new PreparedInputs(await loadInternals())
    this.#turn = new Turn({ run: this, agent, tools, early, inputs })
    return this.#turn.tools
  }

  /** Waits for a streamed result; the run is over when its stream is. */
  async streams(result: StreamedResult): Promise<void> {
    this.#state = result.state
    try {
      await result.completed
    } catch {
      // The caller of the run gets the error.
    }
    this.over()
  }

  over(): void {
    void this.#turn?.release()
  }

  /** Guardrails that run in parallel with the model may still reject the input. */
  #mayBeRefused(agent: AnyAgent, isFirst: boolean): boolean {
    const guardrails: readonly Pick<InputGuardrail, 'runInParallel'>[] = [
      ...(this.options.config.inputGuardrails ?? []),
      ...agent.inputGuardrails,
    ]
    const isGuarded = guardrails.some(({ runInParallel }) => runInParallel !== false)
    return isGuarded && (isFirst || (this.#state?.pendingInput.length ?? 0) > 0)
  }

  /**
   * Warns about unknown names in the first turn, because tools are known only then. Tools of an MCP server of another
   * agent cannot be known.
   */
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

/** An agent and all agents it can hand off to. */
function reachable(agent: AnyAgent, found: Set<AnyAgent> = new Set()): Set<AnyAgent> {
  if (found.has(agent)) return found
  found.add(agent)
  for (const handoff of agent.handoffs) reachable('agent' in handoff ? handoff.agent : handoff, found)
  return found
}
