/** The agent's tools, which join calls that have started early. */

import type { EagerLoop } from '../host/eager-loop.ts'
import type { HostCalls } from '../host/host-calls.ts'
import type { TakenCall } from '../host/host-requests.ts'
import { lastAnswer } from './answers.ts'
import { withId } from './call-id.ts'
import { HeldCallbacks } from './held-callbacks.ts'
import { type AgentTool, type AskedCall, isAgentTool, isAskedCall, type NodeConfig } from './library.ts'
import { over } from './over.ts'
import type { Steps } from './steps.ts'

/** Only tools of {@link JoiningTools} have this member. */
const JOINS = Symbol('joins')

export class JoiningTools {
  readonly #loop: EagerLoop
  readonly #steps: Steps
  readonly #made = new WeakMap<AgentTool, AgentTool>()
  /**
   * Tools of which an early call was used. Any other is one that perhaps always declines, so its callbacks are not
   * reported before its call has ended.
   */
  readonly #proven = new WeakSet<AgentTool>()
  /** Called if a message requests a tool but belongs to no known step. It may come from an earlier process. */
  readonly #unlinked: (answer: object | undefined, config: NodeConfig) => void

  constructor(loop: EagerLoop, steps: Steps, unlinked: (answer: object | undefined, config: NodeConfig) => void) {
    this.#loop = loop
    this.#steps = steps
    this.#unlinked = unlinked
  }

  /** The same tool always gives the same joining tool. */
  of(tool: AgentTool): AgentTool {
    const made = this.#made.get(tool) ?? this.#joining(tool)
    this.#made.set(tool, made)
    return made
  }

  /** The tool that a joining tool stands for; `undefined` for any other tool. */
  behind(tool: unknown): AgentTool | undefined {
    if (!isAgentTool(tool)) return undefined
    const behind: unknown = Reflect.get(tool, JOINS)
    return isAgentTool(behind) && this.#made.has(behind) ? behind : undefined
  }

  #joining(tool: AgentTool): AgentTool {
    const joining: Partial<AgentTool> & { readonly [JOINS]: AgentTool } = {
      invoke: (input, config) => {
        const linked = isAskedCall(input) && config && this.#linked(input, tool.name, config)
        if (linked) return this.#joined(linked, tool, input, config)
        const clearing = isAskedCall(input) && this.#loop.cleared(input.id, tool.name, input.args, config?.signal)
        return clearing ? clearing.done.then(() => tool.invoke(input, config)) : tool.invoke(input, config)
      },
      [JOINS]: tool,
    }
    return over(tool, joining)
  }

  /** The calls of the response that requests this one. */
  #linked(asked: AskedCall, name: string, config: NodeConfig): Linked | undefined {
    const messages = config.state?.messages
    const step = this.#steps.of(messages, config)
    if (step) return { calls: step.calls, isSame: true }
    const paused = this.#steps.resumed(messages, config, { id: asked.id, tool: name })
    // The signal of a run that has ended says nothing about this one.
    if (paused) return { calls: paused.calls, isSame: !paused.signal?.aborted }
    this.#unlinked(lastAnswer(messages), config)
    const last = this.#steps.lastOf(config)
    return last && { calls: last.calls, isSame: false }
  }

  /** Returns the result of the equal early call, or calls the tool. */
  async #joined({ calls, isSame }: Linked, tool: AgentTool, asked: AskedCall, config: NodeConfig): Promise<unknown> {
    const call = [asked.id, tool.name, asked.args, config.signal] as const
    const taken = isSame ? calls.take(...call) : undefined
    const callbacks = taken && HeldCallbacks.of(taken.signal)
    callbacks?.ask({ config, id: asked.id }, this.#proven.has(tool))
    const early = taken && (await used(taken, asked.id, callbacks))
    if (early) {
      this.#proven.add(tool)
      return early.output
    }
    await calls.cleared(...call)?.done
    return tool.invoke(asked, config)
  }
}

interface Linked {
  readonly calls: HostCalls
  /** Whether these calls are certainly those of the message that the agent executes. */
  readonly isSame: boolean
}

/**
 * The result of an early call, once its callbacks have been reported; `undefined` if the agent must make the call itself.
 */
async function used(
  taken: TakenCall,
  id: string | undefined,
  callbacks: HeldCallbacks | undefined,
): Promise<{ readonly output: unknown } | undefined> {
  try {
    const output: unknown = await Promise.race([taken.result, taken.declined])
    const own = taken.isDeclined ? undefined : withId(output, id)
    if (own) await callbacks?.report()
    else {
      callbacks?.drop()
      taken.giveUp()
    }
    return own
  } catch (error) {
    if (taken.isDeclined) return undefined
    await callbacks?.report()
    throw error
  }
}
