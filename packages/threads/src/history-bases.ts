/** Finds the event of a thread with which the history of a checkpoint begins, so that the checkpoint need not contain that history. */

import type { Message } from '@meanwhile/core'
import { hashAfter, NO_MESSAGES } from './stored-checkpoint.ts'
import type { ThreadEventBody } from './thread-events.ts'
import { historyOf, type TurnEvents } from './thread-history.ts'
import type { CheckpointBase, TurnRecord } from './thread-store.ts'

export class HistoryBases {
  readonly #thread: string
  /** In the order of their events. */
  #bases: CheckpointBase[] = []
  readonly #ofEvents = new HashedHistory()
  readonly #ofCheckpoints = new HashedHistory()

  constructor(thread: string) {
    this.#thread = thread
  }

  /** Reads the stored events of the turn. */
  read({ historyAt = 0 }: TurnRecord, { before, own }: TurnEvents): void {
    this.#bases = []
    const start = before.at(-1)
    if (start?.event.type === 'turn-start') this.#add(historyAt, start.seq, historyOf(before))
    for (const { seq, event } of own) this.push(seq, event)
  }

  /** Reads a new event of the turn. */
  push(seq: number, event: ThreadEventBody): void {
    if (event.type === 'history-replaced' && !event.path) this.#add(seq, seq, event.messages)
  }

  /** The events with these numbers become superseded. */
  retract(seqs: readonly number[]): void {
    const retracted = new Set(seqs)
    this.#bases = this.#bases.filter(({ seq }) => !retracted.has(seq))
  }

  /** Returns the last event with whose history this one begins. A checkpoint may be older than the newest event. */
  of(messages: readonly Message[]): CheckpointBase | undefined {
    this.#ofCheckpoints.follow(messages)
    return this.#bases.findLast(({ count, hash }) => this.#ofCheckpoints.hashAt(count) === hash)
  }

  #add(from: number, seq: number, messages: readonly Message[]): void {
    this.#ofEvents.follow(messages)
    const count = messages.length
    this.#bases.push({ thread: this.#thread, from, seq, count, hash: this.#ofEvents.hashAt(count) ?? '' })
  }
}

/** The hashes of a history that mostly grows. Each message is hashed once, as long as it is the same object. */
class HashedHistory {
  #messages: readonly Message[] = []
  /** The hash of the first n messages, by n. */
  readonly #hashes = [NO_MESSAGES]

  /** From now on, the history has these messages. */
  follow(messages: readonly Message[]): void {
    const known = this.#hashes.length - 1
    let same = 0
    while (same < known && messages[same] === this.#messages[same]) same++
    this.#hashes.length = same + 1
    this.#messages = messages
  }

  /** Returns the hash of the first messages; undefined if the history has not as many. */
  hashAt(count: number): string | undefined {
    for (let n = this.#hashes.length; n <= Math.min(count, this.#messages.length); n++)
      this.#hashes.push(hashAfter(this.#hashes[n - 1] ?? '', this.#messages[n - 1]))
    return this.#hashes[count]
  }
}
