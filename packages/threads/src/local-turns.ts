/** Turns that run in this process, and in others that share the store. */

import type { Agent, Answers } from '@meanwhile/core'
import type { EventLog } from './event-log.ts'
import { changed, type Host } from './host.ts'
import { recovered } from './owner-decisions.ts'
import type { Work } from './thread-records.ts'
import type { StoredEvent, TurnRecord } from './thread-store.ts'
import type { OpenEvents, TurnRunner } from './turn-runner.ts'
import { TurnWork } from './turn-work.ts'
import { answered, type Resumption, type SaidResult } from './user-decisions.ts'

/** What the turns of a process share. */
export interface LocalHost extends Host {
  /** The turns that this process works on, by thread. */
  readonly live: Map<string, LiveTurn>
  agentOf(turn: TurnRecord, thread: string): Promise<Agent>
  /** Makes the context of a run that was given none. */
  contextOf(turn: TurnRecord, thread: string): Promise<unknown>
}

/** A turn that this process works on. */
export interface LiveTurn {
  readonly turn: TurnRecord
  readonly log: EventLog
  /** Contexts that were given with messages of its thread, by turn. */
  readonly contexts: Map<string, unknown>
  stop(): void
  /** Gives messages to its run that are to join it. */
  steer(turns: readonly TurnRecord[]): void
  /** Leaves the turn to another process. Resolves when all is written. */
  leave(): Promise<void>
}

export class LocalTurns implements TurnRunner {
  readonly takesContext = true
  readonly #host: LocalHost
  #isClosed = false

  constructor(host: LocalHost) {
    this.#host = host
  }

  get lookEvery(): number {
    return this.#host.claim().lease / 2
  }

  async said(
    thread: string,
    { record, work, busy }: SaidResult,
    { isPreempting, context }: { readonly isPreempting: boolean; readonly context?: unknown },
  ): Promise<void> {
    const contexts = this.#host.live.get(thread)?.contexts ?? new Map<string, unknown>()
    if (context !== undefined) contexts.set(record.id, context)
    if (work) this.#begin(thread, work, contexts)
    // The running turn learns at once what it would read with its next write.
    const working = this.#workOn(thread, busy)
    if (isPreempting) working?.stop()
    if (record.isSteering) working?.steer([record])
  }

  async answer(thread: string, answers: Answers, context: unknown): Promise<Resumption> {
    const resumption = await changed(this.#host, thread, (stored, claim) => answered(stored, answers, claim))
    await this.retry(thread, resumption.work, context)
    return resumption
  }

  async retry(thread: string, work: Work, context: unknown): Promise<void> {
    const contexts = new Map(context === undefined ? [] : [[work.turn.id, context]])
    await this.#begin(thread, work, contexts).started
  }

  async stop(thread: string, turn: string | undefined, work: Work | undefined): Promise<void> {
    if (work) this.#begin(thread, work, new Map())
    else this.#workOn(thread, turn)?.stop()
  }

  async recover(thread: string): Promise<boolean> {
    if (this.#isClosed) return false
    const work = await changed(this.#host, thread, recovered)
    if (work) this.#begin(thread, work, new Map())
    return work !== undefined
  }

  async leave(thread: string): Promise<void> {
    await this.#host.live.get(thread)?.leave()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    const { live } = this.#host
    // A turn that ended meanwhile may have begun the next one.
    while (live.size > 0) await Promise.all([...live.values()].map((work) => work.leave()))
  }

  logOf(thread: string, turn: string): EventLog | undefined {
    return this.#workOn(thread, turn)?.log
  }

  /** What other processes tell is in the store. */
  async *follow(): AsyncGenerator<StoredEvent, void> {}

  async open(): Promise<OpenEvents> {
    return { kept: [], retracted: [], joined: [] }
  }

  /** The work on a turn, if it is done here. */
  #workOn(thread: string, turn: string | undefined): LiveTurn | undefined {
    const work = this.#host.live.get(thread)
    return work?.turn.id === turn ? work : undefined
  }

  #begin(thread: string, work: Work, contexts: Map<string, unknown>): TurnWork {
    const begun = new TurnWork(this.#host, thread, work, contexts)
    void begun.done.then((next) => {
      contexts.delete(work.turn.id)
      if (next) this.#begin(thread, next, contexts)
    })
    if (this.#isClosed) void begun.leave()
    return begun
  }
}
