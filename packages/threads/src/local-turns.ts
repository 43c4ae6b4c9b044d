/** Runs turns in this process. Other processes that share the store can take them over. */

import { type Answers, checkAnswers } from '@meanwhile/core'
import { type Caller, Callers, currentCaller, inRoot } from './callers.ts'
import type { EventLog } from './event-log.ts'
import { changeThread } from './host.ts'
import type { LiveTurn, LocalHost } from './live-turn.ts'
import { recoverTurn } from './owner-decisions.ts'
import { type Limits, Slots } from './slots.ts'
import { activeTurn, type Work } from './thread-records.ts'
import type { TurnRunner, UnstoredEvents } from './turn-runner.ts'
import { TurnWork } from './turn-work.ts'
import { answerTurn, type Resumption, type SendResult } from './user-decisions.ts'

export class LocalTurns implements TurnRunner {
  readonly acceptsContext = true
  readonly #host: LocalHost
  readonly #callers = new Callers()
  readonly #slots: Slots
  /** Present while turns wait for a slot: it renews their leases. */
  #timer: ReturnType<typeof setInterval> | undefined
  /** Ends when the last renewal of their leases has ended. Each waits for the one before it, because it names the leases that it finds. */
  #lastRenewal: Promise<void> = Promise.resolve()
  /** Whether a renewal waits for the one before it. */
  #isRenewalDue = false
  #isClosed = false

  constructor(host: LocalHost, limits: Limits) {
    this.#host = host
    this.#slots = new Slots(limits)
  }

  get isFull(): boolean {
    return this.#slots.isFull
  }

  get recoverInterval(): number {
    return this.#host.claim().lease / 2
  }

  async send(
    thread: string,
    turn: string,
    store: (admit: () => void) => Promise<SendResult>,
    { isPreempting, context }: { readonly isPreempting: boolean; readonly context?: unknown },
  ): Promise<SendResult> {
    const { live } = this.#host
    const isWorking = live.has(thread)
    // The turn may begin before the store has confirmed the message.
    this.#callers.sends(turn, currentCaller(context))
    const admission = this.#slots.admission(thread)
    let closed: Promise<unknown> | undefined
    let number: number | undefined
    try {
      const result = await store(admission.take)
      const { record, work, busy } = result
      if (work?.kind === 'begin') this.#begin(thread, work)
      // The turn of the message begins when the other one is closed.
      else if (work) closed = this.#begin(thread, work, currentCaller()).done
      // The running turn would read this request with its next write. It gets it at once.
      const running = this.#liveTurn(thread, busy)
      if (isPreempting) running?.stop()
      if (record.isSteering) running?.steer([record])
      if (record.id === turn && (isWorking || live.has(thread))) number = record.number
      return result
    } finally {
      this.#callers.sent(thread, turn, number)
      if (closed) void closed.then(admission.release)
      else admission.release()
    }
  }

