/** Collects the arguments of one call in pieces and parses them to a value. */

import { type InputLimits, messageOf } from '@meanwhile/core'
import { sameInput, unwrapJson } from '@meanwhile/core/calls'
import { Fragments } from './fragments.ts'
import { JsonScanner } from './json-scanner.ts'
import { NeededMembers } from './needed-members.ts'
import { Resends } from './resends.ts'

/** The value of the text. If the text is unusable, it is the text itself, with the reason. */
export interface InputValue {
  readonly input: unknown
  readonly inputError?: string
}

/** Parses the text when the root object closed, and once more if the text continued. Each needed member is also decoded once. */
export class ToolInput {
  readonly #limits: InputLimits
  #text = new Fragments()
  #length = 0
  readonly #resends = new Resends()
  #needs: readonly string[] | undefined
  #needed: NeededMembers | undefined
  #scanner: JsonScanner
  #closed: InputValue | undefined
  #value: InputValue | undefined

  constructor(limits: InputLimits) {
    this.#limits = limits
    this.#scanner = new JsonScanner(limits.depth)
  }

  /** Looks for these members of the root object, unless part of the object has already arrived. */
  need(members: readonly string[]): void {
    if (!this.#scanner.blank && !this.#scanner.empty) return
    const text = this.#text.join()
    this.#needs = members
    this.#scanner = this.#scanning()
    this.#scan(text)
  }

  /** Returns the needed members once, as soon as they are complete. */
  ready(): Readonly<Record<string, unknown>> | undefined {
    const input = this.#scanner.tooDeep ? undefined : this.#needed?.input
    if (input) this.#needs = this.#needed = undefined
    return input
  }

  /** Takes the next piece, or all pieces again, and returns the new text to show. */
  add(delta: string): string {
    return this.#append(this.#resends.possible(delta.length, this.#length) ? this.#newOf(delta) : delta)
  }

  /** The pieces shown so far. */
  get pieces(): readonly string[] {
    return this.#text.pieces
  }

  /** The last piece to show, if one was held back. */
  rest(): string {
    return this.#text.rest()
  }

  /** Replaces all text by `text`, unless it means the same. */
  replace(text: string): void {
    if (!this.#tooLong && text === this.#counting()) return
    const came = this.isWhole ? this.value() : undefined
    this.#clear()
    this.#append(text)
    if (came && meansSame(came.input, this.value().input)) this.#value = came
  }

  /** Whether an object, an array or a string has closed. */
  get isWhole(): boolean {
    return this.#scanner.end !== undefined
  }

  /** Changes when a root object closes. */
  get closedAt(): number | undefined {
    return this.#scanner.closedAt
  }

  /** Whether something followed the root object after it closed, so that {@link closed} is not the complete value. */
  get dirty(): boolean {
    return this.#scanner.dirty
  }

  /** Returns the value that the root object had when it closed, if it is an object other than `{}`. */
  closed(): InputValue | undefined {
    if (this.closedAt === undefined || this.#scanner.empty || this.#scanner.tooDeep || this.#tooLong) return undefined
    this.#closed ??= parse(this.#text.join().slice(this.#scanner.begin, this.closedAt))
    return this.#closed.inputError === undefined ? this.#closed : undefined
  }

  /** The value of the whole text. */
  value(): InputValue {
    this.#value ??= (this.dirty ? undefined : this.closed()) ?? this.#parse()
    return this.#value
  }

  #newOf(delta: string): string {
    const text = this.#text.join()
    if (!this.#resends.isResend(text, delta)) return delta
    if (delta.startsWith(text)) return delta.slice(text.length)
    this.#clear()
    return delta
  }

  #append(delta: string): string {
    if (delta === '') return ''
    this.#value = undefined
    this.#length += delta.length
    this.#scan(delta)
    if (!this.#tooLong) return this.#text.add(delta)
    // Neither kept nor shown: the limit protects memory.
    this.#text = new Fragments()
    return ''
  }

  #scan(delta: string): void {
    this.#needed?.add(delta)
    this.#scanner.feed(delta)
  }

  #clear(): void {
    this.#text = new Fragments()
    this.#length = 0
    this.#scanner = this.#scanning()
    this.#closed = undefined
    this.#value = undefined
  }

  #scanning(): JsonScanner {
    this.#needed = this.#needs && new NeededMembers(this.#needs, this.#limits.characters)
    return new JsonScanner(this.#limits.depth, this.#needed?.onMember)
  }

  get #tooLong(): boolean {
    return this.#length > this.#limits.characters
  }

  /** Returns the value that arrived first, if all later text only repeats it. */
  #once(): InputValue | undefined {
    const { begin, end } = this.#scanner
    const rest = end === undefined ? '' : this.#text.join().slice(end)
    if (rest.trim() === '') return undefined
    const once = this.closed() ?? parse(this.#text.join().slice(begin, end))
    return once.inputError === undefined && repeats(once.input, rest, this.#limits.depth) ? once : undefined
  }

  #parse(): InputValue {
    if (this.#tooLong)
      return { input: '', inputError: `arguments are longer than ${this.#limits.characters} characters` }
    if (this.#scanner.blank) return { input: {} }
    const text = this.#counting()
    // Checked before parsing, so that recursive readers of the value stay within the limit.
    if (this.#scanner.tooDeep) {
      return { input: text, inputError: `arguments are nested deeper than ${this.#limits.depth} levels` }
    }
    return this.#once() ?? parse(text)
  }

  #counting(): string {
    return this.#text.join().slice(this.#scanner.begin)
  }
}

function parse(text: string): InputValue {
  try {
    return { input: JSON.parse(text) }
  } catch (thrown) {
    return { input: text, inputError: `arguments are not valid JSON: ${messageOf(thrown).slice(0, 200)}` }
  }
}

/** Whether two inputs are the same, or one is the other as a JSON string. */
function meansSame(a: unknown, b: unknown): boolean {
  return sameInput(unwrapJson(a, WHOLE), unwrapJson(b, WHOLE))
}

/** The path of the input itself, for `unwrapJson`. */
const WHOLE = [[]]

/** Whether `text` contains only this input again, once or several times. It looks at most `maxDepth` levels deep. */
function repeats(input: unknown, text: string, maxDepth: number): boolean {
  for (let rest = text; rest.trim() !== ''; ) {
    const scanner = new JsonScanner(maxDepth)
    scanner.feed(rest)
    if (scanner.end === undefined || !isKnown(rest.slice(scanner.begin, scanner.end), input)) return false
    rest = rest.slice(scanner.end)
  }
  return true
}

/** Whether the JSON text is equal to the known input, or is empty: an empty piece may be encoded as well. */
function isKnown(text: string, input: unknown): boolean {
  try {
    const value: unknown = JSON.parse(text)
    return value === '' || meansSame(value, input)
  } catch {
    return false
  }
}
