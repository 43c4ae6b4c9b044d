/** The messages that a page has shown, by their ids: what it has cut from its list since. */

import { BrandedError } from '@meanwhile/core/calls'

/** A message of a page. */
export interface ShownMessage {
  readonly id: string
  readonly role: string
}

/** The page shows messages that were replaced on the server, such as an earlier branch. Choose the newest branch, or load the chat again. */
export class ReplacedBranchError extends BrandedError {
  static override readonly brand: string = 'ReplacedBranchError'

  constructor() {
    super('This version of the conversation was replaced. Go back to the newest version, or load the chat again.')
  }
}

/** What a request of the page does. */
export interface PageChange {
  /** The id of the user message that the last message replaces, together with everything after it. */
  readonly replacing?: string
  /** Called when the server has accepted the request. */
  commit(): void
}

export class PageHistory {
  #shown: readonly ShownMessage[]
  /** The ids of messages that the server no longer has. */
  readonly #replaced = new Set<string>()

  constructor(loaded: readonly ShownMessage[]) {
    this.#shown = loaded.map(({ id, role }) => ({ id, role }))
  }

  /**
   * `messageId`: that of the request.
   *
   * @throws {ReplacedBranchError} The list has messages that were replaced.
   */
  changeTo(
    messages: readonly ShownMessage[],
    trigger: 'submit-message' | 'regenerate-message',
    messageId?: string,
  ): PageChange {
    const last = messages.at(-1)
    if (messages.some(({ id }) => this.#replaced.has(id))) throw new ReplacedBranchError()
    const ids = new Set(messages.map(({ id }) => id))
    const cut = this.#shown.filter(({ id }) => !ids.has(id))
    const wasShown = (message: ShownMessage) => this.#shown.some(({ id }) => id === message.id)
    const before = messages.at(-2)
    // After a message that was not shown here, the page has loaded the chat again: another page has replaced what is missing.
    const isEdit =
      trigger === 'submit-message' && last?.role === 'user' && !wasShown(last) && (!before || wasShown(before))
    const replacing = isEdit ? cut.find(({ role }) => role === 'user')?.id : undefined
    const isReplacement =
      last?.role === 'user' && (trigger === 'regenerate-message' || (replacing ?? messageId) !== undefined)
    return {
      ...(replacing !== undefined && { replacing }),
      commit: () => {
        // A page may also hide messages, and show them again later: the server still has them.
        if (isReplacement) for (const { id } of cut) this.#replaced.add(id)
        this.#shown = messages.map(({ id, role }) => ({ id, role }))
      },
    }
  }

  /** The turn that answers has this message. */
  answered(id: string): void {
    this.#replaced.delete(id)
    if (this.#shown.every((message) => message.id !== id)) this.#shown = [...this.#shown, { id, role: 'assistant' }]
  }
}
