/** Makes the text of arguments that a wire sends as a value instead of text. */

import { messageOf } from '../vocabulary/errors.ts'
import { extentOf, jsonText, LONGEST } from '../vocabulary/json-text.ts'

/**
 * The JSON text of arguments of any depth. For a value that JSON cannot hold it is a text that is not JSON, so that the call has an error
 * result; for `undefined` it is empty.
 */
export function argumentsText(input: unknown): string {
  try {
    const extent = extentOf(input)
    return extent.characters > LONGEST ? 'too long' : (jsonText(input, extent) ?? '')
  } catch (error) {
    return `not writable: ${messageOf(error)}`
  }
}
