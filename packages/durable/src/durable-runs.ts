/** Runs of agents that go on in another process when theirs ends. */

import {
  type Agent,
  type Answers,
  type CancelMode,
  CheckpointConflictError,
  CheckpointMissingError,
  type CheckpointStore,
  type CompletedResult,
  ConfigError,
  checkAnswers,
  checkOptions,
  type Effect,
  type Json,
  type PendingInterrupt,
  type RunInput,
  UnknownInterruptError,
  type UserMessage,
} from '@meanwhile/core'
import { advance, type Bench } from './advance.ts'
import { Changes } from './changes.ts'
import { Database, type PostgresPool } from './database.ts'
import type { DurableRun } from './durable-run.ts'
import type { Engine, WakeOptions } from './engine.ts'
import { NothingToRetryError, RunCancelledError, RunFailedError, RunIdError, RunIdTakenError } from './errors.ts'
import { EventReader, type ReadEvent, type ReadOptions } from './event-reader.ts'
import { Inboxes, type LiveRun } from './live-run.ts'
import { OldEvents } from './old-events.ts'
import { RunsTable } from './runs-table.ts'
import { type OnStopped, resultOf } from './stopped-run.ts'
import {
  agentOf,
  type ContextRequest,
  isCheckpoint,
  isForAnother,
  loaded,
  madeContext,
  storedCheckpoint,
  type Workshop,
} from './workshop.ts'

export interface DurableOptions<Agents extends readonly Agent[] = readonly Agent[]> {
  /** Each has a name of its own, by which `start` and all workers know it. */
  readonly agents: Agents
  /** Where the checkpoints of all runs are kept: the same for all processes, such as `postgresStore`. */
  readonly store: CheckpointStore
  /** A `Pool` of `pg` with at least three connections: one of them listens for changes. It stays yours: nobody closes it. */
  readonly pool: PostgresPool
  /**
   * Where the connection that listens comes from, if `pool` goes through a pooler that gives each transaction another connection, such as
   * PgBouncer: a `Pool` that goes to PostgreSQL itself. Default: `pool`. Where nothing is heard, readers and workers look every second.
   */
  readonly listen?: PostgresPool
  /** Decides which worker advances a run, and when: `pgBossEngine` or `dbosEngine`. */
  readonly engine: Engine
  /** The schema of the tables, which `setUpDurable` makes. Default `meanwhile`. */
  readonly schema?: string
  /** Makes the context of a run in the process that advances it. If it throws, the run fails with a `ContextError`. */
  readonly context?: (run: ContextRequest) => unknown
  /**
   * Events are written `every` so many milliseconds, by default 25. Those of a run that ended more than `keepFor` milliseconds ago are dropped by
   * a worker, which looks once a minute at the most; readers then get its messages. Default: they are deleted with their run. `false`: no
   * events are kept.
   */
  readonly events?: false | { readonly every?: number; readonly keepFor?: number }
  /** So many workers may take a run before it comes to a stop. Then it fails. Default 20. */
  readonly maxAttempts?: number
  /**
   * Whether another attempt is made after an error that would end the run. Default: no. After a conflict, a failure of the store, and a
   * checkpoint or agent that this worker does not know, another attempt is always made.
   */
  readonly again?: (error: unknown, attempt: number) => boolean
}

export interface StartOptions extends WakeOptions {
  /** The id of the run: 1 to 255 characters. Default: a random one. */
  readonly id?: string
  /** For spans and for the context: the conversation that the run belongs to. */
  readonly conversationId?: string
  /** For the `context` of the run. */
  readonly data?: Json
}

