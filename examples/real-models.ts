// The adapters, each over the official client that you create: it has the keys, proxies and time limits. With OPENAI_API_KEY or
// ANTHROPIC_API_KEY set it calls that model; without a key, it only lists the models.

import Anthropic from '@anthropic-ai/sdk'
import { createAgent, type Model } from '@meanwhile/core'
import { anthropic } from '@meanwhile/models/anthropic'
import { openai } from '@meanwhile/models/openai'
import OpenAI from 'openai'

const gpt = () => openai({ client: new OpenAI(), model: 'gpt-5.1' }) // the Responses API

const claude = () => anthropic({ client: new Anthropic(), model: 'claude-sonnet-4-6', maxTokens: 8_000 })

const local = (): Model =>
  openai({
    client: new OpenAI({ baseURL: 'http://localhost:1234/v1', apiKey: 'none' }),
    model: 'qwen3',
    api: 'chat', // most compatible hosts have only Chat Completions
    provider: 'lm-studio', // the name under which you pass provider options
  })

const model = process.env.OPENAI_API_KEY ? gpt() : process.env.ANTHROPIC_API_KEY ? claude() : undefined
if (model) {
  const settings = { maxTokens: 2_000, providerOptions: { openai: { reasoning: { effort: 'low' } } } }
  const agent = createAgent({ model, settings })
  console.log((await agent.run('Say hello.')).text)
} else {
  const { provider, id } = local()
  console.log(`without a key you could use ${id} of ${provider}, if it is running`)
}
