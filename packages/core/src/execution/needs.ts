/** Determines which members of its input a tool needs to start, whether its calls may start with only those, and what it receives. */

import type { StandardSchemaV1 } from '@standard-schema/spec'
import { unheard } from '../flow/unheard.ts'
import { mayNameKeys } from '../state/call-effect.ts'
import { type Given, Wait } from '../state/rest.ts'
import type { AgentConfig } from '../vocabulary/agent-config.ts'
import { pathOf } from '../vocabulary/checked-input.ts'
import { definitionOf } from '../vocabulary/define-tool.ts'
import { ConfigError, MiddlewareError, messageOf } from '../vocabulary/errors.ts'
import { isRecord } from '../vocabulary/json.ts'
import type { ToolCall } from '../vocabulary/message.ts'
import type { Middleware } from '../vocabulary/middleware.ts'
import type { ToolDefinition } from '../vocabulary/model.ts'
import type { Tool } from '../vocabulary/tool.ts'

/**
 * Whether calls of this tool may start with a part of their input. This requires that the tool declares the members it needs, that no wrap or
 * `prepareInput` may read or change the complete input, and that its resource keys do not depend on it.
 */
export function startsOnNeeds(tool: Tool, { middleware, prepareInput }: AgentConfig): boolean {
  if (!tool.needs || mayNameKeys(tool) || prepareInput) return false
  return middleware.every((one) => {
    const failed: Failed = (problem, cause) => new MiddlewareError(one.name, 'ignoresInput', problem, { cause })
    return ignores(one, tool, failed)
  })
}

/** Throws {@link ConfigError} if `ignoresInput` of one of these middleware fails for one of these tools. */
export function checkIgnoresInput(middleware: readonly Middleware[], tools: readonly Tool[]): void {
  for (const one of middleware) {
    const failed: Failed = (problem) => new ConfigError(`middleware.${one.name}.ignoresInput`, problem)
    for (const tool of tools) if (tool.needs) ignores(one, tool, failed)
  }
}

/** Makes the error for a middleware whose function throws or does not return a boolean. */
type Failed = (problem: string, cause?: unknown) => Error

function ignores(middleware: Middleware, tool: Tool, failed: Failed): boolean {
  const { wrapToolCall, ignoresInput } = middleware
  if (!wrapToolCall) return true
  if (typeof ignoresInput !== 'function') return ignoresInput === true
  let answer: unknown
  try {
    answer = unheard(ignoresInput.call(middleware, tool))
  } catch (error) {
    throw failed(`threw for the tool ${tool.name}: ${messageOf(error)}`, error)
  }
  if (typeof answer === 'boolean') return answer
  throw failed(`must return true or false for the tool ${tool.name}`)
}

/** The tools as the model and the assembler receive them. */
export function definitionsOf(tools: readonly Tool[], config: AgentConfig): readonly ToolDefinition[] {
  const definitions = tools.map((tool) => {
    const needs = tool.needs && startsOnNeeds(tool, config) && Object.freeze([...tool.needs])
    return Object.freeze(needs ? { ...definitionOf(tool), needs } : definitionOf(tool))
  })
  return Object.freeze(definitions)
}

/**
 * Returns the needed members of a call's input, checked as far as possible. The schema may report problems that only concern members that have not
 * arrived. If the schema accepts an input with only these members, it decides their values; otherwise they keep the values that arrived. Returns
 * `undefined` if a member is missing or may be wrong: then the call must wait for its complete input.
 */
export async function checkedNeeds(tool: Tool, { input }: ToolCall): Promise<object | undefined> {
  const { needs = [] } = tool
  const needed = neededOf(needs, input)
  if (needs.length === 0) return needed
  if (!needs.every((key) => Object.hasOwn(needed, key))) return undefined
  const checking = tool.input['~standard'].validate(needed)
  const result = checking instanceof Promise ? await checking : checking
  if (!result.issues) return neededOf(needs, result.value)
  return result.issues.some((issue) => mayConcern(needs, issue)) ? undefined : needed
}

/** Returns what `execute` receives for a complete input. With `needs`, that is those members and a promise of the rest, as in an early call. */
export function givenOf({ needs }: Tool, checked: unknown): Given {
  return needs ? { input: neededOf(needs, checked), rest: new Wait(Promise.resolve(checked)) } : { input: checked }
}

/** The members that a tool needs, as far as they exist. */
export function neededOf(needs: readonly string[], input: unknown): object {
  if (!isRecord(input)) return {}
  return Object.fromEntries(needs.filter((key) => Object.hasOwn(input, key)).map((key) => [key, input[key]]))
}

/** Whether an issue may concern a needed member. An issue without a path may concern any. */
function mayConcern(needs: readonly string[], issue: StandardSchemaV1.Issue): boolean {
  const [key] = pathOf(issue)
  return key === undefined || needs.includes(key)
}
