/** Keeps what the executions of a call came to, and the runs of agents in executions that have no outcome yet, so that a checkpoint can hold them. */

import { isSame, isSameExecution, type KnownOutcome, savedFor } from '../machine/invocation.ts'
import type { RunStop } from '../vocabulary/errors.ts'
import type { Answers, PendingInterrupt } from '../vocabulary/interrupt.ts'
import type { ToolMessage } from '../vocabulary/message.ts'
import type { Checkpoint, Invocation, Outcome, SavedCall, SavedOutcome, SavedRun } from '../vocabulary/saved-run.ts'

/** The run of an agent in an execution. */
interface NestedRun extends Pick<SavedRun, 'invocation' | 'answers'> {
  /** Its checkpoint as it is now. */
  readonly checkpoint: () => Checkpoint
}

export class CallOutcomes {
  #runs: readonly NestedRun[]
  readonly #outcomes: SavedOutcome[] = []
  /** Those of a run before this one. */
  readonly #before: readonly SavedOutcome[]

  constructor({ outcomes, runs }: Pick<SavedCall, 'outcomes' | 'runs'> = { outcomes: [], runs: [] }) {
    this.#before = outcomes
    this.#runs = runs.map((run) => ({ ...run, checkpoint: () => run.checkpoint }))
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
    return this.#runs.flatMap(({ checkpoint }) => checkpoint().interrupts)
  }

  /** Answers are there for the runs of a checkpoint. */
  answer(given: Answers): void {
    this.#runs = this.#runs.map((run) => ({ ...run, answers: { ...run.answers, ...given } }))
  }

  /** The run in this execution does not accept its answers, and asks again. */
  refuse(invocation: Invocation): void {
    this.#runs = this.#runs.map((run) => (isSame(run.invocation, invocation) ? { ...run, answers: {} } : run))
  }

  /** The run of a checkpoint that goes on in this execution, if there is one. */
  runIn(invocation: Invocation): SavedRun | undefined {
    const run = savedFor(invocation, this.#runs)
    return run && savedRun(run)
  }

  /** A run begins, or goes on. It keeps its answers until it no longer asks for them. */
  begin(invocation: Invocation, checkpoint: () => Checkpoint): void {
    const { answers = {} } = savedFor(invocation, this.#runs) ?? {}
    const others = this.#runs.filter((run) => !isSame(run.invocation, invocation))
    this.#runs = [...others, { invocation, checkpoint, answers }]
  }

  saveRuns(): readonly SavedRun[] {
    return this.#runs.map(savedRun)
  }
}

function savedRun({ invocation, answers = {}, ...run }: NestedRun): SavedRun {
  const checkpoint = run.checkpoint()
  const asked = checkpoint.interrupts.flatMap(({ id }) => (id in answers ? [[id, answers[id]]] : []))
  return { invocation, checkpoint, ...(asked.length > 0 && { answers: Object.fromEntries(asked) as Answers }) }
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
