import Anthropic from '@anthropic-ai/sdk'
import OpenAI, { AzureOpenAI } from 'openai'
import { expect, test } from 'vitest'
import { anthropic } from './anthropic.ts'
import { openai } from './openai.ts'

test('a model says who answers, under which name, and where', () => {
  const client = new OpenAI({ apiKey: 'none' })
  expect(openai({ client, model: 'gpt-5.1' })).toMatchObject({
    provider: 'openai',
    id: 'gpt-5.1',
    server: { address: 'api.openai.com', port: 443 },
  })
  const local = new OpenAI({ apiKey: 'none', baseURL: 'http://localhost:1234/v1' })
  expect(openai({ client: local, model: 'glm', api: 'chat', provider: 'lm-studio' })).toMatchObject({
    provider: 'lm-studio',
    id: 'glm',
    server: { address: 'localhost', port: 1234 },
  })
  expect(
    anthropic({ client: new Anthropic({ apiKey: 'none', baseURL: 'http://proxy' }), model: 'claude' }),
  ).toMatchObject({
    provider: 'anthropic',
    id: 'claude',
    server: { address: 'proxy', port: 80 },
  })
})

test('the sisters of the official clients fit as well', () => {
  const client = new AzureOpenAI({ apiKey: 'none', endpoint: 'https://me.openai.azure.com', apiVersion: 'preview' })
  expect(openai({ client, model: 'gpt-5.1', provider: 'azure.ai.openai' })).toMatchObject({
    provider: 'azure.ai.openai',
    server: { address: 'me.openai.azure.com', port: 443 },
  })
})
