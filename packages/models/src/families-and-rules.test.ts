import { changedBody, HOSTS, type Host, refusals } from '@meanwhile/harness/rules'
import { expect, test } from 'vitest'
import { familyOf, targetOf } from './families.ts'
import type { WireName } from './wire-name.ts'

/** Whether a host refuses the sound request with this change by the rule. */
function isRefused(wire: WireName, rule: string, change: object, host?: Host): boolean {
  return refusals(wire, changedBody(wire, { ...change }), { ...(host && { host }) }).some((one) => one.rule === rule)
}

const CLAUDE = [
  'claude-3-7-sonnet-20250219',
  'claude-opus-4-20250514',
  'claude-opus-4-1-20250805',
  'claude-haiku-4-5-20251001',
  'claude-sonnet-4-5',
  'claude-opus-4-6',
  'claude-opus-4-8',
  'claude-opus-5',
  'claude-opus-5-5',
  'claude-sonnet-5',
  'claude-sonnet-5-5',
  'claude-fable-5',
  'claude-fable-5-1',
  'claude-haiku-5',
  'claude-haiku-5-5',
  'claude-mythos-5',
  'Claude-Opus-5-5',
]

test('the adapters and the mock endpoints agree on the models that are never forced to call (W20, W23)', () => {
  const forced = { thinking: undefined, tool_choice: { type: 'any' } }
  const refused = CLAUDE.filter((model) => isRefused('anthropic', 'messages/choice-model', { ...forced, model }))
  expect(CLAUDE.filter((model) => familyOf(model).isNeverForced)).toEqual(refused)
  expect(refused).toEqual(['claude-opus-5-5', 'claude-sonnet-5-5', 'claude-fable-5-1', 'Claude-Opus-5-5'])
})

test.for<[model: string, host: Host]>([
  ['kimi-k2', 'moonshot'],
  ['kimi-k2-thinking', 'moonshot'],
  ['kimi-thinking-preview', 'moonshot'],
  ['kimi-k2.5', 'moonshot'],
  ['kimi-k2.6', 'moonshot'],
  ['moonshotai/Kimi-K2.6', 'moonshot'],
  ['kimi-k2.9', 'moonshot'],
  ['kimi-k3', 'moonshot'],
  ['deepseek-chat', 'deepseek'],
  ['deepseek-reasoner', 'deepseek'],
  ['deepseek-v4', 'deepseek'],
  ['deepseek-ai/DeepSeek-V4', 'deepseek'],
])('they agree whether %s needs reasoning before a call, and which passes for none (W16, W23)', ([model, host]) => {
  const rule = 'chat/reasoning-missing'
  const { reasons = false, noReasoning } = familyOf(model)
  expect(reasons).toBe(isRefused('openai-chat', rule, { model }, host))
  const filled = { model, 'messages[2].reasoning_content': noReasoning }
  expect(isRefused('openai-chat', rule, filled, host)).toBe(false)
})

test('they agree on the models that sign their thoughts, and on those that never reason (W16, W23)', () => {
  const gemini = ['gemini-2.5-pro', 'gemini-3-flash', 'gemini-3.1-pro', 'google/Gemini-3.1-pro']
  const change = { 'messages[6]': undefined, 'messages[5]': undefined }
  const signing = gemini.filter((model) =>
    isRefused('openai-chat', 'chat/gemini-thought-signature', { ...change, model }, 'gemini'),
  )
  expect(gemini.filter((model) => familyOf(model).isGemini3)).toEqual(signing)

  const openai = [
    'gpt-3.5-turbo',
    'gpt-4',
    'gpt-4o',
    'gpt-4.1',
    'chatgpt-4o-latest',
    'gpt-5',
    'gpt-5-chat-latest',
    'gpt-5.1',
    'gpt-5.1-chat-latest',
    'o1',
    'o3',
    'o4-mini',
    'openai/GPT-4o',
    'openai/gpt-5',
  ]
  const never = openai.filter((model) => isRefused('openai-responses', 'responses/encrypted-not-reasoning', { model }))
  expect(openai.filter((model) => familyOf(model).neverReasons)).toEqual(never)
})

/** The names under which users and the AI SDK know hosts. */
const PROVIDERS: Readonly<Partial<Record<Host, string>>> = {
  openai: 'openai',
  azure: 'azure',
  mistral: 'mistral',
  moonshot: 'moonshotai',
  deepseek: 'deepseek',
  groq: 'groq',
  cerebras: 'cerebras',
  gemini: 'google',
  llamacpp: 'llama.cpp',
  xai: 'xai',
  qwen: 'qwen',
  vllm: 'vllm',
}

const PARAMETERS = 'tools[0].function.parameters'

test('they agree on what hosts of Chat take (W14, W17, W23)', () => {
  const many = { tools: Array.from({ length: 129 }, (_, i) => ({ type: 'function', function: { name: `t${i}` } })) }
  for (const host of HOSTS) {
    const provider = PROVIDERS[host]
    if (provider === undefined) continue
    const known = targetOf('openai-chat', { provider, id: 'any' }).host
    const refused = (rule: string, change: object) => isRefused('openai-chat', rule, change, host)
    expect([host, known.mostTools]).toEqual([host, refused('chat/tools-many', many) ? 128 : undefined])
    expect([host, known.needsTypes ?? false]).toEqual([
      host,
      refused('chat/moonshot-schema-type', { [`${PARAMETERS}.properties.city`]: {} }),
    ])
    expect([host, known.anchorsPatterns ?? false]).toEqual([
      host,
      refused('chat/llamacpp-pattern', { [`${PARAMETERS}.properties.city.pattern`]: '[A-Z]' }),
    ])
    expect([host, known.isMistral ?? false]).toEqual([
      host,
      refused('chat/mistral-call-id', {
        'messages[2].tool_calls[0].id': 'call_1',
        'messages[4].tool_call_id': 'call_1',
      }),
    ])
    expect([host, known.isOpenAI ?? false]).toEqual([host, refused('chat/unknown-member', { top_k: 1 })])
  }
})
