/** Turns the events of a durable run into events of its thread, with numbers and message ids. Every process computes the same numbers and ids. */

import type { AgentEvent, Message } from '@meanwhile/core'
import { AskedCalls } from './asked-calls.ts'
import { ChangedMessages } from './changed-messages.ts'
import { isKept } from './kept-events.ts'
import type { Outcome } from './owner-decisions.ts'
import { isFromUser, type SteeringMessage } from './steering.ts'
import type { ThreadEventBody } from './thread-events.ts'
import { historyOf, missingResults, reconcile, type TurnEvents } from './thread-history.ts'
import type { BegunTurn } from './thread-records.ts'
import type { ThreadRunEvent } from './thread-runs.ts'
import type { StoredEvent } from './thread-store.ts'

/** How many event numbers of the thread are reserved for each batch of run events. */
const SEQS_PER_BATCH = 2 ** 20

const LOST = 'No result: the stored state of this call was lost.'

/** The log of one turn, from the last event that its thread has stored. */
export class RunLog {
  /** The number of the last event that the thread had stored when this log began. */
  readonly from: number
  /** The queued messages that may join the turn. */
  steering: readonly SteeringMessage[] = []
  /** The numbers of stored events of the thread that are no longer valid. */
  readonly retracted: number[] = []
  readonly #turn: BegunTurn
  readonly #before: readonly StoredEvent[]
  /** The kept events of the turn that are valid. */
  #turnEvents: StoredEvent[]
  #asked: AskedCalls
  readonly #changed = new ChangedMessages()
  /** The number of the last event in this log. */
  #seq: number
  /** The number that belongs to the run event that is being read. */
  #eventSeq: number
  /** The ids of the turns that have joined, by the number of the event with their message. */
  readonly #joined = new Map<number, string>()
  /** How often the run has started or continued since the thread last stored its events. */
  #starts = 0
  #isRunning = false
  #isFirstEvent = false
  /** The thread's events for the run event that is being read. */
  #events: StoredEvent[] = []

  /** `from`: the number of the last event that the thread has stored. */
  constructor(turn: BegunTurn, { before, own }: TurnEvents, from: number) {
    this.#turn = turn
    this.#before = before
    this.#turnEvents = [...own]
    this.#asked = new AskedCalls(own, turn.interrupts)
    for (const { event } of own) this.#changed.named(event)
    this.from = from
    this.#seq = from
    this.#eventSeq = from
  }

  /** The cursor of the run after which the thread has no events yet. Undefined: it has none of this run. */
  get after(): string | undefined {
    const offset = this.from - this.#turn.startSeq
    return offset > 0 ? `${Math.floor(offset / SEQS_PER_BATCH)}.${offset % SEQS_PER_BATCH}` : undefined
  }

  /** The number of the last event in this log. */
  get seq(): number {
    return this.#seq
  }

  /** The kept events that the thread has not stored. */
  get kept(): readonly StoredEvent[] {
    return this.#turnEvents.filter(({ seq }) => seq > this.from)
  }

  /** The turns whose messages have joined this one, with the number of the event that has the message. */
  get joined(): readonly { readonly turn: string; readonly seq: number }[] {
    return this.kept.flatMap(({ seq }) => {
      const turn = this.#joined.get(seq)
      return turn === undefined ? [] : [{ turn, seq }]
    })
  }

