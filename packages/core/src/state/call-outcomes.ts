/** Keeps what the executions of a call came to, and the runs of agents in executions that have no outcome yet, so that a checkpoint can hold them. */

import { isSame, isSameExecution, type KnownOutcome, keptFor } from '../machine/invocation.ts'
import type { RunStop } from '../vocabulary/errors.ts'
import type { Answers, PendingInterrupt } from '../vocabulary/interrupt.ts'
import type { ToolMessage } from '../vocabulary/message.ts'
import type { Checkpoint, Invocation, Outcome, SavedCall, SavedOutcome, SavedRun } from '../vocabulary/saved-run.ts'

export class CallOutcomes {
  #runs: readonly SavedRun[]
  readonly #outcomes: SavedOutcome[] = []
  /** Those of a run before this one. */
  readonly #before: readonly SavedOutcome[]

  constructor({ outcomes, runs }: Pick<SavedCall, 'outcomes' | 'runs'> = { outcomes: [], runs: [] }) {
    this.#before = outcomes
    this.#runs = runs
  }

  /** All except of executions that asked or were cut off. */
  save(known: readonly KnownOutcome[] = []): readonly SavedOutcome[] {
    return [...this.#outcomes, ...known.flatMap(({ place }) => this.#before[place] ?? [])]
  }

  add(invocation: Invocation, outcome: Outcome): void {
    this.#runs = this.#runs.filter((run) => !isSameExecution(run.invocation, invocation))
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

  /** The executions in which these agents run. */
  get nested(): readonly Invocation[] {
    return this.#runs.map(({ invocation }) => invocation)
  }

  /** What these runs ask. */
  get interrupts(): readonly PendingInterrupt[] {
    return this.#runs.flatMap(({ checkpoint }) => checkpoint.interrupts)
  }

  /** Of a checkpoint: each gets the answers to what it asks. */
  answer(given: Answers): void {
    this.#runs = this.#runs.map((run) => {
      const own = run.checkpoint.interrupts.flatMap(({ id }) => (id in given ? [[id, given[id]]] : []))
      return own.length === 0 ? run : { ...run, answers: { ...run.answers, ...(Object.fromEntries(own) as Answers) } }
    })
  }

  /** Of a checkpoint: the one that goes on in this invocation, if there is one. */
  runIn(invocation: Invocation): SavedRun | undefined {
    return keptFor(invocation, this.#runs)
  }

  /** One begins. `saved`: as it is by then. */
  begin(invocation: Invocation, saved: () => Checkpoint): void {
    this.#runs = [
      ...this.#runs.filter((run) => !isSame(run.invocation, invocation)),
      {
        invocation,
        get checkpoint() {
          return saved()
        },
      },
    ]
  }

  /** `isLast`: no run goes on any more. Until then one that refuses its answers is to ask again after a kill. */
  saveRuns(isLast: boolean): readonly SavedRun[] {
    return this.#runs.map(({ invocation, checkpoint, answers }) => ({
      invocation,
      checkpoint,
      ...(isLast && answers && { answers }),
    }))
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
