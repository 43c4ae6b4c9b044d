/** Finds the members of a root object, from the tokens directly inside it. */

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d

const BEFORE_KEY = 0
const IN_KEY = 1
const BEFORE_COLON = 2
const BEFORE_VALUE = 3
/** Inside a string, an object or an array. The scanner reports where it ends. */
const IN_ENCLOSED = 4
/** Inside a number or a literal. Only the next token shows where it ends. */
const IN_BARE = 5
const BEFORE_COMMA = 6
/** After the last member, or at a place where the text is not JSON. */
const DONE = 7

/** Offsets: of the first code unit, and after the last one. */
interface Span {
  readonly start: number
  readonly end: number
}

/**
 * Receives each member as soon as its value is complete: a string, an object or an array with its last character; a number, `true`, `false` or `null`
 * only with the `,` or `}` that follows, since `1` may become `10`. Must not throw.
 *
 * Decode both spans with `JSON.parse`. The span of the key includes its quotes, because `"\u0061"` is the key `a`; the value may turn out not to be
 * JSON. If a key occurs twice, both members are reported, and the last one counts.
 */
export type OnMember = (key: Span, value: Span) => void

export class JsonMembers {
  readonly #onMember: OnMember
  #state = BEFORE_KEY
  #keyStart = 0
  #keyEnd = 0
  #start = 0
  #end = 0

  constructor(onMember: OnMember) {
    this.#onMember = onMember
  }

  /** A character directly in the root object, or the one that opens a string, an object or an array there. */
  token(char: number, at: number): void {
    switch (this.#state) {
      case BEFORE_KEY:
        this.#keyStart = at
        this.#state = char === QUOTE ? IN_KEY : DONE
        break
      case BEFORE_COLON:
        this.#state = char === COLON ? BEFORE_VALUE : DONE
        break
      case BEFORE_VALUE:
        this.#start = this.#end = at
        if (opens(char)) this.#state = IN_ENCLOSED
        else this.#bare(char, at)
        break
      case IN_BARE:
        if (char === COMMA || char === CLOSE_BRACE) this.#tell(char === COMMA ? BEFORE_KEY : DONE)
        else this.#bare(char, at)
        break
      case BEFORE_COMMA:
        this.#state = char === COMMA ? BEFORE_KEY : DONE
        break
      default:
        this.#state = DONE
    }
  }

  /** Records that the string, object or array ends before `end`. */
  enclosed(end: number): void {
    if (this.#state === IN_KEY) {
      this.#keyEnd = end
      this.#state = BEFORE_COLON
    } else if (this.#state === IN_ENCLOSED) {
      this.#end = end
      this.#tell(BEFORE_COMMA)
    }
  }

  #bare(char: number, at: number): void {
    const gap = at !== this.#end
    this.#end = at + 1
    this.#state = gap || opens(char) || separates(char) ? DONE : IN_BARE
  }

  #tell(next: number): void {
    this.#state = next
    this.#onMember({ start: this.#keyStart, end: this.#keyEnd }, { start: this.#start, end: this.#end })
  }
}

function opens(char: number): boolean {
  return char === QUOTE || char === OPEN_BRACE || char === OPEN_BRACKET
}

function separates(char: number): boolean {
  return char === COMMA || char === COLON || char === CLOSE_BRACE || char === CLOSE_BRACKET
}
