/** Reasoning that goes back: where it must stand, and what it must have. */

import { each, entriesOf, lastOf, partsOf, whole } from './finds.ts'
import { OPENAI_HOSTS } from './hosts.ts'
import type { Entry, Part, Reading } from './reading.ts'
import { ANTHROPIC_TYPES, type Found, OPENAI_SPEC, type RuleData, seen } from './rule.ts'
import { signatureOf } from './signatures.ts'
import { isText, list, members, words } from './values.ts'

const reasoningOf = ({ entries }: Reading): readonly Entry[] => entries.filter(({ type }) => type === 'reasoning')

const INPUTS = words(
  'function_call_output custom_tool_call_output computer_call_output item_reference local_shell_call_output shell_call_output apply_patch_call_output mcp_approval_response tool_search_output',
)

/** Whether a model wrote this item. */
function isOutput(item: Entry | undefined): boolean {
  if (!item) return false
  if (item.type === 'message') return item.role === 'assistant'
  return isText(item.type) && !INPUTS.has(item.type)
}

function isThought(part: Part | undefined): boolean {
  return part?.type === 'thinking' || part?.type === 'redacted_thinking'
}

function outer({ parts }: Entry): readonly Part[] {
  return parts.filter(({ inner }) => !inner)
}

function thinking({ body }: Pick<Reading, 'body'>): unknown {
  return members(body.thinking).type
}

/** Whether a model that thinks before its calls does so in this request. */
export function thinks({ body, traits }: Reading): boolean {
  const mode = thinking({ body })
  if (mode === 'disabled' || body.enable_thinking === false) return false
  return mode === 'enabled' || body.enable_thinking === true || traits.has('reasoning-before-calls')
}

/** The answer that a request continues, if its first block is not thinking. */
function* beginsWithoutThinking(request: Reading): Generator<Found, void, undefined> {
  if (thinking(request) !== 'enabled') return
  const { entries } = request
  const last = entries.findLast(({ role }) => role === 'assistant')
  if (!last) return
  const next = entries[last.index + 1]
  const inTurn = next === undefined || outer(next).some(({ type }) => type === 'tool_result')
  const [first] = outer(last)
  if (first && inTurn && !isThought(first)) yield { path: `${first.path}.type`, type: first.type }
}

/** The first call of each step since the last user message needs the signature. */
function* callsWithoutSignature({ entries }: Reading): Generator<Found, void, undefined> {
  const from = entries.findLastIndex(({ role }) => role === 'user')
  for (const { role, value, calls } of entries.slice(Math.max(0, from))) {
    const [call] = calls
    const google = members(members(members(list(value.tool_calls)[0]).extra_content).google)
    if (role === 'assistant' && call && !google.thought_signature) yield { path: call.path }
  }
}

