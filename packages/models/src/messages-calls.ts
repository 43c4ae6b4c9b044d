/** Reads the input of the calls of a Messages stream. Its events may repeat or contradict each other. */

import type { Assembler } from '@meanwhile/assemble'
import type { InputLimits } from '@meanwhile/core'
import { CallInput } from './call-input.ts'
import { isEmptyInput } from './empty-input.ts'
import { ContradictionError } from './explain.ts'
import { HeldText, ownerless } from './held-text.ts'
import { isJson } from './is-json.ts'
import { LateArguments } from './late-arguments.ts'
import { type BlockCall, holdsOther, isIncomplete } from './messages-call.ts'
import { TwinCalls } from './twin-calls.ts'

/** The index of a block, if the event has one. */
export type Place = number | undefined

/**
 * The stop of a block seals its call, unless no input arrived: a truncated response also stops its last block, and
 * gateways stop blocks too soon (qA10).
 */
export class BlockCalls {
  #calls: BlockCall[] = []
  readonly #byId = new Map<string, BlockCall>()
  /** Calls whose input may not be complete. */
  readonly #open = new Set<BlockCall>()
  /** By the indexes that nobody opened: the call that their pieces continue. */
  readonly #owners = new Map<Place, BlockCall>()
  readonly #limits: InputLimits
  readonly #held: HeldText
  readonly #late: LateArguments
  readonly #twins: TwinCalls<BlockCall>

  constructor(limits: InputLimits) {
    this.#limits = limits
    this.#held = new HeldText(limits)
    this.#late = new LateArguments(this.#held, limits)
    this.#twins = new TwinCalls(
      {
        isOver: ({ isSealed }) => isSealed,
        seal: (call, text, to) => this.#whole(call, text, to),
        add: (call, text, to) => this.add(call, text, to),
      },
      this.#held,
    )
  }

  /**
   * A call begins. `tell` reports everything but its input; it is not called before it is known that the call does not
   * repeat another one (qA18).
   *
   * @throws {ContradictionError} Pieces of this index went to another call, which has not ended (qA17).
   */
  begin(place: Place, call: BlockCall, tell: (to: Assembler) => void, to: Assembler): void {
    if (this.#owners.get(place)?.ended === false) throw ownerless()
    this.#calls.push(call)
    this.#open.add(call)
    const known = call.isOurs && call.id !== undefined ? this.#byId.get(call.id) : undefined
    if (known && known.name === call.name) {
      call.first = known.first ?? known
      call.isHeld = true
      this.#twins.wait(call, tell)
    } else {
      if (call.id !== undefined) this.#byId.set(call.id, call)
      tell(to)
    }
  }

  /** A piece of a call's input. */
  add(call: BlockCall, piece: string, to: Assembler): void {
    if (!piece || call.isWithdrawn) return
    if (call.isSealed || call.isRepeated) this.#late.add(call, piece)
    else this.#continue(call, piece, to)
  }

  /**
   * A piece at an index that nobody opened: it continues the one open call (qA17). The call gets it when it ends,
   * because another call may begin at that index before.
   *
   * @throws {ContradictionError} No call is open, or several are, or another one began after it.
   */
  stray(place: Place, piece: string, to: Assembler): void {
    const owner = this.#owners.get(place)
    const call = owner?.ended === false ? owner : this.#onlyOpen(to)
    if (!call) throw ownerless()
    this.#owners.set(place, call)
    this.#wait(call, call.input.text)
    call.hasStrays = true
    this.add(call, piece, to)
  }

  /** The block of the call stops. */
  end(call: BlockCall, to: Assembler): void {
    if (call.isWithdrawn) return
    call.ended = true
    this.#open.delete(call)
    if (isIncomplete(call)) return
    this.#show(call, to)
    // An input that is not JSON may come again, in a call with the same id.
    if (!call.isFed || !isJson(call.input.text)) return
    call.isSealed = true
    if (call.isOurs && !call.isHeld) to.seal(call.label)
    this.#twins.settle(call, to)
  }

  /** Another model answers: the calls of the one that refused are gone (qA11). */
  withdraw(to: Assembler): void {
    for (const call of this.#calls) {
      if (!call.isOurs) continue
      call.isWithdrawn = call.ended = true
      if (!call.isHeld) to.call(call.label, { providerResult: null })
    }
    this.#calls = this.#calls.filter(({ isOurs }) => !isOurs)
    this.#byId.clear()
    this.#open.clear()
    this.#owners.clear()
    this.#late.clear()
    this.#twins.clear()
  }

  /**
   * The response has ended. `mayRun`: whether it allows its calls to run.
   *
   * @throws {ContradictionError} They may run, and input arrived that belongs to none of them.
   */
  finish(mayRun: boolean, to: Assembler): void {
    if (mayRun && this.#calls.some(isIncomplete)) throw ownerless()
    for (const call of this.#calls) if (!holdsOther(call)) this.#show(call, to)
    this.#twins.end(mayRun, to)
    const isNameless = this.#calls.some(({ name, isFed }) => isFed && !name)
    if (mayRun && (isNameless || !this.#late.areRepeated)) throw ownerless()
  }

  #continue(call: BlockCall, piece: string, to: Assembler): void {
    const delta = call.isFed ? piece : this.#beginning(call) + piece
    call.isFed = true
    const added = call.input.add(delta)
    if (call.waiting) this.#held.add(call.waiting.rest.add(delta))
    else if (call.isHeld) this.#held.add(added)
    else to.call(call.label, { delta })
  }

  /** What precedes the first delta: a given text that is not a whole input is its first piece. */
  #beginning(call: BlockCall): string {
    if (call.isPlaceholder || isEmptyInput(call.given)) return ''
    if (!isJson(call.given)) return call.given
    call.isCompared = true
    this.#wait(call, '')
    return ''
  }

  #wait(call: BlockCall, shown: string): void {
    call.waiting ??= { shown, rest: new CallInput(this.#limits) }
  }

  /** Shows what waited for the end of the call. */
  #show(call: BlockCall, to: Assembler): void {
    if (!call.isFed && !isEmptyInput(call.given)) {
      call.isPlaceholder = true
      this.add(call, call.given, to)
      return
    }
    if (call.isCompared && !call.input.means(call.given)) {
      throw new ContradictionError(`the call of ${call.name} began with another input than its deltas have`, call)
    }
    if (!call.waiting || call.isHeld) return
    const delta = call.waiting.rest.text
    this.#held.release(delta)
    to.call(call.label, { delta })
    delete call.waiting
  }

  #whole(call: BlockCall, text: string, to: Assembler): void {
    call.input.replace(text)
    call.isFed = call.isSealed = true
    to.seal(call.label, text)
    this.#twins.settle(call, to)
  }

  #onlyOpen(to: Assembler): BlockCall | undefined {
    let only: BlockCall | undefined
    for (const call of this.#open) {
      if (to.isWhole(call.label)) this.#open.delete(call)
      else if (only) return undefined
      else only = call
    }
    // Otherwise the pieces of every call may be at the next index.
    return only === this.#calls.at(-1) ? only : undefined
  }
}