  async answer(thread: string, answers: Answers, context: unknown): Promise<Resumption> {
    await this.#check(thread, answers)
    const resumption = await changeThread(this.#host, thread, (stored, claim) => answerTurn(stored, answers, claim))
    await this.retry(thread, resumption.work, context)
    return resumption
  }

  /** An answer that does not fit is never stored, so in no process it keeps another one from being given. */
  async #check(thread: string, answers: Answers): Promise<void> {
    const stored = await this.#host.store.load(thread)
    const turn = stored && activeTurn(stored)
    if (turn?.interrupts) await checkAnswers(turn.interrupts, answers, await this.#host.agentOf(turn, thread))
  }

  async retry(thread: string, work: Work, context: unknown): Promise<void> {
    await this.#begin(thread, work, currentCaller(context)).started
  }

  async stop(thread: string, turn: string | undefined, work: Work | undefined): Promise<void> {
    if (work) this.#begin(thread, work, currentCaller())
    else this.#liveTurn(thread, turn)?.stop()
  }

  async recover(thread: string): Promise<boolean> {
    if (this.#isClosed) return false
    const work = await changeThread(this.#host, thread, (stored, claim) =>
      recoverTurn(stored, claim, this.#host.live.get(thread)?.turn),
    )
    if (work) this.#begin(thread, work)
    return work !== undefined
  }

  renewLeases(): void {
    for (const turn of this.#host.live.values()) if (!turn.isWaiting) void turn.renewLease()
    this.#renewWaiting()
  }

  /** A renewal that has not begun yet renews for all that ask for one. */
  #renewWaiting(): void {
    if (this.#isRenewalDue) return
    this.#isRenewalDue = true
    this.#lastRenewal = this.#lastRenewal.then(() => this.#renewAllWaiting())
  }

  /** Renews the leases of all turns that wait for a slot, in one statement of the store. Never rejects. */
  async #renewAllWaiting(): Promise<void> {
    this.#isRenewalDue = false
    const { live, store, claim, report } = this.#host
    const waiting = [...live.values()].filter(({ isWaiting }) => isWaiting)
    if (waiting.length === 0) return
    try {
      const leases = waiting.map(({ turn, leaseUntil }) => ({ turn: turn.id, leaseUntil }))
      const renewed = await store.renewLeases(leases, claim().lease)
      for (const one of waiting) {
        const until = renewed.get(one.turn.id)
        if (until !== undefined) one.leasedUntil(until)
        // Another process may have stopped it or taken it over. The others do not wait for that: something may have locked its thread.
        else if (one.isWaiting) void one.renewLease()
      }
    } catch (error) {
      report(error, {})
    }
  }

  /** Lets the timer run as long as turns wait for a slot. */
  #setTimer(): void {
    if (!this.#slots.hasWaiting) {
      clearInterval(this.#timer)
      this.#timer = undefined
    } else this.#timer ??= inRoot(() => setInterval(() => this.#renewWaiting(), this.#host.claim().lease / 3))
  }

  async release(thread: string): Promise<void> {
    await this.#host.live.get(thread)?.release()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    const { live } = this.#host
    // A turn that has ended may have begun the next one.
    while (live.size > 0) await Promise.all([...live.values()].map((turn) => turn.release()))
  }

  await(thread: string): () => void {
    return this.#slots.await(thread)
  }

  logOf(thread: string, turn: string): EventLog | undefined {
    return this.#liveTurn(thread, turn)?.log
  }

  async unstoredEvents(): Promise<UnstoredEvents> {
    return { kept: [], retracted: [], joined: [] }
  }

  /** Returns the turn if it runs in this process. */
  #liveTurn(thread: string, turn: string | undefined): LiveTurn | undefined {
    const live = this.#host.live.get(thread)
    return live?.turn.id === turn ? live : undefined
  }

  /** Works on a turn for its caller, and then on the turns of the queue after it. Without a caller the turn runs in the root context. */
  #begin(thread: string, work: Work, caller = this.#callers.take(thread, work.turn.id)): TurnWork {
    const { live, changes } = this.#host
    const place = work.kind === 'close' ? undefined : this.#slots.enter(thread, work)
    const enter: Caller['inside'] = caller?.inside ?? inRoot
    const begun = enter(() => this.#slots.inside(place, () => new TurnWork(this.#host, thread, work, caller, place)))
    live.set(thread, begun)
    this.#setTimer()
    void begun.done.then((ended) => {
      if (ended?.next) this.#begin(thread, ended.next)
      else if (live.get(thread) === begun) live.delete(thread)
      // The next turn of the thread already waits: the oldest of all gets the slot.
      place?.leave()
      this.#setTimer()
      if (ended) this.#callers.keep(thread, ended)
      const goesOn = (turn: string) => turn === live.get(thread)?.turn.id || ended?.queue.has(turn) === true
      changes.changed(thread, goesOn)
    })
    if (this.#isClosed) void begun.release()
    return begun
  }
}
