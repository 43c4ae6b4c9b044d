/** Which rules a request breaks. */

/// <reference lib="es2024.string" preserve="true" />

import { isRecord } from '@meanwhile/core/calls'
import type { WireName } from '../wires/wire-name.ts'
import { type Host, hostOf } from './hosts.ts'
import { type RequestHeaders, readRequest } from './reading.ts'
import type { Found, Rule, Sure } from './rule.ts'
import { rules } from './rules.ts'

/** One rule that a request breaks, at the first place that breaks it. */
export interface Refusal {
  /** The id of the rule. */
  readonly rule: string
  /** The place in the body, as the provider writes it: `messages[2].content`, on Messages `messages.2.content`. */
  readonly path: string
  /** The provider's words. */
  readonly message: string
  /** The threads and pages that quote them. */
  readonly source: string
  /** The HTTP status that the provider answers with. */
  readonly status: number
}

/** What {@link refusals} gets about a request in addition to its body. */
export interface RefusalOptions {
  /** The host of the request. Default: that of the URL, otherwise the provider whose wire it is. */
  readonly host?: Host
  /** The URL of the request. */
  readonly url?: string
  /** Its headers, by lower-case name. Without them, what a beta may allow is not refused. */
  readonly headers?: RequestHeaders
  /** How sure the rules must be. Default: `certain` and `host`. */
  readonly sure?: readonly Sure[]
}

/** The rules of a host's requests, by default without those that are only likely. */
export const DEFAULT_SURE: readonly Sure[] = ['certain', 'host']

/**
 * Returns the rules that a request breaks, in the order of {@link rules}; empty if the provider accepts it, as far as is
 * known. The body is parsed JSON; one that is not an object breaks no rule.
 *
 * @example
 * refusals('anthropic', { model: 'claude-opus-5', max_tokens: 100, messages: [] })
 * // [{ rule: 'messages/empty', message: 'messages: at least one message is required', … }]
 */
export function refusals(wire: WireName, body: unknown, options: RefusalOptions = {}): readonly Refusal[] {
  const { host = hostOf(wire, options.url), sure = DEFAULT_SURE, headers } = options
  return brokenRules({ wire, body, headers }, host, (rule) => sure.includes(rule.sure))
}

interface Sent {
  readonly wire: WireName
  readonly body: unknown
  readonly headers?: RequestHeaders | undefined
}

/** The rules that a request to a host breaks, of those that apply. */
export function brokenRules(
  { wire, body, headers }: Sent,
  host: Host,
  applies: (rule: Rule) => boolean,
): readonly Refusal[] {
  if (!isRecord(body)) return []
  const request = readRequest(wire, body, host, headers)
  const found: Refusal[] = []
  for (const rule of rules) {
    if (!holdsFor(rule, wire, host) || (rule.trait && !request.traits.has(rule.trait)) || !applies(rule)) continue
    const [first] = rule.finds(request)
    if (first) found.push(refusal(rule, first))
  }
  return found
}

function holdsFor({ wire, hosts, notHosts }: Rule, of: WireName, host: Host): boolean {
  return (wire === undefined || wire === of) && (!hosts || hosts.includes(host)) && !notHosts?.includes(host)
}

function refusal({ id, says, sources, status = 400 }: Rule, found: Found): Refusal {
  const message = says.replaceAll(/\{(\w+)\}/g, (_, name: string) => valueText(found[name]))
  return { rule: id, path: found.path, message, source: sources.map(({ where }) => where).join(', '), status }
}

const LONGEST = 200

function valueText(value: unknown): string {
  if (value === undefined) return ''
  const text = typeof value === 'string' ? value : typeof value === 'object' ? 'object' : `${value as number | boolean}`
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…`.toWellFormed() : text.toWellFormed()
}
