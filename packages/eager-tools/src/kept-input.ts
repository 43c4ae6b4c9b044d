/** The rule that a call which may change something starts early only with its arguments as the model wrote them. */

import { ConfigError, type Effect } from '@meanwhile/core'

/**
 * By tool name. `'fixed'`: for the same arguments, the calls of this tool always get the same input. This concerns the
 * tool's schema and, in an agent, `prepareInput` and every wrap.
 */
export type Schemas = Readonly<Record<string, 'fixed'>>

/**
 * Whether a call may start early only if its schema leaves the arguments unchanged. What a schema fills in or converts
 * may differ each time: an id, the current time. For a `read` that is harmless.
 */
export function mustKeepInput(tool: string, effect: Effect, schemas: Schemas | undefined): boolean {
  return effect !== 'read' && schemas?.[tool] !== 'fixed'
}

/** @throws {ConfigError} It is neither `undefined` nor an object that contains only the value `'fixed'`. */
export function checkSchemas(schemas: Schemas | undefined): void {
  if (schemas === undefined) return
  if (typeof schemas !== 'object' || schemas === null || Array.isArray(schemas))
    throw new ConfigError('schemas', "must be an object, such as { book: 'fixed' }")
  for (const [tool, schema] of Object.entries<unknown>(schemas))
    if (schema !== 'fixed' && schema !== undefined) throw new ConfigError(`schemas.${tool}`, "must be 'fixed'")
}
