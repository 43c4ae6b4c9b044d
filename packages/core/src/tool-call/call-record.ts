/** What the executions of a call have come to, in this run and in those before it. */

import type { Outcome, SavedCall, SavedOutcome } from '../checkpoint/checkpoint.ts'
import { type Effect, exceeds } from '../tool.ts'
import { type Invocation, takeFor } from './invocation.ts'

/** How often it was executed, and what may have happened with nobody knowing what came of it. */
type Tries = Pick<SavedCall, 'attempts' | 'effect'>

/** An execution that is counted and has no outcome. */
interface Try {
  readonly invocation: Invocation
  /** Known when it is about to enter its function. */
  effect?: Effect
  isEntered: boolean
}

export class CallRecord {
  /** How often it was executed (C14), with the executions that wait to enter their function. */
  attempts: number
  /** Set just before the tool's function is entered: from then on the call may have happened. */
  effect: Effect | undefined
  /** An execution that had entered it ended with a stop that is not its own question: it may have happened, though its call stays open. */
  isCutOff = false
  /** What the last execution was given and gave: what a discarded `reversible` call is undone with. */
  done: { readonly input: unknown; readonly output: unknown } | undefined
  /** What may have happened in a run before this one, until it is made again. */
  #before: Effect | undefined
  readonly #inputs: (string | undefined)[] = []
  #tries: Try[] = []
  readonly #outcomes: SavedOutcome[] = []
  /** Those of a run before this one, as far as its wraps have not asked for them yet. */
  readonly #known: SavedOutcome[]
  readonly #wasMade: boolean

  /** As a checkpoint has it; by default, of a call that was never executed. */
  constructor({ attempts = 0, effect, done, outcomes = [] }: Partial<SavedCall> = {}) {
    this.attempts = attempts
    this.effect = effect
    this.#before = effect
    this.done = done
    this.#known = [...outcomes]
    this.#wasMade = outcomes.length > 0
  }

  /** Its function was entered, or may have been in a run before this one. */
  get entered(): boolean {
    return this.effect !== undefined || this.#wasMade
  }

  /** It was entered, or an execution of it has come to something, in whatever run. */
  get isTried(): boolean {
    return this.entered || this.#outcomes.length > 0
  }

  /** What is to be saved of a call that is not over; `isLast`: an execution that still waits will not enter its function any more. */
  tries(isLast: boolean): Tries {
    const waiting = this.#tries.filter(({ isEntered }) => !isEntered).length
    const open = this.#tries.flatMap(({ effect, isEntered }) => (effect && (isEntered || !isLast) ? [effect] : []))
    const effect = gravest(this.#before ? [this.#before, ...open] : open)
    return { attempts: isLast ? this.attempts - waiting : this.attempts, ...(effect && { effect }) }
  }

  /** The next execution, with this input: see {@link Invocation}. */
  invocation(input: string | undefined): Invocation {
    const n = this.#inputs.filter((one) => one === input).length
    this.#inputs.push(input)
    return { ...(input !== undefined && { input }), n }
  }

  /** An execution that is counted waits to enter its function. */
  wait(invocation: Invocation): void {
    this.#tries.push({ invocation, isEntered: false })
  }

  /** It is about to: what is saved from here on says that it did (L15). */
  announce(invocation: Invocation, effect: Effect): void {
    const made = this.#of(invocation)
    if (made) made.effect = effect
  }

  enter(invocation: Invocation, effect: Effect): void {
    this.announce(invocation, effect)
    const made = this.#of(invocation)
    if (made) made.isEntered = true
    this.effect = effect
    this.#before = undefined
  }

  /** It has not entered it; `isStopped`: made after a resume, it is the same attempt. */
  leave(invocation: Invocation, isStopped: boolean): void {
    if (isStopped) this.attempts--
    this.#close(invocation)
  }

  /** What its executions came to, except those that asked or were cut off. */
  get outcomes(): readonly SavedOutcome[] {
    return [...this.#outcomes, ...this.#known]
  }

  /** What this execution came to. */
  add(invocation: Invocation, outcome: Outcome): void {
    this.#close(invocation)
    this.#outcomes.push({ ...outcome, invocation })
  }

  /** What this execution came to in a run before this one, if it did: it is not made again (L8). */
  again(invocation: Invocation): SavedOutcome | undefined {
    const known = takeFor(invocation, this.#known)
    if (known) this.add(invocation, known)
    return known
  }

  #of(invocation: Invocation): Try | undefined {
    return this.#tries.find((one) => one.invocation === invocation)
  }

  #close(invocation: Invocation): void {
    this.#tries = this.#tries.filter((one) => one.invocation !== invocation)
  }
}

function gravest(effects: readonly Effect[]): Effect | undefined {
  return effects.reduce<Effect | undefined>((most, one) => (most && !exceeds(one, most) ? most : one), undefined)
}
