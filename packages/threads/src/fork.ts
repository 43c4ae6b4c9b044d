/** A copy of a thread: its turns get ids of their own. */

import { ThreadExistsError } from './thread-errors.ts'
import type { Change, StoredEvent, StoredThread, TurnRecord } from './thread-store.ts'

/** The thread to be copied: all its turns, and its kept events. Only what comes before `end` is copied; absent: all. */
export interface ForkSource {
  readonly turns: readonly TurnRecord[]
  readonly events: readonly StoredEvent[]
  readonly end: number | undefined
}

/** Throws {@link ThreadExistsError} if the target has had a turn. */
export function forked({ thread }: StoredThread, { turns, events, end }: ForkSource): Change<undefined> {
  if (thread.turns > 0) throw new ThreadExistsError(thread.id)
  const isBefore = (seq: number | undefined) => seq !== undefined && (end === undefined || seq < end)
  const begun = turns.filter(({ startSeq }) => isBefore(startSeq))
  const ids = new Map(begun.map(({ id }) => [id, crypto.randomUUID() as string]))
  const copied = (id: string) => ids.get(id) ?? id
  const told = events.filter(({ seq, turn }) => isBefore(seq) && ids.has(turn))
  return {
    thread: {
      ...thread,
      seq: told.at(-1)?.seq ?? 0,
      turns: begun.at(-1)?.number ?? 0,
      historyAt: told.findLast(({ event }) => event.type === 'history-replaced')?.seq ?? 0,
    },
    // Their runs are not copied.
    turns: begun.map(({ attempts: _, ...turn }) => ({
      ...turn,
      id: copied(turn.id),
      ...(turn.joined !== undefined && { joined: copied(turn.joined) }),
    })),
    events: told.map((event) => ({ ...event, turn: copied(event.turn) })),
    result: undefined,
  }
}
