/** Which call of a Chat Completions stream a piece belongs to, and what that call is named. */

import type { Assembler } from '@meanwhile/core'
import type { ToolNames } from './tool-names.ts'

/** What is read of a piece of a call. */
export interface CallDelta {
  readonly index?: number | null
  readonly id?: string | null
  /** `function`, if any; `custom` is a call of another kind, whose members stand in another place (qC45). */
  readonly type?: string | null
  readonly function?: { readonly name?: string | null; readonly arguments?: string | object | null } | null
  /** Opaque, and wanted back: Gemini's thought signatures (qC38). */
  readonly extra_content?: unknown
}

/** The call that a piece is of: its name as far as it has come, and whether it may be the beginning of a longer one. */
export interface CallOfPiece {
  readonly label: string
  readonly name: string
  readonly nameMayGrow: boolean
}

interface Call {
  readonly label: string
  id: string | undefined
  name: string
  /** Arguments have come. */
  begun: boolean
  /** Arguments have come since it had a name, or with it: the name is whole. */
  isNamed: boolean
}

/** What a piece says, if it says it. */
interface Said {
  readonly index: number | undefined
  readonly id: string | undefined
  readonly name: string | undefined
  readonly text: string | undefined
}

/**
 * A piece is of the call with its index (qC1, qC5), or if it has none with its id (qC2), or else of the latest one (qC3), unless its
 * id or its name begins another call. Empty ids and names say nothing (qC8), a repeated id or name nothing new (qC6, qC9). A name may
 * come in several pieces, until the arguments begin (qC47); a placeholder `{}` is no beginning (qC13).
 */
export class ChatCalls {
  readonly #names: ToolNames
  readonly #known = new Map<number | string, Call>()
  #latest: Call | undefined
  #count = 0

  constructor(names: ToolNames) {
    this.#names = names
  }

  /** @param text The arguments of the piece. */
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

  /** Whether a piece begins another call, although its index, id or place is that of this one. Only a piece with a name can. */
  #isOfAnother(call: Call, { index, id, name, text }: Said, to: Assembler): boolean {
    if (name === undefined) return false
    if (id !== undefined && call.id !== undefined && id !== call.id) return !this.#isNextPiece(call, name)
    if (call.name === '') return false
    const isPlaced = index !== undefined || id !== undefined
    const isWhole = to.isWhole(call.label)
    // Two calls of one tool, where no call has an id (qG1).
    if (call.name === name) return isWhole && !isPlaced && call.id === undefined && text !== undefined
    const areTools = this.#names.has(call.name) && this.#names.has(name)
    // Two calls may have one index and one id (qC48).
    if (isWhole && areTools) return true
    if (!call.isNamed && this.#names.grown(call.name, name) !== undefined) return false
    if (isWhole) return true
    if (!call.begun) return areTools
    // No id tells them apart (qC44).
    return id === undefined && (call.id === undefined || !isPlaced)
  }

  /** Whether this is the next piece of the call's name, and no tool's name: some hosts give each piece an id of its own (qC49). */
  #isNextPiece(call: Call, name: string): boolean {
    if (call.name === '' || call.isNamed || this.#names.has(name)) return false
    return this.#names.grown(call.name, name) !== undefined
  }

  /** What a piece says of a call whose name is not whole yet. */
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
