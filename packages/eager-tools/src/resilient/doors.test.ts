import { ChatOpenAI } from '@langchain/openai'
import { ConfigError } from '@meanwhile/core'
import type { Model } from '@openai/agents'
import { MockLanguageModelV4 } from 'ai/test'
import { expect, test } from 'vitest'
import * as aiSdk from '../ai-sdk/index.ts'
import * as langchain from '../langchain/index.ts'
import * as openaiAgents from '../openai-agents/index.ts'
import type { AttemptOptions } from './options.ts'

type Options = AttemptOptions<unknown>

const agentsModel: Model = {
  getResponse: () => Promise.reject(new Error('not asked')),
  getStreamedResponse: () => {
    throw new Error('not asked')
  },
}

const doors: Readonly<Record<string, (options: Options) => unknown>> = {
  'AI SDK': (options) => aiSdk.resilient([new MockLanguageModelV4()], options),
  LangChain: (options) => langchain.resilient([new ChatOpenAI({ model: 'm', apiKey: 'none' })], options),
  'OpenAI Agents': (options) => openaiAgents.resilient([agentsModel], options),
}

const good: Readonly<Required<Options>> = {
  retries: 0,
  idle: 1,
  firstOutput: Number.POSITIVE_INFINITY,
  when: () => true,
  text: 'hold',
  backoff: { baseDelay: 1, maxDelay: 2, jitter: 0, random: () => 0 },
  onAttempt: () => undefined,
}

const bad: readonly object[] = [
  { retries: '3' },
  { backoff: { maxDelay: '3' } },
  { retries: -1 },
  { idle: 0 },
  { firstOutput: 'long' },
  { when: true },
  { text: 'join' },
  { backoff: { baseDelay: -1 } },
  { onAttempt: 1 },
  { maxRetries: 3 },
  { timeout: 3 },
]

function refusal(of: () => unknown): string {
  try {
    of()
  } catch (error) {
    if (error instanceof ConfigError) return error.message
    throw error
  }
  throw new Error('it was not refused')
}

test('`resilient` has the same name, options and error for each library, and refuses wrong options in the same words (RS18)', () => {
  const made = Object.values(doors)
  for (const door of made) expect(door(good)).toBeTypeOf('object')
  for (const options of bad) {
    const refusals = new Set(made.map((door) => refusal(() => door(options))))
    expect([...refusals]).toEqual([expect.stringContaining(Object.keys(options)[0] ?? '')])
  }
  for (const options of bad.slice(0, 2)) for (const door of made) expect(() => door(options)).toThrow("not '3'")
  expect(langchain.ResilientError).toBe(aiSdk.ResilientError)
  expect(openaiAgents.ResilientError).toBe(aiSdk.ResilientError)
})
