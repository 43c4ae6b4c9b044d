/** The order of messages on the wires of OpenAI, and the pairs of calls and results. */

import { each, entriesOf, lastOf, whole } from './finds.ts'
import type { Entry, Reading } from './reading.ts'
import { type Find, type Found, OPENAI_SPEC, type RuleData, seen } from './rule.ts'
import { isText, repeated } from './values.ts'

/** Finds the answers with a call whose id is not among those that results after the answer have. */
export function unanswered(after: (entries: readonly Entry[], index: number) => Iterable<unknown>): Find {
  return function* ({ entries }) {
    for (const { calls, role, index, path } of entries) {
      if (calls.length === 0 || role !== 'assistant') continue
      const open = new Set(calls.map(({ id }) => id))
      for (const id of after(entries, index)) open.delete(id)
      if (open.size > 0) yield { path, i: index, ids: [...open].filter(isText).join(', ') }
    }
  }
}

function* following(entries: readonly Entry[], index: number): Generator<unknown, void, undefined> {
  for (let i = index + 1; entries[i]?.role === 'tool'; i++) yield entries[i]?.value.tool_call_id
}

function* chatStrays({ entries }: Reading): Generator<Found, void, undefined> {
  let open = new Set<unknown>()
  for (const { role, calls, value, path } of entries) {
    if (role !== 'tool') open = new Set(role === 'assistant' ? calls.map(({ id }) => id) : [])
    else if (!open.has(value.tool_call_id)) yield { path: `${path}.role` }
  }
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

function* twiceInMessage({ entries }: Reading): Generator<Found, void, undefined> {
  for (const { calls, path } of entries) {
    const id = repeated(calls.map((call) => call.id))
    if (id !== undefined) yield { path: `${path}.tool_calls`, id }
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
    finds: unanswered(following),
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
]
