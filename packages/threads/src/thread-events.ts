/** The events of a turn: those of its runs, and its own. */

import type { AgentEvent, PendingInterrupt, ToolMessage, UserMessage } from '@meanwhile/core'

/** Plain data of an error: no stack, no cause. */
export interface ErrorInfo {
  readonly name: string
  readonly message: string
}

export type TurnEvent =
  /** The turn begins with this message of the user. */
  | { readonly type: 'turn-start'; readonly message: UserMessage; readonly messageId: string }
  /**
   * The turn goes on: with an answer, after the end of the process that worked on it, or because it was retried. A turn that was to stop when
   * its process ended goes on, too, only to stop. `messages` has the ids of its messages that count: drop the others. Drop also what you have
   * of a message that is not complete, unless the cause is `answer`.
   */
  | {
      readonly type: 'turn-resumed'
      readonly cause: 'answer' | 'recovery' | 'retry'
      readonly messages: readonly string[]
    }
  /** The turn waits for an answer. `settled` has the results of calls that did not ask. `Threads.answer` goes on. */
  | {
      readonly type: 'turn-waiting'
      readonly interrupts: readonly PendingInterrupt[]
      readonly settled: readonly ToolMessage[]
    }
  | { readonly type: 'turn-end'; readonly status: EndStatus; readonly error?: ErrorInfo }

/** How a turn ends. `dropped`: it was in the queue when that was dropped, and never began. */
export type EndStatus = 'completed' | 'stopped' | 'failed' | 'dropped'

/** An event of a run. A `message` of the turn's own run has an id, which `Threads.read` gives too. */
export type RunEvent = AgentEvent & { readonly messageId?: string }

export type ThreadEventBody = TurnEvent | RunEvent

/** `cursor`: give it as `after` to go on behind this event. `turn`: the id of the turn. */
export type ThreadEvent = ThreadEventBody & { readonly cursor: string; readonly turn: string }

/** Whether the event is kept for good. All others are dropped when their step ends. */
export function isKept(event: ThreadEventBody): boolean {
  if ('path' in event && event.path) return false
  return KEPT.has(event.type)
}

const KEPT: ReadonlySet<string> = new Set(['turn-start', 'turn-resumed', 'turn-end', 'message', 'history-replaced'])
