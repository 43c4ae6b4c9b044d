/** Plays a response: sends each write at its time, on an absolute schedule. */

import type { ResponseLog } from './log.ts'
import type { Broken } from './raw.ts'
import type { TimedEnd } from './raw-frames.ts'
import type { Write } from './slice.ts'
import { type Clock, systemClock } from './time.ts'

/** The destination of a response. */
export interface Sink {
  /** Sends status and headers. Called once, right before the first write. */
  open(): void
  /** Sends bytes; returns a promise if the receiver cannot take more for now. */
  write(bytes: Uint8Array): void | Promise<void>
  /** The body is complete. */
  close(): void
  /** The connection breaks: before {@link open}, or in the body. */
  breakOff(how: Broken): void
}

/** The response that a transport sends. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly framing: 'chunked' | 'close'
  readonly writes: Iterable<Write>
  /** How it ends after the last write. */
  readonly ending: TimedEnd
  /** Filled in while it plays. */
  readonly log: ResponseLog
}

export interface PlayOptions {
  /** Aborts when the client has disconnected. */
  readonly signal: AbortSignal
  /** Default: the machine's clock. */
  readonly clock?: Clock
}

/**
 * Sends every write when it is due, counted from the request's arrival: a late write does not delay the next ones.
 * Writes that are due at the same time stay separate. Resolves when everything is sent, the connection is broken as
 * planned, or the client has disconnected; the log shows which.
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
  // A bad chunk is part of a body.
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
