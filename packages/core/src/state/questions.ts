/** Holds the answers that each tool, hook or wrap of a run has received to its questions. */

import { canonical } from '../vocabulary/canonical.ts'
import { freeze } from '../vocabulary/history.ts'
import type { Address, PendingInterrupt } from '../vocabulary/interrupt.ts'
import type { Json } from '../vocabulary/message.ts'
import type { Asked, SavedQuestions } from '../vocabulary/saved-run.ts'

const NONE: Asked = { answers: Object.freeze([]), past: 0 }

export class Questions {
  #asked: SavedQuestions = {}
  /** The ids of the questions that a reader has seen. */
  readonly #told: Set<string> = new Set()

  /** The questions from an address, with their answers, first to last. */
  askedAt(address: Address): Asked {
    // Each execution looks for its answers, and few runs have any: this avoids computing the address.
    return this.isEmpty ? NONE : this.#at(canonical(address))
  }

  /** The id of the next question from an address. It contains the run, the address and the number as they are, so no two questions have the same. */
  nextId(runId: string, address: Address): string {
    const { answers, past, openId } = this.#at(canonical(address))
    return openId ?? `interrupt_${word(canonical([runId, address, past + answers.length + 1]))}`
  }

  /** Records that a reader sees a question. Returns whether it is the first time. */
  mark(id: string): boolean {
    return this.#told.size < this.#told.add(id).size
  }

  answer({ address, payload }: PendingInterrupt, answer: Json): void {
    const text = canonical(address)
    // Earlier versions did not save payloads.
    const { answers, payloads = answers.map(() => null), past } = this.#at(text)
    this.#asked = {
      ...this.#asked,
      [text]: freeze({ answers: [...answers, answer], payloads: [...payloads, payload], past }),
    }
  }

  /** Called when the tool, hook or wrap at this address has finished: its next question is a new one. */
  done(address: Address): void {
    if (this.isEmpty) return
    const text = canonical(address)
    const { answers, past } = this.#at(text)
    if (answers.length > 0) this.#asked = { ...this.#asked, [text]: { ...NONE, past: past + answers.length } }
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

  /** Called for a question of a checkpoint without an answer: it keeps its id, which an earlier version may have computed in another way. */
  keep(runId: string, { id, address }: PendingInterrupt): void {
    if (this.nextId(runId, address) === id) return
    const text = canonical(address)
    this.#asked = { ...this.#asked, [text]: { ...this.#at(text), openId: id } }
  }

  #at(text: string): Asked {
    return Object.hasOwn(this.#asked, text) ? (this.#asked[text] as Asked) : NONE
  }
}

/** The text in letters, digits and underscores. Different texts become different words. */
function word(text: string): string {
  return text.replace(/[\W_]/g, (sign) => `_${sign.charCodeAt(0)}_`)
}
