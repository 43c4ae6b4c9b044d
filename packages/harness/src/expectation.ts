/** What a response of the script expects of its request. */

import { messageOf } from '@meanwhile/core'
import { type Difference, differences, inWords } from './difference.ts'
import { HarnessError, RequestMismatchError } from './errors.ts'
import type { JournalEntry } from './journal.ts'
import { differencesToRecorded, type Replaying } from './record/same-request.ts'
import type { Refusal } from './rules/refusals.ts'
import type { WireName } from './wires/wire-name.ts'

/**
 * A pattern for a request. Members that are not listed may have any value. Lists must have the same length, a RegExp is
 * searched in a text, and `undefined` means that the member must be missing.
 */
export interface RequestPattern {
  /** The wire of the request. */
  readonly wire?: WireName
  /** The whole URL. */
  readonly url?: string | RegExp
  /** By lower-case name. Headers with secrets are not in the journal, so they cannot be matched. */
  readonly headers?: Readonly<Record<string, string | RegExp | undefined>>
  /** The parsed body. */
  readonly body?: unknown
}

/** Throws if the request is wrong, for example with the assertions of any library. Must not be async. */
export type RequestCheck = (request: JournalEntry) => void

/**
 * A response that checks its request.
 *
 * @example
 * script: [
 *   respond(call('weather', { city: 'Zürich' })),
 *   { ...respond(say('Sunny.')), expect: { body: { messages: [{}, {}, { role: 'tool', content: 'sunny' }] } } },
 * ]
 */
export interface Expecting {
  /** What the request must contain. If it does not, the client gets a status 500 with the reason. */
  readonly expect?: RequestPattern | RequestCheck
}

/** @throws {RequestMismatchError} The request is not as expected, or not the recorded one. */
export function meets(request: JournalEntry, reply: Expecting & Replaying, response: string): void {
  const { expect } = reply
  const other = differencesToRecorded(request, reply)
  if (other.length > 0) throw mismatch(request, response, inWords(other), other)
  if (expect === undefined) return
  if (typeof expect !== 'function') {
    const found = differences(expect, request)
    if (found.length > 0) throw mismatch(request, response, inWords(found), found)
    return
  }
  let outcome: unknown
  try {
    outcome = expect(request)
  } catch (thrown) {
    throw mismatch(request, response, ` ${messageOf(thrown)}`, [], thrown)
  }
  if (outcome instanceof Promise) {
    outcome.catch(() => {})
    throw new HarnessError(`the expectation of ${response} is an async function, which cannot be awaited`)
  }
}

/** The error of a request that does not break exactly the rule that its response names. */
export function notRefused(request: JournalEntry, rule: string, refusals: readonly Refusal[]): RequestMismatchError {
  const others = refusals.filter((one) => one.rule !== rule).map((one) => `${one.rule} (${one.message})`)
  const how = refusals.length === others.length ? ` it does not break ${rule}` : ` it breaks other rules, too`
  const found = others.length > 0 ? `; it breaks ${others.join(', ')}` : ''
  return mismatch(request, `the response for it (refused ${rule})`, how + found, [])
}

function mismatch(
  request: JournalEntry,
  response: string,
  how: string,
  found: readonly Difference[],
  cause?: unknown,
): RequestMismatchError {
  return new RequestMismatchError(request.number, `${request.method} ${request.url}`, response, how, found, cause)
}
