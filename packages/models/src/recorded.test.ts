import { readFileSync } from 'node:fs'
import Anthropic from '@anthropic-ai/sdk'
import type { AssistantMessage, Model } from '@meanwhile/core'
import { ModelError } from '@meanwhile/core'
import { mockModels, recordedResponse, type WireName } from '@meanwhile/harness'
import OpenAI from 'openai'
import { expect, test } from 'vitest'
import { ask, failureOf } from '../test/ask.ts'
import { anthropic } from './anthropic.ts'
import { openai } from './openai.ts'

// Recorded from real endpoints; see test-data/recorded-streams/README.md.

const chat = (name: string, provider: string) =>
  replay('openai-chat', name, (fetch) =>
    openai({ client: new OpenAI({ apiKey: 'none', fetch }), model: 'recorded', api: 'chat', provider }),
  )
const responses = (name: string, lines?: readonly string[]) =>
  replay(
    'openai-responses',
    name,
    (fetch) => openai({ client: new OpenAI({ apiKey: 'none', fetch }), model: 'recorded' }),
    lines,
  )
const claude = (name: string) =>
  replay('anthropic', name, (fetch) =>
    anthropic({ client: new Anthropic({ apiKey: 'none', fetch }), model: 'recorded' }),
  )

async function replay(
  wire: WireName,
  name: string,
  model: (fetch: typeof globalThis.fetch) => Model,
  lines: readonly string[] = linesOf(wire, name),
): Promise<AssistantMessage> {
  const mock = mockModels({ script: [recordedResponse(wire, lines)] })
  const { message } = await ask(model(mock.fetch))
  mock.assertComplete()
  return message
}

