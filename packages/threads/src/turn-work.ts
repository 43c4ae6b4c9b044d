/** Runs one turn in this process: starts, resumes or closes its run, and writes the events of the run to the store. */

import {
  type Agent,
  type AgentEvent,
  type AgentRun,
  AnswerError,
  type Message,
  type ResumeOptions,
  storedResult,
  UnknownInterruptError,
} from '@meanwhile/core'
import { inTrace } from '@meanwhile/core/calls'
import { AskedCalls } from './asked-calls.ts'
import type { Caller } from './callers.ts'
import { ChangedMessages } from './changed-messages.ts'
import type { EventLog } from './event-log.ts'
import type { LiveTurn, LocalHost } from './live-turn.ts'
import type { Outcome, TurnRequests } from './owner-decisions.ts'
import { openAnswers, readCheckpoint } from './run-checkpoint.ts'
import type { Place } from './slots.ts'
import { Steering, type SteeringMessage, steeringMessagesOf, userMessagesIn } from './steering.ts'
import type { ThreadEventBody } from './thread-events.ts'
import { historyOf, reconcile, type TurnEvents, turnEvents } from './thread-history.ts'
import type { Work } from './thread-records.ts'
import type { StoredEvent, TurnRecord } from './thread-store.ts'
import { failed, outcomeOf } from './turn-outcome.ts'
import { type EndedTurn, TurnWriter } from './turn-writer.ts'

export class TurnWork implements LiveTurn {
  /** Resolves when the turn has ended, waits or was given up. The value is absent if its end could not be stored. Never rejects. */
  readonly done: Promise<EndedTurn | undefined>
  /** Resolves when the run has started, here or in another process. Rejects if the run rejects the answers, or if the store fails. */
  readonly started: Promise<void>
  readonly turn: TurnRecord
  #leaseUntil: number
  #closing: string | undefined
  readonly #thread: string
  readonly #host: LocalHost
  readonly #work: Work
  readonly #caller: Caller | undefined
  /** Absent: the turn is only closed. */
  readonly #place: Place | undefined
  readonly #writer: TurnWriter
  readonly #steering = new Steering()
  #asked = new AskedCalls()
  readonly #changed = new ChangedMessages()
  readonly #abort = new AbortController()
  #start: { resolve(): void; reject(error: unknown): void } = { resolve: () => {}, reject: () => {} }
  #run: AgentRun | undefined
  #hasBegun = false
  #isStopping = false
  #isReleased = false

