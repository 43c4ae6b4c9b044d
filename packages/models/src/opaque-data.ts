/**
 * Collects data of a Chat Completions response that only its provider understands. It is sent back with the message, in
 * the members in which it arrived.
 */

import type { ChatDelta } from './chat-chunk.ts'
import { defined } from './defined.ts'
import { hasMembers, isRecord } from './is-record.ts'
import { ReasoningDetails } from './reasoning-details.ts'

/** The members of a message that are sent back. */
export const OPAQUE = ['reasoning_details', 'thinking_blocks', 'reasoning_opaque', 'provider_specific_fields'] as const

export class OpaqueData {
  readonly #details = new ReasoningDetails()
  readonly #blocks = new ReasoningDetails()
  #reasoning: unknown
  #fields: object = {}
  #isNew = false

  add(delta: ChatDelta): void {
    if (!OPAQUE.some((name) => delta[name])) return
    this.#isNew = true
    this.#details.add(delta.reasoning_details)
    this.#blocks.add(delta.thinking_blocks)
    if (delta.reasoning_opaque) this.#reasoning = delta.reasoning_opaque
    if (isRecord(delta.provider_specific_fields)) {
      this.#fields = { ...this.#fields, ...defined(delta.provider_specific_fields) }
    }
  }

  /** All data, if some has arrived since the last call. */
  take(): Partial<Record<(typeof OPAQUE)[number], unknown>> | undefined {
    if (!this.#isNew) return undefined
    this.#isNew = false
    const data = {
      reasoning_details: filled(this.#details.all),
      thinking_blocks: filled(this.#blocks.all),
      reasoning_opaque: this.#reasoning,
      provider_specific_fields: filled(this.#fields),
    }
    return filled(defined(data))
  }
}

function filled<Value extends object>(value: Value): Value | undefined {
  return hasMembers(value) ? value : undefined
}
