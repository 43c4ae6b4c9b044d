/** Runs turns as durable runs: workers execute them and write their messages and outcomes to the threads. */

import { AnswerError, type Answers, type Json, UnknownInterruptError } from '@meanwhile/core'
import { inTrace } from '@meanwhile/core/calls'
import { changeThread, type Host } from './host.ts'
import { type Outcome, recoverTurn, reopenTurn } from './owner-decisions.ts'
import { nextActionOf, type StopReport, settleTurn } from './run-decisions.ts'
import { RunLog } from './run-log.ts'
import { type SteeringMessage, steeringMessagesOf } from './steering.ts'
import { LeaseLostError, ThreadError } from './thread-errors.ts'
import { historyOf, turnEvents } from './thread-history.ts'
import { activeTurn, type BegunTurn, hasBegun, newThread, type Owner, type Work } from './thread-records.ts'
import type { StoppedThreadRun, ThreadRunEvent, ThreadRuns } from './thread-runs.ts'
import type { StoredEvent, StoredThread, TurnRecord } from './thread-store.ts'
import { outcomeOfStopped } from './turn-outcome.ts'
import type { TurnRunner, UnstoredEvents } from './turn-runner.ts'
import { changeAndFindUnused } from './unused-runs.ts'
import { answerTurn, type Resumption, type SendResult } from './user-decisions.ts'

/** Returns the name of the agent of a turn. */
export type AgentNameOf = (turn: TurnRecord, thread: string) => Promise<string>

const RUN_LOST: Outcome = {
  status: 'failed',
  error: { name: 'RunLostError', message: 'the run of the turn was deleted' },
}

interface ReadOptions {
  /** Whether to wait for new events until the run stops. */
  readonly follow: boolean
  readonly signal?: AbortSignal | undefined
}

export class DurableTurns implements TurnRunner {
  readonly acceptsContext = false
  /** The workers take the runs. */
  readonly isFull = false
  readonly recoverInterval = 5_000
  readonly #host: Host
  readonly #runs: ThreadRuns
  readonly #agentNameOf: AgentNameOf

