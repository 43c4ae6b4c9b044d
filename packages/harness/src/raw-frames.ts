/** Converts the steps of a raw response to frames and an end. */

import type { Pace } from '@meanwhile/assemble/testing'
import type { Frame } from './frame.ts'
import type { RawEnd, RawEvent, RawResponse, RawTime } from './raw.ts'
import type { Wire } from './wires/wire.ts'

/** An end, and when it is due. Default: right after what came before it. */
export type TimedEnd = RawEnd & { readonly at?: number }

export function rawFrames(wire: Wire, { raw }: RawResponse, pace: Pace): { frames: Frame[]; ending: TimedEnd } {
  const frames: Frame[] = []
  let at = 0
  let gap = pace.firstToken
  for (const step of raw) {
    if ('end' in step) return { frames, ending: { ...step, at: due(step, at, 0) } }
    at = due(step, at, gap)
    gap = pace.betweenTokens
    frames.push({ at, data: 'bytes' in step ? step.bytes : eventFrame(wire, step) })
  }
  return { frames, ending: { end: 'complete' } }
}

function due(step: RawTime, last: number, gap: number): number {
  return step.at ?? last + (step.after ?? gap)
}

function eventFrame(wire: Wire, { event }: RawEvent): string {
  return wire.recordedFrame(typeof event === 'string' ? event : JSON.stringify(event))
}
