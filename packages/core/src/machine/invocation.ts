/** Tells the executions of one call apart. By this a resume finds what a checkpoint holds of each. */

import type { Invocation } from '../vocabulary/saved-run.ts'

/** Something that a checkpoint keeps of an execution. */
interface Kept {
  readonly invocation: Invocation
}

export interface KnownOutcome extends Kept {
  readonly place: number
}

interface HasOutcomes {
  readonly knownOutcomes?: readonly KnownOutcome[]
}

/** What of `kept` belongs to this invocation. */
export function savedFor<Some extends Kept>(which: Invocation, kept: readonly Some[]): Some | undefined {
  return kept.find(({ invocation }) => isSame(invocation, which))
}

/** What an execution of a call came to in an earlier process, if that is known: it has that outcome again, and is not made. */
export function knownFor({ knownOutcomes = [] }: HasOutcomes, which: Invocation): KnownOutcome | undefined {
  return savedFor(which, knownOutcomes)
}

/** Whether they are the same execution, and the same run of an agent in it. */
export function isSame(one: Invocation, other: Invocation): boolean {
  return isSameExecution(one, other) && one.nested === other.nested
}

export function isSameExecution(one: Invocation, other: Invocation): boolean {
  return one.input === other.input && one.n === other.n
}
