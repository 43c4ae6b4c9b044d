/** The runs of agents in the executions of a call that have no outcome yet, as they can be saved. */

import type { Checkpoint, SavedCall, SavedNested } from '../checkpoint/checkpoint.ts'
import type { Answers } from '../checkpoint/restore.ts'
import type { PendingInterrupt } from '../interrupt/interrupt.ts'
import { isSame, isSameExecution, type Turn, takeFor } from './turn.ts'

interface NestedRun {
  /** Absent of one that an earlier version has saved. */
  readonly turn?: Turn
  readonly saved: Checkpoint
  /** To what it asks, when it is resumed. */
  readonly answers?: Answers
}

type Saved = Pick<SavedCall, 'nested' | 'nestedIn' | 'alsoNested'>

export class NestedRuns {
  #runs: NestedRun[]

  constructor({ nested, nestedIn, alsoNested = [] }: Saved = {}) {
    const further = alsoNested.map((one) => ({ turn: one.nestedIn, saved: one.nested }))
    const first = nested && { saved: nested, ...(nestedIn && { turn: nestedIn }) }
    this.#runs = first ? [first, ...further] : further
  }

  get isEmpty(): boolean {
    return this.#runs.length === 0
  }

  /** What they ask. */
  get interrupts(): readonly PendingInterrupt[] {
    return this.#runs.flatMap(({ saved }) => saved.interrupts)
  }

  /** Of a checkpoint: each gets the answers to what it asks. */
  answer(given: Answers): void {
    this.#runs = this.#runs.map((run) => {
      const own = run.saved.interrupts.flatMap(({ id }) => (id in given ? [[id, given[id]]] : []))
      return { ...run, answers: Object.fromEntries(own) as Answers }
    })
  }

  /** Of a checkpoint: the one that goes on in this turn, if there is one. */
  of(turn: Turn): NestedRun | undefined {
    const run = takeFor(turn, this.#runs)
    if (run) this.#runs.push({ ...run, turn })
    return run
  }

  /** One begins. `saved`: as it is by then. */
  add(turn: Turn, saved: () => Checkpoint): void {
    this.#runs = this.#runs.filter((run) => !run.turn || !isSame(run.turn, turn))
    this.#runs.push({
      turn,
      get saved() {
        return saved()
      },
    })
  }

  /** The execution has an outcome. */
  over(turn: Turn): void {
    this.#runs = this.#runs.filter((run) => !run.turn || !isSameExecution(run.turn, turn))
  }

  save(): Saved {
    const [first, ...further] = this.#runs
    if (!first) return {}
    const also = further.flatMap(({ turn, saved }): SavedNested[] => (turn ? [{ nested: saved, nestedIn: turn }] : []))
    return {
      nested: first.saved,
      ...(first.turn && { nestedIn: first.turn }),
      ...(also.length > 0 && { alsoNested: also }),
    }
  }
}
