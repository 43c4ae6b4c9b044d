/**
 * Finds the step of the agent's loop that a model request or a tool call belongs to. LangChain does not pass it on, so
 * objects are compared by identity.
 */

import { AIMessage } from '@langchain/core/messages'
import type { EagerLoop, HostRun } from '../host/eager-loop.ts'
import type { UnexecutedCall } from '../host/host-requests.ts'
import { callsOf, lastAnswer } from './answers.ts'
import { isObject, type NodeConfig } from './library.ts'
import { PreventedCalls } from './prevented-calls.ts'
import type { Step } from './step.ts'

/** How many steps are kept in case that their run is resumed, or their thread continued. */
const MOST_KEPT = 1_000

export class Steps {
  readonly #loop: EagerLoop
  readonly #prevented: PreventedCalls
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
  /** By the thread and the id of the message: a later run of the thread has other objects. */
  readonly #ofThreads: Map<string, Step> = new Map()

  constructor(loop: EagerLoop) {
    this.#loop = loop
    this.#prevented = new PreventedCalls(loop)
  }

  /** The step in which a node calls its model with these messages: a new one, or that of a request which has failed. */
  requested(
    node: NodeConfig,
    messages: unknown,
    begin: (run: HostRun) => Omit<Step, 'run'> | undefined,
  ): Step | undefined {
    const answer = lastAnswer(messages)
    const place = placeOf(node, answer?.id)
    const before = this.of(messages, node) ?? this.#ofThreads.get(place)
    if (before && answer) this.#prevented.checkAnswered(before, answer, messages)
    this.#ofThreads.delete(place)
    // Its tools have been executed.
    void before?.calls.release()
    const last = this.lastOf(node)
    // A middleware has dropped its response. What it has changed must be undone before this response can request it again.
    if (last?.calls.mayHaveChanged) void last.calls.release()
    const failed = this.#failed.get(node)
    if (failed?.calls.again()) return failed
    const run = failed?.run ?? before?.run ?? last?.run ?? this.#loop.run()
    const step = begin(run)
    return step && { run, ...step }
  }

  answered(step: Step, message: unknown, node: NodeConfig): void {
    if (!isObject(message)) return
    const { control } = node
    step.answerId = AIMessage.isInstance(message) ? message.id : undefined
    step.callIds = new Set(callsOf(message).map(({ id }) => id))
    step.mayPause = callsOf(message).some(({ name }) => step.guarded.has(name))
    this.#keep(step, placeOf(node, step.answerId))
    if (control) {
      const last = this.#last.get(control) ?? new Map<string, Step>()
      this.#last.set(control, last.set(agentOf(node), step))
    }
    this.#answered.set(message, step)
    for (const call of callsOf(message)) this.#answered.set(call, step)
  }

  /** A step without calls is needed only while the undo of an early call may still meet one of the next run. */
  #keep(step: Step, place: string): void {
    if (!place || (!step.callIds?.size && step.run.leaving.size === 0)) return
    this.#ofThreads.delete(place)
    this.#ofThreads.set(place, step)
    const [oldest] = this.#ofThreads.keys()
    if (this.#ofThreads.size > MOST_KEPT && oldest !== undefined) this.#ofThreads.delete(oldest)
  }

  /** The step in which a message with this call was requested by an earlier run of the same thread, which was paused. */
  resumed(messages: unknown, node: NodeConfig, call: UnexecutedCall): Step | undefined {
    const step = this.#ofThreads.get(placeOf(node, lastAnswer(messages)?.id))
    if (step) this.#prevented.checkPaused(step, call)
    return step
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

/** Identifies a message in all runs of its thread. Empty without a thread, as such a run cannot be resumed. */
function placeOf(node: NodeConfig, message: string | undefined): string {
  const thread: unknown = node.configurable?.thread_id
  // A checkpointer that accepts numbers stores them as strings.
  const isKept = typeof thread === 'string' || typeof thread === 'number'
  return isKept && message !== undefined ? JSON.stringify([`${thread}`, agentOf(node), message]) : ''
}

/** Identifies an agent within a run: a graph may contain several. */
function agentOf({ metadata }: NodeConfig): string {
  const task: unknown = metadata?.langgraph_checkpoint_ns
  return typeof task === 'string' ? task.slice(0, task.lastIndexOf('|') + 1) : ''
}
