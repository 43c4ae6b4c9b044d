/** The names of things on the page. */

import type { WireName } from '@meanwhile/harness/server'
import { type Contender, isMode, type Mode } from '../modes.ts'

export const WIRE_TITLES: Readonly<Record<WireName, string>> = {
  'openai-chat': 'OpenAI Chat',
  'openai-responses': 'OpenAI Responses',
  anthropic: 'Anthropic Messages',
}

export const MODE_HEADINGS: Readonly<Record<Mode, string>> = {
  sequential: 'One by one',
  parallel: 'Parallel after the stream',
  eager: 'Eager',
  floor: 'Bare loop',
}

/** Other libraries have the names of their packages. */
export function wayTitle(way: Contender): string {
  return isMode(way) ? MODE_HEADINGS[way] : way
}
