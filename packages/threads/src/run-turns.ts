/** Turns that are durable runs: their workers advance them, and the thread keeps what was said. */

import { type Answers, CheckpointMissingError, type Json, type Message } from '@meanwhile/core'
import { changed, type Host } from './host.ts'
import { type Outcome, recovered } from './owner-decisions.ts'
import { nextOf, runsGoneIn, type Stop, settled } from './run-decisions.ts'
import { RunLog } from './run-log.ts'
import { steeredBy } from './steering.ts'
import { ThreadError } from './thread-errors.ts'
import { historyOf, turnEvents } from './thread-history.ts'
import { activeTurn, type BegunTurn, hasBegun, newThread, type Work } from './thread-records.ts'
import type { StoppedThreadRun, ThreadRunEvent, ThreadRuns } from './thread-runs.ts'
import type { Change, StoredEvent, StoredThread, ThreadStore, TurnRecord } from './thread-store.ts'
import { failed } from './turn-outcome.ts'
import type { OpenEvents, TurnRunner } from './turn-runner.ts'
import { answered, type Resumption, type SaidResult } from './user-decisions.ts'

/** Returns the name of the agent of a turn. */
export type NameOf = (turn: TurnRecord, thread: string) => Promise<string>

const LOST: Outcome = { status: 'failed', error: { name: 'RunLostError', message: 'the run of the turn was deleted' } }

interface FollowOptions {
  readonly follow: boolean
  readonly signal?: AbortSignal | undefined
}

export class RunTurns implements TurnRunner {
  readonly takesContext = false
  readonly lookEvery = 5_000
  readonly #host: Host
  readonly #runs: ThreadRuns
  readonly #nameOf: NameOf

  constructor(host: Host, runs: ThreadRuns, nameOf: NameOf) {
    this.#host = host
    this.#runs = runs
    this.#nameOf = nameOf
    runs.onStopped((run) => this.#stopped(run))
  }

  async said(
    thread: string,
    { record, work, busy }: SaidResult,
    { isPreempting }: { readonly isPreempting: boolean },
  ): Promise<void> {
    if (work) await this.#do(thread, work)
    else if (busy && isPreempting) await this.stop(thread, busy)
    else if (busy && record.isSteering) await this.#steer(thread, busy, record)
    else await this.recover(thread)
  }

  async answer(thread: string, answers: Answers): Promise<Resumption> {
    const { store, claim } = this.#host
    const stored = (await store.load(thread)) ?? newThread(thread, '', 0)
    const { result } = answered(stored, answers, claim())
    // First the run: it knows whether it takes them. If nobody gets further, its next stop tells the thread.
    await this.#runs.answer(result.work.turn.id, answers)
    await changed(this.#host, thread, (now): Change<undefined> => {
      const isWaiting = now.turns.some(({ id, status }) => id === result.work.turn.id && status === 'waiting')
      return isWaiting && now.thread.seq === stored.thread.seq
        ? { ...answered(now, answers, claim()), result: undefined }
        : { result: undefined }
    })
    return result
  }

  async retry(thread: string, work: Work): Promise<void> {
    await this.#do(thread, work)
  }

