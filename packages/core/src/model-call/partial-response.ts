/** Collects what a response has contained so far. If the run is cancelled during a model call, its history keeps this. */

import type { AssistantMessage, AssistantPart, ToolCall } from '../vocabulary/message.ts'
import type { WrapModelEvent } from './attempt.ts'

export class PartialResponse {
  /** A text as a list of deltas, or a complete call. */
  readonly #parts: (string[] | ToolCall)[] = []

  /** Adds the event. Reasoning is not kept, because its signature comes at its end; nor are calls that the provider runs itself. */
  add(event: WrapModelEvent): void {
    if (event.type === 'text-delta') {
      const last = this.#parts.at(-1)
      if (Array.isArray(last)) last.push(event.delta)
      else this.#parts.push([event.delta])
    } else if (event.type === 'tool-call' && event.call.providerResult === undefined) this.#parts.push(event.call)
  }

  /** `undefined` if there was neither text nor a call. */
  get message(): AssistantMessage | undefined {
    return partialMessage(
      this.#parts.map((part) => (Array.isArray(part) ? { type: 'text', text: part.join('') } : part)),
    )
  }
}

/** Returns the message of a response that was cut off. Text that is only white space is left out, because providers reject it. */
export function partialMessage(parts: readonly AssistantPart[]): AssistantMessage | undefined {
  const content = parts.filter((part) => part.type !== 'text' || part.text.trim() !== '')
  return content.length > 0 ? { role: 'assistant', content, finishReason: 'other', cutOff: true } : undefined
}
