/** What people who know the AI SDK write first, in JavaScript: each error says what to write instead. */

import { createOpenAI } from '@ai-sdk/openai'
import { scriptedModel } from '@meanwhile/assemble/testing'
import { type AgentOptions, createAgent, type RunInput, type RunOptions, type Tool, tool } from '@meanwhile/core'
import { approve, standard } from '@meanwhile/middleware'
import { chatHandler } from '@meanwhile/ui/ai-sdk'
import { tool as sdkTool } from 'ai'
import { expect, test } from 'vitest'
import { z } from 'zod'

const model = scriptedModel([])
const input = z.object({ city: z.string() })
const weather = tool({ name: 'weather', description: 'The weather.', input, execute: () => 'sunny' }) as Tool
const theirs = sdkTool({ description: 'The weather.', inputSchema: input, execute: () => 'sunny' })

/** Without types. */
const agentOf = (options: object) => createAgent({ model, ...options } as AgentOptions)
const runOf = (given: unknown, options?: object) => agentOf({}).run(given as RunInput, options as RunOptions)

const HABITS: readonly (readonly [string, () => unknown, string])[] = [
  ['a model of the AI SDK', () => agentOf({ model: createOpenAI({ apiKey: 'none' })('gpt-5') }), 'write aiSdk(model)'],
  ['the name of a model', () => agentOf({ model: 'openai/gpt-5' }), 'such as openai({ client, model })'],
  ['tools by name', () => agentOf({ tools: { weather } }), 'must be a list: [weather], not { weather }'],
  ['a tool of the AI SDK', () => agentOf({ tools: [theirs] }), 'make each with tool({ name, description'],
  ['a tool with an inputSchema', () => tool({ ...theirs, name: 'a' } as never), 'did you mean input?'],
  ['system', () => agentOf({ system: 'Be brief.' }), 'did you mean instructions?'],
  ['stopWhen', () => agentOf({ stopWhen: () => true }), 'did you mean maxSteps?'],
  ['maxOutputTokens', () => agentOf({ maxOutputTokens: 9 }), 'did you mean settings?'],
  ['maxOutputTokens of the settings', () => agentOf({ settings: { maxOutputTokens: 9 } }), 'did you mean maxTokens?'],
  ['a schema', () => agentOf({ schema: input }), 'did you mean output?'],
  ['maxRetries', () => agentOf({ maxRetries: 3 }), 'did you mean middleware?'],
  ['prepareStep', () => agentOf({ prepareStep: () => ({}) }), 'did you mean middleware?'],
  ['onStepFinish', () => agentOf({ onStepFinish: () => {} }), 'did you mean middleware?'],
  ['experimental_telemetry', () => agentOf({ experimental_telemetry: {} }), 'did you mean telemetry?'],
  ['a choice with a type', () => agentOf({ toolChoice: { type: 'tool', toolName: 'weather' } }), 'or { tool: name }'],
  ['standard without a call', () => agentOf({ middleware: standard }), 'call the function that makes it'],
  ['standard in a list', () => agentOf({ middleware: [standard()] }), 'spread it, [...list]'],
  ['a prompt', () => runOf({ prompt: 'Hi' }), 'not { messages }'],
  ['messages in an object', () => runOf({ messages: [] }), 'not { messages }'],
  ['a system message', () => runOf([{ role: 'system', content: 'Be brief.' }]), 'is the option instructions'],
  ['messages of useChat', () => runOf([{ role: 'user', parts: [] }]), 'fromUIMessages()'],
  ['abortSignal', () => runOf('Hi', { abortSignal: AbortSignal.abort() }), 'did you mean signal?'],
  ['experimental_context', () => runOf('Hi', { experimental_context: {} }), 'did you mean context?'],
  ['a chat handler of an agent', () => chatHandler({ agent: agentOf({}) } as never), 'did you mean threads?'],
  ['an agent as the options', () => chatHandler(agentOf({}) as never), 'chatHandler({ threads, open })'],
  ['providerOptions', () => agentOf({ providerOptions: {} }), 'did you mean settings?'],
  ['names instead of options', () => approve(['pay'] as never), 'must be an object with the options of approve'],
]

test.each(HABITS)('the error for %s says what to write instead (A2)', async (_, write, hint) => {
  await expect((async () => write())()).rejects.toMatchObject({ message: expect.stringContaining(hint) as string })
})
