/**
 * What hosts and families of models take in a request, and what they need in it. This is the only table of the adapters
 * that names them, because nothing ages faster. Seen in November 2026.
 */

import type { Model, ModelSettings } from '@meanwhile/core'
import { nameOf } from './ai-sdk-provider.ts'
import { isRecord } from './is-record.ts'
import type { WireName } from './wire-name.ts'

/** Where a request goes, as far as it is known. */
export interface Target {
  /** `undefined` for the AI SDK's providers that have another format. */
  readonly wire: WireName | undefined
  /** The key of the metadata and of the provider options. */
  readonly provider: string
  /** The name of the model. */
  readonly model: string
  readonly host: Host
  readonly family: Family
  /** Whether a package of the AI SDK writes the request. */
  readonly isAiSdk?: boolean
}

/** What a host takes. */
interface Host {
  /**
   * The members of an assistant message of Chat in which reasoning goes back; the host takes no others. Default: those
   * that have arrived from it.
   */
  readonly reasoningIn?: readonly string[]
  /** The models for which it takes reasoning. Default: all. */
  readonly reasoningOf?: RegExp
  /** Whether it is OpenAI's own API, which takes no members except those that it documents. */
  readonly isOpenAI?: true
  /** Whether its messages and its ids of calls are those of Mistral. */
  readonly isMistral?: true
  /** As in {@link Family}, for a model that reasons because the request switches it on. */
  readonly noReasoning?: string
  /** The name of the seed on Chat. Default: `seed`. */
  readonly seed?: 'random_seed'
  /**
   * A call must have the signature of the thought before it, if the model is a Gemini that thinks. This is the key under
   * which the AI SDK has the signature.
   */
  readonly signsCalls?: 'google' | 'vertex'
  /** The maximum number of tools. */
  readonly mostTools?: number
  /** Whether each member of a tool's input must have a type. */
  readonly needsTypes?: true
  /** Whether a pattern must begin with `^` and end with `$`. */
  readonly anchorsPatterns?: true
  /** The keywords of a schema that it rejects. */
  readonly unknownKeywords?: ReadonlySet<string>
}

/** What the models of a family need. */
interface Family {
  /** The reasoning of a call before which the model has not reasoned. */
  readonly noReasoning?: string
  /** Whether it reasons unless that is switched off. */
  readonly reasons?: true
  /** Whether it never accepts a forced choice of a tool. */
  readonly isNeverForced?: true
  /** Whether it neither reasons nor takes back reasoning. */
  readonly neverReasons?: true
  /** Whether it accepts no JSON Schema as the format of its answer. */
  readonly hasNoFormat?: true
  readonly isMistral?: true
  readonly isGemini3?: true
}

type Named<Known> = Known & {
  /** Matches the provider, as the user or the AI SDK names it. */
  readonly provider: RegExp
  /** Matches the address of its API, if it has one. */
  readonly address?: RegExp
}

/** The member in which most hosts of Chat have reasoning. */
export const REASONING_CONTENT = 'reasoning_content'

const OPENAI: Named<Host> = {
  provider: /^openai(\.|$)/,
  address: /(^|\.)openai\.com$/,
  isOpenAI: true,
  reasoningIn: [],
  mostTools: 128,
}

/** Google takes a subset of OpenAPI. Its newer endpoints know some of these keywords, others still reject all of them. */
const GOOGLE = {
  mostTools: 128,
  unknownKeywords: new Set(
    (
      'const exclusiveMinimum exclusiveMaximum multipleOf uniqueItems ' +
      'propertyNames patternProperties not if then else'
    ).split(' '),
  ),
}

const HOSTS: readonly Named<Host>[] = [
  {
    provider: /azure/,
    address: /\.azure\.com$/,
    isOpenAI: true,
    reasoningIn: [],
    mostTools: 128,
  },
  {
    provider: /mistral/,
    address: /(^|\.)mistral\.ai$/,
    isMistral: true,
    reasoningIn: [],
    seed: 'random_seed',
  },
  {
    provider: /moonshot|kimi/,
    address: /(^|\.)(moonshot|kimi)\.\w+$/,
    reasoningIn: [REASONING_CONTENT],
    noReasoning: ' ',
    needsTypes: true,
    mostTools: 128,
  },
  {
    provider: /deepseek/,
    address: /(^|\.)deepseek\.com$/,
    reasoningIn: [REASONING_CONTENT],
    noReasoning: '',
    mostTools: 128,
  },
  {
    provider: /groq/,
    address: /(^|\.)groq\.com$/,
    reasoningIn: ['reasoning'],
    reasoningOf: /gpt-oss|qwen3/i,
    mostTools: 128,
  },
  { provider: /cerebras/, address: /(^|\.)cerebras\.ai$/, reasoningIn: ['reasoning'] },
  { provider: /vertex/, address: /aiplatform\.googleapis\.com$/, signsCalls: 'vertex', ...GOOGLE },
  { provider: /gemini|google|gcp/, address: /(^|\.)googleapis\.com$/, signsCalls: 'google', ...GOOGLE },
  { provider: /llama[^a-z]?cpp/, anchorsPatterns: true },
  OPENAI,
]

/** A host that is not in the table gets back everything that it has sent. */
const OTHER: Host = {}

/**
 * By the ids of providers and gateways: `claude-sonnet-4@20250514` (Vertex), `us.anthropic.claude-…-v1:0` (Bedrock),
 * `anthropic/claude-opus-4.1`, `ft:gpt-4o-…:me`.
 */
