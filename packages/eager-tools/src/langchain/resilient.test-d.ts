import { ChatAnthropic } from '@langchain/anthropic'
import type { BaseChatModel } from '@langchain/core/language_models/chat_models'
import { ChatOpenAI } from '@langchain/openai'
import { createAgent, tool } from 'langchain'
import { expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { eager, resilient } from './index.ts'

test('models of several vendors are one model of an agent, with and without eager() (RS17, RS18)', () => {
  const model = resilient([new ChatOpenAI({ model: 'gpt-5' }), new ChatAnthropic({ model: 'claude-sonnet-4-5' })], {
    when: ({ model, next, error }) => {
      expectTypeOf([model, next]).toEqualTypeOf<BaseChatModel[]>()
      expectTypeOf(error).toEqualTypeOf<unknown>()
      return model !== next
    },
    finishes: false,
  })
  const weather = tool(() => 'sunny', { name: 'weather', description: 'w', schema: z.object({ city: z.string() }) })
  createAgent({ model, tools: [weather] })
  createAgent(eager({ model, tools: [weather] }, { weather: 'read' }))
  // @ts-expect-error A name is not a model.
  resilient(['openai:gpt-5'])
  // @ts-expect-error An option of the AI SDK.
  resilient([model], { toolInput: 'live' })
})
