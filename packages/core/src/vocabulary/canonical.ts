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

/** The canonical text of a call's input. Computed once per call: calls are frozen. */
export const canonicalInput: (call: ToolCall) => string = oncePerCall(({ input }) => canonical(input))

/** The hash of that text. It is kept where the text, which is as long as the input, is not. */
export const inputHash: (call: ToolCall) => string = oncePerCall(({ input }) => hash(canonical(input)))

function oncePerCall(textOf: (call: ToolCall) => string): (call: ToolCall) => string {
  const texts = new WeakMap<ToolCall, string>()
  return (call) => {
    let text = texts.get(call)
    if (text === undefined) texts.set(call, (text = textOf(call)))
    return text
  }
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
