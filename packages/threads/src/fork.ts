/** Copies a thread. The turns of the copy get new ids. */

import { ThreadExistsError } from './thread-errors.ts'
import { notDeleted } from './thread-records.ts'
import type { Change, StoredEvent, StoredThread, TurnRecord } from './thread-store.ts'

/** The thread to copy. */
export interface ForkSource {
  /** All its turns. */
  readonly turns: readonly TurnRecord[]
  /** All its kept events. */
  readonly events: readonly StoredEvent[]
  /** Only turns and events before this `seq` are copied. Undefined: all. */
  readonly end: number | undefined
}

/** Returns the change that copies the source into the target. Throws {@link ThreadExistsError} if the target has had a turn. */
export function forkThread(target: StoredThread, { turns, events, end }: ForkSource): Change<undefined> {
  const { thread } = notDeleted(target)
  if (thread.turns > 0) throw new ThreadExistsError(thread.id)
  const isBefore = (seq: number | undefined) => seq !== undefined && (end === undefined || seq < end)
  const begun = turns.filter(({ startSeq }) => isBefore(startSeq))
  const ids = new Map(begun.map(({ id }) => [id, crypto.randomUUID() as string]))
  const copied = (id: string) => ids.get(id) ?? id
  const copiedEvents = events.filter(({ seq, turn }) => isBefore(seq) && ids.has(turn))
  return {
    thread: {
      ...thread,
      seq: copiedEvents.at(-1)?.seq ?? 0,
      turns: begun.at(-1)?.number ?? 0,
      historyAt: copiedEvents.findLast(({ event }) => event.type === 'history-replaced')?.seq ?? 0,
    },
    // The runs of the turns and their checkpoints are not copied.
    turns: begun.map(({ attempts: _, ...turn }) => ({
      ...turn,
      id: copied(turn.id),
      ...(turn.status === 'failed' && { isFinal: true }),
      ...(turn.joined !== undefined && { joined: copied(turn.joined) }),
    })),
    events: copiedEvents.map((event) => ({ ...event, turn: copied(event.turn) })),
    result: undefined,
  }
}
