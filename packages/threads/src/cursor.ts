/** Writes and reads cursors. A cursor is a position in the events of a thread: `<seq>.<tag of the thread>`. */

import { CursorError } from './thread-errors.ts'
import type { ThreadRecord } from './thread-store.ts'

/** Returns the cursor of the event with this number. */
export function cursorAt({ tag }: Pick<ThreadRecord, 'tag'>, seq: number): string {
  return `${seq}.${tag}`
}

/** Returns the event number in a cursor; 0 without a cursor. Throws {@link CursorError} if it is damaged or belongs to another thread. */
export function seqOf(thread: ThreadRecord, cursor: string | undefined): number {
  if (cursor === undefined) return 0
  const [, seq, tag] = (typeof cursor === 'string' && /^(\d{1,16})\.([0-9a-f]{8})$/.exec(cursor)) || []
  if (seq === undefined) throw new CursorError(thread.id, cursor, 'is damaged')
  if (tag !== thread.tag) throw new CursorError(thread.id, cursor, 'belongs to another thread')
  return Number(seq)
}
