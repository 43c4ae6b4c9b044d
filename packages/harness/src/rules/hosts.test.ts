import { expect, test } from 'vitest'
import { WIRE_NAMES } from '../wires/wire-name.ts'
import { HOSTS, type Host, hostOf, knownHostOf } from './hosts.ts'

const CHAT = ['openai-chat'] as const
const OPENAI = ['openai-chat', 'openai-responses'] as const
const MESSAGES = ['anthropic'] as const

test.for([
  ['https://api.openai.com/v1/chat/completions', 'openai', OPENAI],
  ['https://eu.api.openai.com/v1', 'openai', OPENAI],
  ['https://mine.openai.azure.com/openai/v1', 'azure', OPENAI],
  ['https://mine.services.ai.azure.com/models', 'azure', OPENAI],
  ['https://api.anthropic.com/v1/messages', 'anthropic', MESSAGES],
  ['https://bedrock-runtime.us-east-1.amazonaws.com/model', 'bedrock', MESSAGES],
  ['https://bedrock-mantle.us-east-1.api.aws/v1', 'bedrock', MESSAGES],
  ['https://api.mistral.ai/v1', 'mistral', CHAT],
  ['https://api.moonshot.ai/v1', 'moonshot', CHAT],
  ['https://api.moonshot.cn/v1', 'moonshot', CHAT],
  ['https://api.kimi.com/coding/v1', 'moonshot', CHAT],
  ['https://api.deepseek.com', 'deepseek', CHAT],
  ['https://api.groq.com/openai/v1', 'groq', OPENAI],
  ['https://api.cerebras.ai/v1', 'cerebras', CHAT],
  ['https://generativelanguage.googleapis.com/v1beta/openai', 'gemini', CHAT],
  ['https://us-central1-aiplatform.googleapis.com/v1', 'gemini', CHAT],
  ['https://api.x.ai/v1', 'xai', OPENAI],
  ['https://dashscope.aliyuncs.com/compatible-mode/v1', 'qwen', OPENAI],
  ['https://dashscope-intl.aliyuncs.com/compatible-mode/v1', 'qwen', OPENAI],
] as const)('%s belongs to %s, on the wires that it has (W23)', ([url, host, wires]) => {
  const knowing = WIRE_NAMES.filter((wire) => knownHostOf(wire, url) !== undefined)
  expect([knowing, knowing.map((wire) => hostOf(wire, url))]).toEqual([wires, wires.map(() => host)])
})

test('a URL of nobody belongs to the provider whose wire it is, as does one that only ends like a host (W23)', () => {
  for (const url of [
    'http://127.0.0.1:1/v1',
    'https://notopenai.com',
    'https://openai.com.example',
    'no URL',
    undefined,
  ]) {
    expect(WIRE_NAMES.map((wire) => knownHostOf(wire, url))).toEqual([undefined, undefined, undefined])
    expect(WIRE_NAMES.map((wire) => hostOf(wire, url))).toEqual(['openai', 'openai', 'anthropic'])
  }
})

test('the hosts are these (W23)', () => {
  const hosts: readonly Host[] = [
    'openai',
    'azure',
    'anthropic',
    'bedrock',
    'mistral',
    'moonshot',
    'deepseek',
    'groq',
    'cerebras',
    'gemini',
    'xai',
    'qwen',
    'vllm',
    'vllm-mistral',
    'vllm-gemma',
    'llamacpp',
  ]
  expect(HOSTS).toEqual(hosts)
})