/** `Output`: what the `output` schemas of the agents return. */
export interface DurableRuns<Output = unknown> {
  /** The names of its agents. */
  readonly agents: readonly string[]
  /**
   * Resolves when the run is stored and the engine knows of it. If there is a run of the agent under the id, its input stands, and it is
   * woken: so whoever does not know whether a start has succeeded may start again.
   *
   * @throws {UnknownAgentError} No agent has this name.
   * @throws {RunIdError} The id cannot be one.
   * @throws {RunIdTakenError} The id is taken by a run of another agent, or by one that is not durable.
   */
  start(agent: string, input: RunInput, options?: StartOptions): Promise<{ readonly id: string }>
  /**
   * Answers by id of the interrupt. Of two answers to one question the first stands. If one of the answers is refused here, none is
   * stored. If only the worker finds that the asker does not accept an answer, the question is open again, and `get` says why.
   *
   * @throws {UnknownInterruptError} The run has not asked this.
   * @throws {AnswerError} An answer does not fit the schema of its question, or of its asker. The question stays open.
   * @throws {CheckpointMissingError} Somebody has deleted the checkpoint. The run fails.
   */
  answer(id: string, answers: Answers): Promise<void>
  /**
   * Puts a user message into the history before the next model call, in whatever process the run is. The run takes each message once. Returns
   * false if the run has ended. A message that comes in the moment of the end is in `unread` of the run.
   */
  send(id: string, message: string | UserMessage): Promise<boolean>
  /** Stops the run, as `AgentRun.cancel` does; by default `now`. Resolves when that is stored, not when the run has stopped. */
  cancel(id: string, options?: { readonly at?: CancelMode }): Promise<void>
  /**
   * Lets a failed or cancelled run go on from its checkpoint. `rerun` is as in `agent.resume`.
   * @throws {NothingToRetryError} It has neither failed nor been cancelled.
   */
  retry(id: string, options?: { readonly rerun?: readonly Effect[] }): Promise<void>
  /** Undefined if there is no such run. */
  get(id: string): Promise<DurableRun | undefined>
  /**
   * Waits for the end of the run.
   * @throws {RunFailedError} It has failed. Its `error` has the name and message of what ended it.
   * @throws {RunCancelledError} It was cancelled.
   */
  result(id: string, options?: { readonly signal?: AbortSignal }): Promise<CompletedResult<Output>>
  /**
   * The events of the run behind a cursor, as long as the run lives: any number of readers in any process. After the end of the run the last
   * event is `run-stopped`. A reader that leaves does nothing to the run.
   *
   * Events are for showing. After the end of a process some are told again: a `history-replaced` then has the messages that count.
   * @throws {CursorError} `after` is no cursor.
   */
  events(id: string, options?: ReadOptions): AsyncIterable<ReadEvent>
  /** Deletes the run and its checkpoint. If it is at work, it stops. Deleting nothing is no error. */
  delete(id: string): Promise<void>
  /** Deletes runs that ended before a time (epoch milliseconds, or a `Date`), with their checkpoints. Returns how many there were. */
  prune(options: { readonly olderThan: Date | number }): Promise<number>
  /**
   * Calls `listener` in the worker each time a run has stopped: it has ended, or it waits for an answer. The engine keeps a stop until all listeners of the
   * worker have resolved, also if the process dies meanwhile, so a listener may hear of a stop more than once. Each worker needs the same
   * listeners. Returns a function that removes the listener.
   */
  onStopped(listener: OnStopped): () => void
  /** Begins to advance runs in this process, at most `concurrency` at a time; default 10. */
  work(options?: { readonly concurrency?: number }): Promise<DurableWorker>
}

export interface DurableWorker {
  /**
   * Takes nothing more, lets each run stop when its tools have ended, and hands it back to the engine. Resolves after `grace` milliseconds at
   * the latest, by default 30,000. For `SIGTERM`.
   */
  stop(options?: { readonly grace?: number }): Promise<void>
}

type OutputOf<One> = One extends Agent<infer Output> ? Output : never

/**
 * Durable runs over the tables that `setUpDurable` makes. Processes that only start runs and read them need not call `work`.
 * @throws {ConfigError} An option cannot work.
 */
export function durableRuns<const Agents extends readonly Agent[]>(
  options: DurableOptions<Agents>,
): DurableRuns<OutputOf<Agents[number]>> {
  return new Runs<OutputOf<Agents[number]>>(checked(options))
}

class Runs<Output> implements DurableRuns<Output> {
  readonly agents: readonly string[]
  readonly #shop: Workshop
  readonly #engine: Engine
  readonly #reader: EventReader
  readonly #keepFor: number | undefined
  #setUp: Promise<void> | undefined

