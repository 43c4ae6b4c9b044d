/** What is said to a run at work: user messages that wait for their safe point (K18). */

import { InputError } from '../errors.ts'
import type { UserMessage } from '../message.ts'
import { ownMessage } from './history.ts'

export class Inbox {
  /** Nothing that is sent enters the history any more. */
  isClosed = false
  #messages: readonly UserMessage[] = []

  /** Those that wait, in the order in which they were sent. */
  get messages(): readonly UserMessage[] {
    return this.#messages
  }

  /** Queues a user message; false once no step can follow that would read it. */
  send(message: string | UserMessage): boolean {
    if (this.isClosed) return false
    const said = ownMessage(typeof message === 'string' ? { role: 'user', content: message } : message, 'message')
    if (said.role !== 'user') throw new InputError('message', 'malformed', undefined, said)
    if (said.content.length === 0) throw new InputError('message', 'empty')
    this.#messages = [...this.#messages, said]
    return true
  }

  /**
   * The run comes to its end, and nothing is taken any more.
   *
   * @throws {InputError} Something waits: nobody would know that it was not taken.
   */
  end(): void {
    this.isClosed = true
    if (this.#messages.length === 0) return
    throw new InputError('message', 'run-ended', undefined, undefined, { notTaken: this.take() })
  }

  /** Those that a checkpoint has were sent before. */
  restore(saved: readonly UserMessage[]): void {
    this.#messages = [...saved, ...this.#messages]
  }

  /** They enter the history now. */
  take(): readonly UserMessage[] {
    const messages = this.#messages
    this.#messages = []
    return messages
  }
}
