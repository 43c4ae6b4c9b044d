/** The order of messages and blocks on Messages, and the pairs of uses and results. */

import { each, lastOf, whole } from './finds.ts'
import { unanswered } from './order.ts'
import type { Entry, Reading } from './reading.ts'
import { type Found, KNOWN, type RuleData, seen } from './rule.ts'
import { isText, repeated } from './values.ts'

/** The results are the first blocks of the next message. */
function* leading(entries: readonly Entry[], index: number): Generator<unknown, void, undefined> {
  for (const { type, value, inner } of entries[index + 1]?.parts ?? []) {
    if (inner) continue
    if (type !== 'tool_result') return
    yield value.tool_use_id
  }
}

function* strays({ entries, results }: Reading): Generator<Found, void, undefined> {
  const uses = new Map(
    entries.map((one) => [one.index, new Set(one.role === 'assistant' ? one.calls.map(({ id }) => id) : [])]),
  )
  for (const { path, id, entry } of results) if (!uses.get(entry.index - 1)?.has(id)) yield { path, id }
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

export const messagesOrder: readonly RuleData[] = [
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
    finds: unanswered(leading),
    bad: { 'messages[2].content[1]': undefined },
  },
  {
    id: 'messages/result-without-use',
    sure: 'certain',
    says: '{path}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.',
    sources: seen('2026-01', 'claude-code#18947'),
    finds: strays,
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
