/** Plays a response: each write at its time, on an absolute schedule. */

import { clock } from './clock.ts'
import type { ResponseLog } from './log.ts'
import type { Write } from './slice.ts'

/** Where a response goes. */
export interface Sink {
  /** Sends status and headers: called once, right before the first write. */
  open(): void
  /** Sends bytes; a promise says that it has enough for now. */
  write(bytes: Uint8Array): void | Promise<void>
  /** The body is complete. */
  close(): void
}

/** What a transport is asked to send. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly writes: Iterable<Write>
  /** What is noted while it plays. */
  readonly log: ResponseLog
}

export interface PlayOptions {
  /** Aborts when the client has left. */
  readonly signal: AbortSignal
  /**
   * Wakes up 2 ms before a write is due and spins until then. It costs CPU: for a process that does nothing else. Without it a
   * write is as exact as a timer.
   */
  readonly precise?: boolean
}

const SPIN = 2

/**
 * Sends every write when it is due, counted from the request's arrival: a late one does not delay those after it. Writes that are
 * due at the same time stay apart. Ends, without error, when all is sent or the client has left; both are noted in the log.
 */
export async function play(
  { writes, log }: Answer,
  sink: Sink,
  { signal, precise = false }: PlayOptions,
): Promise<void> {
  let open = false
  for (const write of writes) {
    const due = log.arrived + write.at
    if (clock() < due) await until(due, signal, precise)
    if (signal.aborted) break
    if (!open) sink.open()
    open = true

    const sent = clock()
    const full = sink.write(write.bytes)
    note(log, write, due, sent)
    if (full) await full
  }
  log.aborted = signal.aborted
  if (log.aborted) return
  if (!open) sink.open()
  log.end = clock()
  sink.close()
}

function note(log: ResponseLog, write: Write, due: number, sent: number): void {
  log.firstByte ??= sent
  log.writes.push({ due, sent })
  log.lateness = Math.max(log.lateness, sent - due)
  for (const id of write.argsDone) log.argsDone[id] = sent
}

async function until(due: number, signal: AbortSignal, precise: boolean): Promise<void> {
  const early = precise ? SPIN : 0
  // A timer may fire a little early: look again.
  for (let left = due - clock(); left > early && !signal.aborted; left = due - clock())
    await sleep(left - early, signal)
  while (precise && clock() < due && !signal.aborted) await new Promise(setImmediate)
}

/** Resolves after so many milliseconds, or when the signal aborts. */
function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(wake, Math.ceil(ms))
    signal.addEventListener('abort', wake, { once: true })

    function wake(): void {
      clearTimeout(timer)
      signal.removeEventListener('abort', wake)
      resolve()
    }
  })
}
