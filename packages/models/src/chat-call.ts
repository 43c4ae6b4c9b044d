/** One call of a Chat Completions stream, as far as its pieces have arrived. */

import { type Assembler, argumentsText, DEFAULT_INPUT_LIMITS } from '@meanwhile/core'
import { ToolInput } from '@meanwhile/core/calls'
import { canonicalArguments } from './canonical-arguments.ts'
import { ContradictionError } from './explain.ts'
import { isJson } from './is-json.ts'

/** The maximum characters of arguments that are kept. Longer ones never run. */
const LONGEST = DEFAULT_INPUT_LIMITS.characters

/** Arguments that may belong to another call. Only the part from the piece at `from` on is held back. */
interface Held {
  readonly input: ToolInput
  readonly from: number
}

export class ChatCall {
  readonly label: string
  readonly #first: ChatCall | undefined
  id: string | undefined
  name = ''
  /** The index at which it began. */
  readonly home: string | undefined
  /** The index at which its arguments come. */
  index: string | undefined
  /** Whether arguments other than a placeholder `{}` have arrived. */
  hasBegun = false
  /** Whether they have arrived with or after the name: then the name is complete. */
  isNamed = false
  /** Whether some of them came at an index at which no call had begun. */
  hasStrayed = false
  readonly #pieces: string[] = []
  #length = 0
  #held: Held | undefined
  /** The names and arguments of this call and of those that may repeat it. */
  #forms: Set<string> | undefined

  /** `first`: the call with the same id that this one may repeat. */
  constructor(label: string, home: string | undefined, first: ChatCall | undefined) {
    this.label = label
    this.home = this.index = home
    this.#first = first && (first.#first ?? first)
  }

  /** Whether it has any arguments. */
  get isFed(): boolean {
    return this.#length > 0
  }

  /** Whether its arguments are complete. */
  isWhole(to: Assembler): boolean {
    return this.#held?.input.isWhole ?? to.isWhole(this.label)
  }

  /** Takes a piece of the arguments, and returns it unless it must be held back. */
  add(text: string): string | undefined {
    this.#length += text.length
    if (this.#length <= LONGEST) this.#pieces.push(text)
    else if (this.#held) throw tooLong()
    this.#held?.input.add(text)
    return this.#held ? undefined : text
  }

  /** Holds back all further arguments. */
  hold(): void {
    if (this.#held) return
    if (this.#length > LONGEST) throw tooLong()
    this.#held = { input: this.#inputSoFar(), from: this.#pieces.length }
  }

  /** Ends the hold, and returns the arguments that were held back. */
  release(): string {
    const held = this.#held
    this.#held = undefined
    return held ? this.#pieces.slice(held.from).join('') : ''
  }

  /** Whether its arguments so far are JSON. */
  get isJson(): boolean {
    return isJson(this.#pieces.join(''))
  }

  /** Whether it may be an earlier call once more. */
  get mayRepeat(): boolean {
    return this.#first !== undefined
  }

  /** Whether it is an earlier call once more: the same id, name and input. An announcement without arguments is, too. */
  repeats(input: unknown): boolean {
    const first = this.#first
    if (!first) return false
    if (!this.isFed) return this.name === first.name
    first.#forms ??= new Set([first.#form(first.#inputSoFar().value().input)])
    const form = this.#form(input)
    const isKnown = first.#forms.has(form)
    first.#forms.add(form)
    return isKnown
  }

  #form(input: unknown): string {
    return `${this.name} ${canonicalArguments(typeof input === 'string' ? input : argumentsText(input))}`
  }

  #inputSoFar(): ToolInput {
    const input = new ToolInput(DEFAULT_INPUT_LIMITS)
    for (const piece of this.#pieces) input.add(piece)
    return input
  }
}

function tooLong(): ContradictionError {
  return new ContradictionError(`more than ${LONGEST} characters of arguments may belong to another call`)
}
