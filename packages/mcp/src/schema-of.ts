/** Standard Schemas without a schema library. */

import type { ToolSchema } from '@meanwhile/core'
import type { StandardSchemaV1 } from '@modelcontextprotocol/client'
import type { JsonObject } from './definition.ts'

type Validate<Value> = StandardSchemaV1.Props<unknown, Value>['validate']

/** Accepts the values that `accepts` accepts, unchanged; `problem` is the message for all others. */
export function schemaOf<Value>(
  accepts: (value: unknown) => value is Value,
  problem: string,
): StandardSchemaV1<unknown, Value> {
  const validate: Validate<Value> = (value) => (accepts(value) ? { value } : { issues: [{ message: problem }] })
  return { '~standard': { version: 1, vendor: 'meanwhile', validate } }
}

/** A schema that models and pages read. */
export function shownSchema<Value>(shown: JsonObject, validate: Validate<Value>): ToolSchema<Value> {
  return { '~standard': { version: 1, vendor: 'meanwhile', validate, jsonSchema: { input: () => shown } } }
}
