/** Holds user messages that were sent to a run, until the next safe point. `machine/steps.ts` decides whether a message is accepted. */

import { inboxClosed, messagesWait, takesMessages } from '../machine/steps.ts'
import { InputError } from '../vocabulary/errors.ts'
import { userMessage } from '../vocabulary/history.ts'
import type { UserMessage } from '../vocabulary/message.ts'
import type { RunHalt } from './run-halt.ts'
import type { RunSteps } from './run-steps.ts'

export class Inbox {
  #messages: readonly UserMessage[] = []
  readonly #steps: RunSteps
  readonly #halt: RunHalt

  constructor(steps: RunSteps, halt: RunHalt) {
    this.#steps = steps
    this.#halt = halt
  }

  /** The messages that wait, in the order in which they were sent. */
  get messages(): readonly UserMessage[] {
    return this.#messages
  }

  /** Queues a user message. Returns false if no step can follow that would read it. Throws `InputError` if it is not valid. */
  send(message: string | UserMessage): boolean {
    if (!takesMessages(this.#steps.state, this.#halt.state)) return false
    this.#become([...this.#messages, userMessage(message)])
    return true
  }

  /** The run ends, and no more messages are accepted. Throws {@link InputError} if one is waiting: its sender would not know that it was not used. */
  end(): void {
    inboxClosed(this.#steps.state)
    if (this.#messages.length === 0) return
    throw new InputError('message', 'run-ended', undefined, undefined, { notTaken: this.take() })
  }

  /** Restores messages of a checkpoint, which were sent earlier. */
  restore(saved: readonly UserMessage[]): void {
    this.#become([...saved, ...this.#messages])
  }

  /** Removes the messages, which enter the history now. */
  take(): readonly UserMessage[] {
    const messages = this.#messages
    this.#become([])
    return messages
  }

  #become(messages: readonly UserMessage[]): void {
    this.#messages = messages
    messagesWait(this.#steps.state, messages.length)
  }
}
