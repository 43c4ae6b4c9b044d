/** The answers that each asker of a run has had so far. An asker is a tool, a hook or a wrap that asks questions. */

import { canonical } from '../vocabulary/canonical.ts'
import { hash } from '../vocabulary/hash.ts'
import type { Address, Asked, SavedQuestions } from '../vocabulary/interrupt.ts'
import type { Json } from '../vocabulary/message.ts'

const NONE: Asked = { answers: Object.freeze([]), past: 0 }

export class Questions {
  #asked: SavedQuestions = {}
  /** Ids of the questions that a reader was told of. */
  readonly #told: Set<string> = new Set()

  /** The answers to what an asker has asked, first to last. */
  answersAt(address: Address): readonly Json[] {
    // Each execution asks, and few runs have answers: no address is written for nothing.
    if (this.isEmpty) return NONE.answers
    return this.#at(canonical(address)).answers
  }

  /** The id of an asker's next question. */
  nextId(runId: string, address: Address): string {
    const text = canonical(address)
    const { answers, past } = this.#at(text)
    return `interrupt_${hash(`${runId} ${text} ${past + answers.length + 1}`)}`
  }

  /** A reader is told of a question. Gives whether none was told of it before. */
  mark(id: string): boolean {
    return this.#told.size < this.#told.add(id).size
  }

  answer(address: Address, answer: Json): void {
    const text = canonical(address)
    const { answers, past } = this.#at(text)
    this.#asked = { ...this.#asked, [text]: { answers: Object.freeze([...answers, answer]), past } }
  }

  /** The asker has done what it asked for: what it asks from now on is new. */
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

  #at(text: string): Asked {
    return Object.hasOwn(this.#asked, text) ? (this.#asked[text] as Asked) : NONE
  }
}
