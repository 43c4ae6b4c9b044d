/** The members that a tool needs to start: what these are, and whether its calls may start so. */

import type { StandardSchemaV1 } from '@standard-schema/spec'
import { unheard } from '../flow/unheard.ts'
import { mayNameKeys } from '../state/call-effect.ts'
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
 * Whether calls of this tool may start with a part of their input: it names what they need, nobody stands round them who
 * would judge or change the whole, and none of it says what they touch.
 */
export function startsOnNeeds(tool: Tool, { middleware, prepareInput }: AgentConfig): boolean {
  if (!tool.needs || mayNameKeys(tool) || prepareInput) return false
  return middleware.every((one) => {
    const failed: Failed = (problem, cause) => new MiddlewareError(one.name, 'ignoresInput', problem, { cause })
    return ignores(one, tool, failed)
  })
}

/** Throws {@link ConfigError} if one of these middlewares cannot say whether it ignores the inputs of one of these tools. */
export function checkIgnoresInput(middleware: readonly Middleware[], tools: readonly Tool[]): void {
  for (const one of middleware) {
    const failed: Failed = (problem) => new ConfigError(`middleware.${one.name}.ignoresInput`, problem)
    for (const tool of tools) if (tool.needs) ignores(one, tool, failed)
  }
}

/** The error for a middleware whose function throws, or does not say. */
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

export function definitionsOf(tools: readonly Tool[], config: AgentConfig): readonly ToolDefinition[] {
  const definitions = tools.map((tool) => {
    const definition = definitionOf(tool)
    const needs = tool.needs && startsOnNeeds(tool, config) && { needs: Object.freeze([...tool.needs]) }
    return Object.freeze({ ...definition, ...needs })
  })
  return Object.freeze(definitions)
}

/**
 * The needed members of a call's input, checked as far as they can be: what the schema finds wrong may lie in other members
 * alone, which are yet to come. Their values are the schema's where it accepts an input of these members alone, else those
 * that came. `undefined`: one is missing, or may be wrong, so that the call is to wait for its whole input.
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

/** The members a tool needs, those that are there. */
export function neededOf(needs: readonly string[], input: unknown): object {
  if (!isRecord(input)) return {}
  return Object.fromEntries(needs.filter((key) => Object.hasOwn(input, key)).map((key) => [key, input[key]]))
}

/** One that names no member may concern any. */
function mayConcern(needs: readonly string[], issue: StandardSchemaV1.Issue): boolean {
  const [key] = pathOf(issue)
  return key === undefined || needs.includes(key)
}
