/** Models of hosts that the adapters know, for the tests of what is sent to them. */

import Anthropic from '@anthropic-ai/sdk'
import type { Model } from '@meanwhile/core'
import OpenAI from 'openai'
import { anthropic } from '../src/anthropic.ts'
import { openai } from '../src/openai.ts'

type Connect = (fetch: typeof globalThis.fetch) => Model

/** Their mocks keep the rules of these hosts. */
const ADDRESSES: Readonly<Record<string, string>> = {
  mistral_ai: 'https://api.mistral.ai/v1',
  moonshot: 'https://api.moonshot.ai/v1',
  deepseek: 'https://api.deepseek.com/v1',
  groq: 'https://api.groq.com/openai/v1',
  'gcp.gemini': 'https://generativelanguage.googleapis.com/v1beta/openai',
}

/** A model of a host with Chat Completions. */
export function chatHost(
  provider: string,
  model: string,
  baseURL = ADDRESSES[provider] ?? `https://${provider}.test/v1`,
): Connect {
  return (fetch) => {
    const client = new OpenAI({ apiKey: 'none', fetch, maxRetries: 0, baseURL })
    return openai({ client, model, api: 'chat', provider })
  }
}

/** A compatible host without its own name, at an address that is not known. */
export const compatible = chatHost('openai', 'm', 'https://proxy.test/v1')

export function responsesHost(provider: string, model: string): Connect {
  return (fetch) => openai({ client: new OpenAI({ apiKey: 'none', fetch, maxRetries: 0 }), model, provider })
}

export function claudeModel(model: string): Connect {
  return (fetch) => anthropic({ client: new Anthropic({ apiKey: 'none', fetch, maxRetries: 0 }), model })
}

export const mistral = chatHost('mistral_ai', 'mistral-large-latest')
export const kimi = chatHost('moonshot', 'kimi-k2.6')
export const deepseek = chatHost('deepseek', 'deepseek-v4-pro')
export const gemini = chatHost('gcp.gemini', 'gemini-3.1-pro')
