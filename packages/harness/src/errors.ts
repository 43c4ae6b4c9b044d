/** The error classes of the harness, one for each failure that a test may catch. */

import { BrandedError } from '@meanwhile/core/calls'
import type { Difference } from './difference.ts'
import type { Refusal } from './rules/refusals.ts'
import type { WireName } from './wires/wire-name.ts'

/** The base class of all errors of the harness. */
export class HarnessError extends BrandedError {
  static override readonly brand: string = 'HarnessError'
}

/** The script has no response for a request. The client gets a status 500 with a header that stops retries. */
export class UnexpectedRequestError extends HarnessError {
  static override readonly brand: string = 'UnexpectedRequestError'
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
  static override readonly brand: string = 'RequestMismatchError'
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

/**
 * A provider would refuse a request. The client gets the provider's status and words; the response of the script stays
 * for the next request.
 */
export class RefusedRequestError extends HarnessError {
  static override readonly brand: string = 'RefusedRequestError'
  /** The number of the request, counted from 1. */
  readonly request: number
  /** The wire of the request. */
  readonly wire: WireName
  /** The id of the first rule that it breaks. */
  readonly rule: string
  /** The place in the body. */
  readonly path: string
  /** All rules that it breaks. */
  readonly refusals: readonly [Refusal, ...Refusal[]]

  constructor(
    request: number,
    wire: WireName,
    refusals: readonly [Refusal, ...Refusal[]],
    // What the request has at the first place, in short, and how the rules are turned off where it was checked.
    { value, waysOut }: { readonly value: string | undefined; readonly waysOut: string },
  ) {
    const [{ rule, path, message, source }, ...others] = refusals
    const has = value === undefined ? '' : `\n  ${path || 'the body'} is ${value}`
    const more = others.map((other) => `\n  It also breaks ${other.rule}: ${other.message}`).join('')
    super(
      `request ${request} would be refused: ${message}\n  rule ${rule}, seen in ${source}${has}${more}\n  ${waysOut}`,
    )
    this.request = request
    this.wire = wire
    this.rule = rule
    this.path = path
    this.refusals = refusals
  }
}

/** Responses of the script were not used. */
export class UnusedResponseError extends HarnessError {
  static override readonly brand: string = 'UnusedResponseError'
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
  static override readonly brand: string = 'WaitTimeoutError'

  constructor(what: string, timeout: number, seen: string) {
    super(`${what} did not arrive within ${timeout} ms; received so far: ${seen}`)
  }
}
