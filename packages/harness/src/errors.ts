/** One small class per thing a test may catch. */

import type { Difference } from './difference.ts'

/** The base of all errors of the harness: the script and what happened do not agree. */
export class HarnessError extends Error {
  override readonly name: string = 'HarnessError'
}

/** A request the script does not provide for. The client sees it as a status 500 that asks not to be tried again. */
export class UnexpectedRequestError extends HarnessError {
  override readonly name = 'UnexpectedRequestError'
  /** Which request it was, counted from 1. */
  readonly request: number

  constructor(request: number, what: string, expected: string) {
    super(`request ${request} (${what}) was not expected: ${expected}`)
    this.request = request
  }
}

/** A request that is not what its response expects. The client sees it as a status 500 that asks not to be tried again. */
export class RequestMismatchError extends HarnessError {
  override readonly name = 'RequestMismatchError'
  /** Which request it was, counted from 1. */
  readonly request: number
  /** Where it differs; empty if a function of the script's said no. */
  readonly differences: readonly Difference[]

  constructor(
    request: number,
    what: string,
    response: string,
    how: string,
    differences: readonly Difference[],
    cause?: unknown,
  ) {
    super(`request ${request} (${what}) is not what ${response} expects:${how}`, { cause })
    this.request = request
    this.differences = differences
  }
}

/** Responses of the script nobody asked for. */
export class UnusedResponseError extends HarnessError {
  override readonly name = 'UnusedResponseError'
  /** The numbers of the responses left over, counted from 1. */
  readonly unused: readonly number[]

  constructor(total: number, unused: readonly { readonly number: number; readonly what: string }[]) {
    const list = unused.map(({ number, what }) => `response ${number} (${what})`).join(', ')
    super(`${unused.length} of ${total} responses ${unused.length === 1 ? 'was' : 'were'} never asked for: ${list}`)
    this.unused = unused.map(({ number }) => number)
  }
}

/** What was waited for did not come in time. */
export class WaitTimeoutError extends HarnessError {
  override readonly name = 'WaitTimeoutError'

  constructor(what: string, timeout: number, seen: string) {
    super(`${what} did not come within ${timeout} ms; seen so far: ${seen}`)
  }
}
