/** What a request must be like: said in the script, by the response that answers it. */

import { messageOf } from '@meanwhile/core'
import { type Difference, differences, inWords } from './difference.ts'
import { HarnessError, RequestMismatchError } from './errors.ts'
import type { JournalEntry } from './journal.ts'
import { differencesToRecorded, type Replaying } from './record/same-request.ts'
import type { WireName } from './wires/wire.ts'

/**
 * A request must have these members; what is not named may be anything. Lists have their length, a RegExp is looked for in a text,
 * `undefined` means that there is nothing.
 */
export interface RequestPattern {
  readonly wire?: WireName
  readonly url?: string | RegExp
  /** By their names in lower case. Headers that carry secrets are not in the journal, so not here either. */
  readonly headers?: Readonly<Record<string, string | RegExp | undefined>>
  readonly body?: unknown
}

/** What it throws is what was wrong: the assertions of any library will do. It must not be async. */
export type RequestCheck = (request: JournalEntry) => void

/**
 * @example
 * script: [
 *   respond(call('weather', { city: 'Zürich' })),
 *   { ...respond(say('Sunny.')), expect: { body: { messages: [{}, {}, { role: 'tool', content: 'sunny' }] } } },
 * ]
 */
export interface Expecting {
  /** What the request it answers must be like. If it is not, the client gets a status 500 that says so. */
  readonly expect?: RequestPattern | RequestCheck
}

/** Throws a {@link RequestMismatchError} unless the request is as expected, and the one that was recorded, if one was. */
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
    throw new HarnessError(`what ${response} expects is checked by an async function: the response cannot wait for it`)
  }
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
