/** The order of messages, and the pairs of calls and results. */

import type { Entry, Reading } from './reading.ts'
import { each, type Found, KNOWN, OPENAI_SPEC, type RuleData, seen, whole } from './rule.ts'
import { isText, repeated } from './values.ts'

const entriesOf = ({ entries }: Reading): readonly Entry[] => entries
const lastOf = ({ entries }: Reading): readonly Entry[] => entries.slice(-1)

/** Each entry with its calls that have no result directly after it. */
function* openCalls({ entries, wire }: Reading): Generator<Found, void, undefined> {
  for (const entry of entries) {
    if (entry.calls.length === 0 || entry.role !== 'assistant') continue
    const open = new Set(entry.calls.map(({ id }) => id))
    for (const id of wire === 'anthropic' ? leading(entries[entry.index + 1]) : following(entries, entry.index))
      open.delete(id)
    if (open.size > 0) yield { path: entry.path, i: entry.index, ids: [...open].filter(isText).join(', ') }
  }
}

function* following(entries: readonly Entry[], index: number): Generator<unknown, void, undefined> {
  for (let i = index + 1; entries[i]?.role === 'tool'; i++) yield entries[i]?.value.tool_call_id
}

/** On Messages the results are the first blocks of the next message. */
function* leading(next: Entry | undefined): Generator<unknown, void, undefined> {
  for (const { type, value, inner } of next?.parts ?? []) {
    if (inner) continue
    if (type !== 'tool_result') return
    yield value.tool_use_id
  }
}

function* chatStrays({ entries }: Reading): Generator<Found, void, undefined> {
  let open = new Set<unknown>()
  for (const { role, calls, value, path } of entries) {
    if (role !== 'tool') open = new Set(role === 'assistant' ? calls.map(({ id }) => id) : [])
    else if (!open.has(value.tool_call_id)) yield { path: `${path}.role` }
  }
}

function* messagesStrays({ entries, results }: Reading): Generator<Found, void, undefined> {
  const uses = new Map(
    entries.map((one) => [one.index, new Set(one.role === 'assistant' ? one.calls.map(({ id }) => id) : [])]),
  )
  for (const { path, id, entry } of results) if (!uses.get(entry.index - 1)?.has(id)) yield { path, id }
}

function linked({ body, entries }: Reading): boolean {
  return (
    Boolean(body.previous_response_id || body.conversation) || entries.some(({ type }) => type === 'item_reference')
  )
}

function* outputsWithoutCall(request: Reading): Generator<Found, void, undefined> {
  if (linked(request)) return
  const calls = new Set<unknown>()
  for (const { type, value } of request.entries) {
    if (type === 'function_call') calls.add(value.call_id)
    else if (type === 'function_call_output' && !calls.has(value.call_id)) yield { path: 'input', id: value.call_id }
  }
}

function* callsWithoutOutput({ entries }: Reading): Generator<Found, void, undefined> {
  const later = new Set<unknown>()
  const open: unknown[] = []
  for (const { type, value } of entries.toReversed()) {
    if (type === 'function_call_output') later.add(value.call_id)
    else if (type === 'function_call' && !later.has(value.call_id)) open.push(value.call_id)
  }
  if (open.length > 0) yield { path: 'input', id: open.at(-1) }
}

function* twiceInMessage({ entries, wire }: Reading): Generator<Found, void, undefined> {
  for (const { calls, path } of entries) {
    const id = repeated(calls.map((call) => call.id))
    if (id !== undefined) yield { path: wire === 'openai-chat' ? `${path}.tool_calls` : path, id }
  }
}

function* resultsTwice({ entries }: Reading): Generator<Found, void, undefined> {
  for (const { parts, path } of entries) {
    const ids = parts.flatMap(({ type, value, inner }) => (type === 'tool_result' && !inner ? [value.tool_use_id] : []))
    const id = repeated(ids)
    if (id !== undefined) yield { path: `${path}.content`, id }
  }
}

function* serverResults({ entries }: Reading): Generator<Found, void, undefined> {
  const uses = new Set<unknown>()
  for (const { parts } of entries) {
    for (const { type, value, path } of parts) {
      if (type === 'server_tool_use' || type === 'mcp_tool_use') uses.add(value.id)
      else if (isText(type) && type.endsWith('_tool_result') && !uses.has(value.tool_use_id))
        yield { path, type, id: value.tool_use_id }
    }
  }
}

function* sameRoles({ entries }: Reading): Generator<Found, void, undefined> {
  const turns = entries.filter(({ role, calls }) => role === 'user' || (role === 'assistant' && calls.length === 0))
  for (const [i, { role, path }] of turns.entries()) if (i > 0 && turns[i - 1]?.role === role) yield { path }
}

