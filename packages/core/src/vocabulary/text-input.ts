/** Defines a schema for an object with one text. Core's own tools use it, so that core needs no schema library. */

import type { StandardSchemaV1 } from '@standard-schema/spec'
import { isRecord } from './json.ts'
import type { ToolSchema } from './tool-schema.ts'

/** The schema of an object with this member, which must be a non-empty text. */
export function textInput<Member extends string>(
  member: Member,
  description: string,
): ToolSchema<Readonly<Record<Member, string>>> {
  type Input = Readonly<Record<Member, string>>
  const validate = (value: unknown): StandardSchemaV1.Result<Input> => {
    const text = isRecord(value) ? value[member] : undefined
    return typeof text === 'string' && text !== ''
      ? { value: { [member]: text } as Input }
      : { issues: [{ message: 'must be a non-empty text', path: [member] }] }
  }
  const describe = () => ({
    type: 'object',
    properties: { [member]: { type: 'string', description } },
    required: [member],
    additionalProperties: false,
  })
  return {
    '~standard': { version: 1, vendor: 'meanwhile', validate, jsonSchema: { input: describe, output: describe } },
  }
}
