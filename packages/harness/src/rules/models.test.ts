import { expect, test } from 'vitest'
import { type Trait, traitsOf } from './models.ts'

const OPENAI_REASONS = ['no-max-tokens', 'default-sampling', 'no-stop'] as const
const NEWER_REASONS = ['no-max-tokens', 'no-stop'] as const
const CLAUDE_45 = ['no-adaptive-thinking', 'one-sampling'] as const
const CLAUDE_46 = ['no-prefill', 'one-sampling'] as const
const CLAUDE_5 = ['no-prefill', 'no-sampling', 'no-thinking-budget'] as const
const CLAUDE_55 = [...CLAUDE_5, 'always-thinks', 'no-forced-choice'] as const
const CLAUDE_FABLE = [...CLAUDE_5, 'always-thinks'] as const
const KIMI = ['reasoning-before-calls', 'fixed-temperature'] as const

test.for<[model: string, traits: readonly Trait[]]>([
  ['claude-instant-1.2', ['no-adaptive-thinking']],
  ['claude-2.1', ['no-adaptive-thinking']],
  ['claude-3-7-sonnet-20250219', ['no-adaptive-thinking']],
  ['claude-opus-4', ['no-adaptive-thinking']],
  ['claude-opus-4-0', ['no-adaptive-thinking']],
  ['claude-opus-4-20250514', ['no-adaptive-thinking']],
  ['claude-opus-4@20250514', ['no-adaptive-thinking']],
  ['claude-opus-4-1-20250805', ['no-adaptive-thinking']],
  ['claude-sonnet-4-0', ['no-adaptive-thinking']],
  ['claude-sonnet-4-20250514', ['no-adaptive-thinking']],
  ['anthropic.claude-sonnet-4-20250514-v1:0', ['no-adaptive-thinking']],
  ['claude-haiku-4-5-20251001', CLAUDE_45],
  ['claude-sonnet-4-5-20250929', CLAUDE_45],
  ['claude-opus-4-5', CLAUDE_45],
  ['claude-opus-4-6', CLAUDE_46],
  ['claude-sonnet-4-6', CLAUDE_46],
  ['claude-opus-4-7', CLAUDE_5],
  ['claude-opus-4-8', CLAUDE_5],
  ['claude-opus-5', CLAUDE_5],
  ['claude-opus-5-20260501', CLAUDE_5],
  ['claude-sonnet-5', CLAUDE_5],
  ['claude-opus-5-5', CLAUDE_55],
  ['claude-sonnet-5-5', CLAUDE_55],
  ['Claude-Sonnet-5-5', CLAUDE_55],
  ['claude-fable-5', CLAUDE_FABLE],
  ['claude-fable-5-20260401', CLAUDE_FABLE],
  ['claude-fable-5-1', [...CLAUDE_FABLE, 'no-forced-choice']],
  ['claude-mythos-5', CLAUDE_FABLE],
  ['claude-haiku-5', ['no-prefill']],
  ['claude-haiku-5-5', CLAUDE_5],
  ['o3', OPENAI_REASONS],
  ['openai/o4-mini', OPENAI_REASONS],
  ['o1', ['no-max-tokens', 'default-sampling']],
  ['gpt-5', OPENAI_REASONS],
  ['openai/gpt-5-mini', OPENAI_REASONS],
  ['gpt-5.1', NEWER_REASONS],
  ['GPT-5.1', NEWER_REASONS],
  ['gpt-5-chat-latest', ['no-encrypted-reasoning']],
  ['gpt-5.1-chat-latest', ['no-encrypted-reasoning']],
  ['gpt-3.5-turbo', ['no-encrypted-reasoning']],
  ['openai/gpt-4o', ['no-encrypted-reasoning']],
  ['chatgpt-4o-latest', ['no-encrypted-reasoning']],
  ['kimi-k2-thinking', ['reasoning-before-calls']],
  ['kimi-thinking-preview', ['reasoning-before-calls']],
  ['deepseek-v4', ['reasoning-before-calls']],
  ['deepseek-ai/DeepSeek-V4', ['reasoning-before-calls']],
  ['deepseek-reasoner', ['reasoning-before-calls']],
  ['kimi-k2.5', ['reasoning-before-calls', 'no-empty-reasoning', 'fixed-temperature']],
  ['moonshotai/Kimi-K2.6', ['reasoning-before-calls', 'no-empty-reasoning', 'fixed-temperature']],
  ['kimi-k2.7', KIMI],
  ['kimi-k2.8', KIMI],
  ['kimi-k2.9', KIMI],
  ['kimi-k3', KIMI],
  ['gemini-3.1-pro', ['thought-signature']],
  ['google/Gemini-3-flash', ['thought-signature']],
  ['gemini-2.5-pro', []],
  ['kimi-k2', []],
  ['deepseek-chat', []],
  ['gpt-oss-120b', []],
  ['any', []],
])('what is known of %s (W23)', ([model, traits]) => {
  expect([...traitsOf(model)].sort()).toEqual([...traits].sort())
})
