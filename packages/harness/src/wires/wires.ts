/** All wires, by name. */

import { anthropic } from './anthropic.ts'
import { chat } from './chat.ts'
import { responses } from './responses.ts'
import type { Wire } from './wire.ts'
import { WIRE_NAMES, type WireName } from './wire-name.ts'

export const WIRES: Readonly<Record<WireName, Wire>> = {
  'openai-chat': chat,
  'openai-responses': responses,
  anthropic,
}

/** Where requests of a wire go, on every host. */
export function pathsOf({ path, otherPaths = [] }: Wire): readonly string[] {
  return [path, ...otherPaths]
}

/** The wire of a path, and what stands before it. One path may be the end of another: the longest counts. */
export function wireAt(pathname: string): { readonly wire: WireName; readonly prefix: string } | undefined {
  const found = ENDS.find(({ path }) => pathname.endsWith(path))
  return found && { wire: found.wire, prefix: pathname.slice(0, -found.path.length) }
}

const ENDS = WIRE_NAMES.flatMap((wire) => pathsOf(WIRES[wire]).map((path) => ({ wire, path }))).sort(
  (one, other) => other.path.length - one.path.length,
)
