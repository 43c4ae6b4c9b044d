/** Arguments that arrive for a call whose arguments have ended. They may only repeat them. */

import type { InputLimits } from '@meanwhile/core'
import { CallInput } from './call-input.ts'
import type { HeldText } from './held-text.ts'

interface Ended {
  readonly input: CallInput
}

export class LateArguments {
  readonly #held: HeldText
  readonly #limits: InputLimits
  readonly #late = new Map<Ended, CallInput>()

  constructor(held: HeldText, limits: InputLimits) {
    this.#held = held
    this.#limits = limits
  }

  add(call: Ended, text: string): void {
    let late = this.#late.get(call)
    if (!late) this.#late.set(call, (late = new CallInput(this.#limits)))
    this.#held.add(late.add(text))
  }

  /** Whether all of them repeat the arguments of their calls. */
  get areRepeated(): boolean {
    return [...this.#late].every(
      ([{ input }, { text, canonical }]) => input.text === text || input.canonical === canonical,
    )
  }

  /** Their calls do not count any more. */
  clear(): void {
    for (const { text } of this.#late.values()) this.#held.release(text)
    this.#late.clear()
  }
}