  async stop(thread: string, turn: string | undefined): Promise<void> {
    const isAsked = turn !== undefined && (await this.#ask(turn, () => this.#runs.cancel(turn)))
    if (!isAsked) await this.recover(thread)
  }

  /** The engine goes on with runs. What it does not know yet is a turn that was stored by a process which has died then. */
  async recover(thread: string): Promise<boolean> {
    const stored = await this.#host.store.load(thread)
    const turn = stored && activeTurn(stored)
    if (!turn) return await this.#beginQueue(thread)
    if (turn.status !== 'running') return false
    const run = await this.#runs.get(turn.id)
    // One that no worker has taken since may not have been woken.
    if (run?.status === 'running' && run.attempts > (turn.attempts ?? 0)) {
      if (turn.closing !== undefined) await this.#runs.cancel(turn.id)
      return false
    }
    // A run that has stopped is woken, so that the thread hears of its stop.
    await this.#start(thread, turn)
    return run === undefined
  }

  async leave(): Promise<void> {}

  async close(): Promise<void> {}

  logOf(): undefined {}

  async *follow(
    thread: string,
    { id }: TurnRecord,
    seq: number,
    signal?: AbortSignal,
  ): AsyncGenerator<StoredEvent, void> {
    const stored = await this.#host.store.load(thread, { turn: id })
    const turn = stored?.turns.find((one) => one.id === id)
    if (!stored || !turn || !hasBegun(turn)) return
    const log = await this.#log(thread, turn, stored.thread.seq)
    try {
      for await (const events of this.#told(thread, turn, log, { follow: true, signal }))
        for (const one of events) if (one.seq > seq) yield one
    } catch (error) {
      // It was not started, or the turn has ended since and its run is deleted.
      if (signal?.aborted || (await this.#runs.get(id))) throw error
      await this.recover(thread)
    }
  }

  async open(thread: string, turn: BegunTurn, seq: number): Promise<OpenEvents> {
    const log = await this.#log(thread, turn, seq)
    for await (const _ of this.#told(thread, turn, log, { follow: false }));
    return { kept: log.kept, retracted: log.retracted, joined: log.joined.map((one) => one.turn) }
  }

  /** The log of a running turn. `seq`: the number of the last event of its thread. */
  async #log(thread: string, turn: BegunTurn, seq: number): Promise<RunLog> {
    const from = Math.max(seq, turn.startSeq)
    const { before, own } = await turnEvents(this.#host.store, thread, turn)
    return new RunLog(turn, { before, own: own.filter((one) => one.seq <= from) }, from)
  }

  /** The events of the thread that each event of the run leads to: of the existing ones, or up to its next stop. */
  async *#told(
    thread: string,
    { id }: BegunTurn,
    log: RunLog,
    { follow, signal }: FollowOptions,
  ): AsyncGenerator<readonly StoredEvent[], void> {
    const { after } = log
    const options = { follow, ...(after !== undefined && { after }), ...(signal && { signal }) }
    for await (const one of this.#runs.events(id, options)) {
      if (mayTellUsers(one)) log.steering = await this.#steering(thread)
      yield log.read(one)
      if (follow && one.event.type === 'run-stopped') return
    }
  }

  /** The queue goes on when the turn that waited was superseded. */
  async #beginQueue(thread: string): Promise<boolean> {
    const work = await changed(this.#host, thread, recovered)
    if (work) await this.#do(thread, work)
    return work !== undefined
  }

  async #steering(thread: string) {
    return steeredBy((await this.#host.store.load(thread))?.turns ?? [])
  }

  async #do(thread: string, { kind, turn }: Work): Promise<void> {
    const isAsked =
      kind !== 'begin' &&
      (await this.#ask(turn.id, () => (kind === 'close' ? this.#runs.cancel(turn.id) : this.#runs.retry(turn.id))))
    if (!isAsked) await this.#start(thread, turn)
  }

  /** Asks something of a run. Returns whether it is there. */
  async #ask(run: string, work: () => Promise<unknown>): Promise<boolean> {
    try {
      await work()
      return true
    } catch (error) {
      if (await this.#runs.get(run)) throw error
      return false
    }
  }

  /** Starts the run; one that is there is woken. One that has worked and was deleted never begins again. */
  async #start(thread: string, turn: TurnRecord): Promise<void> {
    if (turn.attempts !== undefined && !(await this.#runs.get(turn.id))) {
      await this.#end(thread, turn, { attempts: turn.attempts, outcome: LOST, progress: { events: [] } })
      return
    }
    const { before } = await turnEvents(this.#host.store, thread, turn)
    const { id, metadata } = turn
    const data: Json = { thread, turn: id, ...(metadata !== undefined && { metadata }) }
    const isClosing = turn.closing !== undefined
    await this.#runs.start(await this.#nameOf(turn, thread), historyOf(before), {
      id,
      conversationId: thread,
      data,
      // It is cancelled before a worker takes it.
      ...(isClosing && { delay: 1_000 }),
    })
    if (isClosing) await this.#ask(id, () => this.#runs.cancel(id))
  }

  /** If the run does not take the message, it waits in the queue. */
  async #steer(thread: string, turn: string, { message }: TurnRecord): Promise<void> {
    if (!message) return
    const send = () => this.#ask(turn, () => this.#runs.send(turn, message))
    if (!(await send()) && (await this.recover(thread))) await send()
  }

  /** In a worker: the thread hears of the stop of a run, and the next turn begins. */
  async #stopped(run: StoppedThreadRun): Promise<void> {
    const thread = threadOf(run)
    if (thread === undefined) return
    const stored = await this.#host.store.load(thread, { turn: run.id })
    if (!stored) throw new ThreadError(thread, 'the store of this worker does not have it')
    const turn = stored.thread.isDeleted ? undefined : stored.turns.find(({ id }) => id === run.id)
    const isOpen = turn?.status === 'running' || turn?.status === 'waiting'
    if (!turn || !isOpen) {
      await this.recover(thread)
      if (turn?.status !== 'failed') await this.#runs.delete(run.id)
      return
    }
    const next = nextOf(turn, run)
    if (next === 'cancel') await this.#runs.cancel(run.id)
    if (next === 'retry') await this.#runs.retry(run.id)
    if (next !== 'settle' || !hasBegun(turn)) return
    await this.#settle(stored, turn, run)
    this.#host.wakes.wake(thread)
  }

  async #settle({ thread: { id: thread, seq } }: StoredThread, turn: BegunTurn, run: StoppedThreadRun): Promise<void> {
    const { messages, outcome } = await outcomeOf(run, turn)
    const log = await this.#log(thread, turn, seq)
    for await (const _ of this.#told(thread, turn, log, { follow: false }));
    log.steering = await this.#steering(thread)
    log.stop(messages)
    const { kept: events, joined, retracted, seq: droppedThrough } = log
    const progress = { events, joined, retracted, droppedThrough }
    await this.#end(thread, turn, { attempts: run.attempts, outcome, progress })
    if (outcome.status !== 'failed') return
    const { name = 'Error', message = '' } = outcome.error ?? {}
    this.#host.report(Object.assign(new Error(message), { name }), { thread, turn: turn.id })
    // Nobody can go on with it without its checkpoint.
    if (run.status !== 'failed') await this.#runs.delete(run.id)
  }

  /** The turn waits or ends, and the next one begins. */
  async #end(thread: string, turn: TurnRecord, stop: Stop): Promise<void> {
    const { claim, store } = this.#host
    let gone: readonly string[] = []
    const work = await store.change(
      thread,
      (stored) => {
        const now = stored ?? newThread(thread, '', 0)
        const change = settled(now, turn, stop, claim())
        gone = runsGoneIn(now, change)
        return change
      },
      { turn: turn.id },
    )
    // If this fails, the engine calls again: so the run is deleted last.
    if (work) await this.#do(thread, work)
    await Promise.all(gone.map((id) => this.#runs.delete(id)))
  }
}

/** The store, with which the runs that nobody needs any more are deleted, too. */
export function withoutOldRuns(store: ThreadStore, runs: ThreadRuns): ThreadStore {
  return {
    ...store,
    async change(id, decide, options) {
      let gone: readonly string[] = []
      const result = await store.change(
        id,
        (stored) => {
          const change = decide(stored)
          gone = stored ? runsGoneIn(stored, change) : []
          return change
        },
        options,
      )
      await Promise.all(gone.map((run) => runs.delete(run)))
      return result
    },
  }
}

/** What the turn has come to. If the checkpoint of the run is lost, it has failed. */
async function outcomeOf(
  run: StoppedThreadRun,
  { closing }: TurnRecord,
): Promise<{ readonly outcome: Outcome; readonly messages?: readonly Message[] | undefined }> {
  try {
    const { messages, usage, text, output, interrupts = [], settled = [] } = await run.outcome(closing)
    if (run.status === 'interrupted') return { messages, outcome: { status: 'waiting', interrupts, settled } }
    const { error = { name: 'Error', message: '' } } = run
    const outcome: Outcome = {
      status: run.status === 'cancelled' ? 'stopped' : run.status,
      ...(usage && { usage }),
      ...(run.status === 'failed' && { error }),
      ...(run.status === 'completed' && text !== undefined && { text }),
      ...(output !== undefined && { output: output as Json }),
    }
    return { messages, outcome }
  } catch (error) {
    if (error instanceof CheckpointMissingError) return { outcome: failed(error) }
    throw error
  }
}

/** The thread of a run that was started for a turn. */
function threadOf({ id, data }: StoppedThreadRun): string | undefined {
  const { thread, turn }: { readonly thread?: unknown; readonly turn?: unknown } = Object(data)
  return turn === id && typeof thread === 'string' ? thread : undefined
}

function mayTellUsers({ event }: ThreadRunEvent): boolean {
  return event.type === 'history-replaced' || (event.type === 'message' && event.message.role === 'user')
}
