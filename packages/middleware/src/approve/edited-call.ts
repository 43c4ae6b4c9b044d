/** Checks an input that was edited: what runs is what a human wrote, or nothing. */

import type { Json, Tool, ToolCall } from '@meanwhile/core'
import { BrandedError, sameInput } from '@meanwhile/core/calls'
import { type CheckedCall, checkedCall } from '../checked-call.ts'

/** The schema of the tool has changed the edited input. */
export class ChangedEditError extends BrandedError {
  static override readonly brand: string = 'ChangedEditError'

  /** `input`: what the tool would get. */
  constructor(tool: string, input: Json) {
    super(`Not run: ${tool} would get another input than the edited one: ${JSON.stringify(input)}`)
  }
}

/**
 * The call with this input.
 *
 * @throws {ChangedEditError} The schema changes the input.
 * @throws {ToolInputError} The schema rejects it.
 */
export async function editedCall(tool: Tool, call: ToolCall, input: Json): Promise<CheckedCall> {
  const edited = await checkedCall(tool, { ...call, input })
  const shown = edited.shown()
  if (!sameInput(shown, input)) throw new ChangedEditError(call.name, shown)
  return edited
}
