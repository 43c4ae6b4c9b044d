/** Which calls of a history have their results: each is to have exactly one, after it, and each result its call (A15). */

import { HistoryError } from './errors.ts'
import { callsOf, type Message } from './message.ts'

/** Of one history as it grows: what it has seen it does not look at again. */
export class Pairs {
  readonly #calls: Set<string> = new Set()
  readonly #open: Set<string> = new Set()
  readonly #wrong: string[] = []
  #seen = 0

  /** Throws {@link HistoryError} unless all pair up. */
  check(messages: readonly Message[]): void {
    for (const message of messages.slice(this.#seen)) this.#see(message)
    this.#seen = messages.length
    const wrong = new Set([...this.#wrong, ...this.#open])
    if (wrong.size > 0) throw new HistoryError([...wrong])
  }

  #see(message: Message): void {
    if (message.role === 'assistant') for (const { id } of callsOf(message)) this.#call(id)
    else if (message.role === 'tool' && !this.#open.delete(message.callId)) this.#wrong.push(message.callId)
  }

  #call(id: string): void {
    if (this.#calls.has(id)) this.#wrong.push(id)
    this.#calls.add(id)
    this.#open.add(id)
  }
}
