/** Holds the answers that each tool, hook or wrap of a run has received to its questions. */

import { canonical } from '../vocabulary/canonical.ts'
import { freeze } from '../vocabulary/history.ts'
import type { Address, PendingInterrupt } from '../vocabulary/interrupt.ts'
import type { Json } from '../vocabulary/message.ts'
import type { Asked, SavedQuestions } from '../vocabulary/saved-run.ts'

const NONE: Asked = { answers: Object.freeze([]), payloads: Object.freeze([]), past: 0 }

export class Questions {
  #asked: SavedQuestions = {}
  readonly #random: string = crypto.getRandomValues(new Uint32Array(3)).join('_')
  /** The ids of the questions that a reader has seen. */
  readonly #told: Set<string> = new Set()

  /** The questions from an address, with their answers, first to last. */
  askedAt(address: Address): Asked {
    // Each execution looks for its answers, and few runs have any: this avoids computing the address.
    const text = this.isEmpty ? '' : canonical(address)
    return Object.hasOwn(this.#asked, text) ? (this.#asked[text] as Asked) : NONE
  }

  /**
   * The id of the next question from an address. It contains the run, the address and the number as they are, so no two questions have the same. The
   * random part distinguishes it from a question of a process that has ended before the question was stored.
   */
  nextId(runId: string, address: Address): string {
    const { answers, past } = this.askedAt(address)
    return `interrupt_${word(canonical([runId, address, past + answers.length + 1]))}_${this.#random}`
  }

  /** Records that a reader sees a question. Returns whether it is the first time. */
  mark(id: string): boolean {
    return this.#told.size < this.#told.add(id).size
  }

  answer({ address, payload }: PendingInterrupt, answer: Json): void {
    const { answers, payloads, past } = this.askedAt(address)
    this.#put(address, { answers: [...answers, answer], payloads: [...payloads, payload], past })
  }

  /** Called when the tool, hook or wrap at this address has finished: its next question is a new one. */
  done(address: Address): void {
    const { answers, past } = this.askedAt(address)
    if (answers.length > 0) this.#put(address, { ...NONE, past: past + answers.length })
  }

  get isEmpty(): boolean {
    return Object.keys(this.#asked).length === 0
  }

  save(): SavedQuestions {
    return this.#asked
  }

  restore(saved: SavedQuestions): void {
    this.#asked = saved
  }

  #put(address: Address, asked: Asked): void {
    this.#asked = { ...this.#asked, [canonical(address)]: freeze(asked) }
  }
}

/** The text in letters, digits and underscores. Different texts become different words. */
function word(text: string): string {
  return text.replace(/[\W_]/g, (sign) => `_${sign.charCodeAt(0)}_`)
}
