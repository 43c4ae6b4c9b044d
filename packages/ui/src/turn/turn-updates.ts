/** Reads a turn and returns its updates after a cursor. */

import { messageOf } from '@meanwhile/core'
import { CursorMismatchError } from './cursor-mismatch-error.ts'
import { type ReadEvent, type ReaderOptions, TurnReader } from './turn-reader.ts'
import type { TurnUpdate } from './turn-update.ts'

export interface UpdatesOptions extends ReaderOptions {
  /** A cursor of the thread: earlier events are read, but not sent again. */
  readonly after?: string
}

/**
 * Reads the events of a turn of a thread, or of a run without one, from the beginning. `turn-start` is always sent, also with a cursor. A run that
 * fails is shown as a turn that has failed.
 *
 * @throws {CursorMismatchError} The cursor is damaged, or belongs to another thread.
 */
export async function* turnUpdates(
  events: AsyncIterable<ReadEvent>,
  { after, ...options }: UpdatesOptions = {},
): AsyncGenerator<TurnUpdate, void> {
  const reader = new TurnReader(options)
  const known = after === undefined ? undefined : placeOf(after)
  let isRun = false
  try {
    for await (const event of events) {
      isRun ||= event.type === 'run-start' && !('turn' in event)
      const isKnown = known !== undefined && isUpTo(known, event.cursor)
      for (const update of reader.read(event)) {
        if (!isKnown || update.type === 'turn-start') yield update
        if (update.type === 'turn-outdated') return
      }
    }
  } catch (error) {
    if (!isRun) throw error
    const isAbort = error instanceof Error && error.name === 'AbortError'
    const name = error instanceof Error ? error.name : 'Error'
    const status = isAbort ? 'stopped' : 'failed'
    yield* reader.read({ type: 'turn-end', status, ...(!isAbort && { error: { name, message: messageOf(error) } }) })
  }
}

/** A cursor of a thread: a number that grows from event to event, and a key of the thread. */
interface Place {
  readonly seq: number
  readonly tag: string
}

function placeOf(cursor: string): Place {
  const [, seq, tag] = /^(\d{1,16})\.(.+)$/.exec(cursor) ?? []
  if (seq === undefined || tag === undefined) throw new CursorMismatchError(cursor)
  return { seq: Number(seq), tag }
}

function isUpTo(known: Place, cursor: string | undefined): boolean {
  if (cursor === undefined) return false
  const { seq, tag } = placeOf(cursor)
  if (tag !== known.tag) throw new CursorMismatchError(`${known.seq}.${known.tag}`)
  return seq <= known.seq
}
