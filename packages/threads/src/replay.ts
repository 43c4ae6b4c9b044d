/** Streams the events of a turn: first the stored ones, then new ones while the turn runs. */

import { cursorAt } from './cursor.ts'
import type { Host } from './host.ts'
import type { ThreadEvent } from './thread-events.ts'
import { isEnd, type StoredEvent, type ThreadRecord, type TurnRecord } from './thread-store.ts'
import type { TurnRunner } from './turn-runner.ts'

/** The number of events that one query of the store reads. */
const PAGE = 256

/** Streams the events of a turn after number `after`. Ends when the turn has ended or waits for an answer. */
export async function* replay(
  { store, changes }: Host,
  runner: TurnRunner,
  { id: thread, tag }: ThreadRecord,
  turn: string,
  after: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<ThreadEvent, void> {
  let seq = after
  let followed = turn
  let isOver = false
  let end: ThreadEvent | undefined
  const eventOf = (one: StoredEvent): ThreadEvent => {
    seq = one.seq
    return { ...one.event, turn: one.turn, cursor: cursorAt({ tag }, seq) }
  }
  for (;;) {
    signal?.throwIfAborted()
    const change = changes.listen(thread, signal)
    try {
      const log = runner.logOf(thread, followed)
      const isLive = log !== undefined && seq >= log.from
      const query = { after: seq, turn: followed, limit: PAGE }
      const events: readonly StoredEvent[] = isLive ? log.after(seq) : await store.events(thread, query)
      for (const one of events) {
        const event = eventOf(one)
        // A `turn-end` followed by more events is not the end: the turn was retried.
        end = event.type === 'turn-end' ? event : undefined
        if (!end) yield event
      }
      if (events.length > 0) continue
      if (log && !isLive) {
        // The store has no more events before the log.
        seq = log.from
        continue
      }
      if (isLive) {
        await change.next()
        continue
      }
      const record = (await store.load(thread, { turn: followed }))?.turns.find(({ id }) => id === followed)
      if (!record) return
      if (record.joined !== undefined) {
        followed = record.joined
        seq = Math.max(seq, (record.startSeq ?? 0) - 1)
      } else if (isEnd(record) || record.status === 'waiting') {
        // Events may have been written since the last query: read once more before the end.
        if (isOver) {
          if (end) yield end
          else if (record.status === 'dropped') yield droppedEvent(record, tag, seq)
          return
        }
        isOver = true
      } else {
        const before = seq
        for await (const one of runner.follow(thread, record, seq, signal)) yield eventOf(one)
        if (seq === before) await change.next()
      }
    } finally {
      change.close()
    }
  }
}

/** Returns the only event of a turn that was dropped before it began. */
function droppedEvent({ id }: TurnRecord, tag: string, seq: number): ThreadEvent {
  return { type: 'turn-end', status: 'dropped', turn: id, cursor: cursorAt({ tag }, seq) }
}
