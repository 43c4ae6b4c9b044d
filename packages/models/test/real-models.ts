/**
 * The models of the AI SDK's own providers, for the tests of their adapter. `npm run test:versions` runs these tests with the older providers
 * of `apps/tests/versions/real-models.ts`.
 */

import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import type { WireName } from '@meanwhile/harness'
import type { AiSdkModel } from '../src/ai-sdk.ts'
import { chat, claude, responses, type TestWire } from './wires.ts'

/** A model of the AI SDK, with our own adapter for the same wire. */
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
    title: 'OpenAI Responses (v4)',
    wire: 'openai-responses',
    own: responses,
    model: (fetch) => createOpenAI({ apiKey: 'none', fetch }).responses('m'),
  },
  {
    title: 'Anthropic Messages (v4)',
    wire: 'anthropic',
    own: claude,
    model: (fetch) => createAnthropic({ apiKey: 'none', fetch })('m'),
  },
]
