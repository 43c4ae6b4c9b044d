/** The input and the options of a run, and their checks. */

import { AGENT_OPTIONS } from './agent-options.ts'
import { type CheckpointStore, checkStore } from './checkpoint-store.ts'
import { type Effect, isEffect } from './effect.ts'
import { ConfigError } from './errors.ts'
import type { Answers } from './interrupt.ts'
import type { Message } from './message.ts'
import { checkLimit, checkOptions, checkSignal, type OptionNames } from './option-checks.ts'

export interface RunOptions {
  /**
   * Stops the run at once: `result` rejects with `RunAbortedError`. Runs that share a signal add one listener to it, and remove
   * it when they have ended. If a tool passes its own `context.signal`, the run works for that tool's call: where its calls need a slot
   * of a tool of which that call has one, they share that slot.
   */
  readonly signal?: AbortSignal
  /**
   * What belongs to this request and not to the conversation: a user, a tenant, a database handle. Each tool and middleware gets the part
   * that its own `context` describes. It is in no history, checkpoint, event, span or log: give it again to `resume`.
   */
  readonly context?: unknown
  /**
   * For spans: the conversation that this run and the agents inside it belong to. Default of a resume: that of the checkpoint. Otherwise
   * there is none.
   */
  readonly conversationId?: string
  /**
   * The run's id, of which there must be no other run. Default: a random one. If the store has a checkpoint under it already, the run
   * fails with `CheckpointConflictError` when it is to be saved: of several that begin one goes on.
   */
  readonly id?: string
  /** Where checkpoints of this run are kept. Default: the agent's store. An agent inside this run is saved with it. */
  readonly checkpoints?: CheckpointStore
  /**
   * How many events may wait for a reader before deltas are joined and `custom` events dropped. Default 1024;
   * a whole number from 0 on, or `Infinity`.
   */
  readonly eventBuffer?: number
}

export interface ResumeOptions extends Omit<RunOptions, 'id'> {
  /**
   * Effects whose calls are made again if the end of a process cut them off; of the others the model reads that they may have
   * happened. Default `['read']`. A call with the effect `calls` is always made again: this says what becomes of the calls it had made.
   */
  readonly rerun?: readonly Effect[]
}

export type RunInput = string | readonly Message[]

/** What a run begins with: an input, or a checkpoint. */
export type Beginning = { readonly input: RunInput } | { readonly resume: Resumption }

export interface Resumption {
  /** A checkpoint, or the id of a stored one: its run's. */
  readonly from: unknown
  /** By id of the interrupt. */
  readonly answers: Answers
  readonly rerun?: readonly Effect[]
}

const RUN_OPTIONS: OptionNames<RunOptions> = {
  signal: 'abortSignal',
  context: 'deps',
  conversationId: '',
  id: 'runId',
  checkpoints: 'checkpointer',
  eventBuffer: '',
}

const { id: _, ...OF_BOTH } = RUN_OPTIONS

const RESUME_OPTIONS: OptionNames<ResumeOptions> = { ...OF_BOTH, rerun: '' }

/** Throws {@link ConfigError} naming the option of a run. */
export function checkRunOptions(options: RunOptions & ResumeOptions, isResume: boolean): void {
  if (options instanceof AbortSignal) throw new ConfigError('signal', 'goes into an object: { signal }')
  const [owner, names] = isResume ? (['a resume', RESUME_OPTIONS] as const) : (['a run', RUN_OPTIONS] as const)
  for (const name of Object.keys(options ?? {})) {
    if (Object.hasOwn(AGENT_OPTIONS, name) && !Object.hasOwn(names, name))
      throw new ConfigError(name, `is no option of ${owner}; it is one of createAgent`)
    if (name === 'rerun' && !isResume) throw new ConfigError(name, 'is no option of a run; it is one of resume')
  }
  checkOptions<object>(owner, options, names)
  const { signal, id, checkpoints, eventBuffer, rerun } = options
  if (id !== undefined && (typeof id !== 'string' || id === ''))
    throw new ConfigError('id', 'must be a string that is not empty')
  checkStore(checkpoints)
  checkSignal('signal', signal)
  if (eventBuffer !== undefined) checkLimit('eventBuffer', eventBuffer)
  if (rerun !== undefined && !(Array.isArray(rerun) && rerun.every(isEffect)))
    throw new ConfigError('rerun', 'must be a list of effects')
}
