/** Threads: stored conversations, with one turn at a time. */

import {
  type Agent,
  type Answers,
  ConfigError,
  ContextError,
  checkOptions,
  type Json,
  messageOf,
  type OptionNames,
  type UserMessage,
} from '@meanwhile/core'
import { type ErrorPlace, reporter } from './error-reports.ts'
import { checkedManners, type Manners } from './given.ts'
import type { Host } from './host.ts'
import { type LocalHost, LocalTurns } from './local-turns.ts'
import { RunTurns, withoutOldRuns } from './run-turns.ts'
import { StoredThreads } from './stored-threads.ts'
import type { ThreadRuns } from './thread-runs.ts'
import type { ThreadState } from './thread-state.ts'
import type { ThreadStore, TurnRecord } from './thread-store.ts'
import type { ResumedTurn, Turn } from './turn.ts'
import type { WhenAsking, WhenBusy } from './user-decisions.ts'
import { Wakes } from './wakes.ts'

/** The input from which the agent and the context of a turn are made. */
export interface TurnInfo {
  /** The id of the thread. */
  readonly id: string
  /** The id of the turn. */
  readonly turn: string
  /** The `metadata` that was passed with the message. */
  readonly metadata?: Json
}

interface CommonOptions {
  /** `memoryThreads()`, `sqliteThreads(path)`, `postgresThreads({ pool })` or your own. */
  readonly store: ThreadStore
  /**
   * What happens to a message that arrives while a turn is running. `queue` (default): it begins a turn when the earlier ones have ended.
   * `steer`: it goes into the running turn before the next model call; if that is too late it is queued. `preempt`: the running turn is
   * stopped, and its turn begins next. `reject`: `send` throws `ThreadBusyError`.
   */
  readonly whenBusy?: WhenBusy
  /**
   * What happens to a message that arrives while a turn waits for an answer. `close` (default): the waiting turn ends as stopped, its open
   * calls get the reason as their result, and the message begins a turn. `reject`: `send` throws `ThreadBusyError`.
   */
  readonly whenAsking?: WhenAsking
  /**
   * Called with every error that no caller gets: a turn has failed, the store could not be written, or `watch` could not take over a thread. If it
   * throws, that only causes a warning. Default: `process.emitWarning` with a `MeanwhileWarning`, once for each name of an error.
   */
  readonly onError?: (error: unknown, at: ErrorPlace) => void
}

/** `Context`: the type of the context that each run gets. */
export interface ThreadsOptions<Context = unknown> extends CommonOptions {
  /** The agent of all threads, or a function that returns the agent of each turn. All agents of a thread have the same name. */
  readonly agent: Agent | ((turn: TurnInfo) => Agent | Promise<Agent>)
  /**
   * Makes the context of a run, unless this process received it with the message. If it throws, the turn fails with `ContextError`: nothing
   * has run, and the turn can be retried.
   */
  readonly context?: (turn: TurnInfo) => Context | undefined | Promise<Context | undefined>
  /**
   * Milliseconds after which another process may take over a turn whose process has died. The process that runs a turn renews its lease three
   * times as often. Default 10,000, at least 100.
   */
  readonly lease?: number
}

/** Threads whose turns are durable runs. */
export interface DurableThreadsOptions extends CommonOptions {
  /**
   * `durableRuns(…)` of `@meanwhile/durable`. Its workers advance the turns, and report each stop to the threads: so each process that calls
   * `runs.work` must create the same threads first. The `data` of a run is `{ thread, turn, metadata }`.
   */
  readonly runs: ThreadRuns
  /** The name of the agent of all threads, or a function that returns the name for each turn. Default: the only agent of the runs. */
  readonly agent?: string | ((turn: TurnInfo) => string | Promise<string>)
}

/** The options of calls that run a turn. */
export interface ContextOptions<Context = unknown> {
  /** The context of the run. It is not stored: a process that takes over the turn makes its own. */
  readonly context?: Context
}

