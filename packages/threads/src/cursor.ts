/** A place in the events of a thread, as text. */

import { CursorError } from './thread-errors.ts'
import type { ThreadRecord } from './thread-store.ts'

export function cursorAt({ tag }: Pick<ThreadRecord, 'tag'>, seq: number): string {
  return `${seq}.${tag}`
}

/** The `seq` after which to go on; 0 without a cursor. Throws {@link CursorError}. */
export function seqOf(thread: ThreadRecord, cursor: string | undefined): number {
  if (cursor === undefined) return 0
  const [, seq, tag] = (typeof cursor === 'string' && /^(\d{1,16})\.([0-9a-f]{8})$/.exec(cursor)) || []
  if (seq === undefined) throw new CursorError(thread.id, cursor, 'is damaged')
  if (tag !== thread.tag) throw new CursorError(thread.id, cursor, 'is of another thread')
  return Number(seq)
}
