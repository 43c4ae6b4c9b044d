/** Creates threads. */

import {
  type Agent,
  ConfigError,
  ContextError,
  checkOptions,
  type Json,
  messageOf,
  type OptionNames,
} from '@meanwhile/core'
import { checkedLimits, checkedSendPolicy } from './argument-checks.ts'
import { DurableTurns } from './durable-turns.ts'
import { type ErrorPlace, reporter } from './error-reports.ts'
import type { Host } from './host.ts'
import type { LiveTurn, LocalHost } from './live-turn.ts'
import { LocalTurns } from './local-turns.ts'
import { StoredThreads } from './stored-threads.ts'
import { ThreadChanges } from './thread-changes.ts'
import type { ThreadRuns } from './thread-runs.ts'
import type { ThreadStore, TurnRecord } from './thread-store.ts'
import type { Threads } from './threads.ts'
import { deletingUnusedRuns } from './unused-runs.ts'
import type { SendPolicy, WhenAsking, WhenBusy } from './user-decisions.ts'

/** What the functions `agent` and `context` receive. */
export interface TurnInfo {
  /** The id of the thread. */
  readonly id: string
  /** The id of the turn. */
  readonly turn: string
  /** The `metadata` that was passed with the message. */
  readonly metadata?: Json
}

interface CommonOptions {
  /** `memoryThreads()`, `sqliteThreads(path)`, `postgresThreads({ pool })` or your own store. */
  readonly store: ThreadStore
  /**
   * What happens to a message that arrives while a turn is running. `queue` (default): its turn begins when the turns before it have ended.
   * `steer`: it enters the running turn before the next model call; if it is too late for that, it is queued. `preempt`: the running turn is
   * stopped, and the turn of the message begins next. `reject`: `send` throws `ThreadBusyError`.
   */
  readonly whenBusy?: WhenBusy
  /**
   * What happens to a message that arrives while a turn waits for an answer. `close` (default): the waiting turn ends as `stopped`, each open
   * call gets an error result with the reason, and the message begins a turn. `reject`: `send` throws `ThreadBusyError`.
   */
  readonly whenAsking?: WhenAsking
  /**
   * How many messages may wait in the queue of a thread. For one more, `send` throws `QueueFullError`. Default 100; a positive integer or `Infinity`.
   */
  readonly maxQueued?: number
  /**
   * Called with every error that no caller receives: a turn has failed, the store could not be written, or `watch` could not take over a thread. If
   * it throws, that only causes a warning. Default: `process.emitWarning` with a `MeanwhileWarning`, once for each error name.
   */
  readonly onError?: (error: unknown, at: ErrorPlace) => void
}

/** `Context`: the type of the context that each run gets. `Needed`: the context that the agent needs. */
export interface ThreadsOptions<Context = unknown, Needed = unknown> extends CommonOptions {
  /**
   * The agent of all threads, or a function that returns the agent of each turn. All agents of a thread must have the same name. An answer waits until
   * this function and `context` have returned for the answer before it.
   */
  readonly agent:
    | Agent<unknown, Needed>
    | ((turn: TurnInfo) => Agent<unknown, Needed> | Promise<Agent<unknown, Needed>>)
  /**
   * Makes the context of a run, unless this process received one with the message, the answer or the retry. If it throws, the turn fails with
   * `ContextError`: nothing has run, and the turn can be retried.
   */
  readonly context?: (turn: TurnInfo) => Context | undefined | Promise<Context | undefined>
  /**
   * Milliseconds after which another process may take over a turn whose process has died. The process that runs a turn renews its lease three
   * times as often. Default 10,000, at least 100.
   */
  readonly lease?: number
  /**
   * How many turns may run in this process at the same time. The others wait until a slot is free: first the turns that continue after an answer, a retry
   * or a takeover, then those that begin, the oldest first over all threads. A turn that waits for an answer has no slot, and a turn that the code of
   * another one waits for shares its slot; if that one stops waiting, the turn takes another slot, even if none is free. Default `Infinity`; a
   * positive integer.
   */
  readonly maxRunning?: number
  /**
   * How many turns may wait for a slot in this process. If one more would wait, `send` throws `TooManyTurnsError`, and the chat handlers respond with 503.
   * Never refused are messages that wait in the queue of their thread, those that the code of a running turn sends, answers and retries: so more turns may
   * wait. Default `Infinity`; an integer of at least 0.
   */
  readonly maxWaiting?: number
}

/** Options for threads whose turns are durable runs. */
export interface DurableThreadsOptions extends CommonOptions {
  /**
   * `durableRuns(…)` of `@meanwhile/durable`. Its workers execute the turns and write each stop of a run to the thread. So each process that calls
   * `runs.work` must first create the same threads. The `data` of a run is `{ thread, turn, metadata }`.
   */
  readonly runs: ThreadRuns
  /**
   * The name of the agent of all threads, or a function that returns the name for each turn. Default: the only agent of `runs`; required if it has
   * several.
   */
  readonly agent?: string | ((turn: TurnInfo) => string | Promise<string>)
}

/** A process that takes over a turn has no context from a caller. So one that the agent needs must be made, or be `undefined`. */
type MakesContext<Needed> =
  IsKnown<Needed> extends true
    ? { readonly context: (turn: TurnInfo) => Needed | undefined | Promise<Needed | undefined> }
    : unknown