/** The options of `send`. */
export interface SendOptions<Context = unknown> extends ContextOptions<Context> {
  /**
   * The id of the message. If the thread already has a message with this id, nothing is added, and the turn of that message is returned. Default: a
   * random one.
   */
  readonly messageId?: string
  /**
   * The id of a message that began a turn, to edit it: as with `rewind`, that message and everything after it are superseded, and this message
   * replaces it, in one change. `messageId` may be the same id; then each call replaces the message again. If it is another id, a repeated call
   * returns the same turn.
   */
  readonly replacing?: string
  /** Small JSON that is stored with the turn, and passed to `agent` and `context`. */
  readonly metadata?: Json
  /** What happens to the message while a turn is running. Default: the option of the threads. */
  readonly whenBusy?: WhenBusy
  /** What happens to the message while a turn waits for an answer. Default: the option of the threads. */
  readonly whenAsking?: WhenAsking
}

/** A thread in a list. */
export interface ThreadSummary {
  /** The id of the thread. */
  readonly id: string
  /** When its first message was stored. */
  readonly createdAt: Date
  /** When it last changed. */
  readonly updatedAt: Date
}

/**
 * All methods reject with `ThreadIdError` for an id that is not a string of 1 to 1,024 characters. All except `read`, `list` and `delete` reject with
 * `ThreadDeletedError`.
 */
export interface Threads<Context = unknown> {
  /**
   * Adds a message to a thread; the first message creates the thread. Resolves when the message is stored.
   *
   * @throws {ThreadBusyError} A turn is running or waits, and the options reject messages then; or a turn is running, and the message replaces
   * another.
   * @throws {InputError} It is not a user message, or it is empty.
   * @throws {UnknownMessageError} No turn begins with the message to replace.
   * @throws {ConfigError} An option is unknown or not valid.
   */
  send(thread: string, message: string | UserMessage, options?: SendOptions<Context>): Promise<Turn>
  /**
   * Answers questions of the waiting turn, by id of the interrupt. Resolves when its run continues.
   * `turn.events({ after: turn.cursor })` streams the events that follow.
   *
   * @throws {UnknownInterruptError} The thread has no such question, or it was answered.
   * @throws {TypeError} There is no answer, or one that is not JSON.
   * @throws {AnswerError} An answer does not match the schema of its question. Nothing has run, and the question stays open.
   */
  answer(thread: string, answers: Answers, options?: ContextOptions<Context>): Promise<ResumedTurn>
  /**
   * Stops the turn that runs or waits. Its messages stay. The queue is kept and waits for the next message, or it is dropped. Resolves when
   * the turn has ended.
   */
  stop(thread: string, options?: { readonly queue?: 'keep' | 'drop'; readonly signal?: AbortSignal }): Promise<void>
  /**
   * Continues the newest turn, which must have failed, from its last complete step.
   *
   * @throws {NothingToRetryError} It has not failed.
   * @throws {ThreadBusyError} A turn is running or waits.
   */
  retry(thread: string, options?: ContextOptions<Context>): Promise<ResumedTurn>
  /**
   * Goes back to before a message that began a turn: to edit it, or to get another answer. Everything after it stays stored as superseded,
   * and is no longer visible.
   *
   * @throws {UnknownMessageError} No turn begins with it.
   * @throws {ThreadBusyError} A turn is running.
   */
  rewind(thread: string, options: { readonly before: string }): Promise<void>
  /**
   * Copies a thread, up to a message that began a turn, or all turns that have ended. Returns the id of the copy.
   *
   * @throws {ThreadExistsError} A thread with the id `as` exists.
   * @throws {UnknownMessageError} No turn begins with the message.
   */
  fork(thread: string, options?: { readonly before?: string; readonly as?: string }): Promise<string>
  /** Returns the state of a thread. It is empty for a thread that does not exist or was deleted. */
  read(thread: string): Promise<ThreadState>
  /**
   * Returns a turn; without an id the newest one that has begun, and undefined if there is none.
   *
   * @throws {UnknownTurnError} The thread has no turn with this id.
   */
  turn(thread: string, turn?: string): Promise<Turn | undefined>
  /** Newest first. `after`: the id of the last thread of the previous page; `limit`: default 100. */
  list(options?: { readonly after?: string; readonly limit?: number }): Promise<readonly ThreadSummary[]>
  /** Deletes all messages. The running turn is stopped, and the id cannot be used again. */
  delete(thread: string): Promise<void>
  /**
   * Takes over all turns whose process has died, and returns how many there were. If a turn cannot be taken over, the others still are; the first
   * such error is thrown at the end.
   */
  recover(): Promise<number>
  /** Calls `recover` twice per lease time, until it is closed. Turns that could not be taken over are tried again. */
  watch(): { close(): void }
  /** Leaves the turns that run here to other processes, and begins no more. Resolves when all writes are done. */
  close(): Promise<void>
}

