/** Reads the AI SDK's names of providers, which contain the wire: `openai.responses`. */

import type { WireName } from './wire-name.ts'

/** Without the wire: `openai` for `openai.responses`. */
export function nameOf(provider: string): string {
  return provider.split('.')[0] ?? provider
}

/** The last word, which names the wire of most providers: `responses` for `openai.responses`. */
export function wireWord(provider: string): string {
  return provider.slice(provider.lastIndexOf('.') + 1)
}

/** The wire of the provider; `undefined` if it has another format. */
export function wireOf(provider: string): WireName | undefined {
  return provider.includes('anthropic') ? 'anthropic' : WIRES.get(wireWord(provider))
}

const WIRES: ReadonlyMap<string, WireName> = new Map([
  ['messages', 'anthropic'],
  ['responses', 'openai-responses'],
  ['chat', 'openai-chat'],
])

/**
 * The providers whose `gen_ai.provider.name` differs from the AI SDK's name. If one name is the beginning of another,
 * the longer one is first.
 */
const NAMES: readonly (readonly [sdk: string, name: string])[] = [
  ['google.vertex', 'gcp.vertex_ai'],
  ['vertex', 'gcp.vertex_ai'],
  ['google', 'gcp.gemini'],
  ['amazon-bedrock', 'aws.bedrock'],
  ['bedrock', 'aws.bedrock'],
  ['azure', 'azure.ai.openai'],
  ['mistral', 'mistral_ai'],
  ['xai', 'x_ai'],
]

/** Maps the AI SDK's names, for example `openai.responses` to `openai`, and `amazon-bedrock` to `aws.bedrock`. */
export function providerName(provider: string): string {
  const known = NAMES.find(([sdk]) => provider.startsWith(sdk))
  return known?.[1] ?? (nameOf(provider) || 'unknown')
}
