/** Distinguishes a call that comes again from another call with the same id. */

import type { Assembler, Label } from '@meanwhile/assemble'
import type { CallInput } from './call-input.ts'
import type { HeldText } from './held-text.ts'

/** A call, as far as it has arrived. */
export interface TwinCall<Self> {
  readonly label: Label
  name?: string
  /** Its arguments so far. */
  readonly input: CallInput
  /** Whether any arguments have arrived. */
  isFed: boolean
  /** Whether its arguments are complete. */
  isSealed: boolean
  /** The first call with the same id and name. */
  first?: Self
  /** Whether this call is not reported yet, because it may repeat another one with its id. */
  isHeld?: boolean
  /** Whether it repeats a call that was reported. */
  isRepeated?: boolean
}

/** The calls that may repeat one call: they began with its id (qR16, qR21, qA18). */
interface Twins<Call> {
  /** Those that are not decided yet, and what reports them. */
  readonly waiting: Map<Call, (to: Assembler) => void>
  /** The contents of the calls that were reported. */
  shown?: Set<string>
}

/** What the twins need from the reader of the calls. */
interface Reader<Call> {
  /** Whether the call is complete. */
  readonly isOver: (call: Call) => boolean
  readonly seal: (call: Call, text: string, to: Assembler) => void
  readonly add: (call: Call, delta: string, to: Assembler) => void
}

/** A twin is decided when it and the first call are complete: with the same arguments it is the same call. */
export class TwinCalls<Call extends TwinCall<Call>> {
  readonly #reader: Reader<Call>
  readonly #held: HeldText
  readonly #twins = new Map<Call, Twins<Call>>()

  constructor(reader: Reader<Call>, held: HeldText) {
    this.#reader = reader
    this.#held = held
  }

  wait(call: Call, tell: (to: Assembler) => void): void {
    if (call.first) this.#of(call.first).waiting.set(call, tell)
  }

  /** Decides the twins that waited for this call's end, or this twin if it waited for its own. */
  settle(call: Call, to: Assembler): void {
    const first = call.first ?? call
    const twins = this.#twins.get(first)
    if (!twins || !this.#reader.isOver(first)) return
    for (const twin of call.first ? [call] : twins.waiting.keys()) {
      if (this.#reader.isOver(twin) && twin.input.text) this.#decide(first, twin, to)
    }
  }

  /** The response has ended, and with it every call. `mayRun`: whether it allows its calls to run. */
  end(mayRun: boolean, to: Assembler): void {
    const { isOver } = this.#reader
    for (const [first, { waiting }] of this.#twins) {
      for (const twin of waiting.keys()) {
        if (!isOver(first) && isOver(twin) && continues(first, twin)) this.#merge(first, twin, mayRun, to)
      }
      for (const twin of waiting.keys()) this.#decide(first, twin, to, mayRun)
    }
  }

  /** None of the calls that wait is reported any more. */
  clear(): void {
    this.#twins.clear()
  }

  #decide(first: Call, twin: Call, to: Assembler, mayRun = true): void {
    const tell = this.#of(first).waiting.get(twin)
    if (!tell) return
    if (isBlank(first) && !isBlank(twin) && continues(first, twin)) this.#merge(first, twin, mayRun, to)
    else this.#compare(first, twin, tell, to)
  }

  #compare(first: Call, twin: Call, tell: (to: Assembler) => void, to: Assembler): void {
    const twins = this.#of(first)
    twins.waiting.delete(twin)
    this.#held.release(twin.input.text)
    twins.shown ??= new Set([contentOf(first.name, first.input.canonical)])
    const content = contentOf(twin.name ?? first.name, twin.input.canonical)
    if (isBlank(twin) || twins.shown.has(content)) {
      twin.isRepeated = true
      return
    }
    twins.shown.add(content)
    twin.isHeld = false
    tell(to)
    to.call(twin.label, { delta: twin.input.text })
    if (twin.isSealed) to.seal(twin.label)
  }

  /** The first call was sent in parts: the arguments are those of its twin. */
  #merge(first: Call, twin: Call, mayRun: boolean, to: Assembler): void {
    this.#of(first).waiting.delete(twin)
    const { text } = twin.input
    this.#held.release(text)
    twin.isRepeated = true
    if (mayRun) this.#reader.seal(first, text, to)
    else this.#reader.add(first, text.slice(first.input.text.length), to)
  }

  #of(first: Call): Twins<Call> {
    let twins = this.#twins.get(first)
    if (!twins) {
      twins = { waiting: new Map() }
      this.#twins.set(first, twins)
    }
    return twins
  }
}

/** Equal for calls with the same name and arguments. `canonical`: the arguments in canonical form. */
export function contentOf(name: string | undefined, canonical: string): string {
  return `${name ?? ''}\n${canonical}`
}

type Content = Pick<TwinCall<unknown>, 'name' | 'input'>

function continues(first: Content, { name, input }: Content): boolean {
  return (name === undefined || name === first.name) && input.text.startsWith(first.input.text)
}

function isBlank({ input }: Content): boolean {
  return input.text.trim() === ''
}
