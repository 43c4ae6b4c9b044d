/** The input of a call, checked by its tool's schema. */

import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Awaitable } from '../flow/flow.ts'
import type { Issue } from './errors.ts'
import { isRecord, isShallow } from './json.ts'
import type { ToolCall } from './message.ts'
import type { Tool } from './tool.ts'
import { ToolInputError } from './tool-errors.ts'

/**
 * The input as the tool's schema gives it back. Objects and lists that a model wrote as JSON text, the whole input among
 * them, are taken out of their strings where the schema wants none there and then accepts all of it.
 *
 * @throws {ToolInputError} The schema does not accept it.
 */
export async function checkedInput(tool: Pick<Tool, 'name' | 'input'>, call: ToolCall): Promise<unknown> {
  if (call.inputError !== undefined) throw new ToolInputError(tool.name, [{ path: '', message: call.inputError }])
  const checking = validate(tool, call.input)
  const result = checking instanceof Promise ? await checking : checking
  if (!result.issues) return result.value
  let { issues } = result
  for (let input = call.input; ; ) {
    const unwrapped = unwrapJson(input, issues.map(pathOf))
    if (unwrapped === input) throw new ToolInputError(tool.name, result.issues.map(described))
    const checked = await validate(tool, unwrapped)
    if (!checked.issues) return checked.value
    input = unwrapped
    issues = checked.issues
  }
}

function validate(tool: Pick<Tool, 'input'>, input: unknown): Awaitable<StandardSchemaV1.Result<unknown>> {
  return tool.input['~standard'].validate(input)
}

export function described(issue: StandardSchemaV1.Issue): Issue {
  return { path: pathOf(issue).join('.'), message: issue.message }
}

/** The members that lead to what an issue is about; none for the whole. */
export function pathOf({ path = [] }: StandardSchemaV1.Issue): string[] {
  return path.map((part) => String(typeof part === 'object' ? part.key : part))
}

type Path = readonly string[]

/** The value with the objects and lists at these paths taken out of their strings; the same value if there are none. */
export function unwrapJson(value: unknown, paths: readonly Path[]): unknown {
  return paths.reduce(unwrapAt, value)
}

function unwrapAt(value: unknown, [key, ...rest]: Path): unknown {
  if (key === undefined) return typeof value === 'string' ? contained(value) : value
  if (!isRecord(value) && !Array.isArray(value)) return value
  const member: unknown = Object.hasOwn(value, key) ? value[key as keyof typeof value] : undefined
  const unwrapped = unwrapAt(member, rest)
  if (unwrapped === member) return value
  return Array.isArray(value) ? value.with(Number(key), unwrapped) : { ...value, [key]: unwrapped }
}

/** What the text holds, if that is an object or a list, and no deeper than arguments may be. */
function contained(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && isShallow(value) ? value : text
  } catch {
    return text
  }
}
