/** The script of an endpoint: a list of responses, or a function that returns one for a request. */

import type { ScriptResponse } from '@meanwhile/assemble/testing'
import { UnexpectedRequestError, UnusedResponseError } from './errors.ts'
import { type Expecting, meets } from './expectation.ts'
import type { Failing } from './fault.ts'
import type { JournalEntry } from './journal.ts'
import type { RawResponse } from './raw.ts'
import { differencesToRecorded, type Replaying } from './record/same-request.ts'
import type { RefusedReply, Unchecked } from './refusing.ts'
import type { Recording } from './replay.ts'
import type { WireName } from './wires/wire-name.ts'
import { WIRES } from './wires/wires.ts'

/** One response: scripted, for any wire; recorded, for its own wire; or written by hand. */
export type Reply = ScriptResponse | Recording | RawResponse

/**
 * A response in a script. It may state what it expects of its request, which rules of providers its request may break,
 * and where it breaks off.
 */
export type ScriptedReply = (Reply | RefusedReply) & Expecting & Failing & Replaying & Unchecked

/**
 * The responses, used one per request in the order of the requests; or a function that returns the response for a
 * request, or `undefined` if the request is not expected.
 */
export type Script = readonly ScriptedReply[] | ((request: JournalEntry) => ScriptedReply | undefined)

/** Selects the responses of a script. */
export interface Prompter {
  /** The response for a request; it stays in the script until it is taken. */
  offer(request: JournalEntry): Offer
  /** @throws {UnusedResponseError} Responses are unused. */
  assertUsed(): void
}

/** A response that a request can have. */
export interface Offer {
  /** Absent if there is none. */
  readonly reply?: ScriptedReply
  /**
   * Uses it up.
   *
   * @throws {UnexpectedRequestError} There is none, or it is for another wire.
   * @throws {RequestMismatchError} The request is not what it expects.
   */
  take(): ScriptedReply
}

export function prompter(script: Script): Prompter {
  return typeof script === 'function' ? byRequest(script) : inOrder(script)
}

function inOrder(replies: readonly ScriptedReply[]): Prompter {
  const left = replies.map((reply, i) => ({ reply, number: i + 1 }))
  return {
    offer(request) {
      // A replayed response is for its own request, because simultaneous requests may arrive in any order.
      const offered = left.find((open) => takes(open.reply, request)) ?? left[0]
      if (!offered) {
        const used = `the script has ${count(replies.length)}, and all were used`
        return { take: () => fail(unexpected(request, used)) }
      }
      const { reply, number } = offered
      return {
        reply,
        take() {
          left.splice(left.indexOf(offered), 1)
          return fitting(reply, request, `response ${number} of the script`)
        },
      }
    },
    assertUsed() {
      const unused = left.map(({ reply, number }) => ({ number, what: describe(reply) }))
      if (unused.length > 0) throw new UnusedResponseError(replies.length, unused)
    },
  }
}

function takes(reply: ScriptedReply, request: JournalEntry): boolean {
  return !reply.replays || (wireOf(reply) === request.wire && differencesToRecorded(request, reply).length === 0)
}

function byRequest(find: (request: JournalEntry) => ScriptedReply | undefined): Prompter {
  return {
    offer(request) {
      const reply = find(request)
      if (!reply) return { take: () => fail(unexpected(request, 'the script function returned no response')) }
      return { reply, take: () => fitting(reply, request, 'the response for it') }
    },
    assertUsed() {},
  }
}

function fitting(reply: ScriptedReply, request: JournalEntry, which: string): ScriptedReply {
  const wire = wireOf(reply)
  if (wire !== undefined && wire !== request.wire) {
    throw unexpected(request, `${which} is ${describe(reply)} and requires POST ${WIRES[wire].path}`)
  }
  meets(request, reply, `${which} (${describe(reply)})`)
  return reply
}

function fail(error: UnexpectedRequestError): never {
  throw error
}

function wireOf(reply: ScriptedReply): WireName | undefined {
  return 'recorded' in reply ? reply.recorded : 'raw' in reply ? reply.wire : undefined
}

export function unexpected(request: JournalEntry, expected: string): UnexpectedRequestError {
  return new UnexpectedRequestError(request.number, `${request.method} ${request.url}`, expected)
}

/** Describes a reply in a message. */
export function describe(reply: ScriptedReply): string {
  if (reply.replays) return `recorded from ${reply.replays.path}`
  if ('refused' in reply) return `refused ${reply.refused}`
  if ('recorded' in reply) return `a recording of ${reply.recorded}`
  if ('raw' in reply) return `a raw response for ${reply.wire ?? 'any wire'}`
  return reply.steps.map((step) => (step.type === 'call' ? `call ${step.name}` : step.type)).join(', ') || 'empty'
}

function count(responses: number): string {
  return responses === 1 ? '1 response' : `${responses} responses`
}
