/** Writes the input schema of a tool as providers take it. Core checks each input with the tool's own schema. */

import type { ToolDefinition } from '@meanwhile/core'
import type { Target } from './families.ts'
import { modern } from './modern-schema.ts'
import { objectSchema } from './object-schema.ts'

/**
 * The schema of an object with `properties`, in draft 2020-12 and without alternatives at its root. The same schema if
 * it is one already.
 */
export function inputSchema({ inputSchema: given }: ToolDefinition, { host }: Target): Record<string, unknown> {
  const known = written.get(given)
  const made = known?.get(host) ?? objectSchema(modern(given, host))
  written.set(given, (known ?? new WeakMap<object, Record<string, unknown>>()).set(host, made))
  return made
}

/** By schema and host, because a tool has the same schema in every request. */
const written = new WeakMap<object, WeakMap<object, Record<string, unknown>>>()
