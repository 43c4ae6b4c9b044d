/** Builds the response for a request: from a reply of the script to the writes that a transport sends. */

import type { Pace } from '@meanwhile/assemble/testing'
import type { Asked } from './asked.ts'
import { type Body, bodyOf, errorBody, refusedBody } from './body.ts'
import type { Slice } from './cutter.ts'
import { HarnessError } from './errors.ts'
import { before, type Failing, type Fault } from './fault.ts'
import { openLog } from './log.ts'
import type { Answer } from './play.ts'
import type { TimedEnd } from './raw-frames.ts'
import type { Refusal } from './rules/refusals.ts'
import type { Reply } from './script.ts'
import { coalesce, slice, type Write } from './slice.ts'

/** How responses are sent. */
export interface Delivery {
  /** When tokens are sent. Default: immediately. */
  readonly pace?: Pace
  /** How a body is cut into writes. Default: one write per event. */
  readonly slice?: Slice
  /**
   * Joins the writes of a scripted response that has neither pace nor slice, up to this many bytes. Default 0, which
   * joins nothing.
   */
  readonly coalesce?: number
}

export function answerTo(asked: Asked, reply: Reply & Failing, options: Delivery): Answer {
  const delivery = { ...options, ...('steps' in reply ? {} : reply) }
  const body = bodyOf(asked, reply, delivery.pace)
  const { frames, ...rest } = reply.fault ? broken(body, reply.fault) : body
  const { ending, framing } = rest
  if (ending.end === 'bad-chunk' && framing === 'close')
    throw new HarnessError('a body that is not chunked cannot have a bad chunk')
  const writes = slice(frames, delivery.slice ?? 'event')
  const batched = 'raw' in reply || isPaced(delivery.pace) || delivery.slice ? 0 : (options.coalesce ?? 0)
  return answer(asked, {
    ...rest,
    writes: withComments(batched > 0 ? coalesce(writes, batched) : writes, ending),
  })
}

/** Returns the response to an unexpected request: a status 500 with the reason, and a header that stops retries. */
export function refusal(asked: Asked, { message }: HarnessError): Answer {
  const failure = { type: 'fail', at: 0, status: 500, code: 'unexpected_request', message } as const
  const { frames, ...body } = errorBody(asked.wire, failure, { 'x-should-retry': 'false' })
  return answer(asked, { ...body, writes: slice(frames, 'event') })
}

/** Returns the provider's refusal of a request that breaks a rule. */
export function providerRefusal(asked: Asked, refused: Refusal): Answer {
  const { frames, ...body } = refusedBody(asked.wire, asked.host, refused)
  return answer(asked, { ...body, writes: slice(frames, 'event') })
}

function answer({ wire, request, arrived }: Asked, rest: Omit<Answer, 'log'>): Answer {
  const { status, headers } = rest
  return {
    ...rest,
    headers: { ...headers, [wire.requestIdHeader]: `req_${request.number}` },
    log: openLog({ wire: wire.name, request: request.number, status, arrived }),
  }
}

function broken(body: Body, fault: Fault): Body {
  return { ...body, frames: before(fault, body.frames), ending: fault }
}

function isPaced(pace: Pace | undefined): boolean {
  return pace !== undefined && (pace.firstToken > 0 || pace.betweenTokens > 0)
}

const COMMENT = new TextEncoder().encode(': still here\n\n')

/** Adds comments without end after the last write, for a stall with `comments`. */
function* withComments(writes: Iterable<Write>, ending: TimedEnd): Generator<Write, void, undefined> {
  let at = 0
  for (const write of writes) {
    yield write
    at = write.at
  }
  if (ending.end !== 'stall' || ending.comments === undefined) return
  for (;;) {
    at += ending.comments
    yield { at, bytes: COMMENT, argsDone: [] }
  }
}
