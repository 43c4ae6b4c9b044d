/** Runs one turn in this process: starts or resumes its run, and writes the events of the run. */

import {
  type AgentEvent,
  type AgentRun,
  AnswerError,
  type Message,
  type ResumeOptions,
  UnknownInterruptError,
} from '@meanwhile/core'
import type { EventLog } from './event-log.ts'
import type { LiveTurn, LocalHost } from './local-turns.ts'
import type { Orders, Outcome } from './owner-decisions.ts'
import { answersTo, seenIn } from './seen-checkpoint.ts'
import { type Steered, Steering, saidIn, steeredBy } from './steering.ts'
import { historyOf, reconcile, type TurnEvents, turnEvents } from './thread-history.ts'
import type { Work } from './thread-records.ts'
import type { StoredEvent, TurnRecord } from './thread-store.ts'
import { failed, outcomeOf } from './turn-outcome.ts'
import { TurnWriter } from './turn-writer.ts'

export class TurnWork implements LiveTurn {
  /** Resolves when this work is over, with the work on the next turn if that has begun. Never rejects. */
  readonly done: Promise<Work | undefined>
  /** Resolves when the run continues, here or in another process. Rejects if the run rejects the answers, or if the store fails. */
  readonly started: Promise<void>
  readonly turn: TurnRecord
  readonly contexts: Map<string, unknown>
  readonly #thread: string
  readonly #host: LocalHost
  readonly #work: Work
  readonly #writer: TurnWriter
  readonly #steering = new Steering()
  readonly #abort = new AbortController()
  #start: { resolve(): void; reject(error: unknown): void } = { resolve: () => {}, reject: () => {} }
  #run: AgentRun | undefined
  #hasBegun = false
  #isStopping = false
  #isLeaving = false

