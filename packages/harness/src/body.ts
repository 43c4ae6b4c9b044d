/** From a reply of the script to the response it is on its wire, not yet cut into writes. */

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

/** A response that is an HTTP error. */
export function errorBody(wire: Wire, failure: Failure, more: Readonly<Record<string, string>> = {}): Body {
  const data = JSON.stringify(wire.errorBody(failure))
  const length = String(Buffer.byteLength(data))
  const headers = { 'content-type': 'application/json', 'content-length': length, ...more }
  return { status: failure.status, headers, framing: 'chunked', frames: [{ at: failure.at, data }], ending: WHOLE }
}

function streamed(frames: Iterable<Frame>): Body {
  return { status: 200, headers: STREAM_HEADERS, framing: 'chunked', frames, ending: WHOLE }
}

/** The body of a request that asks for a stream: a script and a recording are nothing else. */
function streamingBody(request: JournalEntry): { readonly [key: string]: unknown } {
  const { body } = request
  if (typeof body !== 'object' || body === null) throw unexpected(request, 'its body is no JSON object')
  const members = body as { readonly [key: string]: unknown }
  if (members.stream !== true) throw unexpected(request, 'only streams are served, and its body has no "stream": true')
  return members
}

/** Clients read the milliseconds if they know that header, and whole seconds if not. */
function retryHeaders({ retryAfter }: Failure): Record<string, string> {
  if (retryAfter === undefined) return {}
  return { 'retry-after': String(Math.ceil(retryAfter / 1000)), 'retry-after-ms': String(retryAfter) }
}
