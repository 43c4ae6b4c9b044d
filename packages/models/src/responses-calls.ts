/**
 * Reads the function calls of a Responses stream. Its events may repeat or contradict each other; each call is reported
 * once.
 */

import type { Assembler } from '@meanwhile/assemble'
import type { InputLimits } from '@meanwhile/core'
import { canonicalArguments } from './canonical-arguments.ts'
import { isEmptyInput } from './empty-input.ts'
import { ContradictionError } from './explain.ts'
import { HeldText } from './held-text.ts'
import type { FunctionCall, OutputItem } from './responses-content.ts'
import { type Item, identityOf, isCall, isOver } from './responses-item.ts'
import type { OutputItems } from './responses-items.ts'
import { StrayArguments } from './responses-strays.ts'
import type { ToolNames } from './tool-names.ts'
import { contentOf, TwinCalls } from './twin-calls.ts'

/** Reports a call's name, id and everything else in its item except the arguments. */
type Tell = (item: Item, carried: FunctionCall, to: Assembler) => void

/**
 * A call is sealed by its own `done` event, or by that of its item with status `completed`, whichever comes first (qR1,
 * qR4), unless no arguments arrived: a truncated call may have ended, too (qR8).
 */
export class OutputCalls {
  readonly #items: OutputItems
  readonly #names: ToolNames
  readonly #tell: Tell
  readonly #held: HeldText
  readonly #twins: TwinCalls<Item>
  readonly #strays: StrayArguments

