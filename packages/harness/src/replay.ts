/** Responses that were recorded from a real endpoint: one JSON event per line. */

import type { Pace } from '@meanwhile/core/testing'
import type { Slice } from './slice.ts'
import { recordedType } from './wires/sse.ts'
import type { WireName } from './wires/wire.ts'

/** A recorded response: plain data, served like a scripted one, but on its own wire only. */
export interface Recording {
  readonly recorded: WireName
  /** The events as text, just as they were recorded: JSON, unless the recording is damaged. */
  readonly events: readonly string[]
  readonly pace?: Pace
  readonly slice?: Slice
}

export interface RecordingOptions {
  /** One event per token. Default: the pace of the script it stands in. */
  readonly pace?: Pace
  /** Default: the slicing of the script it stands in. */
  readonly slice?: Slice
}

/** The first event of a response, where a wire has one: a recording may hold several responses, one after another. */
const BEGINNINGS: Partial<Record<WireName, string>> = {
  'openai-responses': 'response.created',
  anthropic: 'message_start',
}

/** One response of these lines: the text of a file, or its lines. Blank lines say nothing. */
export function recordedResponse(
  wire: WireName,
  lines: string | readonly string[],
  options: RecordingOptions = {},
): Recording {
  const events = (typeof lines === 'string' ? lines.split('\n') : lines).filter((line) => line.trim() !== '')
  return { recorded: wire, events, ...options }
}

/** As {@link recordedResponse}, for a file that may hold several responses: each becomes a recording of its own. */
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
