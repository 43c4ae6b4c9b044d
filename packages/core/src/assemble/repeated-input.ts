/** Recognizes arguments that are repeated in another form: with other white space, or as a JSON string. */

import { sameInput } from '../vocabulary/canonical.ts'
import { unwrapJson } from '../vocabulary/checked-input.ts'
import { JsonScanner } from './json-scanner.ts'

/** Whether two inputs are the same, or one is the other as a JSON string. */
export function meansSame(a: unknown, b: unknown): boolean {
  return sameInput(unwrapJson(a, WHOLE), unwrapJson(b, WHOLE))
}

/** The path of the input itself, for `unwrapJson`. */
const WHOLE = [[]]

/** Whether `text` contains only this input again, once or several times. It looks at most `maxDepth` levels deep. */
export function repeats(input: unknown, text: string, maxDepth: number): boolean {
  for (let rest = text; rest.trim() !== ''; ) {
    const scanner = new JsonScanner(maxDepth)
    scanner.feed(rest)
    if (scanner.end === undefined || !isKnown(rest.slice(scanner.begin, scanner.end), input)) return false
    rest = rest.slice(scanner.end)
  }
  return true
}

/** Whether the JSON text is equal to the known input, or is empty: an empty piece may be encoded as well. */
function isKnown(text: string, input: unknown): boolean {
  try {
    const value: unknown = JSON.parse(text)
    return value === '' || meansSame(value, input)
  } catch {
    return false
  }
}
