/** The events of a durable run, as events of its thread: numbered, and with ids of messages. All readers of a log number them alike. */

import type { AgentEvent, Message } from '@meanwhile/core'
import { isSaid, type Steered } from './steering.ts'
import { isKept, type ThreadEventBody } from './thread-events.ts'
import { historyOf, missingResults, reconcile, type TurnEvents } from './thread-history.ts'
import type { BegunTurn } from './thread-records.ts'
import type { ThreadRunEvent } from './thread-runs.ts'
import type { StoredEvent } from './thread-store.ts'

/** The numbers that each batch of a log has room for. */
const ROOM = 2 ** 20

const LOST = 'No result: the stored state of this call was lost.'

export class RunLog {
  /** Messages that are to join the turn. */
  steering: readonly Steered[] = []
  /** Events that the thread has stored, and that do not count any more. */
  readonly retracted: number[] = []
  readonly #turn: BegunTurn
  readonly #before: readonly StoredEvent[]
  /** The kept events of the turn that count. */
  #own: StoredEvent[]
  /** The thread has all events up to this one. */
  readonly #from: number
  #seq: number
  /** The number of the event that is read. */
  #place: number
  /** The turns that have joined, by the number of their message. */
  readonly #joined = new Map<number, string>()
  #stretches = 0
  #isAtWork = false
  #isBeginning = false
  #told: StoredEvent[] = []

  /** `from`: the thread has all events up to this one. */
  constructor(turn: BegunTurn, { before, own }: TurnEvents, from: number) {
    this.#turn = turn
    this.#before = before
    this.#own = [...own]
    this.#from = from
    this.#seq = from
    this.#place = from
  }

  /** Where the log goes on behind what the thread has. */
  get after(): string | undefined {
    const places = this.#from - this.#turn.startSeq
    return places > 0 ? `${Math.floor(places / ROOM)}.${places % ROOM}` : undefined
  }

  /** The number of the last event. */
  get seq(): number {
    return this.#seq
  }

  /** The events that are kept and that the thread does not have. */
  get kept(): readonly StoredEvent[] {
    return this.#own.filter(({ seq }) => seq > this.#from)
  }

  /** The turns whose messages have joined this one, with the number of the message. */
  get joined(): readonly { readonly turn: string; readonly seq: number }[] {
    return this.kept.flatMap(({ seq }) => {
      const turn = this.#joined.get(seq)
      return turn === undefined ? [] : [{ turn, seq }]
    })
  }

  /** Returns the events of the thread that this one leads to. */
  read({ cursor, event }: ThreadRunEvent): readonly StoredEvent[] {
    this.#told = []
    const [batch = 0, index = 0] = cursor.split('.').map(Number)
    // The end of the run has no number in its batch.
    this.#place = this.#turn.startSeq + batch * ROOM + (index || 0)
    if (event.type === 'run-stopped') this.#isAtWork = false
    else if (event.type === 'run-start' && !event.path) this.#begin()
    // What comes before a run begins is late: the thread has what it has come to.
    else if (this.#isAtWork) this.#read(event)
    this.#seq = Math.max(this.#seq, this.#place)
    return this.#told
  }

  /** The run has stopped with this history. Without one its calls that have no result get none. */
  stop(history?: readonly Message[]): void {
    if (history) this.#goOn(history)
    else {
      const told = historyOf([...this.#before, ...this.#own])
      this.#goOn([...told, ...missingResults(told, LOST)])
    }
  }

  #begin(): void {
    this.#stretches++
    this.#isAtWork = true
    this.#isBeginning = true
  }

  #read(event: AgentEvent): void {
    if (this.#isBeginning && event.type === 'history-replaced') {
      this.#isBeginning = false
      const cause = this.#cause()
      if (cause) this.#resume(event.messages, cause)
      else this.#goOn(event.messages)
    } else if (event.type === 'message' && !event.path) this.#tellMessage(event)
    else this.#tell(event)
  }

  /** Why a run begins that is not the first one of its turn. */
  #cause(): 'answer' | 'recovery' | 'retry' | undefined {
    if (this.#stretches > 1) return 'recovery'
    if (this.#from === this.#turn.startSeq) return undefined
    return this.#own.at(-1)?.event.type === 'turn-end' ? 'retry' : 'answer'
  }

  /** Makes the events fit this history. Readers hear of it if a message does not count any more. */
  #goOn(history: readonly Message[]): void {
    const { retracted } = reconcile(this.#before, this.#own, history)
    if (retracted.length > 0) this.#resume(history, 'recovery')
    else this.#add(history)
  }

  #resume(history: readonly Message[], cause: 'answer' | 'recovery' | 'retry'): void {
    const { retracted } = reconcile(this.#before, this.#own, history)
    this.#own = this.#own.filter((one) => !retracted.includes(one))
    this.retracted.push(...retracted.flatMap(({ seq }) => (seq <= this.#from ? [seq] : [])))
    const counts = [...this.#before, ...this.#own].filter(({ turn }) => turn === this.#turn.id)
    this.#tell({ type: 'turn-resumed', cause, messages: counts.flatMap(messageIdOf) })
    this.#add(history)
  }

  /** Adds the messages of this history that readers do not have. */
  #add(history: readonly Message[]): void {
    const { missing, replaced } = reconcile(this.#before, this.#own, history)
    const runId = this.#turn.id
    for (const message of missing) this.#tellMessage({ type: 'message', message, runId })
    if (replaced) this.#tell({ type: 'history-replaced', messages: replaced, runId })
  }

  #tellMessage(event: AgentEvent & { readonly type: 'message' }): void {
    const steered = this.#steered(event.message)
    const seq = this.#next()
    const messageId = steered?.messageId ?? `${this.#turn.id}.${seq - this.#turn.startSeq}`
    if (steered) this.#joined.set(seq, steered.turn)
    this.#tell({ ...event, messageId })
  }

  /** The message of a user that this is, among those that are to join and have not. */
  #steered(message: Message): Steered | undefined {
    if (!isSaid(message)) return undefined
    const told = new Set(this.#own.flatMap(messageIdOf))
    const text = JSON.stringify(message)
    return this.steering.find((one) => !told.has(one.messageId) && JSON.stringify(one.message) === text)
  }

  #next(): number {
    return Math.max(this.#seq + 1, this.#place)
  }

  #tell(event: ThreadEventBody): void {
    this.#seq = this.#next()
    const kept = isKept(event)
    const told: StoredEvent = { seq: this.#seq, turn: this.#turn.id, ...(kept && { isKept: true }), event }
    if (kept) this.#own.push(told)
    this.#told.push(told)
  }
}

function messageIdOf({ event }: StoredEvent): readonly string[] {
  return 'messageId' in event && event.messageId ? [event.messageId] : []
}
