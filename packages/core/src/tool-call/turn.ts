/** Which of its call's executions one is, told by the input that `next` was given: so a resume finds again what belongs to each. */

export interface Turn {
  /** The hash of the input; absent for the call's own. */
  readonly input?: string
  /** How many executions of the call were given the same input before it. */
  readonly n: number
  /** Of the run of an agent: how many the execution had begun before it. Absent for the first. */
  readonly nested?: number
}

/** What a checkpoint keeps of an execution. What earlier versions kept has no turn. */
interface Kept {
  readonly turn?: Turn
}

/** Takes what belongs to this turn; what has none belongs to whoever comes first. */
export function takeFor<Some extends Kept>(turn: Turn, kept: Some[]): Some | undefined {
  const own = kept.findIndex((one) => one.turn && isSame(one.turn, turn))
  const place = own >= 0 ? own : kept.findIndex((one) => !one.turn)
  return place >= 0 ? kept.splice(place, 1)[0] : undefined
}

export function isSame(one: Turn, other: Turn): boolean {
  return isSameExecution(one, other) && one.nested === other.nested
}

export function isSameExecution(one: Turn, other: Turn): boolean {
  return one.input === other.input && one.n === other.n
}
