/** Decides which call of a Chat Completions stream a piece belongs to, and collects the call's name. */

import type { Assembler, CallPiece } from '@meanwhile/assemble'
import type { InputLimits } from '@meanwhile/core'
import { ChatCall } from './chat-call.ts'
import type { Said } from './chat-chunk.ts'
import { ContradictionError } from './explain.ts'
import { HeldText } from './held-text.ts'
import type { ToolNames } from './tool-names.ts'

/** The call that a piece belongs to, and what the piece adds to it. */
export interface CallOfPiece extends Pick<CallPiece, 'id' | 'nameMayGrow' | 'delta'> {
  readonly call: ChatCall
}

/**
 * Finds the call of each piece. A piece with the id of a call belongs to it until the call is whole, whatever its index
 * (qC51); any other piece to the call at its index (qC1, qC5). Without an index it belongs to the call with its id
 * (qC2), and without an id to the latest call (qC3), unless its id or name begins another call. Repeated ids and names
 * change nothing (qC6, qC9). A name may come in several pieces until the arguments begin (qC47); a placeholder `{}` does
 * not count as arguments (qC13).
 *
 * Arguments without id and name, at an index at which no call has begun, belong to the only call that is not whole
 * (qC50). They are held back until the end, which shows whether they are contradicted.
 */
export class ChatCalls {
  readonly #names: ToolNames
  readonly #limits: InputLimits
  readonly #heldText: HeldText
  readonly #byIndex = new Map<string, ChatCall>()
  /** The latest call with each id. */
  readonly #byId = new Map<string, ChatCall>()
  /** All that may not be whole. */
  readonly #open = new Set<ChatCall>()
  readonly #held = new Set<ChatCall>()
  /** The indexes of arguments that went to a call of another index. */
  readonly #strayIndexes = new Set<string>()
  /** The calls that have begun there since, and have no arguments yet. */
  readonly #deprived = new Set<ChatCall>()
  /** The calls that have arguments and no name. */
  readonly #nameless = new Set<ChatCall>()
  /** Whether a call has begun at the index of one that was not whole. */
  #isShared = false
  /** Whether arguments without an owner did not fit the call they went to. */
  #isUnowned = false
  /** Whether the finish reason has arrived. */
  #isOver = false
  #latest: ChatCall | undefined
  /** The call that began last. */
  #begun: ChatCall | undefined
  #count = 0

  constructor(names: ToolNames, limits: InputLimits) {
    this.#names = names
    this.#limits = limits
    this.#heldText = new HeldText(limits)
  }

