/** Plays a response: each write at its time, on an absolute schedule. */

import type { ResponseLog } from './log.ts'
import type { Broken } from './raw.ts'
import type { TimedEnd } from './raw-frames.ts'
import type { Write } from './slice.ts'
import { type Clock, systemClock } from './time.ts'

/** Where a response goes. */
export interface Sink {
  /** Sends status and headers: called once, right before the first write. */
  open(): void
  /** Sends bytes; a promise says that it has enough for now. */
  write(bytes: Uint8Array): void | Promise<void>
  /** The body is complete. */
  close(): void
  /** The connection breaks: before {@link open}, or in the body. */
  breakOff(how: Broken): void
}

/** What a transport is asked to send. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly framing: 'chunked' | 'close'
  readonly writes: Iterable<Write>
  /** What comes after the last write. */
  readonly ending: TimedEnd
  /** What is noted while it plays. */
  readonly log: ResponseLog
}

export interface PlayOptions {
  /** Aborts when the client has left. */
  readonly signal: AbortSignal
  /** Default: the machine's. */
  readonly clock?: Clock
}

/**
 * Sends every write when it is due, counted from the request's arrival: a late one does not delay those after it. Writes that are
 * due at the same time stay apart. Ends, without error, when all is sent, the connection is broken as it should be, or the client
 * has left; all of that is noted in the log.
 */
export async function play(
  { writes, ending, log }: Answer,
  sink: Sink,
  { signal, clock = systemClock }: PlayOptions,
): Promise<void> {
  let open = false
  for (const write of writes) {
    const due = log.arrived + write.at
    if (clock.now() < due) await clock.until(due, signal)
    if (signal.aborted) break
    if (!open) sink.open()
    open = true

    const sent = clock.now()
    const full = sink.write(write.bytes)
    note(log, write, due, sent)
    if (full) await full
  }
  if (ending.at !== undefined) await clock.until(log.arrived + ending.at, signal)
  if (ending.end === 'stall') await aborted(signal)
  log.aborted = signal.aborted
  if (log.aborted || ending.end === 'stall') return
  // A bad chunk is one of the body.
  if (!open && (ending.end === 'complete' || ending.end === 'bad-chunk')) sink.open()
  log.end = clock.now()
  if (ending.end === 'complete') return sink.close()
  log.broken = ending.end
  sink.breakOff(ending.end)
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

function note(log: ResponseLog, write: Write, due: number, sent: number): void {
  log.firstByte ??= sent
  log.writes.push({ due, sent })
  log.lateness = Math.max(log.lateness, sent - due)
  for (const id of write.argsDone) log.argsDone[id] = sent
}
