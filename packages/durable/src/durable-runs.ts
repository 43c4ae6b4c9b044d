/** Durable runs: when the process of a run dies, another process continues the run. */

import {
  type Agent,
  type Answers,
  type CancelMode,
  CheckpointMissingError,
  type CompletedResult,
  ConfigError,
  checkAnswers,
  checkOptions,
  type Effect,
  type PendingInterrupt,
  type RunInput,
  storedResult,
  UnknownInterruptError,
  type UserMessage,
} from '@meanwhile/core'
import { userMessage } from '@meanwhile/core/calls'
import type { ReadOptions } from './call-options.ts'
import { cancelOptions, checkAnswerObject, resultOptions, retryOptions } from './call-options.ts'
import { Changes } from './changes.ts'
import { Database } from './database.ts'
import { deleteRun, finishDeletion } from './deletion.ts'
import { checkedOptions, type DurableOptions } from './durable-options.ts'
import type { DurableRun } from './durable-run.ts'
import type { DurableRuns, DurableWorker, StartOptions } from './durable-runs-api.ts'
import { NothingToRetryError, RunCancelledError, RunFailedError, RunIdError } from './errors.ts'
import { EventReader, type ReadEvent } from './event-reader.ts'
import { checkConversation, checkData, checkedTime, checkWake, isRunId } from './given.ts'
import { Inboxes } from './inbox.ts'
import { preparedEngine } from './prepared-engine.ts'
import { resultOf } from './report-stop.ts'
import { isRetryable } from './retryable-errors.ts'
import { createContext } from './run-context.ts'
import { RunsTable } from './runs-table.ts'
import type { Services } from './services.ts'
import { startRun } from './start-run.ts'
import type { OnStopped } from './stopped-run.ts'
import { findCheckpoint, storedCheckpoint } from './stored-checkpoint.ts'
import { startWorker } from './worker.ts'

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
  readonly #services: Services
  readonly #reader: EventReader
  readonly #keepFor: number | undefined

  constructor(options: DurableOptions) {
    const { agents, store, pool, listen, engine, schema, context, events = {}, maxAttempts = 20, shouldRetry } = options
    const database = new Database(pool, schema)
    const changes = new Changes(database, listen)
    const runs = new RunsTable(database)
    const inboxes = new Inboxes()
    this.agents = agents.flatMap(({ name }) => name ?? [])
    this.#reader = new EventReader({ database, runs, changes, store })
    this.#keepFor = events === false ? undefined : events.keepFor
    this.#services = {
      database,
      changes,
      runs,
      inboxes,
      store,
      engine: preparedEngine(engine, database),
      agents: new Map(agents.map((agent) => [agent.name ?? '', inboxes.withInbox(agent)])),
      listeners: new Set(),
      eventsEvery: events === false ? undefined : (events.every ?? 25),
      maxAttempts,
      createContext: (run) => createContext(context, run),
      shouldRetry: (error, attempt) => isRetryable(error) || (shouldRetry?.(error, attempt) ?? false),
    }
  }

  async start(name: string, input: RunInput, options: StartOptions = {}): Promise<{ readonly id: string }> {
    checkOptions('start', options, {
      id: 'runId',
      conversationId: '',
      data: '',
      priority: '',
      delay: '',
      isNeeded: '',
    })
    const { id = crypto.randomUUID(), conversationId, data, priority, delay, isNeeded } = options
    const isNew = options.id === undefined
    if (!isRunId(id)) throw new RunIdError(id)
    checkConversation(conversationId)
    checkData(data)
    checkWake(options)
    if (isNeeded !== undefined && typeof isNeeded !== 'function')
      throw new ConfigError('isNeeded', 'must be a function')
    await startRun(this.#services, { id, agent: name, conversationId, data }, input, {
      ...(priority !== undefined && { priority }),
      ...(delay !== undefined && { delay }),
      ...(isNeeded && { isNeeded }),
      isNew,
    })
    return { id }
  }

  async answer(id: string, answers: Answers): Promise<void> {
    checkAnswerObject(answers)
    const { runs, agents, engine } = this.#services
    const run = await runs.get(id)
    const ids = Object.keys(answers)
    const stored = await runs.answers(id, ids)
    const open = (await this.#questions(id)).filter((question) => !Object.hasOwn(stored, question.id))
    const unknown = ids.filter((one) => !Object.hasOwn(stored, one) && open.every((question) => question.id !== one))
    if (unknown.length > 0) throw new UnknownInterruptError(unknown)
    await checkAnswers(open, answers, agents.get(run.agent) ?? {})
    const attempts = await runs.answer(id, answers)
    await engine.wake(id)
    // Not before, because a caller that gets an error of the engine must still see the question, to answer it again.
    await runs.woken(id, attempts)
  }

  async send(id: string, message: string | UserMessage): Promise<boolean> {
    const { runs, changes } = this.#services
    const checked = userMessage(message)
    await runs.get(id)
    const isTaken = await runs.send(id, checked)
    if (isTaken) changes.notify(id)
    return isTaken
  }

  async cancel(id: string, options: { readonly at?: CancelMode } = {}): Promise<void> {
    const { at } = cancelOptions(options)
    const { runs, changes, engine } = this.#services
    await runs.get(id)
    await runs.cancel(id, at)
    changes.notify(id)
    // The worker that has the run may miss this, and if no worker has it, listeners receive the stop from the worker that is woken.
    await engine.wake(id)
  }

  async retry(id: string, options: { readonly rerun?: readonly Effect[] } = {}): Promise<void> {
    const { rerun } = retryOptions(options)
    const { runs, engine } = this.#services
    const { status } = await runs.get(id)
    // An earlier retry may have failed before it woke the run.
    if (status === 'running') await engine.wake(id)
    if (status !== 'failed' && status !== 'cancelled') throw new NothingToRetryError(id, status)
    await runs.retry(id, rerun)
    await engine.wake(id)
  }

  async get(id: string): Promise<DurableRun | undefined> {
    const { runs, store } = this.#services
    const found = await runs.find(id)
    if (!found) return undefined
    const { read, sent, conversationId: _, data: __, ...run } = found
    const isMissed = run.endedAt !== undefined && sent > read
    return {
      ...run,
      interrupts: run.status === 'interrupted' ? ((await findCheckpoint(store, id))?.interrupts ?? []) : [],
      unread: isMissed ? (await runs.inbox(id, read)).map(({ message }) => message) : [],
    }
  }

  async result(id: string, options: { readonly signal?: AbortSignal } = {}): Promise<CompletedResult<Output>> {
    const { signal } = resultOptions(options)
    const { runs, changes, store } = this.#services
    const ended = async (isCompleted: boolean) => {
      // The notification may be about an earlier run with this id, which was deleted.
      const checkpoint = isCompleted ? await findCheckpoint(store, id) : undefined
      const result = checkpoint && storedResult(checkpoint)
      if (result) return { result }
      const run = await runs.get(id)
      return run.endedAt && { run }
    }
    const end = await changes.until(id, ended, signal)
    if ('result' in end) return end.result as CompletedResult<Output>
    const { status, error } = end.run
    if (status === 'cancelled') throw new RunCancelledError(id)
    if (error) throw new RunFailedError(id, error)
    return (await resultOf(this.#services, end.run)) as CompletedResult<Output>
  }

  events(id: string, options?: ReadOptions): AsyncIterable<ReadEvent> {
    return this.#reader.read(id, options)
  }

  async delete(id: string): Promise<void> {
    if (!isRunId(id)) return
    await deleteRun(this.#services, id)
  }

  async prune(options: { readonly olderThan: Date | number }): Promise<number> {
    checkOptions('prune', options, { olderThan: 'before' })
    const before = checkedTime('olderThan', options?.olderThan)
    let count = 0
    for (;;) {
      const old = await this.#services.runs.markEndedBefore(before)
      if (old.length === 0) return count
      await finishDeletion(this.#services, old)
      count += old.length
    }
  }

  onStopped(listener: OnStopped): () => void {
    if (typeof listener !== 'function') throw new ConfigError('listener', 'must be a function')
    const { listeners } = this.#services
    listeners.add(listener)
    return () => listeners.delete(listener)
  }

  async work(options: { readonly concurrency?: number } = {}): Promise<DurableWorker> {
    checkOptions('work', options, { concurrency: '' })
    const { concurrency = 10 } = options
    if (!Number.isInteger(concurrency) || concurrency < 1)
      throw new ConfigError('concurrency', 'must be a positive integer')
    return await startWorker(this.#services, concurrency, this.#keepFor)
  }

  /** @throws {CheckpointMissingError} The run is woken then, so that it fails. */
  async #questions(id: string): Promise<readonly PendingInterrupt[]> {
    try {
      return (await storedCheckpoint(this.#services.store, id)).interrupts
    } catch (error) {
      if (error instanceof CheckpointMissingError) await this.#services.engine.wake(id)
      throw error
    }
  }
}
