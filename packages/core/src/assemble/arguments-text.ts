/** Arguments that a wire gives as a value in the place of their text. */

import { messageOf } from '../vocabulary/errors.ts'
import { extentOf, jsonText, LONGEST } from '../vocabulary/json-text.ts'

/**
 * Their JSON text, whatever their depth. Of what JSON cannot hold it is a text that is no JSON, so that the call gets an error result;
 * of `undefined` it is empty.
 */
export function argumentsText(input: unknown): string {
  try {
    const extent = extentOf(input)
    return extent.characters > LONGEST ? 'too long' : (jsonText(input, extent) ?? '')
  } catch (error) {
    return `not writable: ${messageOf(error)}`
  }
}
