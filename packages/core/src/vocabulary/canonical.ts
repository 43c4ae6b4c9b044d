/** Compares calls by their parsed inputs, independent of white space, key order and escapes. */

import { sortedMembers } from './hash.ts'
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

const keys = new WeakMap<ToolCall, string>()

/** Stands for the input of a call in keys: {@link textKey} of its canonical text. Computed once per call: calls are frozen. */
export function inputKey(call: ToolCall): string {
  const key = keys.get(call) ?? textKey(canonical([call.input, call.inputError]))
  keys.set(call, key)
  return key
}

/** Stands for a text: its SHA-256. Where that cannot be computed at once, as in browsers, it is the text itself. */
export function textKey(text: string): string {
  const crypto = globalThis.process?.getBuiltinModule?.('node:crypto')
  return crypto?.hash?.('sha256', text, 'base64url') ?? encodeURIComponent(text)
}

/** Whether two inputs are equal as JSON. */
export function sameInput(a: unknown, b: unknown): boolean {
  return canonical(a) === canonical(b)
}

/** Whether two calls have the same tool and equal input. Their ids are ignored. */
export function sameCall(a: ToolCall, b: ToolCall): boolean {
  return a === b || (a.name === b.name && inputKey(a) === inputKey(b))
}
