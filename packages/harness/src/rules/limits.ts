/** Counts and sizes of a request, and settings out of their range. */

import type { Host } from './hosts.ts'
import type { Reading } from './reading.ts'
import type { Found } from './rule.ts'
import {
  ANTHROPIC_TYPES,
  each,
  KNOWN,
  member,
  OPENAI_SPEC,
  type RuleData,
  type Source,
  seen,
  type Wrong,
  whole,
} from './rule.ts'
import { isRecord, isText, list, members, numberOf } from './values.ts'

const OPENAI: readonly Host[] = ['openai', 'azure']
/** The hosts that take 128 tools at most. */
const FEW_TOOLS: readonly Host[] = [...OPENAI, 'groq', 'moonshot', 'deepseek', 'gemini']
const CONTRACT: readonly Source[] = seen('2026-09', 'a public contract of each model, tried on 2026-09-29')
const TABLE: readonly Source[] = seen('2026-10', 'a public table of refusals, tried on 2026-10-04')

const MANY_TOOLS =
  "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length {length} instead."

function tooMany(value: unknown): Wrong {
  const { length } = list(value)
  return length > 128 && { length }
}

const NAME = "string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."

function isOddName(name: unknown): boolean {
  return name !== undefined && !(isText(name) && /^[a-zA-Z0-9_-]{1,64}$/.test(name))
}

function isOddMetadata(value: unknown): boolean {
  if (!isRecord(value)) return false
  const entries = Object.entries(value)
  return entries.length > 16 || entries.some(([key, text]) => key.length > 64 || !isText(text) || text.length > 512)
}

const METADATA = Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`key${i}`, 'x']))

const STOPS: Partial<Record<Host, number>> = {
  openai: 4,
  azure: 4,
  groq: 4,
  cerebras: 4,
  moonshot: 5,
  xai: 8,
  deepseek: 16,
}

/** Whether the budget is that of all thinking between calls, which may be more than one answer has. */
function mayInterleave({ tools, betas }: Reading): boolean {
  return tools.length > 0 && (betas?.some((beta) => beta.startsWith('interleaved-thinking-')) ?? true)
}

const PENALTIES = ['presence_penalty', 'frequency_penalty']

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null
}