  constructor(host: LocalHost, thread: string, work: Work, contexts: Map<string, unknown>) {
    this.turn = work.turn
    this.contexts = contexts
    this.#thread = thread
    this.#host = host
    this.#work = work
    this.#writer = new TurnWriter(host, thread, work, {
      heed: (orders) => this.#heed(orders),
      lose: () => this.#abort.abort(),
    })
    this.started = new Promise<void>((resolve, reject) => {
      this.#start = { resolve, reject }
    })
    // Callers need not await it.
    this.started.catch(() => undefined)
    this.done = this.#do()
  }

  get log(): EventLog {
    return this.#writer.log
  }

  stop(): void {
    this.#isStopping = true
    // The result of the run reports how it ends.
    this.#run?.cancel().catch(() => undefined)
  }

  steer(turns: readonly TurnRecord[]): void {
    // A run that has not begun may not accept them: the next write returns them again.
    if (!this.#run || !this.#hasBegun || this.#isOut) return
    for (const steered of steeredBy(turns))
      if (!this.#steering.has(steered.turn) && this.#run.send(steered.message)) this.#steering.expect(steered)
  }

  async leave(): Promise<void> {
    this.#isLeaving = true
    this.#abort.abort()
    await this.done
  }

  /** Whether another process has the turn or will take it: then this one emits no more events. */
  get #isOut(): boolean {
    return this.#isLeaving || this.#writer.isLost
  }

  async #do(): Promise<Work | undefined> {
    const { live, wakes, claim } = this.#host
    live.set(this.#thread, this)
    const beat = setInterval(() => void this.#writer.beat(), claim().lease / 3)
    try {
      const outcome = await this.#outcome()
      return outcome && (await this.#writer.end(outcome))
    } catch (error) {
      // The stored turn is unchanged: another process takes it over when the lease has expired.
      if (!this.#isOut) {
        this.#report(error)
        this.#start.reject(error)
      }
      return undefined
    } finally {
      clearInterval(beat)
      await this.#writer.close()
      if (this.#isLeaving) await this.#writer.leave()
      if (live.get(this.#thread) === this) live.delete(this.#thread)
      this.#start.resolve()
      wakes.wake(this.#thread)
    }
  }

  /** Returns how the turn ends or what it waits for; undefined if the run rejected the answers, so that the turn waits again. */
  async #outcome(): Promise<Outcome | undefined> {
    try {
      return await (this.#work.kind === 'close' ? this.#close() : this.#play())
    } catch (error) {
      if (this.#isOut) throw error
      const isRefused = error instanceof AnswerError || error instanceof UnknownInterruptError
      if (!isRefused || this.#hasBegun || !this.turn.answers) {
        this.#report(error)
        return failed(error)
      }
      await this.#writer.refuse()
      this.#start.reject(error)
      return undefined
    }
  }

  /** Starts or resumes the run, and reads its events until it ends. */
  async #play(): Promise<Outcome> {
    const agent = await this.#host.agentOf(this.turn, this.#thread)
    const { id } = this.turn
    const context = this.contexts.has(id) ? this.contexts.get(id) : await this.#host.contextOf(this.turn, this.#thread)
    const options: ResumeOptions = {
      checkpoints: this.#writer.checkpoints,
      conversationId: this.#thread,
      signal: this.#abort.signal,
      ...(context !== undefined && { context }),
    }
    const { before, own } = await this.#events()
    const input = historyOf(before)
    const checkpoint = this.#work.kind === 'begin' ? undefined : await this.#checkpoint()
    const lost =
      this.#work.kind === 'begin' ? [] : await this.#goOn(before, own, checkpoint?.messages ?? input, checkpoint?.sent)
    this.#run = checkpoint
      ? agent.resume(id, answersTo(checkpoint, this.turn), options)
      : agent.stream(input, { ...options, id })
    for (const steered of lost) if (this.#run.send(steered.message)) this.#steering.expect(steered)
    if (this.#isStopping) this.stop()
    for await (const event of this.#run) {
      this.#hasBegun = true
      this.#start.resolve()
      this.#emit(event)
      if (this.log.isFull) await this.#writer.flush()
    }
    const result = await this.#run.result
    if (result.checkpointError) this.#report(result.checkpointError)
    return outcomeOf(result)
  }

  /** Closes the run, if it has a checkpoint. */
  async #close(): Promise<Outcome> {
    this.#start.resolve()
    const checkpoint = await this.#checkpoint()
    // The final answer was accepted before the turn could be stopped.
    if (checkpoint?.hasFinalAnswer) return await this.#play()
    const { before, own } = await this.#events()
    if (!checkpoint) {
      await this.#goOn(before, own, historyOf(before))
      return { status: 'stopped' }
    }
    const agent = await this.#host.agentOf(this.turn, this.#thread)
    const { closing: reason = '' } = this.turn
    const { messages, usage } = await agent.close(this.turn.id, { reason, checkpoints: this.#writer.checkpoints })
    await this.#goOn(before, own, messages)
    return { status: 'stopped', usage }
  }

  #events(): Promise<TurnEvents> {
    return turnEvents(this.#host.store, this.#thread, this.turn)
  }

  async #checkpoint() {
    return seenIn(await this.#host.store.checkpoints.load(this.turn.id))
  }

  /**
   * The turn continues with this history. The stored events are corrected to match it, and readers learn which messages still count. `sent`: messages
   * that the run has and has not emitted. Returns the messages that the run had emitted and no longer has.
   */
  async #goOn(
    before: readonly StoredEvent[],
    own: readonly StoredEvent[],
    history: readonly Message[],
    sent: readonly Message[] = [],
  ): Promise<readonly Steered[]> {
    const { retracted, missing, replaced } = reconcile(before, own, history)
    const steering = steeredBy((await this.#host.store.load(this.#thread))?.turns ?? [])
    const emitted = saidIn(retracted)
    const left = this.#steering.resume([...missing, ...sent], [...emitted, ...steering])
    this.#writer.retract(retracted.map(({ seq }) => seq))
    const { cause } = this.#work
    if (cause) {
      const gone = new Set(retracted)
      const counts = [...before, ...own].filter((one) => one.turn === this.turn.id && !gone.has(one))
      const messages = counts.flatMap(({ event }) => ('messageId' in event && event.messageId ? [event.messageId] : []))
      this.#writer.push({ type: 'turn-resumed', cause, messages })
    }
    const runId = this.turn.id
    for (const message of missing) this.#emit({ type: 'message', message, runId })
    if (replaced) this.#emit({ type: 'history-replaced', messages: replaced, runId })
    return emitted.filter((one) => left.includes(one))
  }

  /** Emits an event of the run, or of an agent inside it. `run-start` and `run-end` of the run are left out: turns have their own such events. */
  #emit(event: AgentEvent): void {
    if (this.#isOut) return
    const isOwn = !event.path
    if (isOwn && (event.type === 'run-start' || event.type === 'run-end')) return
    if (!isOwn || event.type !== 'message') {
      this.#writer.push(event)
      return
    }
    const steered = this.#steering.emitted(event.message)
    this.#writer.push({ ...event, messageId: steered?.messageId ?? crypto.randomUUID() }, steered?.turn)
  }

  #report(error: unknown): void {
    this.#host.report(error, { thread: this.#thread, turn: this.turn.id })
  }

  #heed({ isStopping, steering }: Orders): void {
    if (isStopping && !this.#isStopping) this.stop()
    this.steer(steering)
  }
}
