/** Converts arguments to text, for a wire that sends them as a value. */

import { messageOf } from '@meanwhile/core'
import { extentOf, jsonText, LONGEST } from '@meanwhile/core/calls'

/**
 * Returns the JSON text of arguments of any depth; empty for `undefined`. For a value that JSON cannot represent it returns a text that is not JSON,
 * so that the call gets an error result.
 */
export function argumentsText(input: unknown): string {
  try {
    const extent = extentOf(input)
    return extent.characters > LONGEST ? 'too long' : (jsonText(input, extent) ?? '')
  } catch (error) {
    return `not writable: ${messageOf(error)}`
  }
}
