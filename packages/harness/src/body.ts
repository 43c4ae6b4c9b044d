/** Converts a reply of the script to a response of its wire, before it is cut into writes. */

import { AT_ONCE, beats, type Pace } from '@meanwhile/core/testing'
import type { Frame } from './frame.ts'
import { recordingFrames, scriptFrames } from './frames.ts'
import type { JournalEntry } from './journal.ts'
import { rawFrames, type TimedEnd } from './raw-frames.ts'
import { type Reply, unexpected } from './script.ts'
import type { Failure, Wire } from './wires/wire.ts'

export interface Body {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly framing: 'chunked' | 'close'
  readonly frames: Iterable<Frame>
  readonly ending: TimedEnd
}

const STREAM_HEADERS = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' }
const WHOLE: TimedEnd = { end: 'complete' }

export function bodyOf(wire: Wire, request: JournalEntry, reply: Reply, pace: Pace = AT_ONCE): Body {
  if ('raw' in reply) {
    const { status = 200, headers = {}, framing = 'chunked' } = reply
    return { status, headers: { ...STREAM_HEADERS, ...headers }, framing, ...rawFrames(wire, reply, pace) }
  }
  const members = streamingBody(request)
  if ('recorded' in reply) return streamed(recordingFrames(wire, reply, pace))
  const schedule = beats(reply, pace, `call_${request.number}`)
  const [first] = schedule
  if (first?.type === 'fail') return errorBody(wire, first, retryHeaders(first))
  return streamed(scriptFrames(wire, reply, schedule, { number: request.number, request: members }))
}

/** An HTTP error. */
export function errorBody(wire: Wire, failure: Failure, more: Readonly<Record<string, string>> = {}): Body {
  const data = JSON.stringify(wire.errorBody(failure))
  const length = String(Buffer.byteLength(data))
  const headers = { 'content-type': 'application/json', 'content-length': length, ...more }
  return { status: failure.status, headers, framing: 'chunked', frames: [{ at: failure.at, data }], ending: WHOLE }
}

function streamed(frames: Iterable<Frame>): Body {
  return { status: 200, headers: STREAM_HEADERS, framing: 'chunked', frames, ending: WHOLE }
}

/** The body of a request for a stream. Scripts and recordings can only be streamed. */
function streamingBody(request: JournalEntry): { readonly [key: string]: unknown } {
  const { body } = request
  if (typeof body !== 'object' || body === null) throw unexpected(request, 'its body is not a JSON object')
  const members = body as { readonly [key: string]: unknown }
  if (members.stream !== true)
    throw unexpected(request, 'only streams are supported, and its body does not contain "stream": true')
  return members
}

/** Clients that do not support the header with milliseconds read whole seconds. */
function retryHeaders({ retryAfter }: Failure): Record<string, string> {
  if (retryAfter === undefined) return {}
  return { 'retry-after': String(Math.ceil(retryAfter / 1000)), 'retry-after-ms': String(retryAfter) }
}