const FAMILIES: readonly (Family & { readonly name: RegExp })[] = [
  // OpenAI. Before the models that reason, because these names begin in the same way.
  { name: /(^|[/:.])(gpt-3|gpt-4([-:]|$)|gpt-4o-2024-05-13|chatgpt)/, neverReasons: true, hasNoFormat: true },
  { name: /(^|[/:.])(gpt-4|gpt-5[\d.]*-chat)/, neverReasons: true },
  { name: /(^|[/:.])o1-(mini|preview)/, hasNoFormat: true },
  // Anthropic: the formats came with 4.5; the newest models reject every forced choice.
  { name: /claude-(instant|v?[123](?!\d)|4-(opus|sonnet))/, hasNoFormat: true },
  { name: /claude-(opus|sonnet)-4(?![-.]([2-9]|1\d)(?!\d))/, hasNoFormat: true },
  { name: /claude-(opus-5[-.][5-9]|fable-5[-.][1-9]|sonnet-5[-.][5-9])(?!\d)/, isNeverForced: true },
  // Kimi rejects an empty text, DeepSeek accepts it.
  { name: /kimi-(k2([.p-]\d(?!\d)|-thinking)|k[3-9]|thinking)/, reasons: true, noReasoning: ' ' },
  { name: /deepseek[-.](v[4-9]|reasoner)/, reasons: true, noReasoning: '' },
  // The names without a version are those of the newest models.
  { name: /gemini-([3-9]|[a-z-]+-latest)/, isGemini3: true },
  { name: /mi[sx]tral|(dev|code|mag|min|math)i?stral|(pix|vox)tral/, isMistral: true },
]

const NO_FAMILY: Family = {}

/** Where a request goes. `provider` is the one that the user or the AI SDK names; an unknown name says nothing. */
export function targetOf(wire: WireName | undefined, { provider, id, server }: Facts): Target {
  const host = hostOf(provider, server?.address)
  // Claude on Google takes what Anthropic takes.
  const isClaude = wire === 'anthropic' && host.signsCalls !== undefined
  return { wire, provider, model: id, host: isClaude ? OTHER : host, family: familyOf(id) }
}

/** The address of a loop that makes its own requests: it may be that of any host. */
export const UNKNOWN: NonNullable<Model['server']> = { address: '' }

type Facts = Pick<Model, 'provider' | 'id' | 'server'>

function hostOf(provider: string, address: string | undefined): Host {
  const named = HOSTS.find((host) => host.provider.test(provider.toLowerCase()))
  if (named && named !== OPENAI) return named
  // `openai` is also the provider of a compatible host that the user has not named.
  if (named && address === undefined) return named
  const addressed = HOSTS.find((host) => host.address?.test(address ?? ''))
  return addressed && (named || addressed !== OPENAI) ? addressed : OTHER
}

/** Hosts write some names with capital letters. */
export function familyOf(model: string): Family {
  const id = model.toLowerCase()
  return FAMILIES.find(({ name }) => name.test(id)) ?? NO_FAMILY
}

/** Whether messages and ids must be as Mistral's API and the templates of its models require. */
export function isMistral({ host, family }: Target): boolean {
  return host.isMistral === true || (family.isMistral === true && host === OTHER)
}

/** Whether a request has OpenAI's form: to its own API, and under its name to a host about which nothing else is known. */
export function isLikeOpenAI({ host, provider }: Target): boolean {
  return host.isOpenAI === true || (host === OTHER && OPENAI.provider.test(provider))
}

/** The reasoning of a call on Chat before which the model has not reasoned, if the request needs it. */
export function noReasoningOf(target: Target, settings: ModelSettings): string | undefined {
  const { host, family } = target
  if (target.wire !== 'openai-chat' || host.reasoningIn?.includes(REASONING_CONTENT) === false) return undefined
  return thinkingOf(target, settings) === 'off' ? undefined : (family.noReasoning ?? host.noReasoning)
}

/** Whether the provider options of a request to this target switch reasoning on. */
export function thinkingOf(target: Target, { providerOptions = {} }: ModelSettings): Thinking {
  const { family } = target
  const options: Readonly<Record<string, unknown>> = Object.assign(
    {},
    ...optionNames(target, providerOptions).map((name) => providerOptions[name]),
  )
  const { thinking, enable_thinking: enabled } = options
  const type = isRecord(thinking) ? thinking.type : undefined
  if (type === 'disabled' || enabled === false) return 'off'
  if (type === 'enabled') return 'budget'
  return type === 'adaptive' || enabled === true || family.reasons ? 'on' : 'off'
}

/**
 * The keys of the provider options that this target reads. If two have the same member, that of the later one counts, as
 * in the AI SDK's packages for Messages, which read those of `anthropic` for every provider.
 */
export function optionNames({ provider, wire, isAiSdk }: Target, options: ProviderOptions): readonly string[] {
  const name = nameOf(provider)
  if (isAiSdk && wire === 'anthropic') {
    // The former name is read if there are no options under the new one.
    const own = name === 'googleVertex' && !options[name] ? 'vertex' : name
    return ['anthropic', own].filter((key, place) => options[key] && (place === 0 || key !== 'anthropic'))
  }
  return [provider, name].filter((key) => options[key]).slice(0, 1)
}

/** The provider options of a request, by provider. */
export type ProviderOptions = NonNullable<ModelSettings['providerOptions']>

/** `budget`: with a fixed number of tokens, which has stricter rules on Messages. */
export type Thinking = 'off' | 'on' | 'budget'

/** Whether the model may be forced to call a tool. */
export function mayBeForced(target: Target, settings: ModelSettings): boolean {
  return !target.family.isNeverForced && thinkingOf(target, settings) === 'off'
}
