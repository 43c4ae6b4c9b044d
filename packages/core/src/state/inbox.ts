/** Keeps the user messages that were sent to a run at work, until their safe point. `machine/steps.ts` decides whether a message is taken. */

import type { Halt } from '../machine/halt.ts'
import { inboxClosed, messagesWait, type Steps, takesMessages } from '../machine/steps.ts'
import { InputError } from '../vocabulary/errors.ts'
import { ownMessage } from '../vocabulary/history.ts'
import type { UserMessage } from '../vocabulary/message.ts'

/** What its run knows of its steps, and of what stops it. */
interface Stands {
  readonly steps: { readonly state: Steps }
  readonly halt: { readonly state: Halt }
}

export class Inbox {
  #messages: readonly UserMessage[] = []
  readonly #run: Stands

  constructor(run: Stands) {
    this.#run = run
  }

  /** Those that wait, in the order in which they were sent. */
  get messages(): readonly UserMessage[] {
    return this.#messages
  }

  /** Queues a user message; false once no step can follow that would read it. */
  send(message: string | UserMessage): boolean {
    const { steps, halt } = this.#run
    if (!takesMessages(steps.state, halt.state)) return false
    const said = ownMessage(typeof message === 'string' ? { role: 'user', content: message } : message, 'message')
    if (said.role !== 'user') throw new InputError('message', 'malformed', undefined, said)
    if (said.content.length === 0) throw new InputError('message', 'empty')
    this.#become([...this.#messages, said])
    return true
  }

  /**
   * The run comes to its end, and nothing is taken any more.
   *
   * @throws {InputError} Something waits: nobody would know that it was not taken.
   */
  end(): void {
    inboxClosed(this.#run.steps.state)
    if (this.#messages.length === 0) return
    throw new InputError('message', 'run-ended', undefined, undefined, { notTaken: this.take() })
  }

  /** Those that a checkpoint has were sent before. */
  restore(saved: readonly UserMessage[]): void {
    this.#become([...saved, ...this.#messages])
  }

  /** They enter the history now. */
  take(): readonly UserMessage[] {
    const messages = this.#messages
    this.#become([])
    return messages
  }

  #become(messages: readonly UserMessage[]): void {
    this.#messages = messages
    messagesWait(this.#run.steps.state, messages.length)
  }
}
