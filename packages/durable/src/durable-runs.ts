/** Durable runs: when the process of a run dies, another process continues the run. */

import {
  type Agent,
  type Answers,
  type CancelMode,
  CheckpointConflictError,
  CheckpointMissingError,
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
import { Database } from './database.ts'
import { checkedOptions, type DurableOptions } from './durable-options.ts'
import type { DurableRun } from './durable-run.ts'
import type { Engine, EngineWorker, WakeOptions } from './engine.ts'
import { NothingToRetryError, RunCancelledError, RunFailedError, RunIdError, RunIdTakenError } from './errors.ts'
import { EventReader, type ReadEvent, type ReadOptions } from './event-reader.ts'
import { checkConversation, checkData, checkedMessage, checkedTime, checkTimer, checkWake, isRunId } from './given.ts'
import { Inboxes, type LiveRun } from './live-run.ts'
import { OldEvents } from './old-events.ts'
import { RunsTable } from './runs-table.ts'
import { type OnStopped, resultOf } from './stopped-run.ts'
import {
  agentOf,
  isCheckpoint,
  isForAnother,
  loaded,
  madeContext,
  storedCheckpoint,
  type Workshop,
} from './workshop.ts'

export interface StartOptions extends WakeOptions {
  /** The id of the run: 1 to 255 characters. Default: a random one. */
  readonly id?: string
  /** The conversation that the run belongs to, for spans and for the context. */
  readonly conversationId?: string
  /** Passed to the `context` function of the run. */
  readonly data?: Json
}

/** `Output`: what the `output` schemas of the agents return. */
export interface DurableRuns<Output = unknown> {
  /** The names of the agents. */
  readonly agents: readonly string[]
  /**
   * Resolves when the run is stored and the engine has been notified. If the agent already has a run with this id, that run keeps its input and is
   * woken: so a caller that does not know whether a start succeeded may start again.
   *
   * @throws {UnknownAgentError} No agent has this name.
   * @throws {RunIdError} The id is not valid.
   * @throws {RunIdTakenError} A run of another agent, or a run that is not durable, has this id.
   * @throws {ConfigError} Another option is not valid. Nothing is stored then.
   */
  start(agent: string, input: RunInput, options?: StartOptions): Promise<{ readonly id: string }>
  /**
   * Answers questions, by the id of the interrupt. The first answer to a question counts. If one of the answers is refused here, none is
   * stored. If the tool or middleware that asked refuses an answer later, in the worker, the question opens again, and `error` of `get` has the
   * reason.
   *
   * @throws {UnknownInterruptError} The run has no such question.
   * @throws {AnswerError} An answer does not match the schema of its question, or of the tool or middleware that asked. The question stays open.
   * @throws {CheckpointMissingError} The checkpoint was deleted. The run fails.
   */
  answer(id: string, answers: Answers): Promise<void>
  /**
   * Adds a user message to the history before the next model call, in whichever process the run is. The run reads each message once. Returns
   * false if the run has ended. A message that arrives just as the run ends is in the run's `unread`.
   * @throws {InputError} It is not a user message, or it is empty. Nothing is stored then.
   */
  send(id: string, message: string | UserMessage): Promise<boolean>
  /** Stops the run, like `AgentRun.cancel`; default `now`. Resolves when the request is stored and the engine has been notified, not when the run has stopped. */
  cancel(id: string, options?: { readonly at?: CancelMode }): Promise<void>
  /**
   * Continues a failed or cancelled run from its checkpoint. `rerun` works as in `agent.resume`. If it fails, call it again: a run that
   * is already running is woken before the error is thrown.
   * @throws {NothingToRetryError} The run has neither failed nor been cancelled.
   */
  retry(id: string, options?: { readonly rerun?: readonly Effect[] }): Promise<void>
  /** Returns undefined if the run does not exist. */
  get(id: string): Promise<DurableRun | undefined>
  /**
   * Waits for the end of the run and returns its result.
   * @throws {RunFailedError} The run failed. `error` has the name and message of the error that ended it.
   * @throws {RunCancelledError} The run was cancelled.
   */
  result(id: string, options?: { readonly signal?: AbortSignal }): Promise<CompletedResult<Output>>
  /**
   * Streams the events of the run after a cursor, until the run ends. Any number of readers in any process may read. The last event after the end of
   * the
   * run is `run-stopped`. A reader that stops reading does not affect the run.
   *
   * Events are for display. After a process has died some events are repeated: a `history-replaced` event then has the messages that count.
   * @throws {CursorError} `after` is not a cursor.
   */
  events(id: string, options?: ReadOptions): AsyncIterable<ReadEvent>
  /**
   * Deletes the run and its checkpoint. A running run stops. Deleting a run that does not exist is not an error. If it fails, call it again: the
   * checkpoint may already be deleted.
   */
  delete(id: string): Promise<void>
  /** Deletes runs that ended before a time (epoch milliseconds, or a `Date`), with their checkpoints. Returns how many were deleted. */
  prune(options: { readonly olderThan: Date | number }): Promise<number>
  /**
   * Calls `listener` in the worker each time a run stops: it has ended, or waits for an answer. The engine repeats the call until all listeners of
   * the
   * worker have resolved, also if the process dies in between, so a listener may receive the same stop more than once. Each worker needs the same
   * listeners. Returns a function that removes the listener.
   */
  onStopped(listener: OnStopped): () => void
  /** Starts a worker in this process. It advances at most `concurrency` runs at a time; default 10. */
  work(options?: { readonly concurrency?: number }): Promise<DurableWorker>
}

export interface DurableWorker {
  /**
   * Takes no more runs, lets each run stop when its running tools have ended, and returns it to the engine. Resolves after at most `grace`
   * milliseconds; default 30,000. For `SIGTERM`.
   */
  stop(options?: { readonly grace?: number }): Promise<void>
}

type OutputOf<One> = One extends Agent<infer Output> ? Output : never

/**
 * Creates durable runs over the tables that `setUpDurable` makes. Processes that only start runs and read them need not call `work`.
 * @throws {ConfigError} An option is not valid.
 */
export function durableRuns<const Agents extends readonly Agent[]>(
  options: DurableOptions<Agents>,
): DurableRuns<OutputOf<Agents[number]>> {
  return new Runs<OutputOf<Agents[number]>>(checkedOptions(options))
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
    if (!isRunId(id)) throw new RunIdError(id)
    checkConversation(conversationId)
    checkData(data)
    checkWake(options)
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
    const checked = checkedMessage(message)
    await runs.known(id)
    const isTaken = await runs.send(id, checked)
    if (isTaken) changes.tell(id)
    return isTaken
  }

  async cancel(id: string, { at = 'now' }: { readonly at?: CancelMode } = {}): Promise<void> {
    if (!MODES.includes(at)) throw new ConfigError('at', `must be one of ${MODES.join(', ')}`)
    const { runs, changes } = this.#shop
    await runs.known(id)
    await runs.cancel(id, at)
    changes.tell(id)
    // The worker that has the run may miss this, and if no worker has it, listeners receive the stop from the worker that is woken.
    await this.#wake(id)
  }

  async retry(id: string, { rerun }: { readonly rerun?: readonly Effect[] } = {}): Promise<void> {
    const { runs } = this.#shop
    const { status } = await runs.known(id)
    // An earlier retry may have failed before it woke the run.
    if (status === 'running') await this.#wake(id)
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
    if (!isRunId(id)) return
    const { runs, store, changes } = this.#shop
    // The row goes last: as long as anything is left, the run exists and can be deleted.
    await store.delete(id)
    await runs.delete(id)
    changes.tell(id)
  }

  async prune({ olderThan }: { readonly olderThan: Date | number }): Promise<number> {
    const { runs, store } = this.#shop
    const before = checkedTime('olderThan', olderThan)
    let count = 0
    for (;;) {
      const old = await runs.endedBefore(before)
      if (old.length === 0) return count
      for (const id of old) await store.delete(id)
      count += await runs.prune(old, before)
    }
  }

  onStopped(listener: OnStopped): () => void {
    if (typeof listener !== 'function') throw new ConfigError('listener', 'must be a function')
    const { listeners } = this.#shop
    listeners.add(listener)
    return () => listeners.delete(listener)
  }

  async work(options: { readonly concurrency?: number } = {}): Promise<DurableWorker> {
    checkOptions('work', options, { concurrency: '' })
    const { concurrency = 10 } = options
    if (!Number.isInteger(concurrency) || concurrency < 1)
      throw new ConfigError('concurrency', 'must be a positive integer')
    await this.#ready()
    const { changes, database } = this.#shop
    const end = new AbortController()
    const live = new Set<LiveRun>()
    const bench: Bench = { live, isStopping: false, signal: end.signal }
    const old = this.#keepFor === undefined ? undefined : new OldEvents(database, this.#keepFor)
    old?.drop()
    // So that it also listens between two runs.
    const unwatch = changes.watch('', () => old?.drop())
    let worker: EngineWorker
    try {
      worker = await this.#engine.work((id, call) => advance(this.#shop, bench, id, call), { concurrency })
    } catch (error) {
      unwatch()
      throw error
    }
    return {
      async stop({ grace = 30_000 } = {}) {
        checkTimer('grace', grace)
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

  /** Whether the run exists. @throws {RunIdTakenError} */
  async #isThere(id: string, agent: string): Promise<boolean> {
    const run = await this.#shop.runs.find(id)
    if (run && run.agent !== agent) throw new RunIdTakenError(id, `a run of the agent ${JSON.stringify(run.agent)}`)
    return run !== undefined
  }

  /** A checkpoint with this id exists: from a concurrent start, or from one that failed half-way. */
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

  /** Resolves when the engine has been set up. */
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
