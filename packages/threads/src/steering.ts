/** Tracks user messages that were sent to a running run until the run emits them as events. */

import type { Message, UserMessage } from '@meanwhile/core'
import type { StoredEvent, TurnRecord } from './thread-store.ts'

/** A message that was sent to a run, or will be, and that the run has not emitted yet. */
export interface Steered {
  /** The id of the turn that was created for the message. */
  readonly turn: string
  readonly messageId: string
  readonly message: UserMessage
}

export class Steering {
  readonly #expected: Steered[] = []
  readonly #turns = new Set<string>()

  /** The run has the message and will emit it, so it need not be sent again. */
  expect(steered: Steered): void {
    this.#turns.add(steered.turn)
    this.#expected.push(steered)
  }

  /** Whether the run has the message of this turn. */
  has(turn: string): boolean {
    return this.#turns.has(turn)
  }

  /** The run has emitted a message. Returns the expected message that it equals, if there is one. */
  emitted(message: Message): Steered | undefined {
    if (!isSaid(message)) return undefined
    return taken(this.#expected, message)
  }

  /**
   * A resumed run will emit these messages: for each, the first candidate with the same content is expected. Returns the candidates that the run does
   * not have.
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

/** Removes and returns the first one that has the same content. */
function taken(list: Steered[], message: UserMessage): Steered | undefined {
  const text = JSON.stringify(message)
  const index = list.findIndex((one) => JSON.stringify(one.message) === text)
  return index < 0 ? undefined : list.splice(index, 1)[0]
}

/** Whether the message comes from a user, not from a middleware. */
export function isSaid(message: Message): message is UserMessage {
  return message.role === 'user' && message.origin === undefined
}

/** Returns the messages of users among these events. */
export function saidIn(events: readonly StoredEvent[]): readonly Steered[] {
  return events.flatMap(({ turn, event }) => {
    if (event.type !== 'message' || !isSaid(event.message)) return []
    return [{ turn, messageId: event.messageId ?? crypto.randomUUID(), message: event.message }]
  })
}

/** Returns the messages of the turns that should join another turn. */
export function steeredBy(turns: readonly TurnRecord[]): readonly Steered[] {
  return turns.flatMap(({ id, messageId, message, isSteering }) =>
    isSteering && message ? [{ turn: id, messageId, message }] : [],
  )
}
