/** Detects where a JSON text that arrives in pieces is complete. It examines each character once. */

import { JsonMembers, type OnMember } from './json-members.ts'

const TAB = 0x09
const LINE_FEED = 0x0a
const RETURN = 0x0d
const SPACE = 0x20
const QUOTE = 0x22
const OPEN_BRACKET = 0x5b
const BACKSLASH = 0x5c
const CLOSE_BRACKET = 0x5d
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d

/** Only white space so far. */
const BLANK = 0
/** Inside the root object, array or string. */
const INSIDE = 1
/** After the root object, array or string. */
const CLOSED = 2
/** Nothing that follows can matter: the root is of another kind, or text follows the root. */
const DONE = 3

/**
 * Finds the end of a JSON text by its structure, without validating it: it never throws, and notices brackets that do not match, but not, for
 * example, a missing comma. A text that it reports as closed or complete must still be parsed, once. It reports every text as complete that
 * `JSON.parse` accepts, if the root is an object or array that is not too deep.
 *
 * It stores no text, and its result does not depend on where the text is cut. Offsets, also those of members, are UTF-16 code units from the start of
 * the text, not from `begin`.
 */
export class JsonScanner {
  readonly #maxDepth: number
  readonly #onMember: OnMember | undefined
  /** The characters that will close the open brackets. That of the innermost bracket is last. */
  readonly #closers: number[] = []
  #members: JsonMembers | undefined
  #phase = BLANK
  #offset = 0
  #inString = false
  #escaped = false
  /** The first character of the root. */
  #root = 0
  #begin = 0
  #end: number | undefined
  #empty = false
  /** How many levels are open below the deepest allowed one; `undefined` if the text never was that deep. */
  #below: number | undefined
  #mismatched = false

  /** Without `onMember` the members of the root object are ignored. */
  constructor(maxDepth: number, onMember?: OnMember) {
    this.#maxDepth = maxDepth
    this.#onMember = onMember
  }

  /** Whether the text contains only white space. */
  get blank(): boolean {
    return this.#phase === BLANK
  }

  /** The offset of the relevant text: 0, or the offset after a placeholder `{}` if the real object follows it. */
  get begin(): number {
    return this.#begin
  }

  /** Whether the root object or array has closed, with matching brackets, and only white space has followed so far. */
  get complete(): boolean {
    return this.#phase === CLOSED && !this.#mismatched && this.#root !== QUOTE
  }

  /** The offset after the brace that closed the root object. Roots of other kinds never close. */
  get closedAt(): number | undefined {
    return this.#root === OPEN_BRACE ? this.#end : undefined
  }

  /** The offset after the root object, array or string. */
  get end(): number | undefined {
    return this.#end
  }

  /** Whether the root object is `{}`, or is `{}` so far. */
  get empty(): boolean {
    return this.#empty
  }

  /** Whether anything except white space came after the root object closed. */
  get dirty(): boolean {
    return this.closedAt !== undefined && this.#phase === DONE
  }

  /** Whether there are more levels than allowed. From there on it only looks for the end. */
  get tooDeep(): boolean {
    return this.#below !== undefined
  }

  feed(delta: string): void {
    for (let i = 0; i < delta.length && this.#phase !== DONE; i++) {
      const char = delta.charCodeAt(i)
      if (this.#inString) this.#string(char, this.#offset + i)
      else if (char !== SPACE && char !== LINE_FEED && char !== RETURN && char !== TAB)
        this.#token(char, this.#offset + i)
    }
    this.#offset += delta.length
  }

  #string(char: number, at: number): void {
    if (this.#escaped) this.#escaped = false
    else if (char === BACKSLASH) this.#escaped = true
    else if (char === QUOTE) {
      this.#inString = false
      if (this.#closers.length === 1) this.#members?.enclosed(at + 1)
      else if (this.#closers.length === 0) this.#close(at)
    }
  }

  #token(char: number, at: number): void {
    if (this.#phase !== INSIDE) {
      this.#outside(char, at)
      return
    }
    if (this.#closers.length === 1) this.#members?.token(char, at)
    if (char === CLOSE_BRACE || char === CLOSE_BRACKET) {
      this.#leave(char, at)
      return
    }
    this.#empty = false
    if (char === QUOTE) this.#inString = true
    else if (char === OPEN_BRACE || char === OPEN_BRACKET) this.#enter(char)
  }

  #outside(char: number, at: number): void {
    const placeholder = this.#phase === CLOSED && this.#empty && char === OPEN_BRACE
    if (this.#phase === CLOSED && !placeholder) {
      this.#phase = DONE
      return
    }
    if (placeholder) this.#begin = at
    this.#end = undefined
    this.#root = char
    this.#empty = char === OPEN_BRACE
    this.#inString = char === QUOTE
    this.#phase = this.#empty || this.#inString || char === OPEN_BRACKET ? INSIDE : DONE
    this.#members = this.#empty && this.#onMember ? new JsonMembers(this.#onMember) : undefined
    if (this.#phase === INSIDE && !this.#inString) this.#enter(char)
  }

  #enter(char: number): void {
    if (this.#closers.length < this.#maxDepth) this.#closers.push(char === OPEN_BRACE ? CLOSE_BRACE : CLOSE_BRACKET)
    else this.#below = (this.#below ?? 0) + 1
  }

  #leave(char: number, at: number): void {
    if (this.#below) return void this.#below--
    if (char !== CLOSE_BRACE) this.#empty = false
    if (this.#closers.pop() !== char) this.#mismatched = true
    if (this.#closers.length === 1 && !this.#mismatched) this.#members?.enclosed(at + 1)
    if (this.#closers.length === 0) this.#close(at)
  }

  #close(at: number): void {
    this.#phase = CLOSED
    this.#end = at + 1
  }
}
