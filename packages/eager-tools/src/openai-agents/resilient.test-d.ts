import { Agent, type Model, OpenAIChatCompletionsModel, OpenAIResponsesModel, Runner } from '@openai/agents'
import OpenAI from 'openai'
import { expectTypeOf, test } from 'vitest'
import { eager, resilient } from './index.ts'

test('several models are one model of an agent or a runner (RS16, RS18)', () => {
  const client = new OpenAI({ apiKey: 'none' })
  const models = [new OpenAIResponsesModel(client, 'gpt-5'), new OpenAIChatCompletionsModel(client, 'gpt-5')]
  const model = resilient(models, {
    onAttempt: (failed) => expectTypeOf(failed.model).toEqualTypeOf<Model>(),
    text: 'hold',
  })
  expectTypeOf(model).toEqualTypeOf<Model>()
  expectTypeOf(new Agent({ name: 'a', model }).model).toExtend<Model | string>()
  eager(new Runner({ model }), { weather: 'read' })
  // @ts-expect-error A name is not a model.
  resilient(['gpt-5'])
})