/** Whether the agent needs a context by its type. A function that only throws returns no agent. */
type IsKnown<Needed> = unknown extends Needed ? false : [Needed] extends [never] ? false : true

const COMMON: OptionNames<CommonOptions> = {
  store: 'storage',
  whenBusy: '',
  whenAsking: '',
  maxQueued: 'queueLimit',
  onError: '',
}
const LIMITS: OptionNames<Pick<ThreadsOptions, 'maxRunning' | 'maxWaiting'>> = {
  maxRunning: 'concurrency maxConcurrency',
  maxWaiting: '',
}
const OPTIONS: OptionNames<ThreadsOptions> = { ...COMMON, ...LIMITS, agent: '', context: 'deps', lease: 'leaseTime' }
const DURABLE_OPTIONS: OptionNames<DurableThreadsOptions> = { ...COMMON, runs: '', agent: '' }

/**
 * Creates threads over a store. The return type of `context` is the type of the context that `send`, `answer` and `retry` accept; without that
 * option, name the type: `createThreads<Context>(…)`. If the tools of the agent declare a context, `context` is required, and must return one that they
 * accept, or `undefined` for turns whose callers pass one. With `runs`, the turns are durable runs, which workers execute: `durableRuns({ context })`
 * makes their context.
 *
 * @throws {ConfigError} An option is not valid; the error names it.
 */
export function createThreads(options: DurableThreadsOptions): Threads<undefined>
// This overload is last because the compiler reports the error of the last one.
export function createThreads<Context = unknown, Needed = unknown>(
  options: ThreadsOptions<Context, Needed> & MakesContext<Needed>,
): Threads<IsKnown<Needed> extends true ? Needed : Context>
export function createThreads(options: ThreadsOptions | DurableThreadsOptions): Threads {
  return options && 'runs' in options ? durableThreads(options) : localThreads(options)
}

function localThreads(options: ThreadsOptions): Threads {
  checkOptions('createThreads', options, OPTIONS)
  const { agent, context, lease = 10_000 } = options
  if (typeof agent !== 'function' && typeof agent?.resume !== 'function')
    throw new ConfigError('agent', 'must be an agent that createAgent returned, or a function that returns one')
  if (!(Number.isFinite(lease) && lease >= 100))
    throw new ConfigError('lease', 'must be a number of milliseconds, 100 or more')
  const live = new Map<string, LiveTurn>()
  const host: LocalHost = {
    ...hostOf(options, lease, (thread) => live.has(thread)),
    live,
    agentOf: async (turn, id) => (typeof agent === 'function' ? await agent(infoOf(turn, id)) : agent),
    async contextOf(turn, id) {
      try {
        return await context?.(infoOf(turn, id))
      } catch (cause) {
        throw new ContextError([{ path: '', message: `it could not be made: ${messageOf(cause)}` }], { cause })
      }
    },
  }
  const toolNames = typeof agent === 'function' ? undefined : agent.tools.map(({ name }) => name)
  return new StoredThreads(host, new LocalTurns(host, checkedLimits(options)), sendPolicyOf(options), toolNames)
}

function durableThreads(options: DurableThreadsOptions): Threads {
  const limit = Object.keys(LIMITS).find((name) => Object(options)[name] !== undefined)
  if (limit) throw new ConfigError(limit, 'must not be given with durable runs: work({ concurrency }) is their limit')
  checkOptions('createThreads', options, DURABLE_OPTIONS)
  const { runs, agent = runs?.agents?.length === 1 ? runs.agents[0] : undefined } = options
  if (typeof runs?.onStopped !== 'function')
    throw new ConfigError('runs', 'must be the object that durableRuns() returns')
  if (typeof agent !== 'function' && !(typeof agent === 'string' && runs.agents.includes(agent)))
    throw new ConfigError('agent', `must be the name of an agent of the runs: ${runs.agents.join(' or ')}`)
  const host = hostOf(options, START_LIMIT, () => false)
  const turns = new DurableTurns(host, runs, async (turn, id) =>
    typeof agent === 'function' ? await agent(infoOf(turn, id)) : agent,
  )
  return new StoredThreads({ ...host, store: deletingUnusedRuns(host.store, runs) }, turns, sendPolicyOf(options))
}

/** In this time, in milliseconds, a process starts the durable run of a turn that it has stored. After it, other processes may start the run. */
const START_LIMIT = 1_000

function hostOf({ store, onError }: CommonOptions, lease: number, runsHere: (thread: string) => boolean): Host {
  if (typeof store?.change !== 'function')
    throw new ConfigError('store', 'must be a store of threads, for example memoryThreads()')
  if (onError !== undefined && typeof onError !== 'function') throw new ConfigError('onError', 'must be a function')
  const claim: Host['claim'] = (now = Date.now()) => ({ now, lease })
  return { store, changes: new ThreadChanges(store, runsHere), report: reporter(onError), claim }
}

function sendPolicyOf({ whenBusy = 'queue', whenAsking = 'close', maxQueued = 100 }: CommonOptions): SendPolicy {
  return checkedSendPolicy({ whenBusy, whenAsking, maxQueued })
}

function infoOf({ id: turn, metadata }: TurnRecord, id: string): TurnInfo {
  return { id, turn, ...(metadata !== undefined && { metadata }) }
}
