/** What a rule is: the refusal of a provider, as data, and how a request is found that breaks it. */

import type { WireName } from '../wires/wire-name.ts'
import type { Host } from './hosts.ts'
import type { Trait } from './models.ts'
import type { Reading } from './reading.ts'

/**
 * How sure a rule is: `certain` (specification, documentation of the provider, or several quotes), `likely` (one quote,
 * quotes that contradict each other, or a wording that was not looked up), or `host` (quoted, for the hosts it names).
 */
export type Sure = 'certain' | 'likely' | 'host'

/** Where a refusal was seen: a thread, a page or a file, and the latest month. */
export interface Source {
  /** The thread, page or file. */
  readonly where: string
  /** Year and month, as `2026-09`. */
  readonly seen: string
}

/**
 * The smallest change of the sound body of its wire that breaks a rule: values by path, as `messages[2].content`.
 * `undefined` removes a member or an entry of a list.
 */
export type Change = Readonly<Record<string, unknown>>

/** One reason for which providers refuse a request. */
export interface Rule {
  /** The wire in short, and a name: `chat/tools-many`. */
  readonly id: string
  /** The wire it holds for. Absent: all of them. */
  readonly wire?: WireName
  /** How sure it is that providers refuse. */
  readonly sure: Sure
  /** The hosts it holds for. Default: all. */
  readonly hosts?: readonly Host[]
  /** The hosts it does not hold for. */
  readonly notHosts?: readonly Host[]
  /** It holds only for models with this trait. */
  readonly trait?: Trait
  /** The provider's words. A name in braces is a value of what was found. */
  readonly says: string
  /** The HTTP status. Default 400. */
  readonly status?: number
  /** Where the refusal was seen. */
  readonly sources: readonly Source[]
  /** The places of a request that break it, in order. */
  readonly finds: Find
  /** The smallest change that breaks it. */
  readonly bad: Change
}

/** A rule as it is written: its wire is the beginning of its id. */
export type RuleData = Omit<Rule, 'wire'>

export type Find = (request: Reading) => Iterable<Found>

/** A place that breaks a rule, with the values of the provider's words. */
export interface Found {
  /** As `messages[2].content`. */
  readonly path: string
  readonly [value: string]: unknown
}

/** What is wrong with a value: nothing, `true`, or the values of the provider's words. */
export type Wrong = boolean | Readonly<Record<string, unknown>> | undefined

/** The sources of one month. */
export function seen(month: string, ...where: readonly string[]): readonly Source[] {
  return where.map((one) => ({ where: one, seen: month }))
}

export const OPENAI_SPEC: readonly Source[] = seen('2026-08', 'openapi 2.3.0 (openai/openai-openapi)')
export const ANTHROPIC_TYPES: readonly Source[] = seen(
  '2026-11',
  '@anthropic-ai/sdk 1.11.0, types of resources/messages',
)
/** Words that are known but were not looked up. */
export const KNOWN: readonly Source[] = seen('2026-11', 'known wording, not verified')
