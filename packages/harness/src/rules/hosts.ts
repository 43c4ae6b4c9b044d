/** The hosts whose own rules are known: how their URLs look. */

import type { WireName } from '../wires/wire-name.ts'

/** A host of models, or a program that serves them. */
export type Host =
  | 'openai'
  | 'azure'
  | 'anthropic'
  | 'bedrock'
  | 'mistral'
  | 'moonshot'
  | 'deepseek'
  | 'groq'
  | 'cerebras'
  | 'gemini'
  | 'xai'
  | 'qwen'
  | 'vllm'
  | 'vllm-mistral'
  | 'vllm-gemma'
  | 'llamacpp'

interface HostFacts {
  /** The names of its servers. Absent for programs that run anywhere. */
  readonly names?: RegExp
  readonly wires: readonly WireName[]
}

const CHAT: readonly WireName[] = ['openai-chat']
const OPENAI: readonly WireName[] = ['openai-chat', 'openai-responses']
const EVERY: readonly WireName[] = [...OPENAI, 'anthropic']

const FACTS: Readonly<Record<Host, HostFacts>> = {
  openai: { names: /(^|\.)openai\.com$/, wires: OPENAI },
  azure: { names: /\.(openai|services\.ai)\.azure\.com$/, wires: OPENAI },
  anthropic: { names: /(^|\.)anthropic\.com$/, wires: ['anthropic'] },
  bedrock: {
    names: /(^|\.)bedrock[\w-]*\..*\.amazonaws\.com$|^bedrock[\w-]*\.[\w-]+\.api\.aws$/,
    wires: ['anthropic'],
  },
  mistral: { names: /(^|\.)mistral\.ai$/, wires: CHAT },
  moonshot: { names: /(^|\.)(moonshot\.(ai|cn)|kimi\.com)$/, wires: CHAT },
  deepseek: { names: /(^|\.)deepseek\.com$/, wires: CHAT },
  groq: { names: /(^|\.)groq\.com$/, wires: OPENAI },
  cerebras: { names: /(^|\.)cerebras\.ai$/, wires: CHAT },
  gemini: { names: /(^|[.-])(generativelanguage|aiplatform)\.googleapis\.com$/, wires: CHAT },
  xai: { names: /(^|\.)x\.ai$/, wires: OPENAI },
  qwen: { names: /(^|\.)dashscope[\w-]*\.aliyuncs\.com$/, wires: OPENAI },
  vllm: { wires: EVERY },
  'vllm-mistral': { wires: CHAT },
  'vllm-gemma': { wires: CHAT },
  llamacpp: { wires: EVERY },
}

/** The hosts that are OpenAI's own API. */
export const OPENAI_HOSTS: readonly Host[] = ['openai', 'azure']

/** The names of all hosts. */
export const HOSTS: readonly Host[] = Object.keys(FACTS) as Host[]

/** The host of a URL. A URL that is not known belongs to the provider whose wire it is. */
export function hostOf(wire: WireName, url: string | undefined): Host {
  return knownHostOf(wire, url) ?? (wire === 'anthropic' ? 'anthropic' : 'openai')
}

/** The host of a URL, if it is one of those that are known and has this wire. */
export function knownHostOf(wire: WireName, url: string | undefined): Host | undefined {
  const name = url !== undefined && URL.canParse(url) ? new URL(url).hostname : ''
  return HOSTS.find((host) => FACTS[host].names?.test(name) && FACTS[host].wires.includes(wire))
}