const COMMON: OptionNames<CommonOptions> = { store: 'storage', whenBusy: '', whenAsking: '', onError: '' }
const OPTIONS: OptionNames<ThreadsOptions> = { ...COMMON, agent: '', context: 'deps', lease: 'leaseTime' }
const DURABLE_OPTIONS: OptionNames<DurableThreadsOptions> = { ...COMMON, runs: '', agent: '' }

/**
 * Creates threads over a store. The return type of `context` is the type of the context that `send`, `answer` and `retry` accept; without it, name
 * the type: `createThreads<Context>(…)`. With `runs` the turns are durable runs, which any worker advances: `durableRuns({ context })` makes their context.
 *
 * @throws {ConfigError} An option is not valid; the error names it.
 */
export function createThreads<Context = unknown>(options: ThreadsOptions<Context>): Threads<Context>
export function createThreads(options: DurableThreadsOptions): Threads<undefined>
export function createThreads(options: ThreadsOptions | DurableThreadsOptions): Threads {
  return options && 'runs' in options ? durableThreads(options) : localThreads(options)
}

function localThreads(options: ThreadsOptions): Threads {
  checkOptions('createThreads', options, OPTIONS)
  const { agent, context, lease = 10_000 } = options
  if (typeof agent !== 'function' && typeof agent?.resume !== 'function')
    throw new ConfigError('agent', 'must be an agent that createAgent made, or a function that gives one')
  if (!(Number.isFinite(lease) && lease >= 100))
    throw new ConfigError('lease', 'must be a number of milliseconds, 100 or more')
  const host: LocalHost = {
    ...hostOf(options, lease),
    live: new Map(),
    agentOf: async (turn, id) => (typeof agent === 'function' ? await agent(infoOf(turn, id)) : agent),
    async contextOf(turn, id) {
      try {
        return await context?.(infoOf(turn, id))
      } catch (cause) {
        throw new ContextError([{ path: '', message: `it could not be made: ${messageOf(cause)}` }], { cause })
      }
    },
  }
  return new StoredThreads(host, new LocalTurns(host), mannersOf(options))
}

function durableThreads(options: DurableThreadsOptions): Threads {
  checkOptions('createThreads', options, DURABLE_OPTIONS)
  const { runs, agent = runs?.agents?.length === 1 ? runs.agents[0] : undefined } = options
  if (typeof runs?.onStopped !== 'function') throw new ConfigError('runs', 'must be what durableRuns() returns')
  if (typeof agent !== 'function' && !(typeof agent === 'string' && runs.agents.includes(agent)))
    throw new ConfigError('agent', `must be the name of an agent of the runs: ${runs.agents.join(' or ')}`)
  const host = hostOf(options, START)
  const turns = new RunTurns(host, runs, async (turn, id) =>
    typeof agent === 'function' ? await agent(infoOf(turn, id)) : agent,
  )
  return new StoredThreads({ ...host, store: withoutOldRuns(host.store, runs) }, turns, mannersOf(options))
}

/** How soon a process starts the run of a turn that it has stored, in milliseconds. */
const START = 1_000

function hostOf({ store, onError }: CommonOptions, lease: number): Host {
  if (typeof store?.change !== 'function')
    throw new ConfigError('store', 'must be a store of threads, such as memoryThreads() gives')
  if (onError !== undefined && typeof onError !== 'function')
    throw new ConfigError('onError', 'must be a function that takes an error')
  return { store, wakes: new Wakes(), report: reporter(onError), claim: () => ({ now: Date.now(), lease }) }
}

function mannersOf({ whenBusy = 'queue', whenAsking = 'close' }: CommonOptions): Manners {
  return checkedManners({ whenBusy, whenAsking })
}

function infoOf({ id: turn, metadata }: TurnRecord, id: string): TurnInfo {
  return { id, turn, ...(metadata !== undefined && { metadata }) }
}
