/** Roles, types, and members that a provider does not know. */

import { each, entriesOf, partsOf } from './finds.ts'
import { OPENAI_HOSTS } from './hosts.ts'
import {
  CHAT_BODY,
  CHAT_MESSAGE,
  CHAT_PART,
  CHAT_PARTS_OF,
  MESSAGES_BLOCK,
  MESSAGES_BODY,
  MESSAGES_MESSAGE,
  MISTRAL_BODY,
  MISTRAL_MESSAGE,
  RESPONSES_BODY,
  RESPONSES_MESSAGE,
  RESPONSES_PART,
  RESULT_BLOCKS,
} from './known-members.ts'
import type { Entry, Part } from './reading.ts'
import { ANTHROPIC_TYPES, type Find, OPENAI_SPEC, type RuleData, type Source, seen } from './rule.ts'
import { foreignName, isText, words } from './values.ts'

const CHAT_ROLES = words('system assistant user function tool developer')
const UNKNOWN = "Unknown parameter: '{path}.{key}'."
const EXTRA = '{path}.{key}: Extra inputs are not permitted'

/** Finds a member of the body itself that is not known. */
function ofBody(known: ReadonlySet<string>): Find {
  return function* ({ body }) {
    const path = foreignName(body, known)
    if (path !== undefined) yield { path }
  }
}

function foreign(value: Part['value'], known: ReadonlySet<string> | undefined): { readonly key: string } | false {
  const key = known && foreignName(value, known)
  return key !== undefined && { key }
}

/** The members of Chat's messages that hosts refuse, if they are not in the specification. */
const chatMessageMember: Find = each(entriesOf, ({ role, value }) => foreign(value, CHAT_MESSAGE.get(role)))

const reasoningHosts: Find = each(entriesOf, ({ role, value }) => {
  const { reasoning, ...others } = value
  return foreign(others, CHAT_MESSAGE.get(role))
})

const GROQ: readonly Source[] = seen(
  '2026-09',
  'Groq: jan#8136, freellmapi#1070, vellum#42635',
  'Cerebras: kilocode#10375, cherry-studio#16790',
)

