/** Converts a reply of the script to a response of its wire, before it is cut into writes. */

import { AT_ONCE, type Beat, beats, type Pace, type ScriptResponse } from '@meanwhile/assemble/testing'
import type { Asked } from './asked.ts'
import type { Frame } from './frame.ts'
import { recordingFrames, scriptFrames } from './frames.ts'
import type { JournalEntry } from './journal.ts'
import { rawFrames, type TimedEnd } from './raw-frames.ts'
import { callIdOf } from './rules/answers.ts'
import { refusalBody } from './rules/error-body.ts'
import type { Host } from './rules/hosts.ts'
import type { Refusal } from './rules/refusals.ts'
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

export function bodyOf({ wire, request, host }: Asked, reply: Reply, pace: Pace = AT_ONCE): Body {
  if ('raw' in reply) {
    const { status = 200, headers = {}, framing = 'chunked' } = reply
    return { status, headers: { ...STREAM_HEADERS, ...headers }, framing, ...rawFrames(wire, reply, pace) }
  }
  const members = streamingBody(request)
  if ('recorded' in reply) return streamed(recordingFrames(wire, reply, pace))
  const schedule = scheduled(reply, pace, request, host)
  const [first] = schedule
  if (first?.type === 'fail') return errorBody(wire, first, retryHeaders(first))
  return streamed(scriptFrames(wire, reply, schedule, { number: request.number, request: members, host }))
}

/** The pieces of a scripted reply. Its calls without an id get one as the host writes them. */
function scheduled(reply: ScriptResponse, pace: Pace, { number, wire }: JournalEntry, host: Host): readonly Beat[] {
  const given = reply.steps.flatMap((step) => (step.type === 'call' ? [step.id] : []))
  return beats(reply, pace).map((beat) =>
    beat.type === 'call-start' && given[beat.index] === undefined
      ? { ...beat, id: callIdOf(host, wire, { request: number, place: beat.index + 1, name: beat.name }) }
      : beat,
  )
}

/** An HTTP error. */
export function errorBody(wire: Wire, failure: Failure, more: Readonly<Record<string, string>> = {}): Body {
  return documentBody(failure.status, wire.errorBody(failure), more, failure.at)
}

/** The refusal of a request that breaks a rule, in the words of its host. */
export function refusedBody(wire: Wire, host: Host, refused: Refusal): Body {
  return documentBody(refused.status, refusalBody(wire.name, host, refused), { 'x-meanwhile-rule': refused.rule })
}

function documentBody(status: number, document: object, more: Readonly<Record<string, string>>, at: number = 0): Body {
  const data = JSON.stringify(document)
  const length = String(Buffer.byteLength(data))
  const headers = { 'content-type': 'application/json', 'content-length': length, ...more }
  return { status, headers, framing: 'chunked', frames: [{ at, data }], ending: WHOLE }
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
