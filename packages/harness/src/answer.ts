/** From a reply of the script to what a transport sends. */

import { AT_ONCE, beats, type Pace } from '@meanwhile/core/testing'
import type { HarnessError } from './errors.ts'
import type { Frame } from './frame.ts'
import { recordingFrames, scriptFrames } from './frames.ts'
import type { JournalEntry } from './journal.ts'
import { openLog } from './log.ts'
import type { Answer } from './play.ts'
import { type Reply, unexpected } from './script.ts'
import { coalesce, type Slice, slice } from './slice.ts'
import type { Failure, Wire } from './wires/wire.ts'

/** A request, where it came, and when. */
export interface Asked {
  readonly wire: Wire
  readonly request: JournalEntry
  readonly arrived: number
}

/** How answers are sent. */
export interface Delivery {
  /** When tokens come. Default: at once. */
  readonly pace?: Pace
  /** How a body is cut into writes. Default: one write per event. */
  readonly slice?: Slice
  /** Joins the writes of a response without pace, up to so many bytes. Default 0: it does not. */
  readonly coalesce?: number
}

export function answerTo(asked: Asked, reply: Reply, options: Delivery): Answer {
  const request = streamingBody(asked.request)
  if ('recorded' in reply) {
    const how = { ...options, ...reply }
    return stream(asked, recordingFrames(asked.wire, reply, how.pace ?? AT_ONCE), how)
  }
  const schedule = beats(reply, options.pace, `call_${asked.request.number}`)
  const [first] = schedule
  if (first?.type === 'fail') return httpError(asked, first, retryHeaders(first))
  return stream(asked, scriptFrames(asked.wire, reply, schedule, { number: asked.request.number, request }), options)
}

/** What a client gets whose request was not expected: an error that says so, and that it does not try again. */
export function refusal(asked: Asked, { message }: HarnessError): Answer {
  const failure: Failure = { type: 'fail', at: 0, status: 500, code: 'unexpected_request', message }
  return httpError(asked, failure, { 'x-should-retry': 'false' })
}

function stream(
  asked: Asked,
  frames: Iterable<Frame>,
  { slice: how = 'event', pace, coalesce: limit = 0 }: Delivery,
): Answer {
  const paced = pace !== undefined && (pace.firstToken > 0 || pace.betweenTokens > 0)
  const writes = slice(frames, how)
  const headers = {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache',
    // msw 3 takes a stream that fails for one that ends, unless this is set.
    'transfer-encoding': 'chunked',
  }
  return answer(asked, 200, headers, paced || limit === 0 ? writes : coalesce(writes, limit))
}

function httpError(asked: Asked, failure: Failure, more: Readonly<Record<string, string>>): Answer {
  const bytes = new TextEncoder().encode(JSON.stringify(asked.wire.errorBody(failure)))
  const headers = { 'content-type': 'application/json', 'content-length': String(bytes.length), ...more }
  return answer(asked, failure.status, headers, [{ at: failure.at, bytes, argsDone: [] }])
}

function answer(
  { wire, request, arrived }: Asked,
  status: number,
  headers: Readonly<Record<string, string>>,
  writes: Answer['writes'],
): Answer {
  return {
    status,
    headers: { ...headers, [wire.requestIdHeader]: `req_${request.number}` },
    writes,
    log: openLog({ wire: wire.name, request: request.number, status, arrived }),
  }
}

/** The body of a request that asks for a stream: the harness has nothing else to give. */
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