  /** Reads an event of the run. Returns the events of the thread that follow from it. */
  read({ cursor, event }: ThreadRunEvent): readonly StoredEvent[] {
    this.#events = []
    const [batch = 0, index = 0] = cursor.split('.').map(Number)
    // The cursor of `run-stopped` has no index in its batch.
    this.#eventSeq = this.#turn.startSeq + batch * SEQS_PER_BATCH + (index || 0)
    if (event.type === 'run-stopped') this.#isRunning = false
    else if (event.type === 'run-start' && !event.path) this.#begin()
    // An event before `run-start` arrived late: the thread has already stored the outcome of that part of the run.
    else if (this.#isRunning) this.#read(event)
    this.#seq = Math.max(this.#seq, this.#eventSeq)
    return this.#events
  }

  /** Adds the final history of the run. If it is unknown, each call without a result gets an error result. */
  stop(history?: readonly Message[]): void {
    if (history) this.#update(history)
    else {
      const known = historyOf([...this.#before, ...this.#turnEvents])
      this.#update([...known, ...missingResults(known, LOST)])
    }
  }

  /** Adds the cards of questions that are new, or are no longer open. */
  end(outcome: Outcome): void {
    this.#pushAll(this.#asked.stopped(outcome, this.#turn.closing))
  }

  #begin(): void {
    this.#starts++
    this.#isRunning = true
    this.#isFirstEvent = true
  }

  #read(event: AgentEvent): void {
    if (this.#isFirstEvent && event.type === 'history-replaced') {
      this.#isFirstEvent = false
      const cause = this.#cause()
      if (cause) this.#resume(event.messages, cause)
      else this.#update(event.messages)
    } else if (event.type === 'message' && !event.path) this.#pushMessage(event)
    else this.#push(event)
  }

  /** Why the run continues. Undefined if it starts for the first time. */
  #cause(): 'answer' | 'recovery' | 'retry' | undefined {
    if (this.#starts > 1) return 'recovery'
    if (this.from === this.#turn.startSeq) return undefined
    return this.#turnEvents.at(-1)?.event.type === 'turn-end' ? 'retry' : 'answer'
  }

  /** Changes the events to match this history. If a message is no longer valid, a `turn-resumed` event tells the readers. */
  #update(history: readonly Message[]): void {
    const { retracted } = reconcile(this.#before, this.#turnEvents, history)
    if (retracted.length > 0) this.#resume(history, 'recovery')
    else this.#add(history)
  }

  /** Adds `turn-resumed` with the messages that are still valid, and changes the events to match this history. */
  #resume(history: readonly Message[], cause: 'answer' | 'recovery' | 'retry'): void {
    const { retracted } = reconcile(this.#before, this.#turnEvents, history)
    const invalid = new Set(retracted)
    this.#turnEvents = this.#turnEvents.filter((one) => !invalid.has(one))
    if (retracted.length > 0) this.#asked = new AskedCalls(this.#turnEvents, this.#turn.interrupts)
    for (const { seq } of retracted) if (seq <= this.from) this.retracted.push(seq)
    const valid = [...this.#before, ...this.#turnEvents].filter(({ turn }) => turn === this.#turn.id)
    this.#push({ type: 'turn-resumed', cause, messages: valid.flatMap(messageIdOf) })
    this.#pushAll(this.#asked.answered(this.#turn.interrupts, this.#turn.answers))
    this.#add(history)
  }

  /** Adds the messages of this history that the events do not have. */
  #add(history: readonly Message[]): void {
    const { missing, replaced } = reconcile(this.#before, this.#turnEvents, history)
    const runId = this.#turn.id
    for (const message of missing) this.#pushMessage({ type: 'message', message, runId })
    if (replaced) this.#push({ type: 'history-replaced', messages: replaced, runId })
  }

  #pushMessage(event: AgentEvent & { readonly type: 'message' }): void {
    const steering = this.#steeringMessage(event.message)
    const seq = this.#next()
    const messageId = steering?.messageId ?? `${this.#turn.id}.${seq - this.#turn.startSeq}`
    if (steering) this.#joined.set(seq, steering.turn)
    this.#push({ ...event, messageId, ...(steering?.display !== undefined && { display: steering.display }) })
  }

  /** Returns the steering message that this message is, if it has not joined the turn before. */
  #steeringMessage(message: Message): SteeringMessage | undefined {
    if (!isFromUser(message)) return undefined
    const joined = new Set(this.#turnEvents.flatMap(messageIdOf))
    const text = JSON.stringify(message)
    return this.steering.find((one) => !joined.has(one.messageId) && JSON.stringify(one.message) === text)
  }

  /** Returns the number of the next event. */
  #next(): number {
    return Math.max(this.#seq + 1, this.#eventSeq)
  }

  #push(given: ThreadEventBody): void {
    const event = this.#changed.named(given)
    this.#seq = this.#next()
    const kept = isKept(event)
    const stored: StoredEvent = { seq: this.#seq, turn: this.#turn.id, ...(kept && { isKept: true }), event }
    if (kept) this.#turnEvents.push(stored)
    this.#events.push(stored)
    this.#pushAll(this.#asked.read(event))
  }

  #pushAll(events: readonly ThreadEventBody[]): void {
    for (const event of events) this.#push(event)
  }
}

function messageIdOf({ event }: StoredEvent): readonly string[] {
  return 'messageId' in event && event.messageId ? [event.messageId] : []
}
