/** Plays a recording: turns its responses into a script in which each responds to its recorded request. */

import { checkOptions } from '@meanwhile/core'
import type { RawStep } from '../raw.ts'
import type { ScriptedReply } from '../script.ts'
import { parseRecording, type RecordedResponse } from './recording.ts'

/** How a recording is played. */
export interface ReplayOptions {
  /** 1 (default) is the recorded speed; 2 is twice as fast; `Infinity` is at once. */
  readonly speed?: number
  /** What may differ in a request: paths as the mismatch's message shows them, for example `body.metadata.user_id`. */
  readonly ignore?: readonly string[]
}

/**
 * Returns the recorded responses as a script for any transport. A request gets the first unused response that was
 * recorded for the same request: same wire, parameters and body; removed secrets match any text. If there is none, the
 * request is refused, and the message contains the differences from the next recorded request. Nothing is ever sent to
 * a network.
 *
 * A response that broke off in the recording breaks off with a reset connection. One whose client stopped reading ends
 * at that point.
 *
 * @example
 * const recording = await readFile('test/weather.recording.json', 'utf8')
 * const mock = mockModels({ script: replayRecording(recording, { speed: 10 }) })
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
  // The status was received, so send it with an empty write.
  return [{ at: frames[0] ? frames[0].at / speed : at, bytes: '' }, ...played, { at, end: 'reset' }]
}
