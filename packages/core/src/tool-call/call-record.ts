/** What the executions of a call have come to, in this run and in those before it. */

import type { SavedCall, SavedOutcome } from '../checkpoint/checkpoint.ts'
import type { Effect } from '../tool.ts'

/** How often it was executed, and whether it was entered. */
type Tries = Pick<SavedCall, 'attempts' | 'effect'>

export class CallRecord {
  /** How often it was executed (C14), with the execution that waits to enter its function. */
  attempts: number
  /** Set just before the tool's function is entered: from then on the call may have happened. */
  effect: Effect | undefined
  /** An execution that had entered it ended with a stop that is not its own question: it may have happened, though its call stays open. */
  isCutOff = false
  /** What the last execution was given and gave: what a discarded `reversible` call is undone with. */
  done: { readonly input: unknown; readonly output: unknown } | undefined
  /** Both as they were before the execution that waits. */
  #before: Tries | undefined
  readonly #outcomes: SavedOutcome[] = []
  /** Those of a run before this one, as far as its wraps have not asked for them yet. */
  readonly #known: SavedOutcome[]

  /** As a checkpoint has it; by default, of a call that was never executed. */
  constructor({ attempts = 0, effect, done, outcomes = [] }: Partial<SavedCall> = {}) {
    this.attempts = attempts
    this.effect = effect
    this.done = done
    this.#known = [...outcomes]
  }

  /** Its function was entered, or may have been in a run before this one. */
  get entered(): boolean {
    return this.effect !== undefined
  }

  /** It was entered, or an execution of it has come to something, in whatever run. */
  get isTried(): boolean {
    return this.entered || this.outcomes.length > 0
  }

  /** Both as they are to be saved; `isLast`: an execution that still waits will not enter its function any more. */
  tries(isLast: boolean): Tries {
    const { attempts, effect } = (isLast && this.#before) || this
    return { attempts, ...(effect && { effect }) }
  }

  /** An execution that is counted waits to enter its function. */
  wait(): void {
    this.#before = { ...this.tries(false), attempts: this.attempts - 1 }
  }

  /** It is about to: what is saved from here on says that it did (L15). */
  announce(effect: Effect): void {
    this.effect = effect
  }

  enter(effect: Effect): void {
    this.effect = effect
    this.#before = undefined
  }

  /** It has not entered it; `isStopped`: made after a resume, it is the same attempt. */
  leave(isStopped: boolean): void {
    if (isStopped) this.attempts--
    if (this.#before) this.effect = this.#before.effect
    this.#before = undefined
  }

  /** What its executions came to, but for those that asked or were cut off. */
  get outcomes(): readonly SavedOutcome[] {
    return [...this.#outcomes, ...this.#known]
  }

  /** What this execution came to. */
  add(outcome: SavedOutcome): void {
    this.#outcomes.push(outcome)
  }

  /** What the next execution came to in a run before this one, if it did: it is not made again (L8). */
  again(): SavedOutcome | undefined {
    const known = this.#known.shift()
    if (known) this.add(known)
    return known
  }
}
