/** What recorded traffic says about the rules of providers: which are wrong, and which are missing. */

import { isRecord } from '@meanwhile/core/calls'
import { HarnessError } from '../errors.ts'
import { knownHostOf } from '../rules/hosts.ts'
import { refusals } from '../rules/refusals.ts'
import { isText, members } from '../rules/values.ts'
import type { WireName } from '../wires/wire-name.ts'

/**
 * A provider accepted a request that a rule says it refuses: the rule is wrong, or no longer holds. The message contains
 * no secrets, like a recording.
 */
export class DisprovedRuleError extends HarnessError {
  static override readonly brand: string = 'DisprovedRuleError'
  /** The ids of the rules. */
  readonly rules: readonly string[]

  constructor(disproved: ReadonlyMap<string, string>) {
    const list = [...disproved].map(([rule, how]) => `\n  ${rule}: ${how}`).join('')
    super(`the provider accepted what these rules say it refuses:${list}`)
    this.rules = [...disproved.keys()]
  }
}

/** A request as it was sent to a provider, and what came. */
export interface Judged {
  readonly wire: WireName
  /** Where it was sent. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
  readonly status: number
  /** The text of an error response. */
  readonly error: string
}

/** The rules that a 200 disproves, each with the place of the request. Only hosts that are known disprove one. */
export function disprovedBy({ wire, url, headers, body, status }: Judged): ReadonlyMap<string, string> {
  const host = knownHostOf(wire, url)
  if (host === undefined || status !== 200) return new Map()
  return new Map(
    refusals(wire, body, { host, headers }).map(({ rule, path, message }) => [rule, `${path} (${message})`]),
  )
}

const REFUSED = [400, 404, 413, 422]

/** A rule in the form of the list, for a refusal that no rule foresaw; the search and the change are left to write. */
export function draftOf({ wire, url, headers, body, status, error }: Judged, month: string): string | undefined {
  const host = knownHostOf(wire, url)
  if (host === undefined || !REFUSED.includes(status)) return undefined
  if (refusals(wire, body, { host, headers, sure: ['certain', 'host', 'likely'] }).length > 0) return undefined
  const prefix = { 'openai-chat': 'chat', 'openai-responses': 'responses', anthropic: 'messages' }[wire]
  return [
    '{',
    `  id: '${prefix}/NAME',`,
    "  sure: 'likely',",
    `  hosts: ['${host}'],`,
    ...(status === 400 ? [] : [`  status: ${status},`]),
    `  says: ${JSON.stringify(wordsOf(error))},`,
    `  sources: seen('${month}', 'recorded from ${new URL(url).hostname}'),`,
    '  finds: FIND,',
    '  bad: CHANGE,',
    '},',
  ].join('\n')
}

/** The message in the body of an error, whatever the host. */
function wordsOf(text: string): string {
  const body = members(parsed(text))
  const found = [members(body.error).message, body.message, body.error, body.detail].find(isText)
  return found ?? text.slice(0, 500)
}

function parsed(text: string): unknown {
  try {
    const body: unknown = JSON.parse(text)
    return Array.isArray(body) ? body.find(isRecord) : body
  } catch {
    return undefined
  }
}
