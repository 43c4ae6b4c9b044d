import type { ModelRequest } from '@meanwhile/core'
import { expect, test } from 'vitest'
import { handMade } from '../test/ai-sdk.ts'
import { ask, bodyOf, bodyThrough } from '../test/ask.ts'
import { claudeModel, deepseek, kimi } from '../test/hosts.ts'
import { realModels } from '../test/real-models.ts'
import { chat, claude, responses, wires } from '../test/wires.ts'
import { aiSdk } from './ai-sdk.ts'

const stop = [{ type: 'finish', finishReason: 'stop', usage: { inputTokens: 1, outputTokens: 1 } }] as const

const tools = ['f', 'final_answer'].map((name) => ({
  name,
  description: 'd',
  inputSchema: { type: 'object', properties: {} },
}))
const forced = { tools, toolChoice: { tool: 'final_answer' } } as const
const thinking = (type: string) => ({
  settings: { providerOptions: { anthropic: { thinking: { type, budget_tokens: 2000 } } } },
})

const refusing = [
  [claude, undefined, thinking('enabled')],
  [claude, undefined, thinking('adaptive')],
  [claude, claudeModel('claude-opus-5-5'), {}],
  [claude, claudeModel('claude-sonnet-5-5-20261001'), {}],
  [chat, kimi, {}],
  [chat, deepseek, {}],
] as const

test.each(refusing)(
  'where a tool may not be forced, only that tool is offered: %# (W20)',
  async (wire, model, more) => {
    const body = await bodyOf(wire, { ...forced, ...more }, model)
    expect(body).not.toHaveProperty('tool_choice')
    expect((body as { tools: unknown[] }).tools).toHaveLength(1)
    expect(JSON.stringify(body)).toContain('final_answer')
    const any = await bodyOf(wire, { tools, toolChoice: 'required', ...more }, model)
    expect(any).not.toHaveProperty('tool_choice')
    expect((any as { tools: unknown[] }).tools).toHaveLength(2)
    expect(await bodyOf(wire, { tools, toolChoice: 'none', ...more }, model)).toHaveProperty('tool_choice')
  },
)

test('where it may, it is (W20)', async () => {
  for (const [wire, model, more] of [
    [claude, claudeModel('claude-opus-5'), {}],
    [claude, undefined, thinking('disabled')],
    [chat, undefined, {}],
    [chat, kimi, { settings: { providerOptions: { moonshot: { thinking: { type: 'disabled' } } } } }],
    [responses, undefined, {}],
  ] as const) {
    const body = await bodyOf(wire, { ...forced, ...more }, model)
    expect(body).toHaveProperty('tool_choice')
    expect((body as { tools: unknown[] }).tools).toHaveLength(2)
  }
})

test.each(realModels.filter(({ wire }) => wire === 'anthropic'))(
  '$title: through the AI SDK, too (W20)',
  async (real) => {
    const settings = { providerOptions: { anthropic: { thinking: { type: 'enabled', budgetTokens: 2000 } } } }
    const body = await bodyThrough(real, { ...forced, settings })
    expect(body).not.toMatchObject({ tool_choice: { type: 'tool' } })
    expect((body as { tools: unknown[] }).tools).toHaveLength(1)
  },
)

/** What the packages for Messages read: the options of `anthropic`, and before them those under their own name. */
const merged = [
  ['vertex.anthropic.messages', { anthropic: 'enabled' }, false],
  ['bedrock.anthropic.messages', { anthropic: 'adaptive' }, false],
  ['bedrock.anthropic.messages', { bedrock: 'enabled' }, false],
  ['anthropic.messages', { anthropic: 'enabled' }, false],
  ['googleVertex.anthropic.messages', { vertex: 'enabled' }, false],
  ['vertex.anthropic.messages', { anthropic: 'enabled', vertex: 'disabled' }, true],
  ['vertex.anthropic.messages', { anthropic: 'disabled', vertex: 'enabled' }, false],
  ['vertex.anthropic.messages', { bedrock: 'enabled' }, true],
  ['mistral.chat', { anthropic: 'enabled' }, true],
] as const

test.each(merged)('%s with thinking in %o: a choice is forced: %s (W20)', async (provider, types, isForced) => {
  const { model, asked } = handMade('v4', stop, { provider })
  const providerOptions = Object.fromEntries(Object.entries(types).map(([key, type]) => [key, { thinking: { type } }]))
  await ask(aiSdk(model), { ...forced, settings: { providerOptions } })
  expect(asked[0]?.toolChoice?.type === 'tool').toBe(isForced)
})

const empty: Partial<ModelRequest> = { settings: { stopSequences: [], maxTokens: Infinity, parallelToolCalls: false } }

test.each(wires)('$name: settings that say nothing are left out (W20)', async (wire) => {
  const none = await bodyOf(wire, {})
  expect(await bodyOf(wire, empty)).toEqual(none)
  expect(await bodyOf(wire, { settings: { maxTokens: Number.NaN } })).toEqual(none)
})

test.each(realModels)('$title: through the AI SDK, too (W20)', async (real) => {
  expect(await bodyThrough(real, empty)).toEqual(await bodyThrough(real, {}))
})