export const reasoning: readonly RuleData[] = [
  {
    id: 'chat/reasoning-missing',
    sure: 'host',
    hosts: ['moonshot', 'deepseek'],
    says: 'thinking is enabled but reasoning_content is missing in assistant tool call message at index {index}',
    sources: seen(
      '2026-05',
      'Moonshot: mastra#12592, continue#11600, deer-flow#3043, kimi-agent-sdk#169',
      'DeepSeek V4, "The `reasoning_content` in the thinking mode must be passed back to the API.": pi#3636, qwen-code#3658, paper-chat#16',
      'llmgateway#2093, tried: Kimi 2.5 and 2.6 refuse "" and accept " "; kimi-k2-thinking and DeepSeek V4 accept ""',
    ),
    finds: each(entriesOf, ({ role, calls, value, index }, request) => {
      if (role !== 'assistant' || calls.length === 0 || !thinks(request)) return false
      const text = value.reasoning_content
      return (!isText(text) || (text === '' && request.traits.has('no-empty-reasoning'))) && { index }
    }),
    bad: { model: 'kimi-k2.6' },
  },
  {
    id: 'chat/gemini-thought-signature',
    sure: 'host',
    hosts: ['gemini'],
    trait: 'thought-signature',
    says: 'Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly ({path})',
    sources: seen(
      '2026-09',
      'securo#884 (OpenAI endpoint)',
      'hermes-webui#6333 and pipecat#5809 (fallback)',
      'docker-agent#2155',
      'ai.google.dev: "skip_thought_signature_validator" is allowed',
    ),
    finds: callsWithoutSignature,
    bad: { model: 'gemini-3.1-pro', 'messages[6]': undefined, 'messages[5]': undefined },
  },
  {
    id: 'responses/reasoning-alone',
    sure: 'certain',
    says: "Item '{id}' of type 'reasoning' was provided without its required following item.",
    sources: seen(
      '2026-03',
      'continue#8933, #9628, #10428',
      'vercel/ai#7099',
      'openai-agents-js#929',
      'openai-node#1567',
      'openai-agents-python#1611',
      'mastra#14048',
      'the quotes are of stored items; likely the same with encrypted content',
    ),
    finds: whole('input', ({ entries }) => {
      const alone = entries.find(
        ({ type, value, index }) => type === 'reasoning' && value.id && !isOutput(entries[index + 1]),
      )
      return alone && { id: alone.value.id }
    }),
    bad: { 'input[5]': undefined },
  },
  {
    id: 'responses/reasoning-not-stored',
    sure: 'certain',
    hosts: OPENAI_HOSTS,
    status: 404,
    says: "Item with id '{id}' not found. Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input.",
    sources: seen('2026-05', 'opencode#7724', 'opencode#8987', 'oh-my-pi#41', 'bifrost#5410'),
    finds: whole('input', ({ body, entries }) => {
      if (body.store !== false) return false
      const lost = entries.find(({ type, value }) => {
        return type === 'item_reference' || (type === 'reasoning' && value.id && !value.encrypted_content)
      })
      return lost && { id: lost.value.id }
    }),
    bad: { 'input[1].encrypted_content': undefined },
  },
  {
    id: 'responses/reasoning-summary',
    sure: 'certain',
    says: "Missing required parameter: '{path}'.",
    sources: [...OPENAI_SPEC, ...seen('2026-09', 'Agora#141')],
    finds: each(reasoningOf, ({ value }) => !Array.isArray(value.summary), '.summary'),
    bad: { 'input[1].summary': undefined },
  },
  {
    id: 'responses/reasoning-status',
    sure: 'certain',
    hosts: OPENAI_HOSTS,
    says: "Unknown parameter: '{path}'.",
    sources: seen(
      '2026-08',
      'openai-agents-python#3026 (null)',
      'openai-agents-python#1883',
      'jcode#1028 ("omit the output-only status field")',
      'litellm#13420',
    ),
    finds: each(reasoningOf, ({ value }) => 'status' in value, '.status'),
    bad: { 'input[1].status': 'completed' },
  },
  {
    id: 'responses/reasoning-content-null',
    sure: 'host',
    hosts: ['xai'],
    status: 422,
    says: 'Failed to deserialize the JSON body into the target type: data did not match any variant of untagged enum ModelInput ({path})',
    sources: seen('2026-07', 'Wei-Shaw/sub2api#4237 (bisected)'),
    finds: each(reasoningOf, ({ value }) => value.content === null, '.content'),
    bad: { 'input[1].content': null },
  },
  {
    id: 'responses/encrypted-not-reasoning',
    sure: 'certain',
    hosts: OPENAI_HOSTS,
    trait: 'no-encrypted-reasoning',
    says: 'Encrypted content is not supported with this model.',
    sources: seen('2026-07', 'amplifier#199', 'pi#6228'),
    finds: whole('include', ({ body }) => list(body.include).includes('reasoning.encrypted_content')),
    bad: { model: 'gpt-4.1' },
  },
  {
    id: 'responses/encrypted-azure',
    sure: 'likely',
    hosts: ['azure'],
    says: 'Encrypted content is not supported with this model.',
    sources: seen(
      '2026-07',
      'pi#6228 (DeepSeek on Foundry)',
      'amplifier#199',
      'pydantic-ai#2915',
      'pydantic-ai#6289',
      'depends on deployment and API version',
    ),
    finds: whole('include', ({ body }) => list(body.include).includes('reasoning.encrypted_content')),
    bad: {},
  },
  {
    id: 'responses/encrypted-not-as-sent',
    sure: 'certain',
    says: 'The encrypted content for item {id} could not be verified.',
    sources: seen('2026-11', 'OpenAI, on content of another item; of what a mock endpoint sent'),
    finds: whole('input', ({ entries }) => {
      const other = entries.find(({ type, value: { id, encrypted_content } }) => {
        const own =
          type === 'reasoning' && isText(encrypted_content) && /^encrypted-(rs_\d+_\d+)$/.exec(encrypted_content)
        return own && id !== undefined && id !== own[1]
      })
      return other && { id: other.value.id }
    }),
    bad: { 'input[1].encrypted_content': 'encrypted-rs_7_0' },
  },
  {
    id: 'messages/thinking-signature',
    sure: 'certain',
    says: '{path}.thinking.signature: Field required',
    sources: [...seen('2026-11', 'quoted in 10 public files'), ...ANTHROPIC_TYPES],
    finds: each(
      partsOf,
      ({ type, value }) => type === 'thinking' && !(isText(value.signature) && value.signature !== ''),
    ),
    bad: { 'messages[1].content[0].signature': undefined },
  },
  {
    id: 'messages/thinking-not-as-sent',
    sure: 'certain',
    says: '{path}: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.',
    sources: seen('2026-11', 'Anthropic; a signature of a mock endpoint belongs to its thinking'),
    finds: each(partsOf, ({ type, value: { thinking: text, signature } }) => {
      if (type !== 'thinking' || !isText(signature) || !isText(text)) return false
      const [, place] = /^(signature-\d+-\d+)-[0-9a-f]{8}$/.exec(signature) ?? []
      return place !== undefined && signature !== signatureOf(place, text)
    }),
    bad: { 'messages[1].content[0].signature': 'signature-1-0-00000000' },
  },
  {
    id: 'messages/thinking-last-block',
    sure: 'certain',
    says: 'messages.{i}: The final block in an assistant message cannot be `thinking`.',
    sources: seen('2026-04', 'forgecode#2107', 'forgecode#3073', 'hermes-agent#16921', 'hermes-agent#13010'),
    finds: each(
      entriesOf,
      (entry) => entry.role === 'assistant' && isThought(entry.parts.at(-1)) && { i: entry.index },
    ),
    bad: {
      'messages[1].content[2]': { type: 'thinking', thinking: 'Sun.', signature: 'EqQB' },
      'messages[2].content[0]': undefined,
    },
  },
  {
    id: 'messages/thinking-first',
    sure: 'certain',
    says: '{path}: Expected `thinking` or `redacted_thinking`, but found `{type}`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks).',
    sources: seen(
      '2026-08',
      'opencode#3077',
      'n8n#22550',
      'claude-code#11978 (Opus 4.5)',
      'Anthropic docs, Adaptive thinking: not with adaptive thinking',
    ),
    finds: beginsWithoutThinking,
    bad: { 'messages[1].content[0]': undefined },
  },
  {
    id: 'messages/thinking-off-final',
    sure: 'certain',
    says: '{path}: When thinking is disabled, an `assistant` message in the final position cannot contain `thinking`. To use thinking blocks, enable `thinking` in your request.',
    sources: seen('2026-02', 'forgecode#1853', 'forgecode#1195'),
    finds: each(lastOf, (entry, request) => {
      const on = thinking(request) === 'enabled' || thinking(request) === 'adaptive'
      return !on && entry.role === 'assistant' && entry.parts.some(isThought)
    }),
    bad: {
      thinking: undefined,
      'messages[3]': {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'Sun.', signature: 'EqQB' },
          { type: 'text', text: 'It is' },
        ],
      },
    },
  },
]
