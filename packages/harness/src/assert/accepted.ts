/** Whether providers accept requests that another mock, or a recording, has received. */

import { RefusedRequestError } from '../errors.ts'
import { checkerOf, exceptions, NOT_AS_SENT, type RulesChoice } from '../refusing.ts'
import type { Refusal } from '../rules/refusals.ts'
import { shownAt } from '../rules/shown.ts'
import type { WireName } from '../wires/wire-name.ts'

/** A request to check; an entry of a mock's journal is one. */
export interface CheckedRequest {
  /** The wire on which it was sent. */
  readonly wire: WireName
  /** The parsed body. */
  readonly body: unknown
  /** Its host decides which rules apply. Default: the provider whose wire it is. */
  readonly url?: string
  /** By lower-case name. Without them, what a beta may allow is not refused. */
  readonly headers?: Readonly<Record<string, string>>
  /** What a mock endpoint has found: it also knows the calls that it sent. */
  readonly refusals?: readonly Refusal[]
}

/** Which rules {@link assertAccepted} applies; by default the certain ones, and those of the host. */
export interface AcceptOptions extends Omit<RulesChoice, 'apply'> {
  /** `all`: the rules that are only likely, too. */
  readonly apply?: 'certain' | 'all'
}

/**
 * Throws if a provider would refuse one of the requests. For requests that no mock endpoint of this package has
 * received, and for those that a mock with `rules: 'report'` accepted.
 *
 * @example assertAccepted([{ wire: 'anthropic', body: JSON.parse(text) }], { except: ['messages/prefill'] })
 *
 * @throws {RefusedRequestError} The error of the first refused request, with its number in the list.
 */
export function assertAccepted(requests: Iterable<CheckedRequest>, options: AcceptOptions = {}): void {
  const { applies, check } = checkerOf(options)
  let number = 0
  for (const { wire, body, url = '', headers, refusals = [] } of requests) {
    number++
    const remembered = refusals.filter(({ rule }) => rule === NOT_AS_SENT && applies(rule))
    const found = [...check({ wire, body, url, ...(headers && { headers }) }), ...remembered]
    const [first, ...others] = found
    if (!first) continue
    const waysOut = `To accept it: assertAccepted(requests, { ${exceptions(found.map(({ rule }) => rule))} })`
    throw new RefusedRequestError(number, wire, [first, ...others], { value: shownAt(body, first.path), waysOut })
  }
}
