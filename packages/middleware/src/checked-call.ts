/** A call whose input was checked once: what a human decides about, and what its tool gets. */

import type { Json, Tool, ToolCall } from '@meanwhile/core'
import { asJson, checkedInput, withChecked } from '@meanwhile/core/calls'

/** A call with its checked input. */
export interface CheckedCall {
  /** The call for `next`: its tool gets exactly the checked input. */
  readonly call: ToolCall
  /** The checked input. */
  readonly value: unknown
  /** Whether the checked input is JSON, so that a checkpoint can contain it. */
  readonly isJson: boolean
  /**
   * Returns the checked input as JSON.
   *
   * @throws {TypeError} It contains something that JSON cannot show.
   */
  shown(): Json
}

/**
 * Checks the input of a call.
 *
 * @throws {ToolInputError} The tool's schema rejects the input.
 */
export async function checkedCall(tool: Tool, call: ToolCall): Promise<CheckedCall> {
  const value = await checkedInput(tool, call)
  if (isJson(value)) return storedCall(call, value)
  const shown = () => shownAsJson(tool.name, value)
  return { call: withChecked(call, repeated(tool, call, value)), value, isJson: false, shown }
}

/** A call whose checked input is known already. */
export function storedCall(call: ToolCall, input: Json): CheckedCall {
  const copy = () => structuredClone(input)
  // Copies, because a predicate or a tool may change what it gets.
  const own = copy()
  return { call: withChecked(call, () => structuredClone(own)), value: copy(), isJson: true, shown: copy }
}

function isJson(value: unknown): value is Json {
  try {
    asJson(value, 'input')
    return true
  } catch {
    return false
  }
}

/** Returns the value for the first execution. Later ones get another, equal value, because the first one may have changed its value. */
function repeated(tool: Tool, call: ToolCall, value: unknown): () => Promise<unknown> {
  const first = textOf(tool.name, value)
  let isTaken = false
  return async () => {
    if (!isTaken) {
      isTaken = true
      return value
    }
    const again = await checkedInput(tool, call)
    return textOf(tool.name, again) === first ? again : value
  }
}

function textOf(tool: string, value: unknown): string | undefined {
  try {
    return JSON.stringify(shownAsJson(tool, value))
  } catch {
    return undefined
  }
}

/** Returns a value as JSON shows it: a date as its text, a bigint as its digits. Throws if a part would be left out or look like something else. */
function shownAsJson(tool: string, value: unknown): Json {
  const shown = JSON.stringify(value, function (this: Readonly<Record<string, unknown>>, key, written: unknown) {
    const problem = problemOf(this[key])
    if (problem) throw new TypeError(`the checked input of ${tool} cannot be shown: it contains ${problem}`)
    return typeof written === 'bigint' ? String(written) : written
  })
  return JSON.parse(shown ?? 'null')
}

function problemOf(part: unknown): string | undefined {
  if (typeof part === 'function' || typeof part === 'symbol') return `a ${typeof part}`
  if (typeof part === 'number' && !Number.isFinite(part)) return String(part)
  if (typeof part !== 'object' || part === null || Array.isArray(part) || 'toJSON' in part) return undefined
  const prototype: unknown = Object.getPrototypeOf(part)
  const isPlain = prototype === null || Object.getPrototypeOf(prototype) === null
  return isPlain ? undefined : `an object of a class without toJSON`
}
