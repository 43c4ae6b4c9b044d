import type { CallState } from './chat-message.ts'

/** How long before the end of its message each call began. Only for calls that began while this page was open. */
export class HeadStarts {
  readonly #begun = new Map<string, number>()
  readonly #ms = new Map<string, number>()

  hear({ toolCallId, state, isEarly }: CallState): void {
    if (state === 'running' && isEarly) this.#begun.set(toolCallId, performance.now())
  }

  /** The message with the call is complete. */
  stands(toolCallId: string): void {
    const begun = this.#begun.get(toolCallId)
    if (begun !== undefined && !this.#ms.has(toolCallId)) this.#ms.set(toolCallId, performance.now() - begun)
  }

  /** It runs, and its message may not be complete yet. */
  hasBegun(toolCallId: string): boolean {
    return this.#begun.has(toolCallId)
  }

  /** Milliseconds; undefined if it had none, or its message is not complete yet. */
  of(toolCallId: string): number | undefined {
    return this.#ms.get(toolCallId)
  }
}
