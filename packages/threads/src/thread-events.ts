/** The types of the events that a turn emits: events of the turn itself, and events of its run. */

import type { AgentEvent, Json, PathPart, PendingInterrupt, ToolMessage, Usage, UserMessage } from '@meanwhile/core'

/** An error as plain data, without stack and cause. */
export interface ErrorInfo {
  /** The name of the error's class. */
  readonly name: string
  /** The message of the error. */
  readonly message: string
}

/** An event of a turn that is not an event of its run. */
export type TurnEvent =
  /** The turn begins with this message of the user. `display`: what was passed with it for an interface. */
  | { readonly type: 'turn-start'; readonly message: UserMessage; readonly messageId: string; readonly display?: Json }
  /**
   * The turn continues: with an answer, in another process after its own has died (`recovery`), or because it was retried. If it was being stopped
   * when its process died, it continues only to stop. `messages` has the ids of its messages that are still valid: remove the others. Also remove the
   * deltas of an incomplete message, unless the cause is `answer`.
   */
  | {
      readonly type: 'turn-resumed'
      readonly cause: 'answer' | 'recovery' | 'retry'
      readonly messages: readonly string[]
    }
  /** The turn waits for an answer. `settled` has the results of the calls of the same step that asked nothing. `Threads.answer` continues the turn. */
  | {
      readonly type: 'turn-waiting'
      readonly interrupts: readonly PendingInterrupt[]
      readonly settled: readonly ToolMessage[]
    }
  | InsideEvent
  /** `usage`: the tokens that the turn has used, as far as they are known. */
  | { readonly type: 'turn-end'; readonly status: EndStatus; readonly error?: ErrorInfo; readonly usage?: Usage }

/**
 * The calls that a human is asked about, of the turn or inside its calls, for the cards of an interface. It comes before `turn-waiting`, when the turn
 * continues with an answer, and when such a call ends. A card replaces the one before with the same path.
 */
export interface InsideEvent {
  readonly type: 'inside'
  /** The id of the call of the turn. */
  readonly callId: string
  /** In the order of the questions. */
  readonly cards: readonly InsideCard[]
}

/** A call that a human was asked about: one inside a call, or a call of the turn itself, of which the card only has the input and what was decided. */
export interface InsideCard {
  /** The names and ids of the calls, outermost first. The last one is the call itself. */
  readonly path: readonly PathPart[]
  /** The id of the run that makes the call, if it is that of an agent inside a call. */
  readonly innerRun?: string
  /** The input in the question; once it is decided, the one that was allowed, edited or not. */
  readonly input: Json
  /**
   * `asked`: the question is open. `allowed`: the call was allowed, or has its output from the caller. `denied`: it was denied, or its turn ended before
   * it was allowed. `ended`: the call has its result. A call of the turn, and one of an agent with `events: false`, stay `allowed` or `denied`: the thread has the
   * result of the one, and nothing tells the end of the other.
   */
  readonly state: 'asked' | 'allowed' | 'denied' | 'ended'
  /** The id of the question, if `approve` asks. */
  readonly approval?: string
  /** Why a call was denied, if that is known. */
  readonly reason?: string
  /** The result of a call that has ended. */
  readonly result?: ToolMessage
}

/** How a turn ends. `dropped`: it never began, because the queue was dropped. */
export type EndStatus = 'completed' | 'stopped' | 'failed' | 'dropped'

/**
 * An event of a run. A `message` of the turn's own run has the same id as in `Threads.read`. A `history-replaced` has one if a hook has changed the message of
 * the model with this id: the last of its messages takes the place of that. `display`: what was passed with a message that has joined the turn.
 */
export type RunEvent = AgentEvent & { readonly messageId?: string; readonly display?: Json }

/** An event of a thread, without its cursor. */
export type ThreadEventBody = TurnEvent | RunEvent

/** `cursor`: pass it as `after` to receive the events after this one. `turn`: the id of the turn. */
export type ThreadEvent = ThreadEventBody & { readonly cursor: string; readonly turn: string }
