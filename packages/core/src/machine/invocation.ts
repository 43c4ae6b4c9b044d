/** Which call of `next` an execution comes of, told by the input that was given: so a resume finds again what belongs to each. */

export interface Invocation {
  /** The hash of the input; absent for the call's own. Of an agent that a wrap runs: the wrap's middleware. */
  readonly input?: string
  /** How many before it, round the same tool call, gave the same input. */
  readonly n: number
  /** Of the run of an agent: how many the execution had begun before it. Absent for the first. */
  readonly nested?: number
}

/** What a checkpoint keeps of an execution. What earlier versions kept has no invocation. */
interface Kept {
  readonly invocation?: Invocation
}

/** Takes what belongs to this invocation; what has none belongs to whoever comes first. */
export function takeFor<Some extends Kept>(invocation: Invocation, kept: Some[]): Some | undefined {
  const own = kept.findIndex((one) => one.invocation && isSame(one.invocation, invocation))
  const place = own >= 0 ? own : kept.findIndex((one) => !one.invocation)
  return place >= 0 ? kept.splice(place, 1)[0] : undefined
}

export function isSame(one: Invocation, other: Invocation): boolean {
  return isSameExecution(one, other) && one.nested === other.nested
}

export function isSameExecution(one: Invocation, other: Invocation): boolean {
  return one.input === other.input && one.n === other.n
}
