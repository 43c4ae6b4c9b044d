/** The runs of agents in the executions of a call that have no outcome yet, as they can be saved. */

import type { Checkpoint, SavedCall, SavedNested } from '../checkpoint/checkpoint.ts'
import type { Answers } from '../checkpoint/restore.ts'
import type { PendingInterrupt } from '../interrupt/interrupt.ts'
import { type Invocation, isSame, isSameExecution, takeFor } from './invocation.ts'

interface NestedRun {
  /** Absent of one that an earlier version has saved. */
  readonly invocation?: Invocation
  readonly saved: Checkpoint
  /** To what it asks, when it is resumed. */
  readonly answers?: Answers
}

type Saved = Pick<SavedCall, 'nested' | 'nestedIn' | 'alsoNested'>

export class NestedRuns {
  #runs: NestedRun[]

  constructor({ nested, nestedIn, alsoNested = [] }: Saved = {}) {
    const further = alsoNested.map((one) => ({ invocation: one.nestedIn, saved: one.nested }))
    const first = nested && { saved: nested, ...(nestedIn && { invocation: nestedIn }) }
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

  /** Of a checkpoint: the one that goes on in this invocation, if there is one. */
  of(invocation: Invocation): NestedRun | undefined {
    const run = takeFor(invocation, this.#runs)
    if (run) this.#runs.push({ ...run, invocation })
    return run
  }

  /** One begins. `saved`: as it is by then. */
  add(invocation: Invocation, saved: () => Checkpoint): void {
    this.#runs = this.#runs.filter((run) => !run.invocation || !isSame(run.invocation, invocation))
    this.#runs.push({
      invocation,
      get saved() {
        return saved()
      },
    })
  }

  /** The execution has an outcome. */
  over(invocation: Invocation): void {
    this.#runs = this.#runs.filter((run) => !run.invocation || !isSameExecution(run.invocation, invocation))
  }

  save(): Saved {
    const [first, ...further] = this.#runs
    if (!first) return {}
    const also = further.flatMap(({ invocation, saved }): SavedNested[] =>
      invocation ? [{ nested: saved, nestedIn: invocation }] : [],
    )
    return {
      nested: first.saved,
      ...(first.invocation && { nestedIn: first.invocation }),
      ...(also.length > 0 && { alsoNested: also }),
    }
  }
}
