/** Keeps what is known of a call's executions: their handles, and for checkpoints their outcomes and the runs of agents in those without one. */

import { isSame, isSameExecution, type KnownOutcome, savedFor } from '../machine/invocation.ts'
import type { ExecutionFacts } from '../telemetry/around.ts'
import type { RunStop } from '../vocabulary/errors.ts'
import type { Answers, PendingInterrupt } from '../vocabulary/interrupt.ts'
import type { ToolMessage } from '../vocabulary/message.ts'
import type { Checkpoint, Invocation, Outcome, SavedCall, SavedOutcome, SavedRun } from '../vocabulary/saved-run.ts'
import type { Wait } from './rest.ts'

/** The run of an agent in an execution. */
interface NestedRun extends Pick<SavedRun, 'invocation' | 'answers'> {
  /** The current checkpoint of the run. */
  readonly checkpoint: () => Checkpoint
}

export class CallOutcomes {
  #runs: readonly NestedRun[]
  readonly #outcomes: SavedOutcome[] = []
  /** The outcomes from before the resume. */
  readonly #before: readonly SavedOutcome[]

  constructor({ outcomes, runs }: Pick<SavedCall, 'outcomes' | 'runs'> = { outcomes: [], runs: [] }) {
    this.#before = outcomes
    this.#runs = runs.map((run) => ({ ...run, checkpoint: () => run.checkpoint }))
  }

  /** Returns all outcomes. Executions that asked a question or were cut off have none. */
  save(known: readonly KnownOutcome[] = []): readonly SavedOutcome[] {
    return [...this.#outcomes, ...known.flatMap(({ place }) => this.#before[place] ?? [])]
  }

  add(invocation: Invocation, outcome: Outcome): void {
    this.#runs = this.#runs.filter((run) => !isSameExecution(run.invocation, invocation))
    this.#outcomes.push({ ...outcome, invocation })
  }

  /** Returns the outcome of an execution from before the resume. */
  before(known: KnownOutcome | undefined): SavedOutcome | undefined {
    return known && this.#before[known.place]
  }

  /** Whether an agent runs in the call. */
  get hasRuns(): boolean {
    return this.#runs.length > 0
  }

  /** The executions in which these agents run. */
  get nested(): readonly Invocation[] {
    return this.#runs.map(({ invocation }) => invocation)
  }

  /** The questions of these runs that have no answer. */
  get interrupts(): readonly PendingInterrupt[] {
    return this.#runs.flatMap(({ checkpoint, answers = {} }) =>
      checkpoint().interrupts.filter(({ id }) => !(id in answers)),
    )
  }

  /** Called when the run in this execution has rejected its answers: it will ask again. */
  refuse(invocation: Invocation): void {
    this.#runs = this.#runs.map((run) => (isSame(run.invocation, invocation) ? { ...run, answers: {} } : run))
  }

  /** The run of a checkpoint that continues in this execution, if there is one. */
  runIn(invocation: Invocation): SavedRun | undefined {
    const run = savedFor(invocation, this.#runs)
    return run && savedRun(run)
  }

  /** Called when a run begins or continues. It keeps its answers until it no longer asks for them. */
  begin(invocation: Invocation, checkpoint: () => Checkpoint): void {
    const { answers = {} } = savedFor(invocation, this.#runs) ?? {}
    const others = this.#runs.filter((run) => !isSame(run.invocation, invocation))
    this.#runs = [...others, { invocation, checkpoint, answers }]
  }

  saveRuns(): readonly SavedRun[] {
    return this.#runs.map(savedRun)
  }
}

function savedRun(run: NestedRun): SavedRun {
  return withAnswers({ ...run, checkpoint: run.checkpoint() })
}

/** Adds those of these answers that the run asks for. */
export function withAnswers({ invocation, checkpoint, answers }: SavedRun, given: Answers = {}): SavedRun {
  const all = { ...answers, ...given }
  const asked = checkpoint.interrupts.flatMap(({ id }) => (id in all ? [[id, all[id]]] : []))
  return { invocation, checkpoint, ...(asked.length > 0 && { answers: Object.fromEntries(asked) as Answers }) }
}

/**
 * How a call settled. With neither a message nor a stop, the call threw an error that ends the run, was discarded, or was still running when nothing
 * waited for it any more.
 */
export interface Ending {
  readonly message?: ToolMessage
  /** What its wraps or its tool threw, if the message only contains the text of that error. */
  readonly error?: unknown
  /** Whether the message only states that the end of the run cut it off. A resume does not use it as a result. */
  readonly isCutOff?: boolean
  /** The call stays open: its run has stopped, and a resume makes the call. */
  readonly stopped?: RunStop
}

export type Result = Ending & Required<Pick<Ending, 'message'>>

/** The handle of an execution of a tool's function. It is kept until the span of the execution ends. */
export interface Execution extends ExecutionFacts {
  /** How many runs of agents it has begun. */
  agents?: number
  /** The inner calls of its function. */
  readonly children: { abort(reason: unknown, grace: number): void }[]
  wait?: Wait
}
