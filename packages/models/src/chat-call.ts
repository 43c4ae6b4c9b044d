/** One call of a Chat Completions stream, as far as its pieces have arrived. */

import { type Assembler, argumentsText, ToolInput } from '@meanwhile/assemble'
import type { InputLimits } from '@meanwhile/core'
import { CallInput } from './call-input.ts'
import { canonicalArguments } from './canonical-arguments.ts'
import type { HeldText } from './held-text.ts'
import { isJson } from './is-json.ts'

/** Arguments that may belong to another call are held back. */
interface Hold {
  readonly input: ToolInput
  /** What was shown before. */
  readonly shown: string
  readonly rest: CallInput
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
  readonly #limits: InputLimits
  readonly #input: CallInput
  readonly #held: HeldText
  #hold: Hold | undefined
  /** The names and arguments of this call and of those that may repeat it. */
  #forms: Set<string> | undefined

  /** `first`: the call with the same id that this one may repeat. */
  constructor(
    label: string,
    home: string | undefined,
    first: ChatCall | undefined,
    held: HeldText,
    limits: InputLimits,
  ) {
    this.label = label
    this.#held = held
    this.#limits = limits
    this.#input = new CallInput(limits)
    this.home = this.index = home
    this.#first = first && (first.#first ?? first)
  }

  /** Whether it has any arguments. */
  get isFed(): boolean {
    return this.#input.text !== ''
  }

  /** Whether its arguments are complete. */
  isWhole(to: Assembler): boolean {
    return this.#hold?.input.isWhole ?? to.isWhole(this.label)
  }

  /** Takes a piece of the arguments, and returns it unless it must be held back. */
  add(text: string): string | undefined {
    this.#input.add(text)
    if (!this.#hold) return text
    this.#held.add(this.#hold.rest.add(text))
    this.#hold.input.add(text)
    return undefined
  }

  /** Holds back all further arguments. */
  hold(): void {
    if (this.#hold) return
    const shown = this.#input.text
    const input = new ToolInput(this.#limits)
    input.add(shown)
    this.#hold = { input, shown, rest: new CallInput(this.#limits) }
  }

  /** Ends the hold, and returns the arguments that were held back. */
  release(): string {
    if (!this.#hold) return ''
    const { text } = this.#hold.rest
    this.#hold = undefined
    this.#held.release(text)
    return text
  }

  /** Whether what is held back completes its arguments. */
  get isComplete(): boolean {
    return this.#hold !== undefined && isJson(this.#hold.shown + this.#hold.rest.text)
  }

  /** Whether what is held back are the arguments of another call, and not the rest of these. */
  get holdsOther(): boolean {
    return this.#hold !== undefined && isJson(this.#hold.rest.text)
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
    first.#forms ??= new Set([first.#form(first.#input.value.input)])
    const form = this.#form(input)
    const isKnown = first.#forms.has(form)
    first.#forms.add(form)
    return isKnown
  }

  #form(input: unknown): string {
    return `${this.name} ${canonicalArguments(typeof input === 'string' ? input : argumentsText(input))}`
  }
}