function linesOf(wire: WireName, name: string): string[] {
  const url = new URL(`../test-data/recorded-streams/${wire}/${name}.chunks.txt`, import.meta.url)
  return readFileSync(url, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
}

test('Qwen on Alibaba: a call whose later pieces have empty ids (qC8)', async () => {
  expect(await chat('alibaba-tool-call', 'alibaba')).toEqual({
    role: 'assistant',
    content: [
      {
        type: 'tool-call',
        id: 'call_eee11723464a4b9eb8cee71d',
        name: 'weather',
        input: { location: 'San Francisco' },
      },
    ],
    finishReason: 'tool-calls',
    usage: { inputTokens: 295, outputTokens: 22, cacheReadTokens: 0 },
    response: {
      id: 'chatcmpl-8e243c57-23b3-9db2-a02e-e3c53929c368',
      model: 'qwen3-max',
      finishReason: 'tool_calls',
    },
  })
})

test('DeepSeek: reasoning, then an answer', async () => {
  expect(await chat('deepseek-reasoning', 'deepseek')).toEqual({
    role: 'assistant',
    content: [
      {
        type: 'reasoning',
        text: 'We need to count the number of the letter "r" in the word "strawberry". The word is spelled: s-t-r-a-w-b-e-r-r-y. Let\'s list the letters and count the "r"s:\n\nPosition 1: s\n2: t\n3: r (first r)\n4: a\n5: w\n6: b\n7: e\n8: r (second r)\n9: r (third r)\n10: y\n\nSo there are three "r"s. But wait, let\'s double-check: "strawberry" indeed has three "r"s: one after "t", and then two consecutive "r"s before "y". So the answer is 3.\n\nThe question is straightforward. However, sometimes people might miscount. Let\'s ensure: The word has 10 letters. The "r"s are at positions 3, 8, and 9. So yes, 3.\n\nThus, the answer is 3.',
        providerMetadata: { deepseek: { field: 'reasoning_content' } },
      },
      { type: 'text', text: 'The word "strawberry" contains three "r"s.' },
    ],
    finishReason: 'stop',
    usage: { inputTokens: 18, outputTokens: 219, cacheReadTokens: 0, reasoningTokens: 205 },
    response: { id: 'cac7192e-e619-40c6-96b0-ed4276bc03ac', model: 'deepseek-reasoner', finishReason: 'stop' },
  })
})

test('DeepSeek: reasoning, then a call', async () => {
  expect(await chat('deepseek-tool-call', 'deepseek')).toEqual({
    role: 'assistant',
    content: [
      {
        type: 'reasoning',
        text: 'The user is asking for the weather in San Francisco. I need to use the weather tool to get this information. Let me invoke the weather tool with the location parameter set to "San Francisco".',
        providerMetadata: { deepseek: { field: 'reasoning_content' } },
      },
      {
        type: 'tool-call',
        id: 'call_00_ioIn7yN9p1ZOMNpDLwd4MgAF',
        name: 'weather',
        input: { location: 'San Francisco' },
      },
    ],
    finishReason: 'tool-calls',
    usage: { inputTokens: 339, outputTokens: 83, cacheReadTokens: 320, reasoningTokens: 39 },
    response: { id: 'cca85624-4056-401f-b220-d77601d1f70d', model: 'deepseek-reasoner', finishReason: 'tool_calls' },
  })
})

test('Groq: a call with `{}` as its arguments (G5)', async () => {
  expect(await chat('groq-tool-call', 'groq')).toEqual({
    role: 'assistant',
    content: [{ type: 'tool-call', id: 'tk85n1k4m', name: 'weather', input: {} }],
    finishReason: 'tool-calls',
    usage: { inputTokens: 210, outputTokens: 15 },
    response: {
      id: 'chatcmpl-b610d559-f156-4aca-8827-24b4fe6af54f',
      model: 'llama-3.3-70b-versatile',
      finishReason: 'tool_calls',
    },
  })
})

test('Mistral: a whole call, finish reason and usage in one chunk, without index and type (qC15)', async () => {
  expect(await chat('mistral-tool-call', 'mistral_ai')).toEqual({
    role: 'assistant',
    content: [{ type: 'tool-call', id: 'gSIMJiOkT', name: 'weather', input: { location: 'San Francisco' } }],
    finishReason: 'tool-calls',
    usage: { inputTokens: 124, outputTokens: 22 },
    response: { id: 'b3999b8c93e04e11bcbff7bcab829667', model: 'mistral-small-latest', finishReason: 'tool_calls' },
  })
})

test('xAI: reasoning, then a whole call in one chunk', async () => {
  expect(await chat('xai-tool-call', 'x_ai')).toEqual({
    role: 'assistant',
    content: [
      {
        type: 'reasoning',
        text: 'First, the user is',
        providerMetadata: { x_ai: { field: 'reasoning_content' } },
      },
      { type: 'tool-call', id: 'call_55117580', name: 'weather', input: { location: 'San Francisco' } },
    ],
    finishReason: 'tool-calls',
    usage: { inputTokens: 291, outputTokens: 26, cacheReadTokens: 290, reasoningTokens: 196 },
    response: { id: 'de9d896d-e946-b3a7-bb14-75ab33326930', model: 'grok-3-mini', finishReason: 'tool_calls' },
  })
})

test('Azure, Responses: a call', async () => {
  expect(await responses('azure-tool-call.1')).toEqual({
    role: 'assistant',
    content: [
      {
        type: 'tool-call',
        id: 'call_H5DxLSFnsGhiROnUiDHmgyc8',
        name: 'weather',
        input: { location: 'San Francisco' },
      },
    ],
    finishReason: 'tool-calls',
    usage: { inputTokens: 45, outputTokens: 24, cacheReadTokens: 0, reasoningTokens: 0 },
    response: {
      id: 'resp_04041325ab8ae30400698c519fb7fc81979972618138fc336d',
      model: 'gpt-5.1',
    },
  })
})

test('LM Studio, Responses: open reasoning, text and a call whose arguments arrive at once (qR1)', async () => {
  const thought =
    'The user is asking for the weather in San Francisco. I have a weather function available that takes a location parameter. The user has provided "San Francisco" as the location, so I have all the required information to make the function call.'
  expect(await responses('lmstudio-tool-call.1')).toEqual({
    role: 'assistant',
    content: [
      {
        type: 'reasoning',
        text: thought,
        providerMetadata: {
          openai: {
            id: 'rs_3yo6zy4vu4hq6iegqwhn1',
            type: 'reasoning',
            status: 'completed',
            summary: [],
            content: [{ type: 'reasoning_text', text: thought }],
          },
        },
      },
      { type: 'text', text: "I'll get the current weather information for San Francisco for you." },
      { type: 'tool-call', id: 'call_2025306790300011', name: 'weather', input: { location: 'San Francisco' } },
    ],
    finishReason: 'tool-calls',
    usage: { inputTokens: 182, outputTokens: 61, cacheReadTokens: 2, reasoningTokens: 48 },
    response: {
      id: 'resp_cc7bfe18e2f2eca93006515c0fd19cfed16e46a93a60444a',
      model: 'zai-org/glm-4.7-flash',
    },
  })
})

test('OpenAI, Responses: encrypted reasoning with a summary, calls and an answer in four responses', async () => {
  const recorded = linesOf('openai-responses', 'openai-reasoning-encrypted-content.1')
  const starts = recorded.flatMap((line, i) => (line.includes('"response.created"') ? [i] : []))
  const messages = await Promise.all(
    starts.map((start, i) => responses('', recorded.slice(start, starts[i + 1] ?? recorded.length))),
  )
  const reasoningItem = recorded
    .map((line) => JSON.parse(line))
    .find((event) => event.type === 'response.output_item.done' && event.item.type === 'reasoning').item
  expect(reasoningItem.encrypted_content).toMatch(/^gAAAAABpPDIVOKrsHNZ0GwsoEKA_IGfuJ5f8Ma_6-EojH4yZFL50q/)

  const response = (id: string) => ({ id, model: 'gpt-5.1-codex-max' })
  expect(messages).toEqual([
    {
      role: 'assistant',
      content: [
        {
          type: 'reasoning',
          text: "**Calculating step-by-step using calculator**\n\nI'll compute 12 plus 7, then multiply the result by 3, and finally multiply that by 10, reporting the final product.",
          providerMetadata: { openai: reasoningItem },
        },
        {
          type: 'tool-call',
          id: 'call_AB6AaRZ1FYZB2RwS6A5vbdqn',
          name: 'calculator',
          input: { a: 12, b: 7, op: 'add' },
        },
      ],
      finishReason: 'tool-calls',
      usage: { inputTokens: 134, outputTokens: 28, cacheReadTokens: 0, reasoningTokens: 0 },
      response: response('resp_01830d662ab3856501693c321345c88190b0de00f3b9975691'),
    },
    {
      role: 'assistant',
      content: [
        {
          type: 'tool-call',
          id: 'call_Q6pW65MUgW9vF59BmItYGos3',
          name: 'calculator',
          input: { a: 19, b: 3, op: 'multiply' },
        },
      ],
      finishReason: 'tool-calls',
      usage: { inputTokens: 221, outputTokens: 26, cacheReadTokens: 0, reasoningTokens: 0 },
      response: response('resp_01830d662ab3856501693c3215903881909b710d150ff65014'),
    },
    {
      role: 'assistant',
      content: [
        {
          type: 'tool-call',
          id: 'call_Zl5vIMnD7dVAjgU6FkhmiCZh',
          name: 'calculator',
          input: { a: 57, b: 10, op: 'multiply' },
        },
      ],
      finishReason: 'tool-calls',
      usage: { inputTokens: 260, outputTokens: 26, cacheReadTokens: 0, reasoningTokens: 0 },
      response: response('resp_01830d662ab3856501693c3216bef88190bf0e034cff24137b'),
    },
    {
      role: 'assistant',
      content: [{ type: 'text', text: 'The final result is **570**.' }],
      finishReason: 'stop',
      usage: { inputTokens: 299, outputTokens: 12, cacheReadTokens: 0, reasoningTokens: 0 },
      response: response('resp_01830d662ab3856501693c3217ba4c8190a3ddf6c839d4f12a'),
    },
  ])
})

// The first and the last line of this recording lack their closing brace.
test('Responses, a call that wraps others: in the original recording, an event that is not JSON is a ModelError', async () => {
  const recorded = linesOf('openai-responses', 'parallel-tool-call-wrapper.1')
  const { fetch } = mockModels({ script: [recordedResponse('openai-responses', recorded)] })
  const client = new OpenAI({ apiKey: 'none', fetch, logLevel: 'off' })
  const failure = await failureOf(ask(openai({ client, model: 'recorded' })))
  expect(failure).toBeInstanceOf(ModelError)
  expect(failure).toMatchObject({ code: 'invalid_chunk', retryable: true })
})

test('Responses, a call that wraps others: with the missing braces, the call as it is', async () => {
  const mended = linesOf('openai-responses', 'parallel-tool-call-wrapper.1').map((line) =>
    line.includes('"metadata":{}') ? `${line}}` : line,
  )
  expect(await responses('', mended)).toEqual({
    role: 'assistant',
    content: [
      {
        type: 'tool-call',
        id: 'call_parallel',
        name: 'parallel',
        input: {
          tool_uses: [
            { recipient_name: 'functions.weather', parameters: { location: 'San Francisco' } },
            { recipient_name: 'functions.cityAttractions', parameters: { city: 'Rome' } },
          ],
        },
      },
    ],
    finishReason: 'tool-calls',
    usage: { inputTokens: 34, outputTokens: 28, cacheReadTokens: 0, reasoningTokens: 0 },
    response: { id: 'resp_parallel', model: 'gpt-5.4' },
  })
})

test('Anthropic: text in many pieces', async () => {
  expect(await claude('anthropic-clear-tool-uses.1')).toEqual({
    role: 'assistant',
    content: [
      {
        type: 'text',
        text: "\n\nHere's a comparison of the weather in both cities:\n\n**San Francisco:**\n- Temperature: 72°F\n- Condition: Sunny\n\n**New York:**\n- Temperature: 65°F\n- Condition: Cloudy\n\n**Summary:**\nSan Francisco is warmer than New York by 7 degrees (72°F vs 65°F) and has better weather conditions with sunny skies, while New York is experiencing cloudy conditions. If you're looking for warm and sunny weather, San Francisco is the better choice right now.",
      },
    ],
    finishReason: 'stop',
    usage: { inputTokens: 859, outputTokens: 122, cacheReadTokens: 0, cacheWriteTokens: 0 },
    response: { id: 'msg_01YJG5jvxYUWfhVa6MSqT6qk', model: 'claude-haiku-4-5-20251001', finishReason: 'end_turn' },
  })
})

test('Anthropic: a call with nested arguments', async () => {
  expect(await claude('anthropic-json-tool.1')).toEqual({
    role: 'assistant',
    content: [
      {
        type: 'tool-call',
        id: 'toolu_01KFbKqPYSuAKujiL6mTfzYA',
        name: 'json',
        input: { elements: [{ location: 'San Francisco', temperature: 58, condition: 'sunny' }] },
      },
    ],
    finishReason: 'tool-calls',
    usage: { inputTokens: 849, outputTokens: 47, cacheReadTokens: 0, cacheWriteTokens: 0 },
    response: { id: 'msg_01K2JbSUMYhez5RHoK9ZCj9U', model: 'claude-haiku-4-5-20251001', finishReason: 'tool_use' },
  })
})

test('Anthropic: pings between the pieces of a call (qA1)', async () => {
  expect(await claude('anthropic-json-other-tool.1')).toEqual({
    role: 'assistant',
    content: [
      {
        type: 'tool-call',
        id: 'toolu_019Zvehfe1XQWweT1pm7okyt',
        name: 'weather',
        input: { location: 'San Francisco' },
      },
    ],
    finishReason: 'tool-calls',
    usage: { inputTokens: 843, outputTokens: 28, cacheReadTokens: 0, cacheWriteTokens: 0 },
    response: { id: 'msg_01CD3XaZfhNabxRt1SG5ybtK', model: 'claude-haiku-4-5-20251001', finishReason: 'tool_use' },
  })
})

test('Anthropic: text, then a call without arguments (qA2, qA8)', async () => {
  expect(await claude('anthropic-tool-no-args')).toEqual({
    role: 'assistant',
    content: [
      { type: 'text', text: "I'll update the issue list for you." },
      { type: 'tool-call', id: 'toolu_01QE1WLsSVp5hy5Q3GmGTmjP', name: 'updateIssueList', input: {} },
    ],
    finishReason: 'tool-calls',
    usage: { inputTokens: 565, outputTokens: 48, cacheReadTokens: 0, cacheWriteTokens: 0 },
    response: { id: 'msg_01GE2RKp1VYsPzdFs3sS9z5S', model: 'claude-sonnet-4-5-20250929', finishReason: 'tool_use' },
  })
})
