/** The value at the place that a refusal names, in short. */

import { isText } from './values.ts'

const LONGEST = 200

/**
 * The value at a path, as JSON of at most 200 characters; undefined if nothing is there. A provider's path also names
 * kinds, as `tools.0.custom.name`: what the body does not have is left out.
 */
export function shownAt(body: unknown, path: string): string | undefined {
  if (path === '') return undefined
  let value = body
  for (const step of path.match(/[^.[\]/]+/g) ?? []) {
    if (typeof value !== 'object' || value === null) break
    if (Object.hasOwn(value, step)) value = (value as Readonly<Record<string, unknown>>)[step]
  }
  return short(value)
}

function short(value: unknown): string {
  const text = isText(value) ? JSON.stringify(value.slice(0, LONGEST)) : outline(value)
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text
}

/** JSON of a value, if it is not deeper than the stack. */
function outline(value: unknown): string {
  try {
    return JSON.stringify(value)
  } catch {
    return 'a value that is nested too deeply'
  }
}
