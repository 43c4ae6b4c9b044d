/** Keeps what the executions of a call came to, and the runs of agents in executions that have no outcome yet, so that a checkpoint can hold them. */

import { isSame, isSameExecution, type KnownOutcome, keptFor } from '../machine/invocation.ts'
import type { RunStop } from '../vocabulary/errors.ts'
import type { Answers, PendingInterrupt } from '../vocabulary/interrupt.ts'
import type { ToolMessage } from '../vocabulary/message.ts'
import type { Checkpoint, Invocation, Outcome, SavedCall, SavedNested, SavedOutcome } from '../vocabulary/saved-run.ts'

interface NestedRun {
  /** Absent of one that an earlier version has saved. */
  readonly invocation?: Invocation
  readonly saved: Checkpoint
  /** To what it asks, when it is resumed. */
  readonly answers?: Answers
}

type SavedRuns = Pick<SavedCall, 'nested' | 'nestedIn' | 'alsoNested'>

export class CallOutcomes {
  #runs: NestedRun[]
  readonly #outcomes: SavedOutcome[] = []
  /** Those of a run before this one. */
  readonly #before: readonly SavedOutcome[]

  constructor({ nested, nestedIn, alsoNested = [], outcomes = [] }: SavedRuns & Pick<SavedCall, 'outcomes'> = {}) {
    this.#before = outcomes
    const further = alsoNested.map((one) => ({ invocation: one.nestedIn, saved: one.nested }))
    const first = nested && { saved: nested, ...(nestedIn && { invocation: nestedIn }) }
    this.#runs = first ? [first, ...further] : further
  }

  /** All except of executions that asked or were cut off. */
  save(known: readonly KnownOutcome[] = []): Pick<SavedCall, 'outcomes'> {
    const outcomes = [...this.#outcomes, ...known.flatMap(({ place }) => this.#before[place] ?? [])]
    return outcomes.length > 0 ? { outcomes } : {}
  }

  add(invocation: Invocation, outcome: Outcome): void {
    this.#runs = this.#runs.filter((run) => !run.invocation || !isSameExecution(run.invocation, invocation))
    this.#outcomes.push({ ...outcome, invocation })
  }

  /** What an execution came to in a run before this one. */
  before(known: KnownOutcome | undefined): SavedOutcome | undefined {
    return known && this.#before[known.place]
  }

  /** Whether an agent runs in it. */
  get hasRuns(): boolean {
    return this.#runs.length > 0
  }

  /** What these runs ask. */
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
  runIn(invocation: Invocation): NestedRun | undefined {
    const run = keptFor(invocation, this.#runs)
    if (run) this.#runs = [...this.#runs.filter((one) => one !== run), { ...run, invocation }]
    return run
  }

  /** One begins. `saved`: as it is by then. */
  begin(invocation: Invocation, saved: () => Checkpoint): void {
    this.#runs = this.#runs.filter((run) => !run.invocation || !isSame(run.invocation, invocation))
    this.#runs.push({
      invocation,
      get saved() {
        return saved()
      },
    })
  }

  saveRuns(): SavedRuns {
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

/** What a call came to. With neither it threw what ends its run, was discarded, or went on when nobody waited any more. */
export interface Ending {
  readonly message?: ToolMessage
  /** What its wraps or its tool threw, where the message only says that. */
  readonly error?: unknown
  /** The message only says that the end of the run cut it off: a resume does not take it for a result. */
  readonly isCutOff?: boolean
  /** It stays open: its run has stopped, and a resume makes it. */
  readonly stopped?: RunStop
}

export type Result = Ending & Required<Pick<Ending, 'message'>>
