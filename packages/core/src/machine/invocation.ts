/** Tells the executions of one call apart. By this a resume finds what a checkpoint holds of each. */

export interface Invocation {
  /** The hash of its input; absent if that is the call's own input. For an agent that a wrap runs: the name of the wrap's middleware. */
  readonly input?: string
  /** How many executions of the call with this input came before it. */
  readonly n: number
  /** For the run of an agent: how many such runs the execution began before it. Absent for the first. */
  readonly nested?: number
}

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
