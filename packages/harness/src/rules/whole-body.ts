/** What a provider refuses without reading it: bytes that are not JSON, and too many of them. */

/// <reference lib="es2024.string" preserve="true" />

import { whole } from './finds.ts'
import { type Found, type RuleData, seen } from './rule.ts'

interface Visited {
  readonly value: unknown
  readonly key: string
  readonly parent: Visited | undefined
}

/** Every text of a value, names of members too. No recursion, because a body may be deeper than the stack. */
function* texts(body: unknown): Generator<{ readonly text: string; readonly at: Visited }, void, undefined> {
  const open: Visited[] = [{ value: body, key: '', parent: undefined }]
  for (let at = open.pop(); at; at = open.pop()) {
    const { value } = at
    if (typeof value === 'string') yield { text: value, at }
    if (typeof value !== 'object' || value === null) continue
    for (const [key, child] of Object.entries(value)) {
      const next = { value: child, key, parent: at }
      if (!Array.isArray(value)) yield { text: key, at: next }
      open.push(next)
    }
  }
}

function pathOf(at: Visited | undefined): string {
  const keys: string[] = []
  for (let one = at; one?.parent; one = one.parent) keys.push(one.key)
  return keys.reverse().join('.')
}

function* halves(body: unknown): Generator<Found, void, undefined> {
  for (const { text, at } of texts(body)) if (!text.isWellFormed()) yield { path: pathOf(at) }
}

const LARGEST = 32 * 1024 * 1024

function sizeOf(body: unknown): number {
  let size = 0
  for (const { text } of texts(body)) size += text.length
  return size
}

export const wholeBody: readonly RuleData[] = [
  {
    id: 'every/half-surrogate',
    sure: 'certain',
    says: 'The request body is not valid JSON: no low surrogate in string: {path}',
    sources: seen(
      '2026-09',
      'anthropics/claude-code#60394',
      'hive-mind#1324',
      'RFC 8259, section 8.2',
      'orjson and serde refuse it; OpenAI: likely',
    ),
    finds: ({ body }) => halves(body),
    bad: { model: 'm\ud83d' },
  },
  {
    id: 'messages/size',
    sure: 'certain',
    hosts: ['anthropic'],
    status: 413,
    says: 'Request exceeds the maximum size ({size} bytes)',
    sources: seen('2026-11', 'Anthropic docs, Errors: 32 MB'),
    finds: whole('', ({ body }) => {
      const size = sizeOf(body)
      return size > LARGEST && { size }
    }),
    bad: { model: 'm'.repeat(LARGEST) },
  },
]
