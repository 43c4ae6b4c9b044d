/** Checks the input of a call with its tool's schema. */

import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Awaitable } from '../flow/flow.ts'
import { branded } from './brand.ts'
import { behind } from './copies.ts'
import type { Issue } from './errors.ts'
import { isRecord, isShallow } from './json.ts'
import { isObject } from './json-text.ts'
import type { ToolCall } from './message.ts'
import type { Tool } from './tool.ts'
import { ToolInputError } from './tool-errors.ts'

/**
 * Returns the input as the tool's schema returns it; for a call of {@link withChecked}, what its function returns. Models sometimes write an object or
 * a list, or the whole input, as JSON text, and `null` for a member that they leave out. If the schema rejects that, and accepts the parsed value or
 * the input without the member, this is the input.
 *
 * @throws {ToolInputError} The schema does not accept the input.
 */
export async function checkedInput(tool: Pick<Tool, 'name' | 'input'>, call: ToolCall): Promise<unknown> {
  if (call.inputError !== undefined) throw new ToolInputError(tool.name, [{ path: '', message: call.inputError }])
  const value = checkedOf(call)
  if (value) return value()
  let { input } = call
  for (let first: readonly StandardSchemaV1.Issue[] | undefined; ; ) {
    const checking = tool.input['~standard'].validate(input)
    const result = checking instanceof Promise ? await checking : checking
    if (!result.issues) return result.value
    first ??= result.issues
    const unwrapped = unwrapJson(input, result.issues.map(pathOf))
    if (unwrapped === input) throw new ToolInputError(tool.name, first.map(described))
    input = unwrapped
  }
}

/**
 * Returns the call with a function that returns the checked input of each execution of the call. A schema does not check the input again unless a
 * wrap inside changes it. Without a function, returns the call itself.
 */
export function withChecked(call: ToolCall, value: Checked | undefined): ToolCall {
  return value ? Object.freeze(branded('tool call', { ...call }, value)) : call
}

/** The function that {@link withChecked} has given to the call, if it has. */
export function checkedOf(call: ToolCall): Checked | undefined {
  return behind('tool call', call)
}

type Checked = () => Awaitable<unknown>

/** What a schema returned: the value, or the issues. `cause`: what it threw. */
export interface Validated {
  readonly value?: unknown
  readonly issues?: readonly StandardSchemaV1.Issue[] | undefined
  readonly cause?: unknown
}

/** Checks a value with a schema. A schema that throws has one issue, which `whatThrew` describes. */
export async function validated(
  schema: StandardSchemaV1,
  value: unknown,
  whatThrew: (cause: unknown) => string,
): Promise<Validated> {
  try {
    return await schema['~standard'].validate(value)
  } catch (cause) {
    return { issues: [{ message: whatThrew(cause) }], cause }
  }
}

export function described(issue: StandardSchemaV1.Issue): Issue {
  return { path: pathOf(issue).join('.'), message: issue.message }
}

/** Returns the path of an issue; empty for the whole value. */
export function pathOf({ path = [] }: StandardSchemaV1.Issue): string[] {
  return path.map((part) => String(typeof part === 'object' ? part.key : part))
}

type Path = readonly string[]

/** Returns the value with the JSON texts at these paths parsed, and without members that are `null` there; otherwise the same value. */
export function unwrapJson(value: unknown, paths: readonly Path[]): unknown {
  return paths.reduce(unwrapAt, value)
}

function unwrapAt(value: unknown, [key, ...rest]: Path): unknown {
  if (key === undefined) return typeof value === 'string' ? contained(value) : value
  if (!isRecord(value) && !Array.isArray(value)) return value
  const member: unknown = Object.hasOwn(value, key) ? value[key as keyof typeof value] : undefined
  if (member === null && isRecord(value)) {
    const { [key]: _, ...others } = value
    return others
  }
  const unwrapped = unwrapAt(member, rest)
  if (unwrapped === member) return value
  return Array.isArray(value) ? value.with(Number(key), unwrapped) : { ...value, [key]: unwrapped }
}

/** Returns the object or list that the text contains as JSON; the text itself if it contains neither, or one that is nested too deep. */
function contained(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) && isShallow(value) ? value : text
  } catch {
    return text
  }
}
