/** Texts, contents, arguments and results that are empty, too long, or of another type. */

import { isRecord } from '@meanwhile/core/calls'
import { callsOf, each, entriesOf, partsOf, resultsOf } from './finds.ts'
import type { Entry } from './reading.ts'
import { ANTHROPIC_TYPES, type Find, KNOWN, OPENAI_SPEC, type RuleData, seen } from './rule.ts'
import { isText, list, members } from './values.ts'

const EMPTY_LIST =
  "Invalid '{path}': empty array. Expected an array with minimum length 1, but got an empty array instead."
const LONG_TEXT =
  "Invalid '{path}': string too long. Expected a string with maximum length 10485760, but got a string with length {length} instead."
const LONGEST = 10_485_760

/** Whether a message of Chat says nothing, in text or in parts. */
function isBlank({ value, parts }: Entry): boolean {
  if (isText(value.content)) return value.content === ''
  return parts.every((part) => part.type === 'text' && (part.value.text === '' || part.value.text === undefined))
}

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0
}

function parsed(text: unknown): unknown {
  try {
    return isText(text) ? JSON.parse(text) : undefined
  } catch {
    return undefined
  }
}

const noJson: Find = each(callsOf, ({ input }) => parsed(input) === undefined, '.function.arguments')

function isLong(text: unknown): { readonly length: number } | false {
  return isText(text) && text.length > LONGEST && { length: text.length }
}

