/** Streams the events of a turn: first the stored ones, then new ones while the turn runs. */

import { cursorAt } from './cursor.ts'
import type { Host } from './host.ts'
import type { ThreadEvent } from './thread-events.ts'
import { isEnd, type StoredEvent, type StoredThread, type ThreadStore, type TurnRecord } from './thread-store.ts'
import { PAGE, type TailOfTurn } from './thread-tail.ts'
import type { TurnRunner } from './turn-runner.ts'

/**
 * Streams the events of a turn after number `after`. Ends when the turn has ended or waits for an answer. `loaded`: the thread with this turn, as it
 * was loaded just now.
 */
export async function* replay(
  { store, changes }: Host,
  runner: TurnRunner,
  loaded: StoredThread,
  turn: string,
  after: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<ThreadEvent, void> {
  const { id: thread, tag } = loaded.thread
  let found: Partial<TailOfTurn> | undefined = { stored: loaded }
  let followed = turn
  // The number of the last event, and the number up to which all events of the turn were read.
  let seq = after
  let through = after
  let end: ThreadEvent | undefined
  const eventOf = (one: StoredEvent): ThreadEvent => {
    seq = one.seq
    through = Math.max(through, seq)
    return { ...one.event, turn: one.turn, cursor: cursorAt({ tag }, seq) }
  }
  function* eventsOf(events: readonly StoredEvent[]): Generator<ThreadEvent, void> {
    for (const one of events) {
      const event = eventOf(one)
      // A `turn-end` followed by more events is not the end: the turn was retried.
      end = event.type === 'turn-end' ? event : undefined
      if (!end) yield event
    }
  }
  for (;;) {
    signal?.throwIfAborted()
    const change = changes.listen(thread, followed, 'events')
    try {
      const log = runner.logOf(thread, followed)
      if (log && through >= log.from) {
        const events = log.after(through)
        yield* eventsOf(events)
        found = events.length > 0 ? undefined : await change.next({ signal })
        continue
      }
      const from = log?.from ?? 0
      // The log may have begun, or moved on, since this was read: then the store has events that neither has.
      if (found?.stored && found.stored.thread.seq < from) found = undefined
      const stored: StoredThread | undefined = found?.stored ?? (await store.load(thread, { turn: followed }))
      const record = stored?.turns.find(({ id }) => id === followed)
      if (!stored || !record) return
      const pages = found?.events ? [found.events] : pagesOf(store, stored, followed, through)
      found = undefined
      for await (const events of pages) yield* eventsOf(events)
      through = Math.max(through, stored.thread.seq, from)
      if (record.joined !== undefined) {
        followed = record.joined
        through = Math.max(seq, (record.startSeq ?? 0) - 1)
      } else if (isEnd(record) || record.status === 'waiting') {
        if (end) yield end
        else if (record.status === 'dropped') yield droppedEvent(record, tag, seq)
        return
      } else if (!log) {
        const before = seq
        // A queued turn has no run yet: a poll of the thread finds its first event.
        const live = record.status === 'running' ? runner.follow?.(thread, record, seq, signal) : undefined
        for await (const one of live ?? []) yield eventOf(one)
        if (seq === before) found = await change.next({ signal, after: through, everyPoll: live !== undefined })
      }
    } finally {
      change.close()
    }
  }
}

/** Reads the events of the turn after this number, up to the last event that the thread had when it was loaded. */
async function* pagesOf(
  { events }: ThreadStore,
  { thread: { id, seq } }: StoredThread,
  turn: string,
  after: number,
): AsyncGenerator<readonly StoredEvent[], void> {
  for (let from = after; from < seq; ) {
    const page = await events(id, { after: from, turn, limit: PAGE })
    yield page.filter((one) => one.seq <= seq)
    from = page.length < PAGE ? seq : (page.at(-1)?.seq ?? seq)
  }
}

/** Returns the only event of a turn that was dropped before it began. */
function droppedEvent({ id }: TurnRecord, tag: string, seq: number): ThreadEvent {
  return { type: 'turn-end', status: 'dropped', turn: id, cursor: cursorAt({ tag }, seq) }
}
