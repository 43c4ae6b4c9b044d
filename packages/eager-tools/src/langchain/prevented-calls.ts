/** Finds calls that had started early and that something kept from being executed. Their tools start early no more. */

import { type AIMessage, ToolMessage } from '@langchain/core/messages'
import type { EagerLoop } from '../host/eager-loop.ts'
import type { UnexecutedCall } from '../host/host-requests.ts'
import { callsOf } from './answers.ts'
import { isObject } from './library.ts'
import type { Step } from './step.ts'

export class PreventedCalls {
  readonly #loop: EagerLoop
  /** Tools with a call of a stopped run that was not executed: once, the stop is taken for the cause. */
  readonly #doubted = new Set<string>()

  constructor(loop: EagerLoop) {
    this.#loop = loop
  }

  /** The run goes on after this answer of the step: some of its calls may have been answered or removed by something else. */
  checkAnswered(step: Step, answer: AIMessage, messages: unknown): void {
    const { calls, callIds, signal } = step
    // The run was cancelled while its model answered.
    if (signal?.aborted) return
    const asked = new Set(callsOf(answer).map(({ id }) => id))
    const answered = answeredIn(messages, answer)
    for (const { id, tool } of calls.unexecuted)
      if (callIds?.has(id) && (answered.has(id ?? '') || !asked.has(id))) this.#prevented(step, tool, ANSWERED)
  }

  /** A later run of the thread executes a call of the step. If nothing is known that pauses a run, something unknown did. */
  checkPaused(step: Step, call: UnexecutedCall): void {
    const isUnexecuted = step.calls.unexecuted.some(({ id, tool }) => id === call.id && tool === call.tool)
    if (isUnexecuted && !step.mayPause) this.#prevented(step, call.tool, PAUSED)
  }

  #prevented(step: Step, tool: string, what: string): void {
    if (isStopped(step) && !this.#doubted.has(tool)) {
      this.#doubted.add(tool)
      return
    }
    this.#loop.bar(tool, 'call-prevented', `${what}. List ${tool} in \`approval\`. ${SPREAD_FIRST}`)
  }
}

const ANSWERED = 'one of its calls had started early, and an approval, a limit or a middleware answered or removed it'
const PAUSED = 'one of its calls had started early, and the run was then paused, perhaps for an approval'

/** Where to add middleware that eager() must know. */
export const SPREAD_FIRST =
  'Middleware that may prevent calls belongs into the options that eager() gets: createAgent(eager({ ...options, middleware }, …))'

/**
 * Whether somebody has cancelled the run, or asked it to end. It is not known when: a run may have been paused before,
 * and its signal aborted afterwards.
 */
function isStopped({ node: { configurable, control } }: Step): boolean {
  // The signal of a request is that of its node, which follows the one of the run only while the node is running.
  const signals: unknown = configurable?.__pregel_abort_signals
  const signal: unknown = isObject(signals) && Reflect.get(signals, 'externalAbortSignal')
  const isCancelled = signal instanceof AbortSignal && signal.aborted
  return isCancelled || Boolean(control && Reflect.get(control, 'drainRequested'))
}

/** The ids of the calls that are answered after a message. */
function answeredIn(messages: unknown, answer: AIMessage): ReadonlySet<string> {
  const after = Array.isArray(messages) ? messages.slice(messages.indexOf(answer) + 1) : []
  return new Set(after.flatMap((message) => (ToolMessage.isInstance(message) ? [message.tool_call_id] : [])))
}
