/** Arguments that arrive for a call whose arguments have ended. They may only repeat them. */

import type { HeldText } from './held-text.ts'
import { hasArguments } from './twin-calls.ts'

export class LateArguments {
  readonly #held: HeldText
  readonly #late = new Map<{ readonly text: string }, string>()

  constructor(held: HeldText) {
    this.#held = held
  }

  add(call: { readonly text: string }, text: string): void {
    this.#held.add(text)
    this.#late.set(call, (this.#late.get(call) ?? '') + text)
  }

  /** Whether all of them repeat the arguments of their calls. */
  get areRepeated(): boolean {
    return [...this.#late].every(([call, text]) => hasArguments(call, text))
  }
}