  constructor(options: DurableOptions) {
    const { agents, store, pool, listen, engine, schema, context, events = {}, maxAttempts = 20, again } = options
    const database = new Database(pool, schema)
    const changes = new Changes(database, listen)
    const runs = new RunsTable(database)
    const inboxes = new Inboxes()
    this.agents = agents.flatMap(({ name }) => name ?? [])
    this.#engine = engine
    this.#reader = new EventReader({ database, runs, changes, store })
    this.#keepFor = events === false ? undefined : events.keepFor
    this.#shop = {
      database,
      changes,
      runs,
      inboxes,
      store,
      agents: new Map(agents.map((agent) => [agent.name ?? '', inboxes.readerOf(agent)])),
      listeners: new Set(),
      eventsEvery: events === false ? undefined : (events.every ?? 25),
      maxAttempts,
      contextOf: (run) => madeContext(context, run),
      isAgain: (error, attempt) => isForAnother(error) || (again?.(error, attempt) ?? false),
    }
  }

  async start(name: string, input: RunInput, options: StartOptions = {}): Promise<{ readonly id: string }> {
    checkOptions('start', options, { id: 'runId', conversationId: '', data: '', priority: '', delay: '' })
    const { id = crypto.randomUUID(), conversationId, data, priority, delay } = options
    checkId(id)
    const agent = agentOf(this.#shop, { id, agent: name })
    const run = { id, agent: name, conversationId, data }
    if (!(await this.#isThere(id, name))) {
      try {
        await agent.begin(input, { id, checkpoints: this.#shop.store })
        await this.#shop.runs.insert(run)
      } catch (error) {
        if (!(error instanceof CheckpointConflictError)) throw error
        await this.#adopt(run)
      }
    }
    await this.#wake(id, { ...(priority !== undefined && { priority }), ...(delay !== undefined && { delay }) })
    return { id }
  }

  async answer(id: string, answers: Answers): Promise<void> {
    const { runs, agents } = this.#shop
    const run = await runs.known(id)
    const ids = Object.keys(answers)
    const given = await runs.answers(id, ids)
    const open = (await this.#questions(id)).filter((one) => !(one.id in given))
    const unknown = ids.filter((one) => !(one in given) && open.every(({ id }) => id !== one))
    if (unknown.length > 0) throw new UnknownInterruptError(unknown)
    await checkAnswers(open, answers, agents.get(run.agent) ?? {})
    await runs.answer(id, answers)
    await this.#wake(id)
  }

  async send(id: string, message: string | UserMessage): Promise<boolean> {
    const { runs, changes } = this.#shop
    await runs.known(id)
    const isTaken = await runs.send(id, typeof message === 'string' ? { role: 'user', content: message } : message)
    if (isTaken) changes.tell(id)
    return isTaken
  }

  async cancel(id: string, { at = 'now' }: { readonly at?: CancelMode } = {}): Promise<void> {
    if (!MODES.includes(at)) throw new ConfigError('at', `must be one of ${MODES.join(', ')}`)
    const { runs, changes } = this.#shop
    const { status } = await runs.known(id)
    await runs.cancel(id, at)
    changes.tell(id)
    // No worker has it: those who listen for stops hear of this one by a worker, too.
    if (status !== 'running') await this.#wake(id)
  }

  async retry(id: string, { rerun }: { readonly rerun?: readonly Effect[] } = {}): Promise<void> {
    const { runs } = this.#shop
    const { status } = await runs.known(id)
    if (status !== 'failed' && status !== 'cancelled') throw new NothingToRetryError(id, status)
    await runs.retry(id, rerun)
    await this.#wake(id)
  }

  async get(id: string): Promise<DurableRun | undefined> {
    const { runs } = this.#shop
    const found = await runs.find(id)
    if (!found) return undefined
    const { read, sent, conversationId: _, data: __, ...run } = found
    const isMissed = run.endedAt !== undefined && sent > read
    return {
      ...run,
      interrupts: run.status === 'interrupted' ? await this.#interrupts(id) : [],
      unread: isMissed ? (await runs.inbox(id, read)).map(({ message }) => message) : [],
    }
  }

  async result(id: string, { signal }: { readonly signal?: AbortSignal } = {}): Promise<CompletedResult<Output>> {
    const { runs, changes } = this.#shop
    const ended = async () => {
      const run = await runs.known(id)
      return run.endedAt && run
    }
    const end = await changes.until(id, ended, signal)
    if (end.status === 'cancelled') throw new RunCancelledError(id)
    if (end.error) throw new RunFailedError(id, end.error)
    return (await resultOf(this.#shop, end, signal)) as CompletedResult<Output>
  }

  events(id: string, options?: ReadOptions): AsyncIterable<ReadEvent> {
    return this.#reader.read(id, options)
  }

  async delete(id: string): Promise<void> {
    const { runs, store, changes } = this.#shop
    await runs.delete(id, (one) => store.delete(one))
    changes.tell(id)
  }

  async prune({ olderThan }: { readonly olderThan: Date | number }): Promise<number> {
    const { runs, store } = this.#shop
    let count = 0
    for (;;) {
      const pruned = await runs.prune(Number(olderThan), (id) => store.delete(id))
      count += pruned
      if (pruned === 0) return count
    }
  }

  onStopped(listener: OnStopped): () => void {
    const { listeners } = this.#shop
    listeners.add(listener)
    return () => listeners.delete(listener)
  }

  async work({ concurrency = 10 }: { readonly concurrency?: number } = {}): Promise<DurableWorker> {
    if (!Number.isInteger(concurrency) || concurrency < 1)
      throw new ConfigError('concurrency', 'must be a positive integer')
    await this.#ready()
    const { changes, database } = this.#shop
    const end = new AbortController()
    const live = new Set<LiveRun>()
    const bench: Bench = { live, isStopping: false, signal: end.signal }
    const old = this.#keepFor === undefined ? undefined : new OldEvents(database, this.#keepFor)
    old?.drop()
    // So that it listens between two runs, too.
    const unwatch = changes.watch('', () => old?.drop())
    const worker = await this.#engine.work((id, call) => advance(this.#shop, bench, id, call), { concurrency })
    return {
      async stop({ grace = 30_000 } = {}) {
        bench.isStopping = true
        let timer: ReturnType<typeof setTimeout> | undefined
        const tooLong = new Promise<void>((resolve) => {
          timer = setTimeout(resolve, grace)
        })
        try {
          const stopped = worker.stop()
          for (const run of live) run.handBack(grace * 0.8)
          await Promise.race([stopped, tooLong])
        } finally {
          clearTimeout(timer)
          end.abort()
          unwatch()
        }
      },
    }
  }

  /** @throws {RunIdTakenError} */
  async #isThere(id: string, agent: string): Promise<boolean> {
    const run = await this.#shop.runs.find(id)
    if (run && run.agent !== agent) throw new RunIdTakenError(id, `a run of the agent ${JSON.stringify(run.agent)}`)
    return run !== undefined
  }

  /** There is a checkpoint under the id: that of a start at the same time, or of one that did not get further. */
  async #adopt(run: { readonly id: string; readonly agent: string }): Promise<void> {
    const { runs, store } = this.#shop
    const checkpoint = await loaded(store, run.id)
    if (await this.#isThere(run.id, run.agent)) return
    const isFirst = isCheckpoint(checkpoint) && checkpoint.revision === 1 && checkpoint.agent === run.agent
    if (!isFirst) throw new RunIdTakenError(run.id, 'a run that was not started as a durable run')
    await runs.insert(run)
  }

  /** @throws {CheckpointMissingError} The run is woken then, so that it fails. */
  async #questions(id: string): Promise<readonly PendingInterrupt[]> {
    try {
      return (await storedCheckpoint(this.#shop.store, id)).interrupts
    } catch (error) {
      if (error instanceof CheckpointMissingError) await this.#wake(id)
      throw error
    }
  }

  async #interrupts(id: string): Promise<readonly PendingInterrupt[]> {
    const checkpoint = await loaded(this.#shop.store, id)
    return isCheckpoint(checkpoint) ? checkpoint.interrupts : []
  }

  async #wake(id: string, options?: WakeOptions): Promise<void> {
    await this.#ready()
    await this.#shop.database.again(() => this.#engine.wake(id, options))
  }

  /** The engine has what it needs. */
  async #ready(): Promise<void> {
    this.#setUp ??= (async () => await this.#engine.setUp?.())()
    try {
      await this.#setUp
    } catch (error) {
      this.#setUp = undefined
      throw error
    }
  }
}

const MODES: readonly CancelMode[] = ['after-tools', 'after-model', 'now']

function checkId(id: string): void {
  const isOne = typeof id === 'string' && id.length > 0 && id.length <= 255 && !id.includes('\0') && isWellFormed(id)
  if (!isOne) throw new RunIdError(id)
}

/** Whether each half of a surrogate pair has its other half. */
function isWellFormed(text: string): boolean {
  return !/\p{Surrogate}/u.test(text)
}

function checked<Options extends DurableOptions>(options: Options): Options {
  checkOptions<DurableOptions>('durableRuns', options, {
    agents: 'agent',
    store: 'checkpoints checkpointer',
    pool: 'client database',
    listen: 'listener',
    engine: 'queue',
    schema: '',
    context: '',
    events: '',
    maxAttempts: 'retryLimit',
    again: 'retry',
  })
  const { agents, store, listen, engine, events, maxAttempts = 1 } = options
  if (!Array.isArray(agents) || agents.length === 0) throw new ConfigError('agents', 'must be a list of agents')
  const names = agents.map((agent) => agent.name)
  if (names.some((name) => !name)) throw new ConfigError('agents', 'each must have a name')
  const double = names.find((name, index) => names.indexOf(name) !== index)
  if (double) throw new ConfigError('agents', `two have the name ${JSON.stringify(double)}`)
  if (typeof store?.load !== 'function' || typeof store.save !== 'function')
    throw new ConfigError('store', 'must be a store of checkpoints, such as postgresStore returns')
  if (listen !== undefined && typeof listen?.connect !== 'function')
    throw new ConfigError('listen', 'must have connect, as a Pool of pg has')
  if (typeof engine?.wake !== 'function' || typeof engine.work !== 'function')
    throw new ConfigError('engine', 'must be an engine, such as pgBossEngine returns')
  if (!Number.isInteger(maxAttempts) || maxAttempts < 1)
    throw new ConfigError('maxAttempts', 'must be a positive integer')
  if (events !== false && events !== undefined) {
    checkOptions<Exclude<DurableOptions['events'], false | undefined>>(
      'durableRuns',
      events,
      { every: '', keepFor: '' },
      'events.',
    )
    for (const [name, value] of Object.entries(events))
      if (value !== undefined && !(value >= 0)) throw new ConfigError(`events.${name}`, 'must be milliseconds from 0')
  }
  return options
}
