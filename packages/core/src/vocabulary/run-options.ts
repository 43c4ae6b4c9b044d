/** Defines the input and the options of a run, and checks them. */

import type { StandardSchemaV1 } from '@standard-schema/spec'
import { AGENT_OPTIONS } from './agent-options.ts'
import { type CheckpointStore, checkStore } from './checkpoint-store.ts'
import { type Effect, isEffect } from './effect.ts'
import { ConfigError } from './errors.ts'
import type { Answers } from './interrupt.ts'
import type { Message } from './message.ts'
import { checkLimit, checkOptions, checkSignal, type OptionNames } from './option-checks.ts'

/** The options of `agent.run` and `agent.stream`. */
export interface RunOptions {
  /**
   * Stops the run immediately: `result` rejects with `RunAbortedError`. Runs that share a signal add one listener to it, and remove it when they have
   * ended. If a tool passes its own `context.signal`, the run belongs to that tool's call: calls of the run share the concurrency slot that the call
   * has of a tool.
   */
  readonly signal?: AbortSignal
  /**
   * Data of this request that is not part of the conversation: a user, a tenant, a database handle. Each tool and middleware gets the part that its
   * own `context` schema describes. The context is never in a history, checkpoint, event, span or log: give it again to `resume`.
   */
  readonly context?: unknown
  /** The id of the conversation of this run and of the agents inside it, for spans. Default of a resume: that of the checkpoint; otherwise none. */
  readonly conversationId?: string
  /**
   * The id of the run, which must be unique. Default: a random id. If the store already has a checkpoint with this id, saving the run fails with
   * `CheckpointConflictError`. So if several runs begin with the same id, only one continues.
   */
  readonly id?: string
  /** Stores the checkpoints of this run. Default: the agent's store. An agent inside this run is saved with it. */
  readonly checkpoints?: CheckpointStore
  /**
   * How many events may wait for a slow reader. When the buffer is full, deltas are joined and `custom` events are dropped. Default 1024; an integer
   * of at least 0, or `Infinity`.
   */
  readonly eventBuffer?: number
}

/** The options of `agent.resume`. */
export interface ResumeOptions extends Omit<RunOptions, 'id'> {
  /**
   * The effects of calls that run again if the end of the process, or a cancel, interrupted them. For other calls the model reads that they may have
   * happened. Default `['read']`. A call with the effect `calls` always runs again; the option then applies to the calls that it had made.
   */
  readonly rerun?: readonly Effect[]
}

/** The input of a run: the text of a user message, or a history. */
export type RunInput = string | readonly Message[]

/** The start of a run: an input or a checkpoint. */
export type Beginning = { readonly input: RunInput } | { readonly resume: Resumption }

export interface Resumption {
  /** A checkpoint, or the id of a stored one. */
  readonly from: unknown
  /** The answers, by id of the interrupt. */
  readonly answers: Answers
  readonly rerun: readonly Effect[] | undefined
}

const RUN_OPTIONS: OptionNames<RunOptions> = {
  signal: 'abortSignal',
  context: 'deps experimental_context',
  conversationId: '',
  id: 'runId',
  checkpoints: 'checkpointer',
  eventBuffer: '',
}

const { id: _, ...OF_BOTH } = RUN_OPTIONS

const RESUME_OPTIONS: OptionNames<ResumeOptions> = { ...OF_BOTH, rerun: '' }

/** @throws {ConfigError} An option of the run is invalid. */
export function checkRunOptions(options: RunOptions & ResumeOptions, isResume: boolean): void {
  if (options instanceof AbortSignal) throw new ConfigError('signal', 'must be in an object: { signal }')
  const [owner, names] = isResume ? (['a resume', RESUME_OPTIONS] as const) : (['a run', RUN_OPTIONS] as const)
  for (const name of Object.keys(options ?? {})) {
    if (Object.hasOwn(AGENT_OPTIONS, name) && !Object.hasOwn(names, name))
      throw new ConfigError(name, `is not an option of ${owner}, but of createAgent`)
    if (name === 'rerun' && !isResume) throw new ConfigError(name, 'is not an option of a run, but of resume')
  }
  checkOptions<object>(owner, options, names)
  const { signal, id, checkpoints, eventBuffer, rerun } = options
  if (id !== undefined && (typeof id !== 'string' || id === ''))
    throw new ConfigError('id', 'must be a non-empty string')
  checkStore(checkpoints)
  checkSignal('signal', signal)
  if (eventBuffer !== undefined) checkLimit('eventBuffer', eventBuffer)
  if (rerun !== undefined && !(Array.isArray(rerun) && rerun.every(isEffect)))
    throw new ConfigError('rerun', 'must be a list of effects')
}

/** A tool or a middleware that declares a part of the context. */
interface Declares<Given> {
  readonly context: { readonly '~standard': { readonly types?: { readonly input: Given } | undefined } }
}

/** The member of a tool that declares this context. */
export type DeclaredContext<Context> = unknown extends Context
  ? unknown
  : { readonly context: StandardSchemaV1<Context> }

/** The context that all of these tools and middleware need together; `unknown` if none is declared. */
export type ContextOf<One> = (One extends Declares<infer Given> ? (given: Given) => void : never) extends (
  given: infer All,
) => void
  ? All
  : unknown

/** The last arguments of a run: those in `Before`, and the options, which must contain the context if the agent needs one. */
export type RunArguments<Options, Context, Before extends readonly unknown[] = []> = unknown extends Context
  ? [...Partial<Before>, options?: Options]
  : [...Before, options: Options & { readonly context: Context }]