export const limits: readonly RuleData[] = [
  {
    id: 'chat/tools-empty',
    sure: 'likely',
    says: "Invalid 'tools': empty array. Expected an array with minimum length 1, but got an empty array instead.",
    sources: KNOWN,
    finds: member('tools', (tools) => Array.isArray(tools) && tools.length === 0),
    bad: { tools: [], tool_choice: undefined, parallel_tool_calls: undefined },
  },
  {
    id: 'chat/tools-many',
    sure: 'certain',
    hosts: FEW_TOOLS,
    says: MANY_TOOLS,
    sources: seen(
      '2026-11',
      'zed#42393 (GPT-5)',
      'opencode#4909 (GPT-5.1)',
      'hexstrike-ai#29',
      'docs of Azure, Groq, Moonshot, DeepSeek and Gemini',
    ),
    finds: member('tools', tooMany),
    bad: { tools: Array.from({ length: 129 }, (_, i) => ({ type: 'function', function: { name: `t${i}` } })) },
  },
  {
    id: 'responses/tools-many',
    sure: 'likely',
    hosts: OPENAI,
    says: MANY_TOOLS,
    sources: seen('2026-11', 'quoted for Chat; the specification has no limit'),
    finds: member('tools', tooMany),
    bad: { tools: Array.from({ length: 129 }, (_, i) => ({ type: 'function', name: `t${i}`, parameters: null })) },
  },
  {
    id: 'chat/tool-description',
    sure: 'likely',
    hosts: OPENAI,
    says: "Invalid '{path}': string too long. Expected a string with maximum length 1024, but got a string with length {length} instead.",
    sources: seen('2025-04', 'open_deep_research#80 (Azure)', 'sentry-mcp#106', 'OpenHands#7167'),
    finds: each(
      ({ tools }) => tools,
      ({ value: { description } }) =>
        isText(description) && description.length > 1024 && { length: description.length },
      '.description',
    ),
    bad: { 'tools[0].function.description': 'x'.repeat(1025) },
  },
  {
    id: 'messages/tool-description-empty',
    sure: 'likely',
    hosts: ['bedrock'],
    says: '{path}.description: String should have at least 1 character',
    sources: seen('2026-11', 'Bedrock'),
    finds: each(
      ({ tools }) => tools,
      ({ value }) => value.description === '',
    ),
    bad: { 'tools[0].description': '' },
  },
  {
    id: 'chat/max-tokens-reasoning',
    sure: 'likely',
    hosts: OPENAI,
    trait: 'no-max-tokens',
    says: "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    sources: KNOWN,
    finds: member('max_tokens', isSet),
    bad: { max_tokens: 100 },
  },
  {
    id: 'chat/sampling-reasoning',
    sure: 'certain',
    hosts: OPENAI,
    trait: 'default-sampling',
    says: "Unsupported value: '{path}' does not support {value} with this model. Only the default (1) value is supported.",
    sources: seen(
      '2026-10',
      'OpenAI docs, Reasoning models',
      'a public table of refusals; gpt-5.1 and later accept it without reasoning',
    ),
    finds: function* ({ body }): Generator<Found, void, undefined> {
      for (const path of ['temperature', 'top_p'])
        if (isSet(body[path]) && body[path] !== 1) yield { path, value: body[path] }
      for (const path of PENALTIES) if (body[path]) yield { path, value: body[path] }
    },
    bad: { model: 'gpt-5', temperature: 0.2 },
  },
  {
    id: 'responses/sampling-reasoning',
    sure: 'likely',
    hosts: OPENAI,
    trait: 'default-sampling',
    says: "Unsupported parameter: '{path}' is not supported with this model.",
    sources: KNOWN,
    finds: function* ({ body }): Generator<Found, void, undefined> {
      for (const path of ['temperature', 'top_p']) if (isSet(body[path])) yield { path }
    },
    bad: { model: 'o4-mini', temperature: 0.2 },
  },
  {
    id: 'chat/stop-reasoning',
    sure: 'certain',
    hosts: OPENAI,
    trait: 'no-stop',
    says: "Unsupported parameter: 'stop' is not supported with this model.",
    sources: OPENAI_SPEC,
    finds: member('stop', isSet),
    bad: { stop: 'END' },
  },
  {
    id: 'chat/stop-many',
    sure: 'certain',
    hosts: Object.keys(STOPS) as Host[],
    says: "Invalid 'stop': array too long. Expected an array with maximum length {limit}, but got an array with length {length} instead.",
    sources: [...OPENAI_SPEC, ...TABLE, ...seen('2026-11', 'DeepSeek docs: 16')],
    finds: member('stop', (stop, { host }) => {
      const limit = STOPS[host] ?? 4
      if (!Array.isArray(stop)) return false
      const { length } = stop
      return (length > limit || (length === 0 && OPENAI.includes(host))) && { limit, length }
    }),
    bad: { model: 'gpt-4.1', stop: ['a', 'b', 'c', 'd', 'e'] },
  },
  {
    id: 'chat/temperature-range',
    sure: 'certain',
    says: "Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got {value} instead.",
    sources: OPENAI_SPEC,
    finds: member('temperature', (value) => numberOf(value) < 0 || numberOf(value) > 2),
    bad: { temperature: 2.5 },
  },
  {
    id: 'chat/moonshot-temperature',
    sure: 'host',
    hosts: ['moonshot'],
    trait: 'fixed-temperature',
    says: 'invalid temperature: only 1 (with thinking) or 0.6 is allowed for this model',
    sources: seen('2026-11', 'Moonshot docs, fixed sampling of Kimi 2.5 and later'),
    finds: member('temperature', (value) => value !== 1 && value !== 0.6),
    bad: { model: 'kimi-k2.6', thinking: { type: 'disabled' }, temperature: 0.3 },
  },
  {
    id: 'chat/stream-options',
    sure: 'likely',
    says: "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
    sources: KNOWN,
    finds: member('stream_options', (value, { body }) => isSet(value) && body.stream !== true),
    bad: { stream: false, stream_options: { include_usage: true } },
  },
  {
    id: 'chat/format-name',
    sure: 'certain',
    says: `Invalid 'response_format.json_schema.name': ${NAME}`,
    sources: OPENAI_SPEC,
    finds: whole('response_format.json_schema.name', ({ body }) => {
      return isOddName(members(members(body.response_format).json_schema).name)
    }),
    bad: { 'response_format.json_schema.name': 'the answer' },
  },
  {
    id: 'responses/format-name',
    sure: 'certain',
    says: `Invalid 'text.format.name': ${NAME}`,
    sources: OPENAI_SPEC,
    finds: whole('text.format.name', ({ body }) => isOddName(members(members(body.text).format).name)),
    bad: { 'text.format.name': 'the answer' },
  },
  {
    id: 'chat/format-json-word',
    sure: 'certain',
    hosts: OPENAI,
    says: "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.",
    sources: seen('2026-11', 'OpenAI docs, JSON mode'),
    finds: whole('messages', ({ body, entries, parts }) => {
      if (members(body.response_format).type !== 'json_object') return false
      const texts = [...entries.map(({ value }) => value.content), ...parts.map(({ value }) => value.text)]
      return !texts.some((text) => isText(text) && /json/i.test(text))
    }),
    bad: { response_format: { type: 'json_object' } },
  },
  {
    id: 'chat/metadata',
    sure: 'certain',
    hosts: OPENAI,
    says: "Invalid 'metadata': at most 16 keys of 64 characters, values of 512 characters",
    sources: OPENAI_SPEC,
    finds: member('metadata', isOddMetadata),
    bad: { metadata: METADATA },
  },
  {
    id: 'responses/metadata',
    sure: 'certain',
    hosts: OPENAI,
    says: "Invalid 'metadata': at most 16 keys of 64 characters, values of 512 characters",
    sources: OPENAI_SPEC,
    finds: member('metadata', isOddMetadata),
    bad: { metadata: METADATA },
  },
  {
    id: 'responses/max-output-tokens',
    sure: 'certain',
    says: "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got {value} instead.",
    sources: [...OPENAI_SPEC, ...seen('2026-07', 'pi#6265', 'hindsight#58', 'Work-Review#41')],
    finds: member('max_output_tokens', (value) => value !== null && numberOf(value) < 16),
    bad: { max_output_tokens: 10 },
  },
  {
    id: 'messages/max-tokens',
    sure: 'certain',
    says: 'max_tokens: Field required',
    sources: ANTHROPIC_TYPES,
    // With 0 the provider only fills the prompt cache.
    finds: whole('max_tokens', ({ body }) => !(numberOf(body.max_tokens) >= 0)),
    bad: { max_tokens: undefined },
  },
  {
    id: 'messages/thinking-budget',
    sure: 'certain',
    says: '`max_tokens` must be greater than `thinking.budget_tokens`.',
    sources: seen('2026-11', 'Anthropic docs, Extended thinking: not with tools and the beta of interleaved thinking'),
    finds: whole('max_tokens', (request) => {
      const { thinking, max_tokens: most } = request.body
      const { type, budget_tokens: budget } = members(thinking)
      return type === 'enabled' && numberOf(budget) >= numberOf(most) && !mayInterleave(request)
    }),
    bad: { max_tokens: 1024, tools: undefined, tool_choice: undefined },
  },
  {
    id: 'messages/thinking-budget-min',
    sure: 'certain',
    says: 'thinking.enabled.budget_tokens: Input should be greater than or equal to 1024',
    sources: seen('2026-11', 'Anthropic docs, Extended thinking'),
    finds: whole('thinking.budget_tokens', ({ body }) => {
      const { type, budget_tokens: budget } = members(body.thinking)
      return type === 'enabled' && !(numberOf(budget) >= 1024)
    }),
    bad: { 'thinking.budget_tokens': 1000 },
  },
  {
    id: 'messages/thinking-budget-model',
    sure: 'certain',
    trait: 'no-thinking-budget',
    says: '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.',
    sources: seen(
      '2026-07',
      'srtab/daiv#1429 (Opus 4.7, 4.8, 5, Sonnet 5, Fable 5)',
      'OpenHands SDK#3427',
      'hermes-agent#11145',
    ),
    finds: whole('thinking.type', ({ body }) => members(body.thinking).type === 'enabled'),
    bad: { model: 'claude-opus-4-7' },
  },
  {
    id: 'messages/thinking-adaptive-model',
    sure: 'certain',
    trait: 'no-adaptive-thinking',
    says: '"thinking.type.adaptive" is not supported for this model',
    sources: CONTRACT,
    finds: whole('thinking.type', ({ body }) => members(body.thinking).type === 'adaptive'),
    bad: { thinking: { type: 'adaptive' } },
  },
  {
    id: 'messages/thinking-disabled-model',
    sure: 'certain',
    trait: 'always-thinks',
    says: '"thinking.type.disabled" is not supported for this model.',
    sources: [...CONTRACT, ...seen('2026-11', 'AWS docs, Adaptive thinking (Fable 5, Mythos 5)')],
    finds: whole('thinking.type', ({ body }) => members(body.thinking).type === 'disabled'),
    bad: { model: 'claude-opus-5-5', thinking: { type: 'disabled' } },
  },
  {
    id: 'messages/thinking-sampling',
    sure: 'certain',
    says: '`temperature` may only be set to 1 when thinking is enabled or in adaptive mode.',
    sources: seen('2026-08', 'modelparams.dev#214'),
    finds: whole('temperature', ({ body: { thinking, temperature, top_k: topK, top_p: topP } }) => {
      const { type } = members(thinking)
      if (type !== 'enabled' && type !== 'adaptive') return false
      return (isSet(temperature) && temperature !== 1) || isSet(topK) || (isSet(topP) && numberOf(topP) < 0.95)
    }),
    bad: { temperature: 0 },
  },
  {
    id: 'messages/sampling-model',
    sure: 'certain',
    trait: 'no-sampling',
    says: '`{path}` is deprecated for this model.',
    sources: [...CONTRACT, ...seen('2026-07', 'inspect_ai#3721', 'cherry-studio#15532', 'promptfoo#9500', 'daiv#1429')],
    finds: function* ({ body }): Generator<Found, void, undefined> {
      for (const path of ['temperature', 'top_p']) if (body[path] !== undefined && body[path] !== 1) yield { path }
      if (body.top_k !== undefined) yield { path: 'top_k' }
    },
    bad: { model: 'claude-opus-4-7', thinking: undefined, temperature: 0 },
  },
  {
    id: 'messages/sampling-both',
    sure: 'certain',
    trait: 'one-sampling',
    says: '`temperature` and `top_p` cannot both be specified for this model. Please use only one.',
    sources: [...CONTRACT, ...seen('2026-11', 'quoted in 10 public files')],
    finds: whole('temperature', ({ body }) => body.temperature !== undefined && body.top_p !== undefined),
    bad: { temperature: 1, top_p: 1 },
  },
  {
    id: 'messages/temperature',
    sure: 'certain',
    says: 'temperature: range: 0..1',
    sources: seen('2026-11', 'Anthropic docs, Messages'),
    finds: member('temperature', (value) => numberOf(value) < 0 || numberOf(value) > 1),
    bad: { thinking: undefined, temperature: 1.5 },
  },
  {
    id: 'messages/stop-blank',
    sure: 'certain',
    says: 'stop_sequences: each stop sequence must contain non-whitespace',
    sources: [...TABLE, ...seen('2026-11', 'quoted in 10 public files')],
    finds: member('stop_sequences', (value) => list(value).some((text) => isText(text) && text.trim() === '')),
    bad: { stop_sequences: ['\n'] },
  },
  {
    id: 'messages/metadata',
    sure: 'certain',
    says: 'metadata.{key}: Extra inputs are not permitted',
    sources: ANTHROPIC_TYPES,
    finds: member('metadata', (value) => {
      const key = Object.keys(members(value)).find((name) => name !== 'user_id')
      return key !== undefined && { key }
    }),
    bad: { metadata: { team: 'weather' } },
  },
]
