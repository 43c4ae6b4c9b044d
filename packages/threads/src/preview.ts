/** Says what a request would change in a thread, without changing it. A pure function over the stored records. */

import { ThreadChangedError } from './thread-errors.ts'
import { queueOf } from './thread-queue.ts'
import { activeTurn, newestTurn } from './thread-records.ts'
import { type TurnState, turnState } from './thread-state.ts'
import type { StoredThread, TurnRecord } from './thread-store.ts'
import type { SendPolicy } from './user-decisions.ts'

/** A request of a user: a message, with the options of `send`, or a call of another method. */
export type ThreadRequest =
  | ({ readonly type: 'send'; readonly messageId?: string; readonly replacing?: string } & Partial<
      Pick<SendPolicy, 'whenBusy' | 'whenAsking'>
    >)
  | { readonly type: 'drop'; readonly messageId: string }
  | { readonly type: 'answer' | 'retry' | 'stop' }

/** What a request would change. */
export interface Preview {
  /**
   * `none`: nothing, because the thread has the message. `send`: the message begins its own turn or waits in the queue. `steer`: it enters the turn.
   * `stop`: the turn is stopped, also because a message preempts it or is written instead of an answer. `replace`: the turn and everything after it
   * become superseded. `answer`, `retry`: the turn continues. `drop`: the turn leaves the queue.
   */
  readonly action: 'none' | 'send' | 'steer' | 'stop' | 'replace' | 'answer' | 'retry' | 'drop'
  /** The turn that changes. Absent if no other turn does. */
  readonly turn?: TurnState
}

type SendRequest = ThreadRequest & { readonly type: 'send' }

export function previewOf(stored: StoredThread, request: ThreadRequest, policy: SendPolicy): Preview {
  const active = activeTurn(stored)
  switch (request.type) {
    case 'send':
      return previewOfMessage(stored, request, { ...policy, ...request })
    case 'answer':
      return preview('answer', active?.status === 'waiting' ? active : undefined)
    case 'retry': {
      const newest = newestTurn(stored.turns)
      return preview('retry', newest?.status === 'failed' ? newest : undefined)
    }
    case 'stop':
      return preview('stop', active)
    case 'drop':
      return preview(
        'drop',
        queueOf(stored).find(({ messageId }) => messageId === request.messageId),
      )
  }
}

function previewOfMessage(
  stored: StoredThread,
  { messageId, replacing }: SendRequest,
  { whenBusy, whenAsking }: SendPolicy,
): Preview {
  const { turns } = stored
  const isKnown = turns.some((turn) => turn.messageId === messageId)
  if (isKnown && messageId !== replacing) return { action: 'none' }
  if (replacing !== undefined)
    return preview(
      'replace',
      turns.find((turn) => turn.messageId === replacing && turn.status !== 'joined'),
    )
  const active = activeTurn(stored)
  if (active?.status === 'waiting' && whenAsking === 'close') return preview('stop', active)
  if (active?.status !== 'running') return { action: 'send' }
  if (whenBusy === 'steer') return preview('steer', active)
  return whenBusy === 'preempt' ? preview('stop', active) : { action: 'send' }
}

function preview(action: Preview['action'], turn: TurnRecord | undefined): Preview {
  return { action, ...(turn && { turn: turnState(turn) }) }
}

/** @throws {ThreadChangedError} The request would change something else than expected. */
export function checkExpected(
  stored: StoredThread,
  request: ThreadRequest,
  policy: SendPolicy,
  expected: Preview | undefined,
): void {
  if (!expected) return
  const now = previewOf(stored, request, policy)
  if (now.action !== expected.action || now.turn?.id !== expected.turn?.id)
    throw new ThreadChangedError(stored.thread.id)
}
