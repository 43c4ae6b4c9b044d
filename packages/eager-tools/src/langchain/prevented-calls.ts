/** Finds calls that had started early and that something kept from being executed. Their tools start early no more. */

import { type AIMessage, ToolMessage } from '@langchain/core/messages'
import type { EagerLoop } from '../host/eager-loop.ts'
import type { UnaskedCall } from '../host/host-calls.ts'
import { callsOf } from './answers.ts'
import type { Step } from './steps.ts'

export class PreventedCalls {
  readonly #loop: EagerLoop

  constructor(loop: EagerLoop) {
    this.#loop = loop
  }

  /** The run goes on after this answer of the step: some of its calls may have been answered or removed by something else. */
  checkAnswered({ calls, callIds, signal }: Step, answer: AIMessage, messages: unknown): void {
    if (signal?.aborted) return
    const asked = new Set(callsOf(answer).map(({ id }) => id))
    const answered = answeredIn(messages, answer)
    for (const { id, tool } of calls.unasked)
      if (callIds?.has(id) && (answered.has(id ?? '') || !asked.has(id))) this.#prevented(tool, ANSWERED)
  }

  /** A later run of the thread executes a call of the step. If nothing is known that pauses a run, something unknown did. */
  checkPaused({ calls, mayPause }: Step, call: UnaskedCall): void {
    const isUnasked = calls.unasked.some(({ id, tool }) => id === call.id && tool === call.tool)
    if (isUnasked && !mayPause) this.#prevented(call.tool, PAUSED)
  }

  #prevented(tool: string, what: string): void {
    this.#loop.bar(tool, 'call-prevented', `${what}. List ${tool} in \`approval\`. ${SPREAD_FIRST}`)
  }
}

const ANSWERED = 'one of its calls had started early, and an approval, a limit or a middleware answered or removed it'
const PAUSED = 'one of its calls had started early, and the run was then paused, perhaps for an approval'

/** Where to add middleware that eager() must know. */
export const SPREAD_FIRST =
  'Middleware that may prevent calls belongs into the options that eager() gets: createAgent(eager({ ...options, middleware }, …))'

/** The ids of the calls that are answered after a message. */
function answeredIn(messages: unknown, answer: AIMessage): ReadonlySet<string> {
  const after = Array.isArray(messages) ? messages.slice(messages.indexOf(answer) + 1) : []
  return new Set(after.flatMap((message) => (ToolMessage.isInstance(message) ? [message.tool_call_id] : [])))
}
