/** Responses of a script that break off. */

import type { Frame } from './frame.ts'
import type { RawEnd } from './raw.ts'

/**
 * How a response breaks off, and after what: the headers, a number of events, or a number of bytes. Default: before all
 * of them. `complete` ends the body as HTTP requires.
 */
export interface Fault extends RawEnd {
  /** What is still sent. Default: nothing. */
  readonly after?: 'headers' | { readonly events: number } | { readonly bytes: number }
}

/**
 * A response that breaks off.
 *
 * @example
 * script: [{ ...respond(say('Half an answer')), fault: { after: { events: 3 }, end: 'reset' } }]
 */
export interface Failing {
  /** How the response breaks off. Default: it is complete. */
  readonly fault?: Fault
}

/** The part of the frames that is sent before the fault. */
export function* before({ after }: Fault, frames: Iterable<Frame>): Generator<Frame, void, undefined> {
  if (after === undefined) return
  if (after === 'headers') yield { at: 0, data: '' }
  else if ('events' in after) yield* first(after.events, frames)
  else yield* firstBytes(after.bytes, frames)
}

function* first(events: number, frames: Iterable<Frame>): Generator<Frame, void, undefined> {
  let left = events
  for (const frame of frames) {
    if (left-- <= 0) return
    yield frame
  }
}

function* firstBytes(bytes: number, frames: Iterable<Frame>): Generator<Frame, void, undefined> {
  let left = bytes
  for (const frame of frames) {
    const whole = Buffer.from(frame.data)
    if (whole.length <= left) yield frame
    else if (left > 0) yield { at: frame.at, data: whole.subarray(0, left) }
    left -= whole.length
    if (left <= 0) return
  }
}
