import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { expect, test } from 'vitest'
import { aiSdk } from './ai-sdk.ts'
import { anthropic, messagesWire } from './anthropic.ts'
import { chatWire, openai, responsesWire } from './openai.ts'

const claude = { client: new Anthropic({ apiKey: 'none' }), model: 'claude-opus-4-5' }
const gpt = { client: new OpenAI({ apiKey: 'none' }), model: 'gpt-5.1' }
const sdk = { specificationVersion: 'v3', provider: 'x', modelId: 'y', doStream: () => undefined }

test.each<[string, string, () => unknown]>([
  ['maxToken', 'anthropic; did you mean maxTokens?', () => anthropic({ ...claude, maxToken: 1 } as typeof claude)],
  ['timeout', 'anthropic; did you mean idleTimeout?', () => anthropic({ ...claude, timeout: 1 } as typeof claude)],
  ['temperature', 'openai; the options are: client, model, ', () => openai({ ...gpt, temperature: 0 } as typeof gpt)],
  ['apis', 'openai; did you mean api?', () => openai({ ...gpt, apis: 'chat' } as typeof gpt)],
  ['idletimeout', 'aiSdk; did you mean idleTimeout?', () => aiSdk(sdk as never, { idletimeout: 1 } as object)],
  ['providers', 'chatWire; did you mean provider?', () => chatWire({ providers: 'x' } as object)],
  ['providers', 'responsesWire; did you mean provider?', () => responsesWire({ providers: 'x' } as object)],
  ['providers', 'messagesWire; did you mean provider?', () => messagesWire({ providers: 'x' } as object)],
])('an unknown option %s is a ConfigError: %s (P23)', (option, hint, make) => {
  const message = expect.stringContaining(`${option}: is not an option of ${hint}`) as string
  expect(make).toThrow(expect.objectContaining({ name: 'ConfigError', option, message }))
})
