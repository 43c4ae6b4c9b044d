/** Plays a recording: its responses as a script, each for the request that was recorded with it. */

import { checkOptions } from '@meanwhile/core'
import type { RawStep } from '../raw.ts'
import type { ScriptedReply } from '../script.ts'
import { parseRecording, type RecordedResponse } from './recording.ts'

export interface ReplayOptions {
  /** 1 is as it was recorded, the default; 2 is twice as fast; `Infinity` is at once. */
  readonly speed?: number
  /** What may differ in a request: paths as the message of the mismatch shows them, such as `body.metadata.user_id`. */
  readonly ignore?: readonly string[]
}

/**
 * The recorded responses as a script for any transport. A request gets the first response left that was recorded for the same
 * request: same wire, same parameters, same body, and where something was taken out of the recording, anything. If there is none the
 * request is refused, and the message says where it differs from the next one recorded. Nothing ever goes to a network.
 *
 * A response that broke off in the recording breaks off here, as a reset connection does. One whose client left ends where it did.
 *
 * @example
 * const mock = mockModels({ script: replayRecording(await readFile('test/weather.recording.json', 'utf8'), { speed: 10 }) })
 */
export function replayRecording(recording: string, options: ReplayOptions = {}): ScriptedReply[] {
  checkOptions('replayRecording', options, { speed: '', ignore: '' })
  const { speed = 1, ignore = [] } = options
  return parseRecording(recording).map(({ request, response }) => ({
    raw: steps(response, speed),
    wire: request.wire,
    status: response.status,
    headers: response.headers,
    replays: { path: request.path, body: request.body, ignore },
  }))
}

function steps({ frames, end: [ended, how] }: RecordedResponse, speed: number): RawStep[] {
  const played: RawStep[] = frames.map(({ at, bytes }) => ({ at: at / speed, bytes }))
  const at = ended / speed
  if (how !== 'broken') return [...played, { at, end: 'complete' }]
  // The status had come: an empty write sends it.
  return [{ at: frames[0] ? frames[0].at / speed : at, bytes: '' }, ...played, { at, end: 'reset' }]
}
