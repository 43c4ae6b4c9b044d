/** The older providers of the AI SDK, instead of `packages/models/test/real-models.ts`. */

import { createOpenAI as createOpenAIV2 } from '@ai-sdk/openai-v2'
import { createOpenAI as createOpenAIV3 } from '@ai-sdk/openai-v3'
import type { RealModel } from '../../../packages/models/test/real-models.ts'
import { chat, responses } from '../../../packages/models/test/wires.ts'

export const realModels: readonly RealModel[] = [
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
]
