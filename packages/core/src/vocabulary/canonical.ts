/** When two calls are the same: their parsed inputs are, whatever their white space, key order and escapes. */

import { hash } from './hash.ts'
import { written } from './json-text.ts'
import type { ToolCall } from './message.ts'

/** JSON with sorted keys, without members that are undefined. A value JSON cannot hold counts as `null`, except for numbers beyond its range. */
export function canonical(value: unknown): string {
  return written(value, leafText, sortedMembers)
}

function leafText(value: unknown): string {
  // As which `1e400` is read.
  if (value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY) return String(value)
  return JSON.stringify(value) ?? 'null'
}

function sortedMembers(object: object): [key: string, member: unknown][] {
  const members = Object.entries(object).filter(([, member]) => member !== undefined)
  return members.sort(([a], [b]) => (a < b ? -1 : 1))
}

const inputs = new WeakMap<ToolCall, string>()

/** The canonical text of a call's input, made once: calls are frozen. */
export function canonicalInput(call: ToolCall): string {
  let text = inputs.get(call)
  if (text === undefined) {
    text = canonical(call.input)
    inputs.set(call, text)
  }
  return text
}

/** Whether two inputs are the same. */
export function sameInput(a: unknown, b: unknown): boolean {
  return canonical(a) === canonical(b)
}

/** Whether two calls ask for the same: one tool, equal input. Their ids do not count. */
export function sameCall(a: ToolCall, b: ToolCall): boolean {
  if (a.name !== b.name || a.inputError !== b.inputError) return false
  return a.input === b.input || canonicalInput(a) === canonicalInput(b)
}

const hashes = new WeakMap<ToolCall, string>()

/** The hash of a call's canonical input, made once: a call is looked for more than once, and arguments may be long. */
export function inputHash(call: ToolCall): string {
  let hashed = hashes.get(call)
  if (hashed === undefined) {
    // Not by way of the text that is kept: that is as long as the input.
    hashed = hash(inputs.get(call) ?? canonical(call.input))
    hashes.set(call, hashed)
  }
  return hashed
}
