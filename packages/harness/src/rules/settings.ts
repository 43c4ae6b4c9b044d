/** The settings of a request that its model or its host refuses: sampling, thinking, and what may be sent when. */

import { member, whole } from './finds.ts'
import { OPENAI_HOSTS } from './hosts.ts'
import type { Reading } from './reading.ts'
import { ANTHROPIC_TYPES, type Found, KNOWN, OPENAI_SPEC, type RuleData, type Source, seen } from './rule.ts'
import { members, numberOf } from './values.ts'

const CONTRACT: readonly Source[] = seen('2026-09', 'a public contract of each model, tried on 2026-09-29')

const PENALTIES = ['presence_penalty', 'frequency_penalty']

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null
}

/** Whether the budget is that of all thinking between calls, which may be more than one answer has. */
function mayInterleave({ tools, betas }: Reading): boolean {
  return tools.length > 0 && (betas?.some((beta) => beta.startsWith('interleaved-thinking-')) ?? true)
}

export const settings: readonly RuleData[] = [
  {
    id: 'chat/max-tokens-reasoning',
    sure: 'likely',
    hosts: OPENAI_HOSTS,
    trait: 'no-max-tokens',
    says: "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    sources: KNOWN,
    finds: member('max_tokens', isSet),
    bad: { max_tokens: 100 },
  },
  {
    id: 'chat/sampling-reasoning',
    sure: 'certain',
    hosts: OPENAI_HOSTS,
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
    hosts: OPENAI_HOSTS,
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
    hosts: OPENAI_HOSTS,
    trait: 'no-stop',
    says: "Unsupported parameter: 'stop' is not supported with this model.",
    sources: OPENAI_SPEC,
    finds: member('stop', isSet),
    bad: { stop: 'END' },
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
]
