/** Tells the executions of one call apart. By this a resume finds what a checkpoint holds of each. */

import type { Invocation } from '../saved-run.ts'

/** Something that a checkpoint keeps of an execution. Checkpoints of earlier versions have no invocation. */
interface Kept {
  readonly invocation?: Invocation
}

/** Removes from `kept` what belongs to this invocation, and returns it. What has no invocation belongs to whoever asks first. */
export function takeFor<Some extends Kept>(invocation: Invocation, kept: Some[]): Some | undefined {
  const own = kept.findIndex((one) => one.invocation && isSame(one.invocation, invocation))
  const place = own >= 0 ? own : kept.findIndex((one) => !one.invocation)
  return place >= 0 ? kept.splice(place, 1)[0] : undefined
}

/** Whether they are the same execution, and the same run of an agent in it. */
export function isSame(one: Invocation, other: Invocation): boolean {
  return isSameExecution(one, other) && one.nested === other.nested
}

export function isSameExecution(one: Invocation, other: Invocation): boolean {
  return one.input === other.input && one.n === other.n
}
