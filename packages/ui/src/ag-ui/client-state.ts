/** The state that a client keeps and sends with each request. The server sets members in it and leaves the rest as it is: it may change during the run. */

import type { AgUiEvent } from './wire.ts'

export class ClientState {
  #exists: boolean

  /** `sent`: the state in the request; undefined if it has none to which a member can be added. */
  constructor(sent: Readonly<Record<string, unknown>> | undefined) {
    this.#exists = sent !== undefined
  }

  /** Returns the event with which a client sets the member. */
  set(name: 'plan' | 'seenTurn', value: unknown): AgUiEvent {
    const exists = this.#exists
    this.#exists = true
    return exists
      ? { type: 'STATE_DELTA', delta: [{ op: 'add', path: `/${name}`, value }] }
      : { type: 'STATE_SNAPSHOT', snapshot: { [name]: value } }
  }
}
