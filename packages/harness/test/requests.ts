/** The smallest request for a stream on each wire that its provider accepts. */

import type { WireName } from '../src/wires/wire-name.ts'

const messages = [{ role: 'user', content: 'Hi' }]

const BODIES: Readonly<Record<WireName, object>> = {
  'openai-chat': { model: 'gpt', stream: true, messages },
  'openai-responses': { model: 'gpt', stream: true, input: 'Hi' },
  anthropic: { model: 'claude', max_tokens: 100, stream: true, messages },
}

/** The JSON of its body, with other members. */
export function bodyFor(wire: WireName, more: object = {}): string {
  return JSON.stringify({ ...BODIES[wire], ...more })
}
