/** Messages of users on their way into a run: given to it, and then told as one of its events. */

import type { Message, UserMessage } from '@meanwhile/core'
import type { StoredEvent, TurnRecord } from './thread-store.ts'

/** A message that a run has, or is to have, and that it has not told yet. */
export interface Steered {
  /** The turn that it came with. */
  readonly turn: string
  readonly messageId: string
  readonly message: UserMessage
}

export class Steering {
  readonly #expected: Steered[] = []
  readonly #turns = new Set<string>()

  /** The run has the message: it will be told, and need not be given again. */
  expect(steered: Steered): void {
    this.#turns.add(steered.turn)
    this.#expected.push(steered)
  }

  /** Whether the run has the message of this turn. */
  has(turn: string): boolean {
    return this.#turns.has(turn)
  }

  /** The run tells a message: which one of those that were expected. */
  told(message: Message): Steered | undefined {
    if (!isSaid(message)) return undefined
    return taken(this.#expected, message)
  }

  /**
   * A run goes on that has these messages, and will tell them: the first of the candidates that says the same is expected. Returns the candidates that
   * it does not have.
   */
  resume(arriving: readonly Message[], candidates: readonly Steered[]): readonly Steered[] {
    const rest = [...candidates]
    for (const message of arriving.filter(isSaid)) {
      const steered = taken(rest, message)
      if (steered) this.expect(steered)
    }
    return rest
  }
}

/** Removes the first one that says the same, and returns it. */
function taken(list: Steered[], message: UserMessage): Steered | undefined {
  const text = JSON.stringify(message)
  const index = list.findIndex((one) => JSON.stringify(one.message) === text)
  return index < 0 ? undefined : list.splice(index, 1)[0]
}

/** Whether a user has said it, and no middleware. */
export function isSaid(message: Message): message is UserMessage {
  return message.role === 'user' && message.origin === undefined
}

/** The messages that users have said, among events. */
export function saidIn(events: readonly StoredEvent[]): readonly Steered[] {
  return events.flatMap(({ turn, event }) => {
    if (event.type !== 'message' || !isSaid(event.message)) return []
    return [{ turn, messageId: event.messageId ?? crypto.randomUUID(), message: event.message }]
  })
}

/** The messages of turns that are to join another one. */
export function steeredBy(turns: readonly TurnRecord[]): readonly Steered[] {
  return turns.flatMap(({ id, messageId, message, isSteering }) =>
    isSteering && message ? [{ turn: id, messageId, message }] : [],
  )
}
