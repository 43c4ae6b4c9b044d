/**
 * Reads the function calls of a Responses stream. Its events may repeat or contradict each other; each call is reported
 * once.
 */

import { type Assembler, DEFAULT_INPUT_LIMITS } from '@meanwhile/core'
import { canonicalArguments } from './canonical-arguments.ts'
import { isEmptyInput } from './empty-input.ts'
import { ContradictionError } from './explain.ts'
import type { FunctionCall, OutputItem } from './responses-content.ts'
import { type Item, isOver, type OutputItems } from './responses-items.ts'
import type { ToolNames } from './tool-names.ts'

/** Calls with one call_id of which none had ended when the next one began (qR16). */
interface Group {
  /** Calls that are not reported yet, and their items. */
  readonly waiting: Map<Item, FunctionCall>
  /** The contents of the calls that were reported. */
  shown?: Set<string>
}

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
  readonly #groups = new Map<Item, Group>()

  constructor(items: OutputItems, names: ToolNames, tell: Tell) {
    this.#items = items
    this.#names = names
    this.#tell = tell
  }

  begin(item: Item, carried: FunctionCall, to: Assembler): void {
    if (item.isRepeated) return
    if (item.rival) this.#groupOf(item.rival).waiting.set(item, carried)
    else this.#tell(item, carried, to)
  }

  add(item: Item, delta: string, to: Assembler): void {
    if (!delta || item.isRepeated) return
    item.told = true
    // Longer arguments need no comparison; what arrives after the end is ignored.
    if (!item.ended && item.text.length <= DEFAULT_INPUT_LIMITS.characters) item.text += delta
    if (!item.rival) to.call(item.label, { delta })
  }

  seal(item: Item, text: string, to: Assembler): void {
    if (item.isRepeated) return
    const isFirst = !item.ended || !item.told
    item.ended = true
    if (!text && !item.told) return
    // An empty input does not override the pieces (qR11).
    const whole = item.told && isEmptyInput(text) ? undefined : text
    item.told = true
    if (whole && isFirst) item.text = whole
    if (!item.rival) to.seal(item.label, whole)
    this.#settle(item, to)
  }

  /**
   * The whole item has arrived. Not every host sets the status `completed` (qR9); then the end of the response seals
   * the call.
   */
  done(item: Item, carried: FunctionCall, to: Assembler): void {
    if (!this.#hasName(item, carried)) {
      throw new ContradictionError(`the call announced as ${item.name} ended as ${carried.name}`)
    }
    item.done = true
    this.begin(item, carried, to)
    if (carried.status === 'completed') this.seal(item, carried.arguments, to)
    else if (!item.told) this.add(item, carried.arguments, to)
    this.#settle(item, to)
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
      if (!known || !left.has(known) || !this.#isSame(known, carried)) others.push(carried)
      else {
        left.delete(known)
        if (!known.told || !known.ended) this.done(known, carried, to)
      }
    }
    if (others.length > 0) this.#take(others, left, to)
  }

  /** The response has ended: calls that waited are reported, or dropped as repetitions. */
  end(to: Assembler): void {
    for (const { item, given } of this.#items.untold) this.add(item, given, to)
    for (const [first, { waiting }] of this.#groups) {
      for (const item of waiting.keys()) {
        if (isOver(first) || !isOver(item) || item.name !== first.name || !item.text.startsWith(first.text)) continue
        waiting.delete(item)
        item.isRepeated = true
        this.seal(first, item.text, to)
      }
      for (const item of waiting.keys()) this.#decide(first, item, to)
    }
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
    if (!isOver(known) || isEmptyInput(carried.arguments ?? '') || known.text === carried.arguments) return true
    return canonicalArguments(known.text) === canonicalArguments(carried.arguments)
  }

  /**
   * Calls at the end of the response with unknown ids: repetitions under other ids, or calls that no event contained.
   */
  #take(others: readonly FunctionCall[], left: Set<Item>, to: Assembler): void {
    const known = new Set(this.#items.calls.map(contentOf))
    const unrepeated = new Map<string, Item[]>()
    for (const item of left) {
      const content = contentOf(item)
      const same = unrepeated.get(content)
      if (same) same.push(item)
      else unrepeated.set(content, [item])
    }
    const late: FunctionCall[] = []
    for (const carried of others) {
      const content = contentOf({ name: carried.name, text: carried.arguments ?? '' })
      const same = unrepeated.get(content)?.pop()
      if (same) left.delete(same)
      else if (!known.has(content)) late.push(carried)
    }
    for (const carried of late) {
      const [instead] = left
      if (instead) {
        throw new ContradictionError(
          `the response ended with another call of ${carried.name} in the place of the call of ${instead.name}`,
        )
      }
      this.done(this.#items.late(carried), carried, to)
    }
  }

  /** Reports the calls that waited for this call's end, or this call if it waited for its own. */
  #settle(item: Item, to: Assembler): void {
    const first = item.rival ?? item
    const group = this.#groups.get(first)
    if (!group || !isOver(first)) return
    for (const waiting of item.rival ? [item] : group.waiting.keys()) {
      if (isOver(waiting)) this.#decide(first, waiting, to)
    }
  }

  #decide(first: Item, item: Item, to: Assembler): void {
    const group = this.#groupOf(first)
    const carried = group.waiting.get(item)
    if (!carried) return
    group.waiting.delete(item)
    group.shown ??= new Set([contentOf(first)])
    const content = contentOf(item)
    if (group.shown.has(content)) {
      item.isRepeated = true
      return
    }
    group.shown.add(content)
    item.rival = undefined
    this.#tell(item, carried, to)
    to.call(item.label, { delta: item.text })
    if (item.ended) to.seal(item.label)
  }

  #groupOf(first: Item): Group {
    let group = this.#groups.get(first)
    if (!group) {
      group = { waiting: new Map() }
      this.#groups.set(first, group)
    }
    return group
  }
}

/** Equal for calls with the same name and arguments. */
function contentOf({ name = '', text }: Pick<Item, 'name' | 'text'>): string {
  return `${name}\n${canonicalArguments(text)}`
}
