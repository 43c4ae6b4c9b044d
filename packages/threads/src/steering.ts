/** Matches the messages that were sent to a running turn with the `message` events that its run emits for them. */

import type { Json, Message, UserMessage } from '@meanwhile/core'
import type { StoredEvent, TurnRecord } from './thread-store.ts'

/** A user message that should join a running turn. */
export interface SteeringMessage {
  /** The id of the turn that was created for the message. */
  readonly turn: string
  readonly messageId: string
  readonly message: UserMessage
  /** What was passed with it for an interface. */
  readonly display?: Json
}

/** The messages that were sent to one run. */
export class Steering {
  readonly #expected: SteeringMessage[] = []
  readonly #turns = new Set<string>()

  /** Records that the run has received the message and will emit it. */
  expect(message: SteeringMessage): void {
    this.#turns.add(message.turn)
    this.#expected.push(message)
  }

  /** Whether the run has received the message of this turn. */
  has(turn: string): boolean {
    return this.#turns.has(turn)
  }

  /** The run has emitted a message. Removes and returns the expected message with the same content, if there is one. */
  emitted(message: Message): SteeringMessage | undefined {
    if (!isFromUser(message)) return undefined
    return takeEqual(this.#expected, message)
  }

  /**
   * A resumed run has `received` these messages and will emit them: for each, the first candidate with the same content is expected. Returns the
   * candidates that the run has not received.
   */
  resume(received: readonly Message[], candidates: readonly SteeringMessage[]): readonly SteeringMessage[] {
    const rest = [...candidates]
    for (const message of received.filter(isFromUser)) {
      const candidate = takeEqual(rest, message)
      if (candidate) this.expect(candidate)
    }
    return rest
  }
}

/** Removes and returns the first message of the list with the same content. */
function takeEqual(list: SteeringMessage[], message: UserMessage): SteeringMessage | undefined {
  const text = JSON.stringify(message)
  const index = list.findIndex((one) => JSON.stringify(one.message) === text)
  return index < 0 ? undefined : list.splice(index, 1)[0]
}

/** Whether a user has written the message: middleware can add messages with the role `user`. */
export function isFromUser(message: Message): message is UserMessage {
  return message.role === 'user' && message.origin === undefined
}

/** Returns the messages of these events that users have written. */
export function userMessagesIn(events: readonly StoredEvent[]): readonly SteeringMessage[] {
  return events.flatMap(({ turn, event }) => {
    if (event.type !== 'message' || !isFromUser(event.message)) return []
    const { messageId = crypto.randomUUID(), message, display } = event
    return [{ turn, messageId, message, ...(display !== undefined && { display }) }]
  })
}

/** Returns the messages of those turns that should join a running turn. */
export function steeringMessagesOf(turns: readonly TurnRecord[]): readonly SteeringMessage[] {
  return turns.flatMap(({ id, messageId, message, display, isSteering }) =>
    isSteering && message ? [{ turn: id, messageId, message, ...(display !== undefined && { display }) }] : [],
  )
}
