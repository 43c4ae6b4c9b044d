import Anthropic from '@anthropic-ai/sdk'
import OpenAI, { AzureOpenAI } from 'openai'
import { expect, test } from 'vitest'
import { aiSdk } from './ai-sdk.ts'
import { anthropic } from './anthropic.ts'
import { openai } from './openai.ts'

test('a model has its provider, id and server address', () => {
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

test('the related official clients fit as well', () => {
  const client = new AzureOpenAI({ apiKey: 'none', endpoint: 'https://me.openai.azure.com', apiVersion: 'preview' })
  expect(openai({ client, model: 'gpt-5.1', provider: 'azure.ai.openai' })).toMatchObject({
    provider: 'azure.ai.openai',
    server: { address: 'me.openai.azure.com', port: 443 },
  })
})

const gpt = new OpenAI({ apiKey: 'none' })
const claude = new Anthropic({ apiKey: 'none' })

test.for<readonly [what: string, option: string, make: () => unknown]>([
  ['no options', 'client', () => openai(undefined as never)],
  ['a name alone', 'client', () => openai('gpt-5.1' as never)],
  ['no client', 'client', () => openai({ model: 'gpt-5.1' } as never)],
  ['a client of Anthropic’s', 'client', () => openai({ client: claude as never, model: 'gpt-5.1' })],
  ['no model', 'model', () => openai({ client: gpt } as never)],
  ['an API there is not', 'api', () => openai({ client: gpt, model: 'gpt-5.1', api: 'completions' as never })],
  ['no time', 'idleTimeout', () => openai({ client: gpt, model: 'gpt-5.1', idleTimeout: 0 })],
  ['no options for Claude', 'client', () => anthropic(undefined as never)],
  ['a client of OpenAI’s', 'client', () => anthropic({ client: gpt as never, model: 'claude' })],
  ['no model of Claude’s', 'model', () => anthropic({ client: claude } as never)],
  ['no tokens', 'maxTokens', () => anthropic({ client: claude, model: 'claude', maxTokens: 0 })],
  ['no model of the AI SDK', 'model', () => aiSdk(undefined as never)],
  ['a model name for the gateway', 'model', () => aiSdk('openai/gpt-5.1' as never)],
  [
    'an invalid idle timeout',
    'idleTimeout',
    () => aiSdk({ doStream() {}, provider: 'x' } as never, { idleTimeout: -1 }),
  ],
])('%s is refused with a ConfigError that names %s (A2)', ([, option, make]) => {
  expect(make).toThrow(expect.objectContaining({ name: 'ConfigError', option }))
})

test('the error for a string in the place of a number shows that it is one (A2)', () => {
  const three = '3' as never
  expect(() => openai({ client: gpt, model: 'gpt-5.1', idleTimeout: three })).toThrow("or Infinity, not '3'")
  expect(() => anthropic({ client: claude, model: 'claude', maxTokens: three })).toThrow("a positive integer, not '3'")
})
