/** The error classes of the harness, one for each failure that a test may catch. */

import type { Difference } from './difference.ts'

/** The base class of all errors of the harness. */
export class HarnessError extends Error {
  override readonly name: string = 'HarnessError'
}

/** The script has no response for a request. The client gets a status 500 with a header that stops retries. */
export class UnexpectedRequestError extends HarnessError {
  override readonly name = 'UnexpectedRequestError'
  /** The number of the request, counted from 1. */
  readonly request: number

  constructor(request: number, what: string, expected: string) {
    super(`request ${request} (${what}) was not expected: ${expected}`)
    this.request = request
  }
}

/**
 * A request does not match what its response expects. The client gets a status 500 with a header that stops retries.
 */
export class RequestMismatchError extends HarnessError {
  override readonly name = 'RequestMismatchError'
  /** The number of the request, counted from 1. */
  readonly request: number
  /** Where it differs; empty if a function of the script rejected it. */
  readonly differences: readonly Difference[]

  constructor(
    request: number,
    what: string,
    response: string,
    how: string,
    differences: readonly Difference[],
    cause?: unknown,
  ) {
    super(`request ${request} (${what}) does not match what ${response} expects:${how}`, { cause })
    this.request = request
    this.differences = differences
  }
}

/** Responses of the script were not used. */
export class UnusedResponseError extends HarnessError {
  override readonly name = 'UnusedResponseError'
  /** The numbers of the unused responses, counted from 1. */
  readonly unused: readonly number[]

  constructor(total: number, unused: readonly { readonly number: number; readonly what: string }[]) {
    const list = unused.map(({ number, what }) => `response ${number} (${what})`).join(', ')
    super(`${unused.length} of ${total} responses ${unused.length === 1 ? 'was' : 'were'} not used: ${list}`)
    this.unused = unused.map(({ number }) => number)
  }
}

/** The awaited telemetry did not arrive in time. */
export class WaitTimeoutError extends HarnessError {
  override readonly name = 'WaitTimeoutError'

  constructor(what: string, timeout: number, seen: string) {
    super(`${what} did not arrive within ${timeout} ms; received so far: ${seen}`)
  }
}