function before({ entries }: Reading, { index }: Entry): unknown {
  return entries[index - 1]?.role
}

export const order: readonly RuleData[] = [
  {
    id: 'chat/messages-empty',
    sure: 'certain',
    says: "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.",
    sources: OPENAI_SPEC,
    finds: whole('messages', ({ entries }) => entries.length === 0),
    bad: { messages: [] },
  },
  {
    id: 'chat/call-without-result',
    sure: 'certain',
    says: "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: {ids}",
    sources: seen(
      '2026-09',
      'OpenAI docs, Function calling',
      'LambChat#496',
      'kimi-code#705',
      'osaurus#2653',
      'turnstone#474',
    ),
    finds: openCalls,
    bad: { 'messages[4]': undefined },
  },
  {
    id: 'chat/result-without-call',
    sure: 'certain',
    says: "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
    sources: seen('2026-11', 'quoted in more than 10 public files, also of DashScope'),
    finds: chatStrays,
    bad: { 'messages[5]': { role: 'tool', tool_call_id: 'callAAAA3', content: 'rain' } },
  },
  {
    id: 'chat/call-id-twice',
    sure: 'likely',
    says: "Duplicate value for 'tool_call_id' of '{id}' in messages {path}",
    sources: seen('2026-11', 'reported for calls of one message on OpenAI; other hosts accept it'),
    finds: twiceInMessage,
    bad: { 'messages[2].tool_calls[1].id': 'callAAAA1', 'messages[3]': undefined },
  },
  {
    id: 'chat/mistral-user-after-tool',
    sure: 'host',
    hosts: ['mistral'],
    says: "Unexpected role 'user' after role 'tool'",
    sources: [
      ...seen('2025-12', 'datapizza-ai#98 (code 3230)', 'avante#2562'),
      ...seen(
        '2026-06',
        'hermes-agent#20154',
        'pi-neuralwatt#12',
        'zed#37021',
        'not in goose#5998: one reporter no longer sees it',
      ),
    ],
    finds: each(entriesOf, (one, request) => one.role === 'user' && before(request, one) === 'tool', '.role'),
    bad: { 'messages[5]': undefined },
  },
  {
    id: 'chat/mistral-last-role',
    sure: 'host',
    hosts: ['mistral'],
    says: 'Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant',
    sources: seen('2025-12', '0xPlaygrounds/rig#1130'),
    finds: each(lastOf, ({ role, value }) => role === 'assistant' && value.prefix !== true, '.role'),
    bad: { 'messages[6]': undefined },
  },
  {
    id: 'chat/mistral-system-after-assistant',
    sure: 'host',
    hosts: ['mistral'],
    says: "Unexpected role 'system' after role '{role}'",
    sources: seen('2026-11', 'mistral-common, validator: system only at the beginning or before a user'),
    finds: each(entriesOf, (one, request) => {
      const role = before(request, one)
      return one.role === 'system' && (role === 'assistant' || role === 'tool') && { role }
    }),
    bad: { 'messages[6].role': 'system' },
  },
  {
    id: 'chat/alternate',
    sure: 'host',
    hosts: ['vllm-mistral', 'vllm-gemma'],
    says: 'Conversation roles must alternate user/assistant/user/assistant/...',
    sources: seen('2026-11', 'chat templates of Gemma and Mistral under vLLM and llama.cpp', 'charmbracelet/crush#279'),
    finds: sameRoles,
    bad: { 'messages[5].role': 'user' },
  },
  {
    id: 'responses/input-empty',
    sure: 'likely',
    says: 'One of "input" or "previous_response_id" or "prompt" or "conversation" must be provided.',
    sources: seen('2026-11', 'quoted for a missing input; likely for an empty list'),
    finds: whole('input', ({ body, entries }) => {
      const other = body.previous_response_id || body.conversation || body.prompt
      return !other && entries.length === 0 && (body.input === undefined || Array.isArray(body.input))
    }),
    bad: { input: [] },
  },
  {
    id: 'responses/output-without-call',
    sure: 'certain',
    says: 'No tool call found for function call output with call_id {id}.',
    sources: seen('2026-08', 'continue#10092', 'continue#11175', 'oh-my-pi#106', 'vscode#320060', 'cursor-byok#307'),
    finds: outputsWithoutCall,
    bad: { 'input[5]': { type: 'function_call_output', call_id: 'call_2', output: 'rain' }, 'input[4]': undefined },
  },
  {
    id: 'responses/call-without-output',
    sure: 'certain',
    says: 'No tool output found for function call {id}.',
    sources: seen('2026-04', 'trae-agent#245', 'trae-agent#358', 'azure-sdk-for-python#46092'),
    finds: callsWithoutOutput,
    bad: { 'input[3]': undefined },
  },
  {
    id: 'responses/call-id-twice',
    sure: 'likely',
    says: "Duplicate function call or output for call_id '{id}'",
    sources: seen('2026-11', 'not quoted'),
    finds: whole('input', ({ calls, results }) => {
      const id = repeated(calls.map((one) => one.id)) ?? repeated(results.map((one) => one.id))
      return id !== undefined && { id }
    }),
    bad: { 'input[6]': { type: 'function_call_output', call_id: 'call_1', output: 'sun' } },
  },
  {
    id: 'messages/empty',
    sure: 'certain',
    says: 'messages: at least one message is required',
    sources: KNOWN,
    finds: whole('messages', ({ entries }) => entries.length === 0),
    bad: { messages: [] },
  },
  {
    id: 'messages/first-role',
    sure: 'likely',
    says: 'messages: first message must use the "user" role',
    sources: seen('2026-11', 'docs.cloud.google.com, Claude on Vertex', 'older quotes'),
    finds: whole('messages.0', ({ entries }) => entries[0]?.role === 'assistant'),
    bad: { 'messages[0]': undefined },
  },
  {
    id: 'messages/use-without-result',
    sure: 'certain',
    says: 'messages.{i}: `tool_use` ids were found without `tool_result` blocks immediately after: {ids}. Each `tool_use` block must have a corresponding `tool_result` block in the next message.',
    sources: seen(
      '2026-05',
      'claude-code#7929',
      'claude-code#8210',
      'claude-code#6242',
      'claude-code#3860',
      'jcode#276 (results in several messages)',
    ),
    finds: openCalls,
    bad: { 'messages[2].content[1]': undefined },
  },
  {
    id: 'messages/result-without-use',
    sure: 'certain',
    says: '{path}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.',
    sources: seen('2026-01', 'claude-code#18947'),
    finds: messagesStrays,
    bad: { 'messages[2].content[2]': { type: 'tool_result', tool_use_id: 'toolu_3' } },
  },
  {
    id: 'messages/result-twice',
    sure: 'certain',
    says: '{path}: each tool_use must have a single result. Found multiple `tool_result` blocks with id: {id}',
    sources: seen('2026-11', 'quoted in 10 public files'),
    finds: resultsTwice,
    bad: { 'messages[2].content[2]': { type: 'tool_result', tool_use_id: 'toolu_1' } },
  },
  {
    id: 'messages/use-id-twice',
    sure: 'certain',
    says: 'messages: `tool_use` ids must be unique',
    sources: seen('2026-09', 'claude-code, many threads'),
    finds: whole('messages', ({ calls }) => repeated(calls.map(({ id }) => id)) !== undefined),
    bad: { 'messages[1].content[2].id': 'toolu_1', 'messages[2].content[0]': undefined },
  },
  {
    id: 'messages/server-result',
    sure: 'certain',
    says: '{path}: unexpected `tool_use_id` found in `{type}` blocks: {id}. Each `{type}` block must have a corresponding `server_tool_use` block before it.',
    sources: seen('2026-06', 'claude-code#64383', 'claude-code#65726'),
    finds: serverResults,
    bad: {
      'messages[3]': {
        role: 'assistant',
        content: [
          { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] },
          { type: 'text', text: 'x' },
        ],
      },
      'messages[4]': { role: 'user', content: 'Thanks.' },
    },
  },
  {
    id: 'messages/prefill',
    sure: 'certain',
    trait: 'no-prefill',
    says: 'This model does not support assistant message prefill. The conversation must end with a user message.',
    sources: seen(
      '2026-09',
      'magic-context#511 (Sonnet 4.6, Sonnet 5)',
      'opencode-dynamic-context-pruning#520',
      'copilot-api#261',
      'llxprt-code#3695',
    ),
    finds: each(
      lastOf,
      ({ role, parts }) =>
        role === 'assistant' && !parts.some(({ type }) => isText(type) && /server_tool_use|_tool_result$/.test(type)),
    ),
    bad: {
      model: 'claude-sonnet-4-6',
      'messages[3]': {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'Sun.', signature: 'EqQB' },
          { type: 'text', text: 'It is' },
        ],
      },
    },
  },
  {
    id: 'messages/trailing-space',
    sure: 'certain',
    says: 'messages: final assistant content cannot end with trailing whitespace',
    sources: seen('2026-06', 'forgecode#1872', 'OpenBitFun#825', 'crewAI#4538', 'Marinara#2674'),
    finds: each(lastOf, ({ role, parts }) => {
      const text = parts.at(-1)?.type === 'text' ? parts.at(-1)?.value.text : undefined
      return role === 'assistant' && isText(text) && text !== text.trimEnd()
    }),
    bad: {
      'messages[3]': {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'Sun.', signature: 'EqQB' },
          { type: 'text', text: 'It is ' },
        ],
      },
    },
  },
]
