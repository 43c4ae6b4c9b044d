/** Breakpoints of the prompt cache on Messages. */

import { each, whole } from './finds.ts'
import type { Reading } from './reading.ts'
import { ANTHROPIC_TYPES, type Found, type RuleData, seen } from './rule.ts'
import { list, type Members, members } from './values.ts'

interface Marked {
  readonly path: string
  readonly value: Members
  readonly control: Members
}

/** Everything with a breakpoint, in the order in which the provider reads it: tools, system, messages. */
function* marked({ body, parts }: Reading): Generator<Marked, void, undefined> {
  for (const name of ['tools', 'system'])
    for (const [i, one] of list(body[name]).entries()) yield* ifMarked(`${name}.${i}`, members(one))
  for (const { path, value } of parts) yield* ifMarked(path, value)
}

function* ifMarked(path: string, value: Members): Generator<Marked, void, undefined> {
  if (value.cache_control) yield { path, value, control: members(value.cache_control) }
}

function* shortBeforeLong(request: Reading): Generator<Found, void, undefined> {
  let short = false
  for (const { path, control } of marked(request)) {
    if (control.ttl !== '1h') short = true
    else if (short) yield { path }
  }
}

const BREAKPOINT = { type: 'ephemeral' }

export const cache: readonly RuleData[] = [
  {
    id: 'messages/cache-many',
    sure: 'certain',
    says: 'A maximum of 4 blocks with cache_control may be provided. Found {count}.',
    sources: seen('2026-04', 'opencode-claude-auth#121', 'sub2api#176'),
    finds: whole('', (request) => {
      const count = [...marked(request)].length + (request.body.cache_control ? 1 : 0)
      return count > 4 && { count }
    }),
    bad: { system: [1, 2, 3, 4].map((n) => ({ type: 'text', text: `Rule ${n}`, cache_control: BREAKPOINT })) },
  },
  {
    id: 'messages/cache-thinking',
    sure: 'certain',
    says: '{path}.{type}.cache_control: Extra inputs are not permitted',
    sources: [...ANTHROPIC_TYPES, ...seen('2026-09', 'Anthropic docs, Prompt caching')],
    finds: each(
      ({ parts }) => parts,
      ({ type, value }) =>
        (type === 'thinking' || type === 'redacted_thinking') && value.cache_control !== undefined && { type },
    ),
    bad: { 'messages[1].content[0].cache_control': BREAKPOINT },
  },
  {
    id: 'messages/cache-empty',
    sure: 'certain',
    says: '{path}: cache_control cannot be set for empty text blocks',
    sources: seen('2026-11', 'quoted in 10 public files'),
    finds: function* (request) {
      for (const { path, value } of marked(request)) if (value.type === 'text' && !value.text) yield { path }
    },
    bad: { 'messages[0].content[0].text': '' },
  },
  {
    id: 'messages/cache-ttl-order',
    sure: 'certain',
    says: "{path}.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block.",
    sources: seen('2026-11', 'quoted in 10 public files', 'Anthropic docs, Prompt caching'),
    finds: shortBeforeLong,
    bad: {
      'system[0].cache_control': BREAKPOINT,
      'messages[0].content[0].cache_control': { type: 'ephemeral', ttl: '1h' },
    },
  },
]
