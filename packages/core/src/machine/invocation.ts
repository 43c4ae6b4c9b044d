/** Identifies the executions of one call, so that a resume finds what a checkpoint contains for each. */

import type { Invocation } from '../vocabulary/saved-run.ts'

/** Something that a checkpoint contains for one execution. */
interface Kept {
  readonly invocation: Invocation
}

export interface KnownOutcome extends Kept {
  readonly place: number
}

/** The element of `kept` that belongs to this invocation. */
export function savedFor<Some extends Kept>(which: Invocation, kept: readonly Some[] = []): Some | undefined {
  return kept.find(({ invocation }) => isSame(invocation, which))
}

/** Whether both are the same execution and the same agent run inside it. */
export function isSame(one: Invocation, other: Invocation): boolean {
  return isSameExecution(one, other) && one.nested === other.nested
}

export function isSameExecution(one: Invocation, other: Invocation): boolean {
  return one.input === other.input && one.n === other.n
}