  of(said: Said, to: Assembler): CallOfPiece {
    const call = this.#find(said, to)
    this.#latest = call
    if (said.id !== undefined) this.#identify(call, said.id)
    if (!call.isNamed) this.#learnName(call, said)
    const delta = said.text === undefined ? undefined : call.add(said.text)
    if (hasArguments(said)) this.#deprived.delete(call)
    if (call.name === '' && hasArguments(said)) this.#nameless.add(call)
    else if (call.name !== '') this.#nameless.delete(call)
    return { call, id: call.id, nameMayGrow: !call.isNamed && this.#names.mayGrow(call.name), delta }
  }

  /**
   * Passes on what was held back. If the calls may run, a call's own arguments and those without an owner must be JSON
   * together. Otherwise only arguments of another call are dropped.
   */
  release(mayRun: boolean, to: Assembler): void {
    this.#isOver = true
    for (const call of this.#held) {
      const isUnowned = call.hasStrayed && !call.isComplete
      const isLost = isUnowned && (mayRun || call.holdsOther)
      const delta = call.release()
      if (isUnowned && mayRun) this.#isUnowned = true
      if (!isLost) to.call(call.label, { delta })
    }
    this.#held.clear()
  }

  /** Why the calls must not run, if the response ends now. */
  get problem(): string | undefined {
    if (this.#nameless.size > 0 || this.#isUnowned) return 'the response contains arguments that belong to no call'
    return this.#deprived.size > 0 ? UNCLEAR : undefined
  }

  #find(said: Said, to: Assembler): ChatCall {
    const { index, id } = said
    const named = id === undefined ? undefined : this.#byId.get(id)
    if (index === undefined) return this.#at(id === undefined ? this.#latest : named, said, to)
    const placed = this.#byIndex.get(index)
    const isMoved = placed?.index !== index
    if (named && (named !== placed || isMoved) && this.#goesOn(named, said, to)) return this.#move(named, said)
    // It repeats a call that is whole.
    if (named && placed?.id !== undefined && placed.id !== id && said.name === undefined) return named
    // Only where a call began may its id change (qC6).
    if (placed && placed.home !== index && id !== undefined && id !== placed.id) return this.#begin(said, to)
    if (placed && isMoved && hasArguments(said)) return this.#return(placed, said, to)
    if (placed) return this.#at(placed, said, to)
    return (isBare(said) && this.#stray(index, to)) || this.#begin(said, to)
  }

  /** The call at the piece's place, or the one that begins there. */
  #at(call: ChatCall | undefined, said: Said, to: Assembler): ChatCall {
    if (call && !this.#isOfAnother(call, said, to)) {
      if (this.#held.has(call) && call.isWhole(to) && isBare(said)) throw new ContradictionError(UNCLEAR)
      return call
    }
    const before = call ?? (said.index === undefined ? this.#latest : undefined)
    const next = this.#begin(said, to)
    if (!before || before.isWhole(to)) return next
    // The arguments of both may follow (qC53).
    this.#isShared = true
    if (!hasArguments(said)) this.#hold(next)
    return next
  }

  #begin({ index, id, name }: Said, to: Assembler): ChatCall {
    const earlier = id === undefined ? undefined : this.#byId.get(id)
    // Without an index, the same id means the same call.
    const mayRepeat = index !== undefined && earlier?.isWhole(to) && (name ?? earlier.name) === earlier.name
    const first = mayRepeat ? earlier : undefined
    const call = new ChatCall(`call ${this.#count++}`, index, first, this.#heldText, this.#limits)
    // A call that is sent again may lack its name (qC52).
    if (first) call.name = first.name
    this.#open.add(call)
    this.#begun = call
    if (index === undefined) return call
    this.#byIndex.set(index, call)
    if (this.#strayIndexes.has(index) && !mayRepeat) this.#deprived.add(call)
    return call
  }

  #identify(call: ChatCall, id: string): void {
    if (call.id === undefined) this.#byId.set(id, call)
    call.id ??= id
  }

  /** Whether a piece with the id of this call belongs to it, whatever its index. */
  #goesOn(call: ChatCall, { name }: Said, to: Assembler): boolean {
    if (call.hasBegun && call.isWhole(to)) return false
    if (name === undefined || call.name === '' || call.name === name) return true
    return !call.isNamed && this.#names.grown(call.name, name) !== undefined
  }

  #move(call: ChatCall, said: Said): ChatCall {
    const { index } = said
    if (index !== undefined && !this.#byIndex.has(index)) this.#byIndex.set(index, call)
    if (hasArguments(said)) call.index = index
    return call
  }

  /** The call of arguments at an index of this call, after those at another one. */
  #return(call: ChatCall, said: Said, to: Assembler): ChatCall {
    if (!call.hasBegun && !call.hasStrayed) return this.#move(call, said)
    if (!call.isWhole(to) || call.hasStrayed) throw new ContradictionError(UNCLEAR)
    // They belong to another call with its id (qC52).
    const next = this.#begin({ ...said, id: call.id, name: call.name }, to)
    next.name = call.name
    if (call.id !== undefined) this.#identify(next, call.id)
    return next
  }

  /** The call that arguments belong to at an index at which no call has begun, if that is certain. */
  #stray(index: string, to: Assembler): ChatCall | undefined {
    if (this.#isShared) throw new ContradictionError(UNCLEAR)
    if (this.#isOver) return undefined
    let only: ChatCall | undefined
    for (const call of this.#open) {
      if (call.isWhole(to)) this.#open.delete(call)
      else if (only) return undefined
      else only = call
    }
    // If another call began after it, the arguments of each call may be at the next index (qC61).
    if (!only || only !== this.#begun) return undefined
    this.#hold(only)
    this.#strayIndexes.add(index)
    only.hasStrayed = true
    only.index = index
    return only
  }

  #hold(call: ChatCall): void {
    call.hold()
    this.#held.add(call)
  }

  /**
   * Whether a piece begins another call, although its index, id or place is that of this one. Only a piece with a name
   * can.
   */
  #isOfAnother(call: ChatCall, { index, id, name, text }: Said, to: Assembler): boolean {
    if (name === undefined) return false
    if (id !== undefined && call.id !== undefined && id !== call.id) return !this.#isNextPiece(call, name)
    if (call.name === '') return false
    const isPlaced = index !== undefined || id !== undefined
    const isWhole = call.isWhole(to)
    // Two calls of one tool, where no call has an id (qG1).
    if (call.name === name) return isWhole && !isPlaced && call.id === undefined && text !== undefined
    const areTools = this.#names.has(call.name) && this.#names.has(name)
    // Two calls may have the same index and id (qC48).
    if (isWhole && areTools) return true
    if (!call.isNamed && this.#names.grown(call.name, name) !== undefined) return false
    if (isWhole) return true
    if (!call.hasBegun) return areTools
    // No id distinguishes them (qC44).
    return id === undefined && (call.id === undefined || !isPlaced)
  }

  /**
   * Whether this is the next piece of the call's name, and not the name of another tool: some hosts give each piece its
   * own id (qC49).
   */
  #isNextPiece(call: ChatCall, name: string): boolean {
    if (call.name === '' || call.isNamed || this.#names.has(name)) return false
    return this.#names.grown(call.name, name) !== undefined
  }

  /** Applies a piece to a call whose name is not complete yet. */
  #learnName(call: ChatCall, { name, text }: Said): void {
    if (name !== undefined) call.name = this.#named(call.name, name)
    if (text === undefined || !/[^\s{}]/.test(text)) return
    call.hasBegun = true
    call.isNamed = call.name !== ''
  }

  #named(name: string, piece: string): string {
    if (name === '' || name === piece) return piece
    return this.#names.grown(name, piece) ?? (this.#names.has(name) ? name : name + piece)
  }
}

/** Whether it has arguments. White space belongs to any text. */
function hasArguments({ text }: Said): boolean {
  return text !== undefined && /\S/.test(text)
}

/** Whether it has only arguments. */
function isBare(said: Said): boolean {
  return said.id === undefined && said.name === undefined && hasArguments(said)
}

const UNCLEAR = 'the response contains arguments that may belong to either of two calls'
