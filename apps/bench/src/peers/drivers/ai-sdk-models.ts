/** A model of the AI SDK's providers, for libraries that accept one. */

import { exportsOf, type Load, type PeerTask } from '../driver.ts'

interface OpenAIProvider {
  chat(model: string): object
  responses(model: string): object
}

interface OpenAIModule {
  createOpenAI(settings: object): OpenAIProvider
}

interface AnthropicModule {
  createAnthropic(settings: object): (model: string) => object
}

export async function aiSdkModels(load: Load): Promise<(task: Pick<PeerTask, 'wire' | 'url'>) => object> {
  const { createOpenAI } = await exportsOf<OpenAIModule>(load, '@ai-sdk/openai', ['createOpenAI'])
  const { createAnthropic } = await exportsOf<AnthropicModule>(load, '@ai-sdk/anthropic', ['createAnthropic'])
  return ({ wire, url }) => {
    const settings = { baseURL: `${url}/v1`, apiKey: 'none' }
    if (wire === 'anthropic') return createAnthropic(settings)('scripted')
    const provider = createOpenAI(settings)
    return wire === 'openai-chat' ? provider.chat('scripted') : provider.responses('scripted')
  }
}
