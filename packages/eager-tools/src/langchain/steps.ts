/**
 * Finds the step of the agent's loop that a model request or a tool call belongs to. LangChain does not pass it on, so
 * objects are compared by identity.
 */

import { AIMessage } from '@langchain/core/messages'
import type { EagerLoop, HostRun } from '../host/eager-loop.ts'
import type { HostCalls } from '../host/host-calls.ts'
import { isObject, type NodeConfig } from './library.ts'

export interface Step {
  readonly run: HostRun
  readonly calls: HostCalls
  /** The id of the accepted message. */
  answerId?: string | undefined
}

export class Steps {
  readonly #loop: EagerLoop
  /**
   * By the model's message, and by each of its calls. The agent passes both on, and a middleware that replaces the
   * message usually keeps the calls. Ids cannot be used, because some providers repeat them.
   */
  readonly #answered: WeakMap<object, Step> = new WeakMap()
  /**
   * The last step of each run of a graph, and in it of each agent: a middleware may replace the message and its calls by
   * copies.
   */
  readonly #last: WeakMap<object, Map<string, Step>> = new WeakMap()
  /** By the config of the node: while the node is running, it may call the model again. */
  readonly #failed: WeakMap<object, Step> = new WeakMap()

  constructor(loop: EagerLoop) {
    this.#loop = loop
  }

  /** The step in which a node calls its model with these messages: a new one, or that of a request which has failed. */
  requested(node: NodeConfig, messages: unknown, begin: (run: HostRun) => HostCalls | undefined): Step | undefined {
    const before = this.of(messages, node)
    // Its tools have been executed.
    void before?.calls.release()
    const last = this.lastOf(node)
    // A middleware has dropped its response. What it has changed must be undone before this response can request it again.
    if (last?.calls.mayHaveChanged) void last.calls.release()
    const failed = this.#failed.get(node)
    if (failed?.calls.again()) return failed
    const run = failed?.run ?? before?.run ?? last?.run ?? this.#loop.run()
    const calls = begin(run)
    return calls && { run, calls }
  }

  answered(step: Step, message: unknown, { control, ...node }: NodeConfig): void {
    if (!isObject(message)) return
    step.answerId = AIMessage.isInstance(message) ? message.id : undefined
    if (control) {
      const last = this.#last.get(control) ?? new Map<string, Step>()
      this.#last.set(control, last.set(agentOf(node), step))
    }
    this.#answered.set(message, step)
    for (const call of callsOf(message)) this.#answered.set(call, step)
  }

  failed(step: Step, node: object): void {
    step.calls.failed()
    this.#failed.set(node, step)
  }

  /** The last step of the agent that a node belongs to, in the same run. */
  lastOf({ control, ...node }: NodeConfig): Step | undefined {
    return control && this.#last.get(control)?.get(agentOf(node))
  }

  /** The step of the last message among these that a model has written. A copy of that message has the same id. */
  of(messages: unknown, node: NodeConfig): Step | undefined {
    const answer = lastAnswer(messages)
    if (!answer) return undefined
    const [call] = callsOf(answer)
    const step = this.#answered.get(answer) ?? (call && this.#answered.get(call))
    if (step) return step
    const last = this.lastOf(node)
    return answer.id !== undefined && answer.id === last?.answerId ? last : undefined
  }
}

/** Identifies an agent within a run: a graph may contain several. */
function agentOf({ metadata }: NodeConfig): string {
  const task: unknown = metadata?.langgraph_checkpoint_ns
  return typeof task === 'string' ? task.slice(0, task.lastIndexOf('|') + 1) : ''
}

export function callsOf(message: unknown): NonNullable<AIMessage['tool_calls']> {
  return AIMessage.isInstance(message) ? (message.tool_calls ?? []) : []
}

export function lastAnswer(messages: unknown): AIMessage | undefined {
  if (!Array.isArray(messages)) return undefined
  return messages.findLast((message) => AIMessage.isInstance(message))
}
