import type { AssistantMessage, AssistantPart, Message, ModelRequest } from '@meanwhile/core'
import type { RulesChoice } from '@meanwhile/harness'
import { expect, test } from 'vitest'
import { handMade } from '../test/ai-sdk.ts'
import { ask, bodyOf, bodyThrough } from '../test/ask.ts'
import { chatHost, claudeModel, deepseek, gemini, kimi, responsesHost } from '../test/hosts.ts'
import { realModels } from '../test/real-models.ts'
import { chat, claude, responses, type TestWire } from '../test/wires.ts'
import { aiSdk } from './ai-sdk.ts'

const stop = [{ type: 'finish', finishReason: 'stop', usage: { inputTokens: 1, outputTokens: 1 } }] as const

const called = (id = 'a1', providerMetadata?: object): AssistantPart => ({
  type: 'tool-call',
  id,
  name: 'f',
  input: {},
  ...(providerMetadata && { providerMetadata: { ...providerMetadata } }),
})
const thought = (providerMetadata: object): AssistantPart => ({
  type: 'reasoning',
  text: 'Hm.',
  providerMetadata: { ...providerMetadata },
})
/** A turn with this answer of a model, and the results of its calls. */
const turn = (...content: readonly AssistantPart[]): readonly Message[] => [
  { role: 'user', content: 'Go' },
  { role: 'assistant', content, finishReason: 'tool-calls' } satisfies AssistantMessage,
  ...content.flatMap((part): Message[] =>
    part.type === 'tool-call'
      ? [{ role: 'tool', callId: part.id, name: 'f', content: [{ type: 'text', text: 'ok' }] }]
      : [],
  ),
]

async function sent(wire: TestWire, request: Partial<ModelRequest>, model?: TestWire['model'], rules?: RulesChoice) {
  return (await bodyOf(wire, request, model, rules)) as Record<string, unknown> & {
    messages: object[]
    input: object[]
  }
}

const foreign = thought({ anthropic: { signature: 'EqQB' } })

test('Kimi and DeepSeek get reasoning before each call, also of another model or of a turn without any (W16)', async () => {
  for (const [model, filler] of [
    [kimi, ' '],
    [chatHost('vllm', 'moonshotai/Kimi-K2-Thinking'), ' '],
    [deepseek, ''],
  ] as const) {
    for (const parts of [[called()], [foreign, called()], [{ type: 'text', text: 'Let me.' }, called()]] as const) {
      const { messages } = await sent(chat, { messages: turn(...parts) }, model)
      expect(messages[1]).toHaveProperty('reasoning_content', filler)
    }
  }
  const own = await sent(
    chat,
    { messages: turn(thought({ moonshot: { field: 'reasoning_content' } }), called()) },
    kimi,
  )
  expect(own.messages[1]).toHaveProperty('reasoning_content', 'Hm.')
  const moved = await sent(chat, { messages: turn(thought({ moonshot: { field: 'reasoning' } }), called()) }, kimi)
  expect(moved.messages[1]).toMatchObject({ reasoning_content: 'Hm.' })
  expect(moved.messages[1]).not.toHaveProperty('reasoning')
})

test('without thinking, without a call and on hosts that reject the member there is none (W16)', async () => {
  const off = { settings: { providerOptions: { moonshot: { thinking: { type: 'disabled' } } } } }
  const answered = turn({ type: 'text', text: 'Hi' })
  for (const [request, model] of [
    [{ messages: turn(called()), ...off }, kimi],
    [{ messages: answered }, kimi],
    [{ messages: turn(called()) }, chatHost('moonshot', 'kimi-k2-instruct')],
    [{ messages: turn(called()) }, chatHost('groq', 'moonshotai/kimi-k2-thinking')],
    [{ messages: turn(called()) }, undefined],
  ] as const)
    expect(JSON.stringify(await sent(chat, request, model))).not.toContain('reasoning_content')
})

test('Gemini 3 gets a signature at the first call of each message that has none (W16)', async () => {
  const own = { extra_content: { google: { thought_signature: 'Ab==' } } }
  const { messages } = await sent(
    chat,
    { messages: [...turn(called('a1'), called('a2')), ...turn(called('b1', { 'gcp.gemini': own }))] },
    gemini,
  )
  const dummy = { google: { thought_signature: 'skip_thought_signature_validator' } }
  expect(messages[1]).toMatchObject({ tool_calls: [{ id: 'a1', extra_content: dummy }, { id: 'a2' }] })
  expect(JSON.stringify(messages).match(/skip_thought/g)).toHaveLength(1)
  expect(messages[5]).toMatchObject({ tool_calls: [{ id: 'b1', ...own }] })
  const old = await sent(chat, { messages: turn(called()) }, chatHost('gcp.gemini', 'gemini-2.5-pro'))
  expect(JSON.stringify(old)).not.toContain('skip_thought')
})

const budget = { thinking: { type: 'enabled', budget_tokens: 2000 } }
const withBudget = { settings: { providerOptions: { anthropic: budget } } }

