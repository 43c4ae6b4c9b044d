/** Converts a reply to frames of its wire, each with the time when it is due. */

import type { Beat, Pace, ScriptResponse } from '@meanwhile/assemble/testing'
import type { Frame } from './frame.ts'
import type { Recording } from './replay.ts'
import type { ResponseSeed, Wire } from './wires/wire.ts'

/** The frames of a scripted response. They are created on demand, so a long response costs nothing in advance. */
export function* scriptFrames(
  wire: Wire,
  response: ScriptResponse,
  schedule: readonly Beat[],
  seed: Omit<ResponseSeed, 'usage'>,
): Generator<Frame, void, undefined> {
  const encoder = wire.encoder({ ...seed, usage: response.usage })
  for (const text of encoder.opening) yield { at: 0, data: text }

  const lastArguments = lastArgumentBeats(schedule)
  for (const beat of schedule) {
    if (beat.type === 'cut') return
    const texts = encoder.encode(beat)
    const call = lastArguments.get(beat)
    for (const [i, text] of texts.entries()) {
      yield { at: beat.at, data: text, ...(call !== undefined && i === texts.length - 1 && { argsDone: call }) }
    }
    if (beat.type === 'fail') return
  }
}

/** The frames of a recording: each event takes the time of one token. */
export function* recordingFrames(wire: Wire, recording: Recording, pace: Pace): Generator<Frame, void, undefined> {
  let at = pace.firstToken
  for (const event of recording.events) {
    yield { at, data: wire.recordedFrame(event) }
    at += pace.betweenTokens
  }
  for (const text of wire.recordedEnd) yield { at: at - pace.betweenTokens, data: text }
}

/** The beats with a call's last argument byte, and its id; for a call without arguments, the beat that starts it. */
function lastArgumentBeats(schedule: readonly Beat[]): Map<Beat, string> {
  const ids = new Map<number, string>()
  const last = new Map<number, Beat>()
  for (const beat of schedule) {
    if (beat.type === 'call-start') ids.set(beat.index, beat.id)
    if (beat.type === 'call-start' || beat.type === 'call-delta') last.set(beat.index, beat)
  }
  return new Map([...last].map(([index, beat]) => [beat, ids.get(index) ?? String(index)]))
}
