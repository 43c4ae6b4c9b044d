/** Functions that all stores of this package share. */

import { newestTurn } from '../thread-records.ts'
import type { Change, StoredThread, TurnRecord } from '../thread-store.ts'

/** Whether the turn has not ended. */
export function isOpen({ status }: TurnRecord): boolean {
  return status === 'queued' || status === 'running' || status === 'waiting'
}

/** Compares two turns by their numbers, for `sort`. */
export const byNumber = (a: TurnRecord, b: TurnRecord): number => a.number - b.number

/** Returns what `load` would return after the change, for one that supersedes and deletes nothing. `turn`: the id of a turn that is named. */
export function storedAfter(stored: StoredThread, change: Change<unknown>, turn?: string): StoredThread {
  const { thread = stored.thread, turns = [] }: Change<unknown> = JSON.parse(
    JSON.stringify({ thread: change.thread, turns: change.turns }),
  )
  const all = [...new Map([...stored.turns, ...turns].map((one) => [one.id, one])).values()].sort(byNumber)
  const newest = newestTurn(all)
  return { thread, turns: all.filter((one) => isOpen(one) || one === newest || one.id === turn) }
}

/** Returns a turn from its row: `renewLeases` renews the lease only there. */
export function turnIn(record: unknown, lease: unknown): TurnRecord {
  const turn: TurnRecord = JSON.parse(String(record))
  return turn.status === 'running' ? { ...turn, leaseUntil: Number(lease) } : turn
}

/** An SQL condition: nobody has asked to stop the turn of this row. The text may also be in its metadata; then its owner renews the lease by itself. */
export const NOT_CLOSING = `record NOT LIKE '%"closing":%'`

/** The `lease` of the queued turns of a paused thread in their rows, so that `due` does not read them. */
export const PAUSED: number = Number.MAX_SAFE_INTEGER

/** A turn to write. */
export interface TurnRow {
  readonly turn: TurnRecord
  /** The value of its column `lease`. */
  readonly lease: number
}

/** Returns the turns that a change writes. If it pauses the thread or continues it, those are also all its queued turns. */
export function turnRows(stored: StoredThread | undefined, change: Change<unknown>): readonly TurnRow[] {
  const { thread, turns = [] } = change
  const was = stored?.thread.isPaused === true
  const isPaused = thread?.isPaused ?? was
  const written = new Set(turns.map(({ id }) => id))
  const others = isPaused === was ? [] : (stored?.turns ?? []).filter(({ id }) => !written.has(id)).filter(isQueued)
  return [...turns, ...others].map((turn) => ({ turn, lease: isPaused && isQueued(turn) ? PAUSED : turn.leaseUntil }))
}

function isQueued({ status }: TurnRecord): boolean {
  return status === 'queued'
}
