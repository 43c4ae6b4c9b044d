/**
 * Models of the AI SDK for the tests of their adapter: hand-made ones of each version, and those of its own providers.
 */

import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAI as createOpenAIV2 } from '@ai-sdk/openai-v2'
import { createOpenAI as createOpenAIV3 } from '@ai-sdk/openai-v3'
import type { WireName } from '@meanwhile/harness'
import { type AiSdkModel, aiSdk } from '../src/ai-sdk.ts'
import { type Asked, ask } from './ask.ts'
import { chat, claude, responses, type TestWire } from './wires.ts'

export const VERSIONS = ['v2', 'v3', 'v4'] as const

type VersionName = (typeof VERSIONS)[number]
type Options = Parameters<AiSdkModel['doStream']>[0]
type Part = Awaited<ReturnType<AiSdkModel['doStream']>>['stream'] extends ReadableStream<infer P> ? P : never

/** A model that responds with these parts, and the requests it received. */
export function handMade(
  specificationVersion: VersionName,
  parts: readonly Part[],
  { provider = 'openai.responses', supportedUrls = {} }: Partial<Pick<AiSdkModel, 'provider' | 'supportedUrls'>> = {},
): { readonly model: AiSdkModel; readonly asked: Options[] } {
  const asked: Options[] = []
  const model: AiSdkModel = {
    specificationVersion,
    provider,
    modelId: 'm',
    supportedUrls,
    async doStream(options: Options) {
      asked.push(options)
      return { stream: ReadableStream.from(parts) }
    },
  }
  return { model, asked }
}

/** The events and the message for these parts. */
export function readParts(parts: readonly Part[], version: VersionName = 'v4'): Promise<Asked> {
  return ask(aiSdk(handMade(version, parts).model))
}

/** The AI SDK's provider for each wire, with our own adapter for the same wire. */
export interface RealModel {
  readonly title: string
  readonly wire: WireName
  readonly own: TestWire
  model(fetch: typeof globalThis.fetch): AiSdkModel
}

export const realModels: readonly RealModel[] = [
  {
    title: 'OpenAI Chat (v4)',
    wire: 'openai-chat',
    own: chat,
    model: (fetch) => createOpenAI({ apiKey: 'none', fetch }).chat('m'),
  },
  {
    title: 'OpenAI Chat (v3)',
    wire: 'openai-chat',
    own: chat,
    model: (fetch) => createOpenAIV3({ apiKey: 'none', fetch }).chat('m'),
  },
  {
    title: 'OpenAI Chat (v2)',
    wire: 'openai-chat',
    own: chat,
    model: (fetch) => createOpenAIV2({ apiKey: 'none', fetch }).chat('m'),
  },
  {
    title: 'OpenAI Responses (v4)',
    wire: 'openai-responses',
    own: responses,
    model: (fetch) => createOpenAI({ apiKey: 'none', fetch }).responses('m'),
  },
  {
    title: 'OpenAI Responses (v3)',
    wire: 'openai-responses',
    own: responses,
    model: (fetch) => createOpenAIV3({ apiKey: 'none', fetch }).responses('m'),
  },
  {
    title: 'OpenAI Responses (v2)',
    wire: 'openai-responses',
    own: responses,
    model: (fetch) => createOpenAIV2({ apiKey: 'none', fetch }).responses('m'),
  },
  {
    title: 'Anthropic Messages (v4)',
    wire: 'anthropic',
    own: claude,
    model: (fetch) => createAnthropic({ apiKey: 'none', fetch })('m'),
  },
]
