/** When two calls are the same: their parsed inputs are, whatever their white space, key order and escapes. */

import type { ToolCall } from './message.ts'

/** JSON with sorted keys. A value JSON cannot hold counts as `null`. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${canonical(member)}`).join(',')}}`
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

/** The hash of {@link canonicalInput}, made once: the ledger looks for a call more than once, and arguments may be long. */
export function inputHash(call: ToolCall): string {
  let hashed = hashes.get(call)
  if (hashed === undefined) {
    hashed = hash(canonicalInput(call))
    hashes.set(call, hashed)
  }
  return hashed
}

/** 53 bits of a text, short and stable; not for security (cyrb53). */
export function hash(text: string): string {
  let a = 0xdeadbeef
  let b = 0x41c6ce57
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    a = Math.imul(a ^ code, 2654435761)
    b = Math.imul(b ^ code, 1597334677)
  }
  a = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909)
  b = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909)
  return (4294967296 * (2097151 & b) + (a >>> 0)).toString(36)
}
