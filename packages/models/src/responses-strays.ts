/** Argument text of a Responses stream whose call is not announced: it may be announced later, or never. */

import type { Assembler } from '@meanwhile/assemble'
import type { InputLimits } from '@meanwhile/core'
import { sameArguments } from './canonical-arguments.ts'
import { type HeldText, ownerless } from './held-text.ts'
import { isJson } from './is-json.ts'
import { LateArguments } from './late-arguments.ts'
import type { Item } from './responses-item.ts'
import type { OutputItems } from './responses-items.ts'

/** Pieces that continue the only open call, unless calls are announced at their places. */
interface Lent {
  /** The length of the call's own arguments before the pieces. */
  readonly after: number
  readonly pieces: Item[]
}

/**
 * Text at a place that nobody announced, without an id, continues the one open call (qR19). The call gets the text when
 * it ends, because a call may be announced at that place before.
 */
export class StrayArguments {
  readonly #items: OutputItems
  readonly #held: HeldText
  readonly #strays = new Set<Item>()
  readonly #lent = new Map<Item, Lent>()
  readonly #late: LateArguments

  constructor(items: OutputItems, held: HeldText, limits: InputLimits) {
    this.#items = items
    this.#held = held
    this.#late = new LateArguments(held, limits)
  }

  /** Registers text that was added to an item whose call is not announced. */
  add(item: Item, text: string, to: Assembler): void {
    this.#held.add(text)
    if (this.#strays.has(item)) return
    this.#strays.add(item)
    const owner = item.id === undefined ? this.#items.onlyOpen(to) : undefined
    if (!owner) return
    const lent = this.#lent.get(owner)
    if (lent) lent.pieces.push(item)
    else this.#lent.set(owner, { after: owner.input.text.length, pieces: [item] })
  }

  late(item: Item, text: string): void {
    this.#late.add(item, text)
  }

  /** The text that waited for the item, which is announced now. */
  claim(item: Item): string {
    if (!this.#strays.delete(item)) return ''
    const { text } = item.input
    this.#held.release(text)
    return text
  }

  /**
   * The call ends. Returns the text that continues its arguments.
   *
   * @param text All of its arguments, if the end repeats them.
   */
  end(call: Item, text = ''): string {
    const lent = this.#lent.get(call)
    const pieces = lent?.pieces.filter((piece) => this.#strays.has(piece)) ?? []
    const own = call.input.text
    if (!lent || pieces.length === 0 || lent.after !== own.length) return ''
    const all = joined(own, pieces)
    if (text ? !sameArguments(all, text) : !isJson(all)) return ''
    for (const piece of pieces) this.#take(piece)
    return text ? '' : all.slice(own.length)
  }

  /** The calls that the end of the response ends, with the text that continues their arguments. */
  rest(): readonly { readonly call: Item; readonly text: string }[] {
    return [...this.#lent.keys()].map((call) => ({ call, text: this.end(call) }))
  }

  /**
   * The response has ended. If its calls may not run, the text stays in the message.
   *
   * @throws {ContradictionError} They may run, and text is left.
   */
  refuse(mayRun: boolean, to: Assembler): void {
    const isNameless = this.#items.calls.some(({ name, isFed }) => isFed && !name)
    if (mayRun && (this.#strays.size > 0 || isNameless || !this.#late.areRepeated)) throw ownerless()
    for (const { label, input } of this.#strays) to.call(label, { delta: input.text })
  }

  #take(piece: Item): void {
    this.#strays.delete(piece)
    this.#held.release(piece.input.text)
    // A call may still be announced at its place, with its own arguments.
    piece.input.replace('')
    piece.isFed = piece.ended = piece.isSealed = false
  }
}

/** Joins the pieces. A last piece that repeats everything replaces the rest. */
function joined(own: string, pieces: readonly Item[]): string {
  return pieces.reduce((all, { input: { text }, ended }) => (ended && text.startsWith(all) ? text : all + text), own)
}
