/** Defines a schema for inputs that are one text, for core's own tools, which need no schema library. */

import type { StandardSchemaV1 } from '@standard-schema/spec'
import { isRecord } from './json.ts'
import type { ToolSchema } from './tool-schema.ts'

/** An object with this member: a text that is not empty. */
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