  constructor(items: OutputItems, names: ToolNames, tell: Tell, limits: InputLimits) {
    this.#items = items
    this.#names = names
    this.#tell = tell
    this.#held = new HeldText(limits)
    this.#twins = new TwinCalls(
      {
        isOver,
        seal: (item, text, to) => this.seal(item, text, to),
        add: (item, delta, to) => this.add(item, delta, to),
      },
      this.#held,
    )
    this.#strays = new StrayArguments(items, this.#held, limits)
  }

  begin(item: Item, carried: FunctionCall, to: Assembler): void {
    if (item.isRepeated) return
    const came = this.#strays.claim(item)
    if (item.isHeld) {
      this.#held.add(came)
      this.#twins.wait(item, (reader) => this.#tell(item, carried, reader))
      return
    }
    this.#tell(item, carried, to)
    if (!came) return
    to.call(item.label, { delta: came })
    if (item.isSealed) to.seal(item.label)
  }

  add(item: Item, delta: string, to: Assembler): void {
    if (!delta) return
    if ((item.isSealed || item.isRepeated) && item.input.text) this.#strays.late(item, delta)
    else this.#continue(item, delta, to)
  }

  seal(item: Item, text: string, to: Assembler): void {
    if (item.isRepeated || item.isSealed) checkSame(item, text)
    else if (isCall(item)) this.#seal(item, text, to)
    else this.#endUnknown(item, text, to)
  }

  /**
   * The whole item has arrived. Not every host sets the status `completed` (qR9); then the end of the response seals
   * the call.
   */
  done(item: Item, carried: FunctionCall, to: Assembler): void {
    if (!this.#hasName(item, carried)) {
      throw new ContradictionError(`the call announced as ${item.name} ended as ${carried.name}`, identityOf(item))
    }
    item.done = true
    item.isCut = carried.status === 'incomplete'
    this.begin(item, carried, to)
    if (carried.status === 'completed') this.seal(item, carried.arguments, to)
    else this.#complete(item, carried.arguments, to)
    this.#twins.settle(item, to)
  }

  /**
   * The end of the response repeats its calls. Calls that no event contained are taken from there (qR10).
   *
   * @throws {ContradictionError} It contains another call in place of one of these (qR17).
   */
  complete(output: readonly OutputItem[], to: Assembler): void {
    const left = new Set(this.#items.calls.filter(({ isRepeated }) => !isRepeated))
    const others: FunctionCall[] = []
    for (const [place, carried] of output.entries()) {
      if (carried.type !== 'function_call') continue
      const known = this.#items.known(place, carried)
      if (known?.isRepeated) continue
      if (known && !isCall(known)) this.done(this.#items.whole(place, carried), carried, to)
      else if (!known || !left.has(known) || !this.#isSame(known, carried)) others.push(carried)
      else {
        left.delete(known)
        if (!known.isSealed) this.done(known, carried, to)
      }
    }
    if (others.length > 0) this.#take(others, left, to)
  }

  /**
   * The response has ended: calls that waited are reported, or dropped as repetitions.
   *
   * @param mayRun Whether the response allows its calls to run.
   * @throws {ContradictionError} They may run, and arguments arrived that belong to none of them (qR19), or one of them
   *   was cut off before its arguments (qR26).
   */
  end(mayRun: boolean, to: Assembler): void {
    for (const { item, given } of this.#items.untold) this.add(item, given, to)
    // Not if the calls may not run: the end, which could contradict it, does not repeat them.
    if (mayRun) for (const { call, text } of this.#strays.rest()) this.add(call, text, to)
    this.#twins.end(mayRun, to)
    this.#strays.refuse(mayRun, to)
    if (mayRun) this.#items.calls.forEach(refuseCut)
  }

  #continue(item: Item, delta: string, to: Assembler): void {
    item.isFed = true
    const added = item.input.add(delta)
    if (!isCall(item)) this.#strays.add(item, added, to)
    else if (item.isHeld) this.#held.add(added)
    else to.call(item.label, { delta })
  }

  #seal(item: Item, text: string, to: Assembler): void {
    // An empty input does not override the pieces (qR11).
    const ending = isEmptyInput(text) ? '' : text
    this.add(item, this.#strays.end(item, ending), to)
    item.ended = true
    if (!text && !item.isFed) return
    const whole = item.isFed ? ending : text
    item.isFed = item.isSealed = true
    if (whole) this.#replace(item, whole)
    if (!item.isHeld) to.seal(item.label, whole)
    this.#twins.settle(item, to)
  }

  #replace(item: Item, text: string): void {
    if (item.isHeld) this.#held.release(item.input.text)
    if (item.isHeld) this.#held.add(text)
    item.input.replace(text)
  }

  /** All arguments of an item that is not announced (yet). */
  #endUnknown(item: Item, text: string, to: Assembler): void {
    const known = item.input.text
    if (!item.isFed || text.startsWith(known)) this.add(item, text.slice(known.length), to)
    else if (!isEmptyInput(text)) checkSame(item, text)
    item.ended = item.isSealed = item.isFed
  }

  /** The item repeats its arguments, or contains the rest of them, and is not stated to be complete. */
  #complete(item: Item, text: string, to: Assembler): void {
    const known = item.input.text
    if (item.isSealed || !text.startsWith(known)) checkSame(item, text)
    else this.add(item, text.slice(known.length), to)
  }

  /**
   * Whether the finished item may be this call. A name that is not a tool's is a variant of the first: gateways change
   * names.
   */
  #hasName({ name = '' }: Item, carried: FunctionCall): boolean {
    return name === carried.name || !this.#names.has(name) || !this.#names.has(carried.name)
  }

  #isSame(known: Item, carried: FunctionCall): boolean {
    if (!this.#hasName(known, carried)) return false
    return !isOver(known) || isEmptyInput(carried.arguments) || known.input.means(carried.arguments)
  }

  /**
   * Calls at the end of the response with unknown ids: repetitions under other ids, or calls that no event contained.
   */
  #take(others: readonly FunctionCall[], left: Set<Item>, to: Assembler): void {
    const known = new Set(this.#items.calls.map(({ name, input }) => contentOf(name, input.canonical)))
    const unrepeated = new Map<string, Item[]>()
    for (const item of left) {
      const content = contentOf(item.name, item.input.canonical)
      const same = unrepeated.get(content)
      if (same) same.push(item)
      else unrepeated.set(content, [item])
    }
    const late: FunctionCall[] = []
    for (const carried of others) {
      const content = contentOf(carried.name, canonicalArguments(carried.arguments))
      const same = unrepeated.get(content)?.pop()
      if (same) left.delete(same)
      else if (!known.has(content)) late.push(carried)
    }
    for (const carried of late) {
      const [instead] = left
      if (instead) {
        throw new ContradictionError(
          `the response ended with another call of ${carried.name} in the place of the call of ${instead.name ?? 'an unknown tool'}`,
          identityOf(instead),
        )
      }
      this.done(this.#items.late(carried), carried, to)
    }
  }
}

/** @throws {ContradictionError} The call was cut off before its arguments: it would run without them. */
function refuseCut(item: Item): void {
  if (!item.isCut || item.isRepeated || !isEmptyInput(item.input.text)) return
  throw new ContradictionError(
    `the call of ${item.name ?? 'an unknown tool'} was cut off before its arguments`,
    identityOf(item),
  )
}

/** @throws {ContradictionError} The call had other arguments before, and may have run with them. */
function checkSame(item: Item, text: string): void {
  const { input } = item
  if (isEmptyInput(text) || !input.text || input.isTooLong || input.means(text)) return
  throw new ContradictionError(
    `the call of ${item.name ?? 'an unknown tool'} ended with two different inputs`,
    identityOf(item),
  )
}
