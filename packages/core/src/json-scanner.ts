/** Sees where a JSON text that comes in pieces is complete, looking at each character once. */

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

/** Nothing but white space so far. */
const BLANK = 0
/** Inside the root object or array. */
const INSIDE = 1
/** After the root object. */
const CLOSED = 2
/** Nothing that follows can matter: any other root, text after the root, too deep. */
const DONE = 3

/**
 * A scanner of structure, not of validity: it never throws, and what it says of a text that is no JSON means nothing. So what it
 * finds closed is still to be parsed.
 *
 * It keeps no text, and where the text is cut makes no difference. Offsets are UTF-16 code units from the start of the text.
 */
export class JsonScanner {
  readonly #maxDepth: number
  #phase = BLANK
  #offset = 0
  #depth = 0
  #inString = false
  #escaped = false
  #rootIsObject = false
  #begin = 0
  #closedAt: number | undefined
  #empty = false
  #dirty = false
  #tooDeep = false

  constructor(maxDepth: number) {
    this.#maxDepth = maxDepth
  }

  /** There was nothing but white space. */
  get blank(): boolean {
    return this.#phase === BLANK
  }

  /** Where the text that counts begins: at 0, or behind a placeholder `{}` which the real object followed (qC13). */
  get begin(): number {
    return this.#begin
  }

  /** The offset behind the brace that closed the root object. Roots of other kinds never close. */
  get closedAt(): number | undefined {
    return this.#closedAt
  }

  /** The root object is, or is so far, `{}`. */
  get empty(): boolean {
    return this.#empty
  }

  /** Something other than white space came after the root object closed. */
  get dirty(): boolean {
    return this.#dirty
  }

  /** More levels than allowed; the scan has stopped there. */
  get tooDeep(): boolean {
    return this.#tooDeep
  }

  feed(delta: string): void {
    for (let i = 0; i < delta.length && this.#phase !== DONE; i++) {
      const char = delta.charCodeAt(i)
      if (this.#inString) this.#string(char)
      else if (char !== SPACE && char !== LINE_FEED && char !== RETURN && char !== TAB)
        this.#token(char, this.#offset + i)
    }
    this.#offset += delta.length
  }

  #string(char: number): void {
    if (this.#escaped) this.#escaped = false
    else if (char === BACKSLASH) this.#escaped = true
    else if (char === QUOTE) this.#inString = false
  }

  #token(char: number, at: number): void {
    if (this.#phase !== INSIDE) {
      this.#outside(char, at)
      return
    }
    if (char === CLOSE_BRACE || char === CLOSE_BRACKET) {
      this.#leave(char, at)
      return
    }
    this.#empty = false
    if (char === QUOTE) this.#inString = true
    else if (char === OPEN_BRACE || char === OPEN_BRACKET) this.#enter()
  }

  #outside(char: number, at: number): void {
    const placeholder = this.#phase === CLOSED && this.#empty && char === OPEN_BRACE
    if (this.#phase === CLOSED && !placeholder) {
      this.#dirty = true
      this.#phase = DONE
      return
    }
    if (placeholder) this.#begin = at
    this.#closedAt = undefined
    this.#rootIsObject = this.#empty = char === OPEN_BRACE
    this.#phase = this.#rootIsObject || char === OPEN_BRACKET ? INSIDE : DONE
    if (this.#phase === INSIDE) this.#enter()
  }

  #enter(): void {
    this.#depth++
    if (this.#depth <= this.#maxDepth) return
    this.#tooDeep = true
    this.#phase = DONE
  }

  #leave(char: number, at: number): void {
    if (char !== CLOSE_BRACE) this.#empty = false
    this.#depth--
    if (this.#depth > 0) return
    this.#phase = this.#rootIsObject ? CLOSED : DONE
    if (this.#rootIsObject) this.#closedAt = at + 1
  }
}
