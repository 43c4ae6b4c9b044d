/** LangChain's chat model for Anthropic, instead of `packages/eager-tools/test/chat-models.ts`. */

import { ChatAnthropic } from '@langchain/anthropic'
import type { ChatModelCase } from '../../../packages/eager-tools/test/chat-models.ts'

export const chatModels: readonly ChatModelCase[] = [
  {
    name: 'anthropic',
    sealed: 100,
    model: (fetch) =>
      new ChatAnthropic({
        apiKey: 'none',
        model: 'claude',
        maxTokens: 100,
        clientOptions: { baseURL: 'http://models.test', fetch },
      }),
  },
]
