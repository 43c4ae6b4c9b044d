/** What an endpoint answers: responses in their order, or a function of the request. */

import type { ScriptResponse } from '@meanwhile/core/testing'
import { UnexpectedRequestError, UnusedResponseError } from './errors.ts'
import type { JournalEntry } from './journal.ts'
import type { Recording } from './replay.ts'
import { WIRES } from './wires/wires.ts'

/** One response: scripted, for any wire, or recorded, for its own. */
export type Reply = ScriptResponse | Recording

/**
 * The responses, used one per request in the order in which requests come; or a function that finds the response for a request,
 * where nothing (`undefined`) says that the request was not expected.
 */
export type Script = readonly Reply[] | ((request: JournalEntry) => Reply | undefined)

/** A script that is being used up. */
export interface Prompter {
  /** The response for a request. Throws an {@link UnexpectedRequestError} if there is none. */
  next(request: JournalEntry): Reply
  /** Throws an {@link UnusedResponseError} if responses are left. */
  assertUsed(): void
}

export function prompter(script: Script): Prompter {
  return typeof script === 'function' ? byRequest(script) : inOrder(script)
}

function inOrder(replies: readonly Reply[]): Prompter {
  let used = 0
  return {
    next(request) {
      const reply = replies[used++]
      if (!reply) throw unexpected(request, `the script has ${count(replies.length)}, and all were used`)
      return onItsWire(reply, request, `response ${used} of the script`)
    },
    assertUsed() {
      const unused = replies.slice(used).map((reply, i) => ({ number: used + i + 1, what: describe(reply) }))
      if (unused.length > 0) throw new UnusedResponseError(replies.length, unused)
    },
  }
}

function byRequest(find: (request: JournalEntry) => Reply | undefined): Prompter {
  return {
    next(request) {
      const reply = find(request)
      if (!reply) throw unexpected(request, 'the script function had no response for it')
      return onItsWire(reply, request, 'the response for it')
    },
    assertUsed() {},
  }
}

function onItsWire(reply: Reply, request: JournalEntry, which: string): Reply {
  if ('recorded' in reply && reply.recorded !== request.wire) {
    throw unexpected(request, `${which} is ${describe(reply)} and wants POST ${WIRES[reply.recorded].path}`)
  }
  return reply
}

export function unexpected(request: JournalEntry, expected: string): UnexpectedRequestError {
  return new UnexpectedRequestError(request.number, `${request.method} ${request.url}`, expected)
}

/** A reply in a few words: for messages. */
export function describe(reply: Reply): string {
  if ('recorded' in reply) return `a recording of ${reply.recorded}`
  return reply.steps.map((step) => (step.type === 'call' ? `call ${step.name}` : step.type)).join(', ') || 'empty'
}

function count(responses: number): string {
  return responses === 1 ? '1 response' : `${responses} responses`
}
