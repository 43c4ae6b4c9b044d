/** A model of each host that the adapters know, with a mock that has the host's answers and keeps its rules. */

import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import Anthropic from '@anthropic-ai/sdk'
import type { ScriptResponse } from '@meanwhile/assemble/testing'
import type { Model } from '@meanwhile/core'
import { mockModels, type RulesChoice, type WireName } from '@meanwhile/harness'
import type { Host } from '@meanwhile/harness/rules'
import { aiSdk } from '@meanwhile/models/ai-sdk'
import { anthropic } from '@meanwhile/models/anthropic'
import { openai } from '@meanwhile/models/openai'
import OpenAI from 'openai'

/** A model and its mock, which gives the reply that was set last. */
export interface HostedModel {
  readonly title: string
  readonly model: Model
  reply(response: ScriptResponse): void
  /** The number of requests so far. Throws if a rule of the host was broken. */
  checked(): number
}

interface Connection {
  readonly wire: WireName
  readonly baseURL: string
  connect(fetch: typeof globalThis.fetch): Model
}

interface Hosted extends Connection {
  readonly title: string
  readonly rules?: RulesChoice
}

type OpenAIOptions = Omit<Parameters<typeof openai>[0], 'client' | 'api'>

function overOpenAI(api: 'chat' | 'responses', baseURL: string, options: OpenAIOptions): Connection {
  return {
    wire: `openai-${api}`,
    baseURL,
    connect: (fetch) =>
      openai({ client: new OpenAI({ apiKey: 'none', fetch, maxRetries: 0, baseURL }), api, ...options }),
  }
}

function overMessages(baseURL: string, options: Omit<Parameters<typeof anthropic>[0], 'client'>): Connection {
  return {
    wire: 'anthropic',
    baseURL,
    connect: (fetch) =>
      anthropic({ client: new Anthropic({ apiKey: 'none', fetch, maxRetries: 0, baseURL }), ...options }),
  }
}

const HOSTED: readonly Hosted[] = [
  { title: 'OpenAI Chat', ...overOpenAI('chat', 'https://api.openai.com/v1', { model: 'gpt-4.1' }) },
  { title: 'OpenAI Responses', ...overOpenAI('responses', 'https://api.openai.com/v1', { model: 'gpt-5.1' }) },
  {
    title: 'Azure',
    ...overOpenAI('responses', 'https://mine.openai.azure.com/openai/v1', {
      model: 'gpt-5.1',
      provider: 'azure.ai.openai',
    }),
  },
  { title: 'Claude with a budget', ...overMessages('https://api.anthropic.com', { model: 'claude-sonnet-4-6' }) },
  {
    title: 'Claude with adaptive thinking',
    ...overMessages('https://api.anthropic.com', { model: 'claude-opus-5-5', provider: 'adaptive' }),
  },
  {
    title: 'Bedrock',
    ...overMessages('https://bedrock-runtime.us-east-1.amazonaws.com', {
      model: 'us.anthropic.claude-sonnet-4-6',
      provider: 'aws.bedrock',
    }),
  },
  {
    title: 'Mistral',
    ...overOpenAI('chat', 'https://api.mistral.ai/v1', { model: 'mistral-large-latest', provider: 'mistral_ai' }),
  },
  { title: 'Kimi', ...overOpenAI('chat', 'https://api.moonshot.ai/v1', { model: 'kimi-k2.6', provider: 'moonshot' }) },
  {
    title: 'DeepSeek',
    ...overOpenAI('chat', 'https://api.deepseek.com/v1', { model: 'deepseek-v4-pro', provider: 'deepseek' }),
  },
  {
    title: 'Groq',
    ...overOpenAI('chat', 'https://api.groq.com/openai/v1', { model: 'openai/gpt-oss-120b', provider: 'groq' }),
  },
  {
    title: 'Cerebras',
    ...overOpenAI('chat', 'https://api.cerebras.ai/v1', { model: 'gpt-oss-120b', provider: 'cerebras' }),
  },
  {
    title: 'Gemini',
    ...overOpenAI('chat', 'https://generativelanguage.googleapis.com/v1beta/openai', {
      model: 'gemini-3.1-pro',
      provider: 'gcp.gemini',
    }),
  },
  // Without its own name, so that its metadata has the key of OpenAI.
  { title: 'xAI', ...overOpenAI('chat', 'https://api.x.ai/v1', { model: 'grok-4' }) },
  {
    title: 'Qwen',
    ...overOpenAI('chat', 'https://dashscope-intl.aliyuncs.com/compatible-mode/v1', {
      model: 'qwen3-max',
      provider: 'qwen',
    }),
  },
  {
    title: 'vLLM with Mistral’s template',
    ...overOpenAI('chat', 'http://localhost:8000/v1', { model: 'mistralai/Devstral-2', provider: 'vllm' }),
    rules: { host: 'vllm-mistral' },
  },
  {
    title: 'llama.cpp',
    ...overOpenAI('chat', 'http://localhost:8080/v1', { model: 'qwen3', provider: 'llamacpp' }),
    rules: { host: 'llamacpp' },
  },
]

/** Models whose requests packages of the AI SDK write. */
const OF_AI_SDK: readonly Pick<Hosted, 'title' | 'connect' | 'rules'>[] = [
  {
    title: 'the AI SDK’s OpenAI',
    connect: (fetch) => aiSdk(createOpenAI({ apiKey: 'none', fetch }).responses('gpt-5.1')),
  },
  {
    title: 'the AI SDK’s Anthropic',
    connect: (fetch) => aiSdk(createAnthropic({ apiKey: 'none', fetch })('claude-sonnet-4-6')),
  },
]

const ALL = [...HOSTED, ...OF_AI_SDK]

/** The names of all of them. */
export const HOSTED_MODELS: readonly string[] = ALL.map(({ title }) => title)

/** A model whose requests can be written without a client, and where they go. */
export interface HostedTarget {
  readonly title: string
  readonly wire: WireName
  readonly model: Model
  readonly address: { readonly url: string } | { readonly host: Host }
}

export const hostedTargets: readonly HostedTarget[] = HOSTED.map(({ title, wire, baseURL, connect, rules }) => ({
  title,
  wire,
  model: connect(() => Promise.reject(new Error('no request is made'))),
  address: rules?.host ? { host: rules.host } : { url: baseURL },
}))

export function hostedModel(title: string): HostedModel {
  const hosted = ALL.find((one) => one.title === title)
  if (!hosted) throw new Error(`no model ${title}`)
  let next: ScriptResponse | undefined
  const mock = mockModels({
    ...(hosted.rules && { rules: hosted.rules }),
    script: () => {
      if (!next) throw new Error(`${title} has no reply`)
      return next
    },
  })
  return {
    title,
    model: hosted.connect(mock.fetch),
    reply(response) {
      next = response
    },
    checked() {
      mock.assertComplete()
      return mock.requests.length
    },
  }
}
