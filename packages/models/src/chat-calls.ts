/** Decides which call of a Chat Completions stream a piece belongs to, and collects the call's name. */

import type { Assembler } from '@meanwhile/core'
import type { ToolNames } from './tool-names.ts'

/** The members that are read from a piece of a call. */
export interface CallDelta {
  readonly index?: number | null
  readonly id?: string | null
  /** `function` or missing. `custom` is another kind of call with other members (qC45). */
  readonly type?: string | null
  readonly function?: { readonly name?: string | null; readonly arguments?: string | object | null } | null
  /** Opaque data that must be sent back: Gemini's thought signatures (qC38). */
  readonly extra_content?: unknown
}

/** The call that a piece belongs to: its name so far, and whether more of the name may follow. */
export interface CallOfPiece {
  readonly label: string
  readonly name: string
  readonly nameMayGrow: boolean
}

interface Call {
  readonly label: string
  id: string | undefined
  name: string
  /** Whether arguments have arrived. */
  begun: boolean
  /** Whether arguments have arrived with or after the name: then the name is complete. */
  isNamed: boolean
}

/** The content of a piece; `undefined` for what it does not contain. */
interface Said {
  readonly index: number | undefined
  readonly id: string | undefined
  readonly name: string | undefined
  readonly text: string | undefined
}

/**
 * Finds the call of each piece. A piece belongs to the call with its index (qC1, qC5). Without an index it belongs to
 * the call with its id (qC2), and without an id to the latest call (qC3), unless its id or name begins another call.
 * Empty ids and names are ignored (qC8), and a repeated id or name changes nothing (qC6, qC9). A name may come in
 * several pieces until the arguments begin (qC47); a placeholder `{}` does not count as arguments (qC13).
 */
export class ChatCalls {
  readonly #names: ToolNames
  readonly #known = new Map<number | string, Call>()
  #latest: Call | undefined
  #count = 0

  constructor(names: ToolNames) {
    this.#names = names
  }

  /** @param text The arguments in the piece. */
  of({ index, id, function: called }: CallDelta, text: string | null | undefined, to: Assembler): CallOfPiece {
    const said: Said = {
      index: index ?? undefined,
      id: id || undefined,
      name: called?.name || undefined,
      text: text || undefined,
    }
    const call = this.#find(said, to) ?? this.#begin(said)
    this.#latest = call
    call.id ??= said.id
    if (!call.isNamed) this.#tell(call, said)
    return { label: call.label, name: call.name, nameMayGrow: !call.isNamed && this.#names.mayGrow(call.name) }
  }

  #find(said: Said, to: Assembler): Call | undefined {
    const label = said.index ?? said.id
    const call = label === undefined ? this.#latest : this.#known.get(label)
    return call && this.#isOfAnother(call, said, to) ? undefined : call
  }

  #begin({ index, id }: Said): Call {
    const call: Call = { label: `call ${this.#count++}`, id, name: '', begun: false, isNamed: false }
    if (index !== undefined) this.#known.set(index, call)
    if (id !== undefined) this.#known.set(id, call)
    return call
  }

  /**
   * Whether a piece begins another call, although its index, id or place is that of this one. Only a piece with a name
   * can.
   */
  #isOfAnother(call: Call, { index, id, name, text }: Said, to: Assembler): boolean {
    if (name === undefined) return false
    if (id !== undefined && call.id !== undefined && id !== call.id) return !this.#isNextPiece(call, name)
    if (call.name === '') return false
    const isPlaced = index !== undefined || id !== undefined
    const isWhole = to.isWhole(call.label)
    // Two calls of one tool, where no call has an id (qG1).
    if (call.name === name) return isWhole && !isPlaced && call.id === undefined && text !== undefined
    const areTools = this.#names.has(call.name) && this.#names.has(name)
    // Two calls may have the same index and id (qC48).
    if (isWhole && areTools) return true
    if (!call.isNamed && this.#names.grown(call.name, name) !== undefined) return false
    if (isWhole) return true
    if (!call.begun) return areTools
    // No id distinguishes them (qC44).
    return id === undefined && (call.id === undefined || !isPlaced)
  }

  /**
   * Whether this is the next piece of the call's name, and not the name of another tool: some hosts give each piece its
   * own id (qC49).
   */
  #isNextPiece(call: Call, name: string): boolean {
    if (call.name === '' || call.isNamed || this.#names.has(name)) return false
    return this.#names.grown(call.name, name) !== undefined
  }

  /** Applies a piece to a call whose name is not complete yet. */
  #tell(call: Call, { name, text }: Said): void {
    if (name !== undefined) call.name = this.#named(call.name, name)
    if (text === undefined || !/[^\s{}]/.test(text)) return
    call.begun = true
    call.isNamed = call.name !== ''
  }

  #named(name: string, piece: string): string {
    if (name === '' || name === piece) return piece
    return this.#names.grown(name, piece) ?? (this.#names.has(name) ? name : name + piece)
  }
}