  /** Call it in the async context of the caller. Without a caller, another process began the turn, or received its message. */
  constructor(host: LocalHost, thread: string, work: Work, caller: Caller | undefined, place: Place | undefined) {
    this.turn = work.turn
    this.#leaseUntil = work.turn.leaseUntil
    this.#closing = work.turn.closing
    this.#place = place
    this.#thread = thread
    this.#host = host
    this.#work = work
    this.#caller = caller
    this.#writer = new TurnWriter(host, thread, work, {
      onRequests: (requests) => this.#applyRequests(requests),
      onLeaseLost: () => this.#giveUp(),
    })
    this.started = new Promise<void>((resolve, reject) => {
      this.#start = { resolve, reject }
    })
    // Prevents an unhandled rejection if no caller awaits it.
    this.started.catch(() => undefined)
    this.done = this.#execute()
  }

  get log(): EventLog {
    return this.#writer.log
  }

  get isWaiting(): boolean {
    return this.#place?.isWaiting === true
  }

  get leaseUntil(): number {
    return this.#leaseUntil
  }

  leasedUntil(time: number): void {
    this.#leaseUntil = time
  }

  stop(): void {
    this.#isStopping = true
    if (this.isWaiting) this.#place?.leave()
    // `run.result` has the same outcome.
    this.#run?.cancel().catch(() => undefined)
  }

  steer(turns: readonly TurnRecord[]): void {
    // A run that has not begun may not accept them. The next write to the store returns them again.
    if (!this.#run || !this.#hasBegun || this.#hasGivenUp) return
    for (const one of steeringMessagesOf(turns))
      if (!this.#steering.has(one.turn) && this.#run.send(one.message)) this.#steering.expect(one)
  }

  renewLease(): Promise<void> {
    return this.#writer.renewLease()
  }

  async release(): Promise<void> {
    this.#isReleased = true
    this.#giveUp()
    await this.done
  }

  /** Whether another process has taken over the turn or may take it over. Then this process emits no more events. */
  get #hasGivenUp(): boolean {
    return this.#isReleased || this.#writer.isLost
  }

  #giveUp(): void {
    this.#abort.abort()
    if (this.isWaiting) this.#place?.leave()
  }

  async #execute(): Promise<EndedTurn | undefined> {
    // While the turn waits, its lease is renewed together with those of the others that wait.
    const timer = setInterval(() => !this.isWaiting && void this.renewLease(), this.#host.claim().lease / 3)
    try {
      const outcome = await this.#outcome()
      return outcome && (await this.#writer.end(outcome, this.#asked.stopped(outcome, this.#closing)))
    } catch (error) {
      // The stored turn is unchanged: another process takes it over when the lease has expired.
      if (!this.#hasGivenUp) {
        this.#report(error)
        this.#start.reject(error)
      }
      return undefined
    } finally {
      clearInterval(timer)
      await this.#writer.close()
      if (this.#isReleased) await this.#writer.release()
      this.#start.resolve()
    }
  }

  /** Returns how the turn has ended or what it waits for. Undefined: the run rejected the answers, and the turn waits for the same questions again. */
  async #outcome(): Promise<Outcome | undefined> {
    try {
      const runs = this.#work.kind !== 'close' && (!this.isWaiting || (await this.#waitForSlot()))
      return await (runs ? this.#runAgent() : this.#close())
    } catch (error) {
      if (this.#hasGivenUp) throw error
      const isRejected = error instanceof AnswerError || error instanceof UnknownInterruptError
      if (!isRejected || this.#hasBegun || !this.turn.answers) {
        this.#report(error)
        return failed(error)
      }
      await this.#writer.reopen()
      this.#start.reject(error)
      return undefined
    }
  }

  /** Resolves when the turn may run, or to false if it was stopped before that. */
  async #waitForSlot(): Promise<boolean> {
    this.#start.resolve()
    await this.#place?.granted
    // Another process may have stopped the turn or taken it over.
    if (!this.#hasGivenUp) await this.renewLease()
    if (this.#hasGivenUp) throw this.#abort.signal.reason
    if (this.#isStopping) await this.#readReason()
    return !this.#isStopping
  }

  async #readReason(): Promise<void> {
    const { id } = this.turn
    const stored = await this.#host.store.load(this.#thread, { turn: id })
    this.#closing = stored?.turns.find((turn) => turn.id === id)?.closing
  }

  /** Starts or resumes the run, and reads its events until it ends. */
  async #runAgent(): Promise<Outcome> {
    const agent = await this.#host.agentOf(this.turn, this.#thread)
    const { id } = this.turn
    const given = this.#caller?.context
    const context = given === undefined ? await this.#host.contextOf(this.turn, this.#thread) : given
    const options: ResumeOptions = {
      checkpoints: this.#writer.checkpoints,
      conversationId: this.#thread,
      signal: this.#abort.signal,
      ...(context !== undefined && { context }),
    }
    const checkpoint = this.#work.kind === 'begin' ? undefined : await this.#checkpoint()
    const { before, own } = await this.#turnEvents()
    const input = historyOf(before)
    const history = checkpoint?.messages ?? input
    const unsent = this.#work.kind === 'begin' ? [] : await this.#reconcile(before, own, history, checkpoint?.sent)
    const answers = checkpoint ? openAnswers(checkpoint, this.turn) : {}
    const isBegun = checkpoint !== undefined || (await this.#beginLinked(agent, input))
    this.#run = isBegun ? agent.resume(id, answers, options) : agent.stream(input, { ...options, id })
    for (const one of unsent) if (this.#run.send(one.message)) this.#steering.expect(one)
    if (this.#isStopping) this.stop()
    for await (const event of this.#run) {
      if (!this.#hasBegun) this.#push(this.#asked.answered(this.turn.interrupts, this.turn.answers))
      this.#hasBegun = true
      this.#start.resolve()
      this.#emit(event)
      if (this.log.isFull) await this.#writer.flush()
    }
    const result = await this.#run.result
    if (result.checkpointError) this.#report(result.checkpointError)
    return outcomeOf(result)
  }

  /** If this process did not receive the message, stores the beginning of the run, so that its span links to the request of the message. */
  async #beginLinked(agent: Agent, input: readonly Message[]): Promise<boolean> {
    const { id, trace } = this.turn
    if (this.#caller || !trace) return false
    await inTrace(trace, () => agent.begin(input, { id, checkpoints: this.#writer.checkpoints }))
    return true
  }

  /** Closes the run. If it has no checkpoint, it had not started, and only the turn ends. */
  async #close(): Promise<Outcome> {
    this.#start.resolve()
    const checkpoint = await this.#checkpoint()
    // The final answer was accepted before the turn was stopped: it completes.
    if (checkpoint?.hasFinalAnswer) return await this.#runAgent()
    const { before, own } = await this.#turnEvents()
    if (!checkpoint) {
      await this.#reconcile(before, own, historyOf(before))
      return { status: 'stopped' }
    }
    const agent = await this.#host.agentOf(this.turn, this.#thread)
    const reason = this.#closing ?? ''
    const { messages, usage } = await agent.close(this.turn.id, { reason, checkpoints: this.#writer.checkpoints })
    await this.#reconcile(before, own, messages)
    return { status: 'stopped', usage }
  }

  async #turnEvents(): Promise<TurnEvents> {
    const events = await turnEvents(this.#host.store, this.#thread, this.turn)
    this.#writer.readEvents(events)
    return events
  }

  async #checkpoint() {
    const stored = await this.#host.store.checkpoints.load(this.turn.id)
    // This throws if it is damaged, before its messages enter the thread.
    if (stored !== undefined) storedResult(stored)
    return readCheckpoint(stored)
  }

  /**
   * Corrects the stored events so that they match this history, and emits `turn-resumed` with the messages that are still valid. `sent`: messages that
   * the run has received and not emitted. Returns the steering messages that the run had emitted and that its checkpoint does not have.
   */
  async #reconcile(
    before: readonly StoredEvent[],
    own: readonly StoredEvent[],
    history: readonly Message[],
    sent: readonly Message[] = [],
  ): Promise<readonly SteeringMessage[]> {
    const { retracted, missing, replaced } = reconcile(before, own, history)
    const steering = steeringMessagesOf((await this.#host.store.load(this.#thread))?.turns ?? [])
    const emitted = userMessagesIn(retracted)
    const left = this.#steering.resume([...missing, ...sent], [...emitted, ...steering])
    this.#writer.retract(retracted.map(({ seq }) => seq))
    const invalid = new Set(retracted)
    const valid = [...before, ...own].filter((one) => one.turn === this.turn.id && !invalid.has(one))
    this.#asked = new AskedCalls(valid, this.turn.interrupts)
    for (const { event } of valid) this.#changed.named(event)
    const { cause } = this.#work
    if (cause) {
      const messages = valid.flatMap(({ event }) => ('messageId' in event && event.messageId ? [event.messageId] : []))
      this.#writer.push({ type: 'turn-resumed', cause, messages })
    }
    const runId = this.turn.id
    for (const message of missing) this.#emit({ type: 'message', message, runId })
    if (replaced) this.#emit({ type: 'history-replaced', messages: replaced, runId })
    return emitted.filter((one) => left.includes(one))
  }

  /** Emits an event of the run or of an agent inside it, except `run-start` and `run-end` of the run: `turn-start` and `turn-end` replace them. */
  #emit(event: AgentEvent): void {
    if (this.#hasGivenUp) return
    const isOwn = !event.path
    if (isOwn && (event.type === 'run-start' || event.type === 'run-end')) return
    const steering = isOwn && event.type === 'message' ? this.#steering.emitted(event.message) : undefined
    const { messageId = crypto.randomUUID(), display } = steering ?? {}
    const shown = { messageId, ...(display !== undefined && { display }) }
    const named = this.#changed.named(isOwn && event.type === 'message' ? { ...event, ...shown } : event)
    this.#writer.push(named, steering?.turn)
    this.#push(this.#asked.read(named))
  }

  #push(events: readonly ThreadEventBody[]): void {
    for (const event of events) this.#writer.push(event)
  }

  #report(error: unknown): void {
    this.#host.report(error, { thread: this.#thread, turn: this.turn.id })
  }

  #applyRequests({ isStopping, steering, leaseUntil }: TurnRequests): void {
    this.#leaseUntil = leaseUntil
    if (isStopping && !this.#isStopping) this.stop()
    this.steer(steering)
  }
}
