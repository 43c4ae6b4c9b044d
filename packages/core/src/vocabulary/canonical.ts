/** Compares calls by their parsed inputs, independent of white space, key order and escapes. */

import { hash, sortedMembers } from './hash.ts'
import { written } from './json-text.ts'
import type { ToolCall } from './message.ts'

/** Returns JSON with sorted keys and without undefined members. What JSON cannot represent becomes `null`, except for numbers beyond its range. */
export function canonical(value: unknown): string {
  return written(value, leafText, sortedMembers)
}

function leafText(value: unknown): string {
  // `JSON.parse` reads `1e400` as Infinity.
  if (value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY) return String(value)
  return JSON.stringify(value) ?? 'null'
}

const inputs = new WeakMap<ToolCall, string>()

/** Returns the canonical text of a call's input. Computed once per call: calls are frozen. */
export function canonicalInput(call: ToolCall): string {
  let text = inputs.get(call)
  if (text === undefined) {
    text = canonical(call.input)
    inputs.set(call, text)
  }
  return text
}

/** Whether two inputs are equal as JSON. */
export function sameInput(a: unknown, b: unknown): boolean {
  return canonical(a) === canonical(b)
}

/** Whether two calls have the same tool and equal input. Their ids are ignored. */
export function sameCall(a: ToolCall, b: ToolCall): boolean {
  if (a.name !== b.name || a.inputError !== b.inputError) return false
  return a.input === b.input || canonicalInput(a) === canonicalInput(b)
}

const hashes = new WeakMap<ToolCall, string>()

/** Returns the hash of a call's canonical input. Computed once per call: calls are compared often, and arguments may be long. */
export function inputHash(call: ToolCall): string {
  let hashed = hashes.get(call)
  if (hashed === undefined) {
    // The canonical text is not stored here, because it is as long as the input.
    hashed = hash(inputs.get(call) ?? canonical(call.input))
    hashes.set(call, hashed)
  }
  return hashed
}
