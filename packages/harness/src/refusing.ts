/** Which rules an endpoint applies to its requests, and which a response of its script switches off. */

import { checkOptions } from '@meanwhile/core'
import { HarnessError } from './errors.ts'
import type { JournalEntry } from './journal.ts'
import { HOSTS, type Host, hostOf } from './rules/hosts.ts'
import { brokenRules, type Refusal } from './rules/refusals.ts'
import type { Rule } from './rules/rule.ts'
import { rules } from './rules/rules.ts'

/**
 * Which rules apply: `certain` (the certain rules, and those of the host), `all` (the likely ones too), `report` (as
 * `certain`, but the requests are accepted, and the journal has what they break), or `false`.
 */
export type RulesLevel = 'certain' | 'all' | 'report' | false

/** The rules of one endpoint, in detail. */
export interface RulesChoice {
  /** Which rules apply. Default `certain`. */
  readonly apply?: RulesLevel
  /** The host whose rules apply, and whose answers are imitated. Default: the host of the request's URL. */
  readonly host?: Host
  /** The ids of rules that do not apply. */
  readonly except?: readonly string[]
  /** The ids of rules that apply although they are only likely. */
  readonly also?: readonly string[]
}

/** What a response of a script does not check. */
export interface Unchecked {
  /** `false`: its request may break any rule. With `refused`: any rule in addition to that one. */
  readonly rules?: false
  /** The ids of rules that its request may break. */
  readonly except?: readonly string[]
}

/** In place of a response: its request must break exactly this rule, and gets the provider's refusal. */
export interface RefusedReply {
  /** The id of the rule. */
  readonly refused: string
}

/**
 * A response for a script whose request must break this rule, and no other: the client gets the provider's refusal. A
 * request that does not break it, or breaks another, fails the test. Add `except` to allow it to break certain others,
 * or `rules: false` to allow all.
 *
 * @example
 * script: [refused('messages/thinking-last-block'), respond(say('Better.'))]
 *
 * @throws {HarnessError} There is no such rule.
 */
export function refused(rule: string): RefusedReply {
  checkIds('refused', [rule])
  return { refused: rule }
}

/** What rules read of a request. */
type HostedRequest = Pick<JournalEntry, 'wire' | 'url' | 'body'> & Partial<Pick<JournalEntry, 'headers'>>

/** Checks the requests of an endpoint. */
export interface Checker {
  /** Whether requests are accepted whatever they break. */
  readonly reports: boolean
  hostOf(request: HostedRequest): Host
  /** Whether a certain rule applies that only an endpoint can check. */
  applies(id: string): boolean
  /** The rules that the request breaks, of those that apply to it; with `also`, this rule applies too. */
  check(request: HostedRequest, also?: string): readonly Refusal[]
}

/** @throws {HarnessError} A level, a host or the id of a rule is unknown. */
export function checkerOf(option: RulesLevel | RulesChoice = 'certain'): Checker {
  const { apply = 'certain', host, except = [], also = [] } = typeof option === 'object' ? option : { apply: option }
  checkChoice(option, apply, host)
  checkIds('except', except)
  checkIds('also', also)
  const sure: readonly string[] = apply === 'all' ? ['certain', 'host', 'likely'] : ['certain', 'host']
  const off = new Set(except)
  const on = new Set(also)
  const applies = ({ id, sure: how }: Rule): boolean => !off.has(id) && (sure.includes(how) || on.has(id))
  const hostFor = ({ wire, url }: HostedRequest): Host => host ?? hostOf(wire, url)
  return {
    reports: apply === 'report',
    hostOf: hostFor,
    applies: (id) => apply !== false && !off.has(id),
    check(request, extra) {
      if (apply === false && extra === undefined) return []
      const applied = (rule: Rule): boolean => rule.id === extra || (apply !== false && applies(rule))
      return brokenRules(request, hostFor(request), applied)
    },
  }
}

/** The refusals that a response of a script does not switch off. */
export function unexcused(
  found: readonly Refusal[],
  reply: (Unchecked & Partial<RefusedReply> & { readonly replays?: unknown }) | undefined,
): readonly Refusal[] {
  // A recorded request has had its answer from the provider.
  if (reply?.replays !== undefined) return []
  if (reply?.rules === false) return found.filter(({ rule }) => rule === reply.refused)
  const except = reply?.except ?? []
  return except.length === 0 ? found : found.filter(({ rule }) => !except.includes(rule))
}

/** The option that turns rules off, as it is written. */
export function exceptions(rules: readonly string[]): string {
  return `except: [${rules.map((rule) => `'${rule}'`).join(', ')}]`
}

const LEVELS: readonly unknown[] = ['certain', 'all', 'report', false]

function checkChoice(option: unknown, apply: unknown, host: string | undefined): void {
  if (typeof option === 'object' && option !== null)
    checkOptions<RulesChoice>('rules', option, { apply: '', host: '', except: '', also: '' })
  if (!LEVELS.includes(apply))
    throw new HarnessError(`rules: ${String(apply)} is not one of 'certain', 'all', 'report', false`)
  if (host !== undefined && !HOSTS.some((known) => known === host))
    throw new HarnessError(`the host ${host} is not known; known are ${HOSTS.join(', ')}`)
}

/** A rule that is not among the others, because only an endpoint knows what it has sent. */
export const NOT_AS_SENT = 'every/call-id-not-as-sent'

const IDS: ReadonlySet<unknown> = new Set([...rules.map(({ id }) => id), NOT_AS_SENT])

/** @throws {HarnessError} It is not a list, or there is no rule with one of these ids. */
export function checkIds(where: string, ids: unknown): asserts ids is readonly string[] {
  if (!Array.isArray(ids)) throw new HarnessError(`${where} must be a list of rules`)
  const place = ids.findIndex((id) => !IDS.has(id))
  if (place < 0) return
  const odd = String(ids[place])
  const [, name = odd] = odd.split('/')
  const near = rules.filter(({ id }) => id.endsWith(`/${name}`)).map(({ id }) => id)
  const hint = near.length > 0 ? `; there is ${near.join(', ')}` : ''
  throw new HarnessError(`${where}: there is no rule ${odd}${hint}`)
}
