/** The background calls of a turn: their first result only says that their work has begun. */

import type { ToolMessage } from '@meanwhile/core'
import type { EndStatus } from '@meanwhile/threads'

export class BackgroundCalls {
  /** Calls whose work has begun and has not ended, with their first result. */
  readonly #running = new Map<string, ToolMessage>()
  /** Calls whose work has ended. Its result may come before the message with the first one. */
  readonly #ended = new Set<string>()

  isRunning(callId: string): boolean {
    return this.#running.has(callId)
  }

  /** A call has a result. Returns whether it counts: the first result of a background call does not if its work has ended. */
  hasResult(message: ToolMessage): boolean {
    if (!isHandle(message)) return true
    if (this.#ended.has(message.callId)) return false
    this.#running.set(message.callId, message)
    return true
  }

  /** The work of a call has ended. */
  ended(callId: string): void {
    this.#running.delete(callId)
    this.#ended.add(callId)
  }

  /** A call is made, or its step was removed: what was known belongs to an earlier call with its id. */
  forget(callId: string): void {
    this.#running.delete(callId)
    this.#ended.delete(callId)
  }

  /** The turn ends. Returns the last results of the work that is still running: nobody will tell another. */
  end(status: EndStatus): readonly ToolMessage[] {
    const last = [...this.#running.values()].map((message) =>
      status === 'completed' ? detached(message) : cutOff(message),
    )
    this.#running.clear()
    return last
  }
}

/** Whether it is the first result of a background call. */
function isHandle({ callId, output, isError }: ToolMessage): boolean {
  const { callId: id, state, ...more } = Object(output)
  return isError !== true && id === callId && state === 'running' && Object.keys(more).length === 0
}

/** The work continues after the turn. */
function detached({ callId, name, role }: ToolMessage): ToolMessage {
  const output = { callId, state: 'detached' }
  return { role, callId, name, content: [{ type: 'text', text: JSON.stringify(output) }], output }
}

function cutOff({ callId, name, role }: ToolMessage): ToolMessage {
  return { role, callId, name, content: [{ type: 'text', text: CUT_OFF }], isError: true }
}

/** As the core says it, in the same words as for other calls. */
const CUT_OFF = 'The run ended while this call was running. The call was cut off, and its effect may have happened.'
