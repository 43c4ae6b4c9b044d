/** Responses recorded from a real endpoint, one JSON event per line. */

import type { Pace } from '@meanwhile/assemble/testing'
import type { Slice } from './cutter.ts'
import { recordedType } from './wires/sse.ts'
import type { WireName } from './wires/wire-name.ts'

/** A recorded response: plain data, served like a scripted response, but only on its own wire. */
export interface Recording {
  /** The wire that the response was recorded on. */
  readonly recorded: WireName
  /** The events as recorded text: JSON, unless the recording is damaged. */
  readonly events: readonly string[]
  /** Each event counts as a token. Default: the pace of the script. */
  readonly pace?: Pace
  /** How the body is cut into pieces. Default: the slice of the script. */
  readonly slice?: Slice
}

/** The options of `recordedResponse` and `recordedResponses`. */
export interface RecordingOptions {
  /** Each event counts as a token. Default: the pace of the script. */
  readonly pace?: Pace
  /** How the body is cut into pieces. Default: the slice of the script. */
  readonly slice?: Slice
}

/** The first event of a response, on wires that have one: a file may contain several responses. */
const BEGINNINGS: Partial<Record<WireName, string>> = {
  'openai-responses': 'response.created',
  anthropic: 'message_start',
}

/** Creates a response from lines: the text of a file, or a list. Blank lines are ignored. */
export function recordedResponse(
  wire: WireName,
  lines: string | readonly string[],
  options: RecordingOptions = {},
): Recording {
  const events = (typeof lines === 'string' ? lines.split('\n') : lines).filter((line) => line.trim() !== '')
  return { recorded: wire, events, ...options }
}

/** Like {@link recordedResponse}, for a file that may contain several responses: returns one recording for each. */
export function recordedResponses(
  wire: WireName,
  lines: string | readonly string[],
  options: RecordingOptions = {},
): Recording[] {
  const responses: string[][] = []
  for (const event of recordedResponse(wire, lines).events) {
    const open = responses.at(-1)
    const beginning = BEGINNINGS[wire]
    if (!open || (beginning !== undefined && recordedType(event) === beginning)) responses.push([event])
    else open.push(event)
  }
  return responses.map((events) => recordedResponse(wire, events, options))
}