  constructor(host: Host, runs: ThreadRuns, agentNameOf: AgentNameOf) {
    this.#host = host
    this.#runs = runs
    this.#agentNameOf = agentNameOf
    runs.onStopped((run) => this.#runStopped(run))
  }

  async send(
    thread: string,
    _turn: string,
    store: (admit: () => void) => Promise<SendResult>,
    { isPreempting }: { readonly isPreempting: boolean },
  ): Promise<SendResult> {
    const result = await store(() => {})
    const { record, work, busy } = result
    if (work) await this.#startWork(thread, work)
    else if (busy && isPreempting) await this.stop(thread, busy)
    else if (busy && record.isSteering) await this.#steer(thread, busy, record)
    else await this.recover(thread)
    return result
  }

  async answer(thread: string, answers: Answers): Promise<Resumption> {
    // The thread decides which answers count. If the run does not get them, because this process dies or the database of the runs fails, the same
    // answers can be given again, and `recover` makes the turn ask again.
    const result = await changeThread(this.#host, thread, (stored, claim) => answerTurn(stored, answers, claim, true))
    const { id, epoch } = result.work.turn
    try {
      await this.#runs.answer(id, answers)
    } catch (error) {
      const isUnknown = error instanceof UnknownInterruptError
      if (isUnknown && result.isRepeated) return result
      if (isUnknown || error instanceof AnswerError) await this.#askAgain({ thread, turn: id, epoch })
      throw error
    }
    return result
  }

  /** The run has rejected the answers. Another process that has given the same ones may know that already. */
  async #askAgain(owner: Owner): Promise<void> {
    try {
      await changeThread(this.#host, owner.thread, (stored) => reopenTurn(stored, owner))
    } catch (error) {
      if (!(error instanceof LeaseLostError)) throw error
    }
  }

  async retry(thread: string, work: Work): Promise<void> {
    await this.#startWork(thread, work)
  }

  async stop(thread: string, turn: string | undefined): Promise<void> {
    const exists = turn !== undefined && (await this.#ifExists(turn, () => this.#runs.cancel(turn)))
    if (!exists) await this.recover(thread)
  }

  /** Starts or wakes the run of a turn if the process that stored the turn died before it did that. The engine recovers all other runs. */
  async recover(thread: string): Promise<boolean> {
    const stored = await this.#host.store.load(thread)
    const turn = stored && activeTurn(stored)
    if (!turn) return await this.#beginQueue(thread)
    if (turn.status !== 'running') return false
    const run = await this.#runs.get(turn.id)
    // If no worker has taken the run since its last stop, it may not have been woken.
    if (run?.status === 'running' && run.attempts > (turn.attempts ?? 0)) {
      if (turn.closing !== undefined) await this.#runs.cancel(turn.id)
      return false
    }
    // A stopped run is woken too: its worker then reports the stop to the thread.
    await this.#startRun(thread, turn)
    return run === undefined
  }

  renewLeases(): void {}

  async release(): Promise<void> {}

  async close(): Promise<void> {}

  await(): () => void {
    return () => {}
  }

  logOf(): undefined {}

  async *follow(
    thread: string,
    { id }: TurnRecord,
    seq: number,
    signal?: AbortSignal,
  ): AsyncGenerator<StoredEvent, void> {
    const stored = await this.#host.store.load(thread, { turn: id })
    const turn = stored?.turns.find((one) => one.id === id)
    // The turn may have stopped since the caller loaded it. Its run then has no more events, or none before an answer.
    if (!stored || turn?.status !== 'running' || !hasBegun(turn)) return
    const log = await this.#openLog(thread, turn, stored.thread.seq)
    try {
      for await (const events of this.#read(thread, turn, log, { follow: true, signal }))
        for (const one of events) if (one.seq > seq) yield one
    } catch (error) {
      // Either the run was never started, or the turn has ended and its run was deleted.
      if (signal?.aborted || (await this.#runs.get(id))) throw error
      await this.recover(thread)
    }
  }

  async unstoredEvents(thread: string, turn: BegunTurn, seq: number): Promise<UnstoredEvents | undefined> {
    const log = await this.#openLog(thread, turn, seq)
    await this.#readStored(thread, turn, log)
    if (hasStoredMore(await this.#host.store.load(thread), log)) return undefined
    return { kept: log.kept, retracted: log.retracted, joined: log.joined.map((one) => one.turn) }
  }

  /** Returns the log of a running turn. `seq`: the number of the thread's last stored event. */
  async #openLog(thread: string, turn: BegunTurn, seq: number): Promise<RunLog> {
    const from = Math.max(seq, turn.startSeq)
    const { before, own } = await turnEvents(this.#host.store, thread, turn)
    return new RunLog(turn, { before, own: own.filter((one) => one.seq <= from) }, from)
  }

  /** Reads the stored events of the run into the log. There are none if the run was never started or was deleted. */
  async #readStored(thread: string, turn: BegunTurn, log: RunLog): Promise<void> {
    // The run may start during the read, which must not fail because of that.
    if (!(await this.#runs.get(turn.id))) return
    await this.#ifExists(turn.id, async () => {
      for await (const _ of this.#read(thread, turn, log, { follow: false }));
    })
  }

  /** Reads the events of the run into the log. Yields the thread's events for each of them. */
  async *#read(
    thread: string,
    { id }: BegunTurn,
    log: RunLog,
    { follow, signal }: ReadOptions,
  ): AsyncGenerator<readonly StoredEvent[], void> {
    const { after } = log
    const options = { follow, ...(after !== undefined && { after }), ...(signal && { signal }) }
    for await (const one of this.#runs.events(id, options)) {
      if (mayHaveUserMessage(one)) {
        const stored = await this.#host.store.load(thread)
        // The thread has stored this event by now. Only its copy has the id of a message that has joined the turn.
        if (follow && hasStoredMore(stored, log)) return
        log.steering = steeringMessagesOf(stored?.turns ?? [])
      }
      yield log.read(one)
      if (follow && one.event.type === 'run-stopped') return
    }
  }

  /** Begins the next turn of a queue that nobody works on, for example after the waiting turn was superseded. */
  async #beginQueue(thread: string): Promise<boolean> {
    const work = await changeThread(this.#host, thread, (stored, claim) => recoverTurn(stored, claim))
    if (work) await this.#startWork(thread, work)
    return work !== undefined
  }

  async #steeringMessages(thread: string): Promise<readonly SteeringMessage[]> {
    return steeringMessagesOf((await this.#host.store.load(thread))?.turns ?? [])
  }

  async #startWork(thread: string, { kind, turn }: Work): Promise<void> {
    const { id } = turn
    const exists =
      kind !== 'begin' &&
      (await this.#ifExists(id, () => (kind === 'close' ? this.#runs.cancel(id) : this.#runs.retry(id))))
    if (!exists) await this.#startRun(thread, turn)
  }

  /** Calls a method of a run. Returns false if the run does not exist. */
  async #ifExists(run: string, call: () => Promise<unknown>): Promise<boolean> {
    for (;;) {
      try {
        await call()
        return true
      } catch (error) {
        if (!(await this.#runs.get(run))) return false
        // Otherwise another process has started the run since.
        if (!(error instanceof Error) || error.name !== 'UnknownRunError') throw error
      }
    }
  }

  /** Starts the run of a turn, or wakes it if it exists. If a worker had taken the run and it was deleted since, the turn fails. */
  async #startRun(thread: string, turn: TurnRecord): Promise<void> {
    if (turn.attempts !== undefined && !(await this.#runs.get(turn.id))) {
      if (!(await this.#runningTurn(thread, turn.id))) return
      await this.#settle(thread, turn, { attempts: turn.attempts, outcome: RUN_LOST, progress: { events: [] } })
      return
    }
    const { before } = await turnEvents(this.#host.store, thread, turn)
    const { id, metadata, trace } = turn
    const data: Json = { thread, turn: id, ...(metadata !== undefined && { metadata }) }
    const options = {
      id,
      conversationId: thread,
      data,
      // Since the turn was read, another process may have started the run or stopped the turn. When a run has completed, its turn ends before the run
      // is deleted.
      isNeeded: async () => {
        const now = await this.#runningTurn(thread, id)
        if (now?.closing !== undefined) await this.#ifExists(id, () => this.#runs.cancel(id))
        return now !== undefined
      },
    }
    const agent = await this.#agentNameOf(turn, thread)
    // The span of the run links to the request of its own message, whichever process starts it.
    await inTrace(trace, () => this.#runs.start(agent, historyOf(before), options))
  }

  /** Returns the turn as it is now, if it is running. */
  async #runningTurn(thread: string, turn: string): Promise<TurnRecord | undefined> {
    const stored = await this.#host.store.load(thread, { turn })
    if (stored?.thread.isDeleted) return undefined
    return stored?.turns.find(({ id, status }) => id === turn && status === 'running')
  }

  /** Sends a steering message to the run. If the run does not accept it, the message stays in the queue. */
  async #steer(thread: string, turn: string, { message }: TurnRecord): Promise<void> {
    if (!message) return
    const send = () => this.#ifExists(turn, () => this.#runs.send(turn, message))
    if (!(await send()) && (await this.recover(thread))) await send()
  }

  /** Called in a worker after a run has stopped. Writes the outcome to the thread and begins the next turn. */
  async #runStopped(run: StoppedThreadRun): Promise<void> {
    const thread = threadOf(run)
    if (thread === undefined) return
    const stored = await this.#host.store.load(thread, { turn: run.id })
    if (!stored) throw new ThreadError(thread, 'it is not in the store that this worker uses')
    const turn = stored.thread.isDeleted ? undefined : stored.turns.find(({ id }) => id === run.id)
    const isOpen = turn?.status === 'running' || turn?.status === 'waiting'
    if (!turn || !isOpen) {
      await this.recover(thread)
      if (turn?.status !== 'failed') await this.#runs.delete(run.id)
      return
    }
    const action = nextActionOf(turn, run)
    if (action === 'cancel') await this.#runs.cancel(run.id)
    if (action === 'retry') await this.#runs.retry(run.id)
    if (action !== 'settle' || !hasBegun(turn)) return
    await this.#settleStopped(stored, turn, run)
    this.#host.changes.changed(thread)
  }

  async #settleStopped(
    { thread: { id: thread, seq } }: StoredThread,
    turn: BegunTurn,
    run: StoppedThreadRun,
  ): Promise<void> {
    const { messages, outcome } = await outcomeOfStopped(run, turn.closing)
    const log = await this.#openLog(thread, turn, seq)
    await this.#readStored(thread, turn, log)
    log.steering = await this.#steeringMessages(thread)
    log.stop(messages)
    log.end(outcome)
    const { kept: events, joined, retracted, seq: droppedThrough } = log
    const progress = { events, joined, retracted, droppedThrough }
    await this.#settle(thread, turn, { attempts: run.attempts, outcome, progress })
    if (outcome.status !== 'failed') return
    const { name = 'Error', message = '' } = outcome.error ?? {}
    this.#host.report(Object.assign(new Error(message), { name }), { thread, turn: turn.id })
    // The checkpoint is lost, so the run cannot be retried.
    if (run.status !== 'failed') await this.#runs.delete(run.id)
  }

  /** Writes the outcome of a turn. If the turn has ended, starts the next one. */
  async #settle(thread: string, turn: TurnRecord, report: StopReport): Promise<void> {
    const { claim, store } = this.#host
    const { result: work, unused } = await changeAndFindUnused(
      store,
      thread,
      (stored, now) => settleTurn(stored ?? newThread(thread, '', 0), turn, report, claim(now)),
      { turn: turn.id },
    )
    // If this fails, the engine reports the stop again. It can do that as long as the run exists, so the run is deleted last.
    if (work) await this.#startWork(thread, work)
    await Promise.all(unused.map((id) => this.#runs.delete(id)))
  }
}

/** Returns the thread of a run. Undefined if the run was not started for a turn. */
function threadOf({ id, data }: StoppedThreadRun): string | undefined {
  const { thread, turn }: { readonly thread?: unknown; readonly turn?: unknown } = Object(data)
  return turn === id && typeof thread === 'string' ? thread : undefined
}

/** Whether the thread has stored events since the log was opened. */
function hasStoredMore(stored: StoredThread | undefined, { from }: RunLog): boolean {
  return stored !== undefined && stored.thread.seq > from
}

function mayHaveUserMessage({ event }: ThreadRunEvent): boolean {
  return event.type === 'history-replaced' || (event.type === 'message' && event.message.role === 'user')
}
