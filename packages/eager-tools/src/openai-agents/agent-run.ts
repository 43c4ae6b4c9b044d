/** One run of an eager runner: its turns and their shared state. */

import type { AgentInputItem, InputGuardrail, Tool } from '@openai/agents'
import type { HostRun } from '../host/eager-loop.ts'
import type { AgentRunOptions, AnyAgent, AnyState } from './agent-run-options.ts'
import { earlyTools, loadInternals } from './early-tools.ts'
import { PreparedInputs } from './prepared-inputs.ts'
import { Turn } from './turn.ts'
import { warnOfNames } from './warn-of-names.ts'

/** The result of a streamed run. */
interface StreamedResult {
  readonly state: AnyState
  readonly completed: Promise<void>
}

export class AgentRun {
  readonly options: AgentRunOptions
  readonly #host: HostRun
  readonly #seen: Set<string>
  #state: AnyState | undefined
  #turns = 0
  #turn: Turn | undefined
  /** That of the agent whose turns these are. Each agent of a run has its own. */
  #span: unknown
  /** The agent that the run has been handed off to. */
  #next: unknown
  #asksUnlinked = false

  constructor(options: AgentRunOptions) {
    const { state, loop } = options
    this.options = options
    this.#host = loop.run()
    this.#state = state
    this.#seen = new Set(callIdsOf(state?.history ?? []))
  }

  /**
   * A turn begins with these tools. `undefined` if it is a turn of another run with the same context, inside a tool.
   * `span`: that of the agent.
   */
  async turn(agent: AnyAgent, tools: readonly Tool[], span: unknown): Promise<Tool[] | undefined> {
    if (!this.#isMine(agent, span)) return undefined
    void this.#turn?.release()
    this.#turn = undefined
    this.#asksUnlinked = false
    const isFirst = this.#turns++ === 0
    const { declared, context, loop, isFirst: isWhole } = this.options
    if (isFirst && isWhole) warnOfNames({ agent, tools, declared, loop })
    if (this.#mayBeRefused(agent, isFirst)) return undefined
    const early = await earlyTools(tools, { declared, own: agent.tools, context, loop })
    const inputs = new PreparedInputs(await loadInternals())
    const [run, host, seen] = [this.options, this.#host, this.#seen]
    this.#turn = new Turn({ run, host, seen, agent, tools, early, inputs, unlinked: () => this.#unlinked() })
    return this.#turn.tools
  }

  /** The run continues with another agent. */
  handsOff(next: unknown): void {
    this.#next = next
  }

  /** A model gets a request that belongs to no turn with early tools. */
  asksUnlinked(): void {
    this.#asksUnlinked = true
  }

  /** The SDK executes a call although no request of its turn was seen. */
  #unlinked(): void {
    this.options.loop.unlinked(
      this.#asksUnlinked
        ? 'a model gets copies of the tools of its request'
        : 'the model could not be observed: its object is frozen, or it has been exchanged during the run',
    )
  }

  /** Waits for a streamed result; the run is over when its stream is. */
  async streams(result: StreamedResult): Promise<void> {
    this.#state = result.state
    try {
      await result.completed
      this.over()
    } catch (error) {
      // The caller of the run gets the error.
      this.failed(error)
    }
  }

  over(): void {
    void this.#turn?.release()
  }

  failed(error: unknown): void {
    void this.#turn?.fail(error)
  }

  #isMine(agent: AnyAgent, span: unknown): boolean {
    if (span === undefined) return false
    if (span === this.#span) return true
    if (this.#span !== undefined && agent !== this.#next) return false
    if (this.options.state && this.options.state._currentAgentSpan !== span) return false
    this.#span = span
    this.#next = undefined
    return true
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
}

function callIdsOf(items: readonly AgentInputItem[]): readonly string[] {
  return items.flatMap((item) => (item.type === 'function_call' ? [item.callId] : []))
}