test('a turn with results that no thought begins is continued without a thinking budget (W16)', async () => {
  for (const parts of [[called()], [foreign], [{ type: 'text', text: 'Let me.' }, called()]] as const) {
    const messages = turn(...parts.filter((part) => part !== foreign), called('z9'))
    expect(await sent(claude, { messages, ...withBudget })).not.toHaveProperty('thinking')
  }
  const own = thought({ anthropic: { signature: 'EqQB' } })
  for (const messages of [
    turn(own, called()),
    [
      ...turn(called()),
      { role: 'assistant', content: [{ type: 'text', text: 'Hi' }], finishReason: 'stop' },
      { role: 'user', content: 'More' },
    ],
    [{ role: 'user', content: 'Go' }],
  ] as readonly (readonly Message[])[])
    expect(await sent(claude, { messages, ...withBudget })).toMatchObject(budget)
  const adaptive = { settings: { providerOptions: { anthropic: { thinking: { type: 'adaptive' } } } } }
  expect(await sent(claude, { messages: turn(called()), ...adaptive })).toHaveProperty('thinking')
})

test.each(realModels.filter(({ wire }) => wire === 'anthropic'))(
  '$title: through the AI SDK, too (W16)',
  async (real) => {
    const settings = { providerOptions: { anthropic: { thinking: { type: 'enabled', budgetTokens: 2000 } } } }
    const own = thought({ 'ai-sdk:anthropic': { signature: 'EqQB' } })
    expect(await bodyThrough(real, { messages: turn(called()), settings })).not.toHaveProperty('thinking')
    expect(await bodyThrough(real, { messages: turn(own, called()), settings })).toHaveProperty('thinking')
  },
)

test('a provider of Messages in the AI SDK reads a budget under two names, and both are removed (W16)', async () => {
  const thinking = { type: 'enabled', budgetTokens: 2000 }
  for (const providerOptions of [
    { anthropic: { thinking, effort: 'low' }, vertex: { thinking, speed: 'fast' } },
    { anthropic: { thinking, effort: 'low' }, vertex: { speed: 'fast' } },
    { anthropic: { effort: 'low' }, vertex: { thinking, speed: 'fast' } },
  ]) {
    const provider = 'vertex.anthropic.messages'
    const { model, asked } = handMade('v4', stop, { provider })
    await ask(aiSdk(model), { messages: turn(called()), settings: { providerOptions } })
    expect(asked[0]?.providerOptions).toEqual({ anthropic: { effort: 'low' }, vertex: { speed: 'fast' } })
  }
})

test('a reasoning item goes back without members that only an output has (W16)', async () => {
  const item = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAA' }
  for (const [more, expected] of [
    [{ status: 'completed' }, item],
    [{ status: null, content: null }, item],
    [{ summary: undefined }, item],
    [{ id: '' }, { type: 'reasoning', summary: [], encrypted_content: 'gAAA' }],
    [{ id: 'msg_1' }, { type: 'reasoning', summary: [], encrypted_content: 'gAAA' }],
  ] as const) {
    const { input } = await sent(responses, { messages: turn(thought({ openai: { ...item, ...more } }), called()) })
    expect(input[1]).toEqual(expected)
  }
  const twice = [...turn(thought({ openai: item }), called('a1')), ...turn(thought({ openai: item }), called('b1'))]
  const ids = (await sent(responses, { messages: twice })).input.flatMap((item) => ('id' in item ? [item.id] : []))
  expect(ids).toEqual(['rs_1'])
})

test('reasoning that OpenAI did not encrypt goes back only to other hosts, and none to a model that does not reason (W16)', async () => {
  const content = [{ type: 'reasoning_text', text: 'Hm.' }]
  const item = { type: 'reasoning', id: 'rs_1', summary: [], content }
  const of = (provider: string) => ({ messages: turn(thought({ [provider]: item }), called()) })
  expect((await sent(responses, of('openai'))).input[1]).toMatchObject({ type: 'function_call' })
  expect((await sent(responses, of('vllm'), responsesHost('vllm', 'm'), { host: 'vllm' })).input[1]).toMatchObject({
    content,
  })
  const encrypted = { messages: turn(thought({ openai: { ...item, encrypted_content: 'gAAA' } }), called()) }
  const old = await sent(responses, encrypted, responsesHost('openai', 'gpt-4o'))
  expect(old.input[1]).toMatchObject({ type: 'function_call' })
})

test('no member of another adapter goes out (W16)', async () => {
  const text = (own: object): AssistantPart => ({ type: 'text', text: 'Hi', providerMetadata: { openai: own } })
  const messages = turn(
    text({ itemId: 'msg_1', extra_content: { google: {} }, phase: 'commentary' }),
    called('a1', { openai: { itemId: 'fc_1', extra_content: {}, namespace: 'n' } }),
  )
  const { input } = await sent(responses, { messages })
  expect(input.slice(1, 3)).toEqual([
    { role: 'assistant', content: 'Hi', phase: 'commentary' },
    { type: 'function_call', namespace: 'n', call_id: 'a1', name: 'f', arguments: '{}' },
  ])
  expect(JSON.stringify(await sent(chat, { messages }))).not.toContain('namespace')
})

test('Claude on another host needs the same (W16)', async () => {
  expect(
    await sent(claude, { messages: turn(called()), ...withBudget }, claudeModel('claude-haiku-4-5')),
  ).not.toHaveProperty('thinking')
})
