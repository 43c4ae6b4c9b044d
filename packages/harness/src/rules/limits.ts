/** How many and how long the parts of a request may be, and how names and metadata are written. */

import { isRecord } from '@meanwhile/core/calls'
import { each, member, toolsOf, whole } from './finds.ts'
import { type Host, OPENAI_HOSTS } from './hosts.ts'
import { ANTHROPIC_TYPES, KNOWN, OPENAI_SPEC, type RuleData, type Source, seen, type Wrong } from './rule.ts'
import { isText, list, members } from './values.ts'

/** The hosts that take 128 tools at most. */
const FEW_TOOLS: readonly Host[] = [...OPENAI_HOSTS, 'groq', 'moonshot', 'deepseek', 'gemini']
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
    hosts: OPENAI_HOSTS,
    says: MANY_TOOLS,
    sources: seen('2026-11', 'quoted for Chat; the specification has no limit'),
    finds: member('tools', tooMany),
    bad: { tools: Array.from({ length: 129 }, (_, i) => ({ type: 'function', name: `t${i}`, parameters: null })) },
  },
  {
    id: 'chat/tool-description',
    sure: 'likely',
    hosts: OPENAI_HOSTS,
    says: "Invalid '{path}': string too long. Expected a string with maximum length 1024, but got a string with length {length} instead.",
    sources: seen('2025-04', 'open_deep_research#80 (Azure)', 'sentry-mcp#106', 'OpenHands#7167'),
    finds: each(
      toolsOf,
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
    finds: each(toolsOf, ({ value }) => value.description === ''),
    bad: { 'tools[0].description': '' },
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
      return (length > limit || (length === 0 && OPENAI_HOSTS.includes(host))) && { limit, length }
    }),
    bad: { model: 'gpt-4.1', stop: ['a', 'b', 'c', 'd', 'e'] },
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
    hosts: OPENAI_HOSTS,
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
    hosts: OPENAI_HOSTS,
    says: "Invalid 'metadata': at most 16 keys of 64 characters, values of 512 characters",
    sources: OPENAI_SPEC,
    finds: member('metadata', isOddMetadata),
    bad: { metadata: METADATA },
  },
  {
    id: 'responses/metadata',
    sure: 'certain',
    hosts: OPENAI_HOSTS,
    says: "Invalid 'metadata': at most 16 keys of 64 characters, values of 512 characters",
    sources: OPENAI_SPEC,
    finds: member('metadata', isOddMetadata),
    bad: { metadata: METADATA },
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
