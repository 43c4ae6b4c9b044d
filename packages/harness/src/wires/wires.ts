/** All wires, by name. */

import { anthropic } from './anthropic.ts'
import { chat } from './chat.ts'
import { responses } from './responses.ts'
import type { Wire, WireName } from './wire.ts'

export const WIRES: Readonly<Record<WireName, Wire>> = {
  'openai-chat': chat,
  'openai-responses': responses,
  anthropic,
}

/** Where requests of a wire go, on every host. */
export function pathsOf({ path, otherPaths = [] }: Wire): readonly string[] {
  return [path, ...otherPaths]
}

/** The names of all wires. */
export const WIRE_NAMES: readonly WireName[] = ['openai-chat', 'openai-responses', 'anthropic']
