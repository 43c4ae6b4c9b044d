/** Checks a value as the AI SDK does. */

import { asSchema } from 'ai'
import type { Schema } from './sdk.ts'

/** Returns the value as the schema returns it, or a promise of it, which rejects if the schema rejects the value. */
export function valid(schema: Schema | undefined, value: unknown): unknown {
  if (schema === undefined) return value
  try {
    const { validate } = asSchema(schema)
    return validate ? accepted(validate, value) : value
  } catch (error) {
    return Promise.reject(error)
  }
}

async function accepted(validate: Validate, value: unknown): Promise<unknown> {
  const result = await validate(value)
  if (!result.success) throw result.error
  return result.value
}

type Validate = NonNullable<ReturnType<typeof asSchema>['validate']>