export const unknownMembers: readonly RuleData[] = [
  {
    id: 'chat/role',
    sure: 'certain',
    says: "Invalid value: '{value}'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'.",
    sources: OPENAI_SPEC,
    finds: each(entriesOf, ({ role }) => !(isText(role) && CHAT_ROLES.has(role)) && { value: role }, '.role'),
    bad: { 'messages[0].role': 'robot' },
  },
  {
    id: 'chat/developer-role',
    sure: 'host',
    hosts: ['deepseek', 'mistral', 'moonshot', 'groq', 'cerebras'],
    says: 'unknown variant `developer`, expected one of `system`, `user`, `assistant`, `tool`',
    sources: seen('2026-06', 'DeepSeek docs', 'pi-neuralwatt#12 (supportsDeveloperRole: false)'),
    finds: each(entriesOf, ({ role }) => role === 'developer', '.role'),
    bad: { 'messages[0].role': 'developer' },
  },
  {
    id: 'chat/unknown-member',
    sure: 'certain',
    hosts: OPENAI_HOSTS,
    says: 'Unrecognized request argument supplied: {path}',
    sources: OPENAI_SPEC,
    finds: ofBody(CHAT_BODY),
    bad: { top_k: 1 },
  },
  {
    id: 'chat/mistral-unknown-member',
    sure: 'host',
    hosts: ['mistral'],
    status: 422,
    says: 'Extra inputs are not permitted ({path})',
    sources: seen(
      '2026-04',
      'eca#231',
      'eca#315',
      'openclaude#739 (store, max_completion_tokens)',
      'platform-docs-public#7',
      'members of @mistralai/mistralai',
    ),
    finds: ofBody(MISTRAL_BODY),
    bad: { seed: 1 },
  },
  {
    id: 'chat/openai-message-member',
    sure: 'likely',
    hosts: OPENAI_HOSTS,
    says: UNKNOWN,
    sources: OPENAI_SPEC,
    finds: chatMessageMember,
    bad: { 'messages[5].reasoning_content': 'Bern is sunny.' },
  },
  {
    id: 'chat/unknown-message-member',
    sure: 'host',
    hosts: ['groq', 'cerebras'],
    says: "'{path}' : property '{key}' is unsupported",
    sources: GROQ,
    finds: reasoningHosts,
    bad: { 'messages[5].reasoning_content': 'Bern is sunny.' },
  },
  {
    id: 'chat/groq-reasoning-model',
    sure: 'host',
    hosts: ['groq'],
    says: "'{path}' : property 'reasoning' is unsupported",
    sources: seen(
      '2026-02',
      'vercel/ai#8057 (kimi-k2)',
      'karthink/gptel#774',
      'claude-code-router#1204 (only gpt-oss accepts it)',
    ),
    finds: each(entriesOf, ({ value }, { model }) => 'reasoning' in value && !/gpt-oss|qwen3/.test(model)),
    bad: { model: 'llama-4', 'messages[5].reasoning': 'Bern is sunny.' },
  },
  {
    id: 'chat/mistral-unknown-message-member',
    sure: 'host',
    hosts: ['mistral'],
    status: 422,
    says: 'Extra inputs are not permitted ({path}.{key})',
    sources: seen('2026-06', 'langchainjs#5144', 'mistral-go#2', 'litellm#30882'),
    finds: each(entriesOf, ({ value }) => foreign(value, MISTRAL_MESSAGE)),
    bad: { 'messages[5].reasoning_content': 'Bern is sunny.' },
  },
  {
    id: 'chat/part-type',
    sure: 'certain',
    hosts: OPENAI_HOSTS,
    says: "Invalid value: '{type}'. Supported values are: {allowed}.",
    sources: OPENAI_SPEC,
    finds: each(
      partsOf,
      ({ type, entry: { role } }) => {
        const allowed = CHAT_PARTS_OF.get(role)
        return allowed && !(isText(type) && allowed.has(type)) && { type, allowed: quoted(allowed) }
      },
      '.type',
    ),
    bad: { 'messages[6].content': [{ type: 'input_text', text: 'Thanks.' }] },
  },
  {
    id: 'chat/part-member',
    sure: 'certain',
    hosts: OPENAI_HOSTS,
    says: UNKNOWN,
    sources: OPENAI_SPEC,
    finds: each(partsOf, ({ type, value }) => foreign(value, CHAT_PART.get(type))),
    bad: { 'messages[1].content[0].cache_control': { type: 'ephemeral' } },
  },
  {
    id: 'responses/item-unknown',
    sure: 'certain',
    hosts: OPENAI_HOSTS,
    says: "Invalid value: '{type}'. Supported values are: 'message', 'reasoning', 'function_call', …",
    sources: OPENAI_SPEC,
    finds: each(entriesOf, ({ type }) => type === undefined && { type: '' }, '.type'),
    bad: { 'input[6]': { content: 'Thanks.' } },
  },
  {
    id: 'responses/part-type',
    sure: 'certain',
    hosts: OPENAI_HOSTS,
    says: "Invalid value: '{type}'. Supported values are: {allowed}.",
    sources: [
      ...OPENAI_SPEC,
      ...seen('2026-11', `quoted often ("Supported values are: 'output_text' and 'refusal'.")`),
    ],
    finds: each(
      partsOf,
      ({ type, field, entry }) => {
        const allowed = responsesParts(field, entry)
        return allowed && !(isText(type) && allowed.has(type)) && { type, allowed: quoted(allowed) }
      },
      '.type',
    ),
    bad: { 'input[0].content[0].type': 'text' },
  },
  {
    id: 'responses/part-member',
    sure: 'certain',
    hosts: OPENAI_HOSTS,
    says: UNKNOWN,
    sources: OPENAI_SPEC,
    finds: each(partsOf, ({ type, value }) => foreign(value, RESPONSES_PART.get(type))),
    bad: { 'input[0].content[0].cache_control': { type: 'ephemeral' } },
  },
  {
    id: 'responses/message-member',
    sure: 'certain',
    hosts: OPENAI_HOSTS,
    says: UNKNOWN,
    sources: OPENAI_SPEC,
    finds: each(entriesOf, ({ type, value }) => type === 'message' && foreign(value, RESPONSES_MESSAGE)),
    bad: { 'input[5].itemId': 'msg_1' },
  },
  {
    id: 'responses/unknown-member',
    sure: 'certain',
    hosts: OPENAI_HOSTS,
    says: "Unknown parameter: '{path}'.",
    sources: OPENAI_SPEC,
    finds: ofBody(RESPONSES_BODY),
    bad: { seed: 1 },
  },
  {
    id: 'messages/role',
    sure: 'likely',
    says: 'messages: Unexpected role "{value}". The Messages API accepts a top-level `system` parameter, not "system" as an input message role.',
    sources: seen('2026-11', 'known wording, not verified'),
    finds: each(entriesOf, ({ role }) => role !== 'user' && role !== 'assistant' && { value: role }),
    bad: { 'messages[0].role': 'system' },
  },
  {
    id: 'messages/block-role',
    sure: 'certain',
    says: '{path}: `{type}` blocks can only be in `{role}` messages',
    sources: ANTHROPIC_TYPES,
    finds: each(partsOf, ({ type, inner, entry }) => {
      const role = ONLY_IN.get(type)
      return !inner && role !== undefined && role !== entry.role && { type, role }
    }),
    bad: { 'messages[2].content[2]': { type: 'redacted_thinking', data: 'EqQB' } },
  },
  {
    id: 'messages/block-member',
    sure: 'certain',
    says: '{path}.{type}.{key}: Extra inputs are not permitted',
    sources: [...seen('2026-03', 'claude-code#4378'), ...ANTHROPIC_TYPES],
    finds: each(partsOf, ({ type, value }) => {
      const found = foreign(value, MESSAGES_BLOCK.get(type))
      return found && { ...found, type }
    }),
    bad: { 'messages[1].content[1].text': 'x' },
  },
  {
    id: 'messages/message-member',
    sure: 'certain',
    says: EXTRA,
    sources: ANTHROPIC_TYPES,
    finds: each(entriesOf, ({ value }) => foreign(value, MESSAGES_MESSAGE)),
    bad: { 'messages[0].name': 'Ann' },
  },
  {
    id: 'messages/result-content',
    sure: 'certain',
    says: "{path}: Input tag '{type}' found using 'type' does not match any of the expected tags",
    sources: ANTHROPIC_TYPES,
    finds: each(partsOf, ({ inner, type }) => inner && !(isText(type) && RESULT_BLOCKS.has(type)) && { type }),
    bad: { 'messages[2].content[0].content[0]': { type: 'audio' } },
  },
  {
    id: 'messages/unknown-member',
    sure: 'certain',
    says: '{path}: Extra inputs are not permitted',
    sources: ANTHROPIC_TYPES,
    finds: ofBody(MESSAGES_BODY),
    bad: { seed: 1 },
  },
]

const ONLY_IN: ReadonlyMap<unknown, string> = new Map([
  ['tool_use', 'assistant'],
  ['thinking', 'assistant'],
  ['redacted_thinking', 'assistant'],
  ['server_tool_use', 'assistant'],
  ['tool_result', 'user'],
  ['image', 'user'],
  ['document', 'user'],
])

const OF_MODEL = words('output_text refusal')
const OF_USER = words('input_text input_image input_file input_audio')
const OF_RESULT = words('input_text input_image input_file')

function responsesParts(field: string, { type, role }: Entry): ReadonlySet<string> | undefined {
  if (type === 'function_call_output' && field === 'output') return OF_RESULT
  if (type !== 'message' || field !== 'content') return undefined
  return role === 'assistant' ? OF_MODEL : OF_USER
}

function quoted(names: ReadonlySet<string>): string {
  return [...names].map((name) => `'${name}'`).join(', ')
}