export const content: readonly RuleData[] = [
  {
    id: 'chat/content-list-empty',
    sure: 'certain',
    says: EMPTY_LIST,
    sources: OPENAI_SPEC,
    finds: each(entriesOf, ({ value }) => isEmptyList(value.content), '.content'),
    bad: { 'messages[1].content': [] },
  },
  {
    id: 'chat/content-null',
    sure: 'certain',
    says: "Invalid value for 'content': expected a string, got null.",
    sources: [...OPENAI_SPEC, ...KNOWN],
    finds: each(
      entriesOf,
      ({ role, value, calls }) => {
        const other = value.function_call || value.refusal || value.audio
        const mayLack = role === 'assistant' && (calls.length > 0 || Boolean(other))
        return (value.content === null || value.content === undefined) && !mayLack
      },
      '.content',
    ),
    bad: { 'messages[1].content': null },
  },
  {
    id: 'chat/empty-assistant',
    sure: 'host',
    hosts: ['moonshot', 'mistral', 'llamacpp'],
    says: "the message at position {index} with role 'assistant' must not be empty",
    sources: seen(
      '2026-08',
      'LLMKube#935',
      'AstrBot#7202',
      'hermes-agent#90614',
      'synaplan#1115',
      'pie-ai-agent#115',
      'Mistral: "Assistant message must have either content or tool_calls, but not none"',
      `llama.cpp: "Assistant message must contain either 'content' or 'tool_calls'!"`,
    ),
    finds: each(
      entriesOf,
      (entry) =>
        entry.role === 'assistant' &&
        entry.calls.length === 0 &&
        !entry.value.function_call &&
        isBlank(entry) && { index: entry.index },
    ),
    bad: { 'messages[5].content': '' },
  },
  {
    id: 'chat/empty-user',
    sure: 'host',
    hosts: ['moonshot'],
    says: "the message at position {index} with role 'user' must not be empty",
    sources: seen('2026-08', 'Moonshot checks every role: likely'),
    finds: each(
      entriesOf,
      (entry) => (entry.role === 'user' || entry.role === 'system') && isBlank(entry) && { index: entry.index },
    ),
    bad: { 'messages[6].content': '' },
  },
  {
    id: 'chat/moonshot-text-empty',
    sure: 'host',
    hosts: ['moonshot'],
    says: 'Invalid request: text content is empty ({path})',
    sources: seen('2026-09', 'BerriAI/litellm#42186: in a part; a text "" in a message with calls is accepted'),
    finds: each(partsOf, ({ type, value }) => type === 'text' && value.text === ''),
    bad: { 'messages[1].content[0].text': '' },
  },
  {
    id: 'chat/text-long',
    sure: 'certain',
    hosts: ['openai', 'azure'],
    says: LONG_TEXT,
    sources: OPENAI_SPEC,
    finds: each(entriesOf, ({ value }) => isLong(value.content), '.content'),
    bad: { 'messages[6].content': 'x'.repeat(LONGEST + 1) },
  },
  {
    id: 'chat/tool-calls-empty',
    sure: 'certain',
    says: EMPTY_LIST,
    sources: seen('2026-11', 'quoted in 10 public files (OpenAI, DeepSeek)'),
    finds: each(entriesOf, ({ value }) => isEmptyList(value.tool_calls), '.tool_calls'),
    bad: { 'messages[5].tool_calls': [] },
  },
  {
    id: 'chat/call-arguments',
    sure: 'certain',
    says: "Invalid type for '{path}': expected a string",
    sources: OPENAI_SPEC,
    finds: each(callsOf, ({ name, input }) => name !== undefined && !isText(input), '.function.arguments'),
    bad: { 'messages[2].tool_calls[0].function.arguments': { city: 'Bern' } },
  },
  {
    id: 'chat/call-arguments-json',
    sure: 'host',
    hosts: ['vllm', 'vllm-mistral', 'vllm-gemma', 'llamacpp'],
    says: 'Failed to parse tool call arguments as JSON ({path})',
    sources: seen(
      '2026-09',
      'vllm-project/vllm#43995, #48922 ("the conversation is unrecoverable"), #47555',
      'local-inference-lab/vllm#684',
      'OpenHands SDK#2887',
      'mistral-vibe#615',
      'physics-intern#6',
    ),
    finds: noJson,
    bad: { 'messages[2].tool_calls[0].function.arguments': '{"city":' },
  },
  {
    id: 'chat/call-arguments-object',
    sure: 'likely',
    hosts: ['vllm', 'llamacpp', 'moonshot', 'deepseek', 'gemini', 'mistral'],
    says: "'str' object has no attribute 'items' ({path})",
    sources: seen(
      '2026-07',
      'vllm#47555 (scalars break templates of GLM and others); the other hosts convert to an object',
    ),
    finds: each(callsOf, ({ input }) => !isRecord(parsed(input)), '.function.arguments'),
    bad: { 'messages[2].tool_calls[0].function.arguments': '"Bern"' },
  },
  {
    id: 'responses/content-list-empty',
    sure: 'likely',
    says: EMPTY_LIST,
    sources: seen('2026-11', 'as on Chat; not quoted'),
    finds: each(entriesOf, ({ type, value }) => type === 'message' && isEmptyList(value.content), '.content'),
    bad: { 'input[6].content': [] },
  },
  {
    id: 'responses/text-long',
    sure: 'certain',
    says: LONG_TEXT,
    sources: OPENAI_SPEC,
    finds: each(entriesOf, ({ value }) => isLong(value.output), '.output'),
    bad: { 'input[3].output': 'x'.repeat(LONGEST + 1) },
  },
  {
    id: 'responses/call-arguments',
    sure: 'certain',
    says: "Invalid type for '{path}': expected a string",
    sources: OPENAI_SPEC,
    finds: each(callsOf, ({ input }) => !isText(input), '.arguments'),
    bad: { 'input[2].arguments': { city: 'Bern' } },
  },
  {
    id: 'messages/content-empty',
    sure: 'certain',
    says: 'messages.{i}: all messages must have non-empty content except for the optional final assistant message',
    sources: seen('2026-11', 'quoted in 10 public files'),
    finds: each(entriesOf, ({ index, role, parts }, { entries }) => {
      return parts.length === 0 && !(index === entries.length - 1 && role === 'assistant') && { i: index }
    }),
    bad: { 'messages[0].content': [] },
  },
  {
    id: 'messages/text-empty',
    sure: 'certain',
    says: 'messages: text content blocks must be non-empty',
    sources: seen('2026-05', 'claude-code#59812', 'anthropic-sdk-python#461'),
    finds: function* ({ parts, body }) {
      for (const { type, value, path } of parts) if (type === 'text' && value.text === '') yield { path }
      for (const [i, block] of list(body.system).entries())
        if (members(block).text === '') yield { path: `system.${i}` }
    },
    bad: { 'messages[2].content[2].text': '' },
  },
  {
    id: 'messages/text-blank',
    sure: 'certain',
    says: 'messages: text content blocks must contain non-whitespace text',
    sources: seen('2026-07', 'claude-code#23440', 'claude-code#23352', 'continue#9605', 'home-assistant#175637'),
    finds: each(partsOf, ({ type, value: { text }, inner }) => {
      return !inner && type === 'text' && isText(text) && text !== '' && text.trim() === ''
    }),
    bad: { 'messages[2].content[2].text': ' \n' },
  },
  {
    id: 'messages/use-input',
    sure: 'certain',
    says: '{path}.tool_use.input: Input should be a valid dictionary',
    sources: [...KNOWN, ...ANTHROPIC_TYPES],
    finds: each(callsOf, ({ input }) => !isRecord(input)),
    bad: { 'messages[1].content[1].input': [] },
  },
  {
    id: 'messages/error-empty',
    sure: 'certain',
    says: '{path}.tool_result: content cannot be empty if `is_error` is true',
    sources: seen('2026-06', 'oh-my-pi#2250', 'markform#153'),
    finds: each(resultsOf, ({ value }) => {
      const nothing = value.content === undefined || value.content === '' || isEmptyList(value.content)
      return value.is_error === true && nothing
    }),
    bad: { 'messages[2].content[1].is_error': true },
  },
  {
    id: 'messages/error-not-text',
    sure: 'certain',
    says: '{path}.tool_result: all content must be type "text" if "is_error" is true',
    sources: seen('2026-11', 'quoted in 7 public files ("permanently bricking the session")'),
    finds: each(resultsOf, ({ value }) => {
      return value.is_error === true && list(value.content).some((one) => !isRecord(one) || one.type !== 'text')
    }),
    bad: { 'messages[2].content[0].is_error': true },
  },
]
