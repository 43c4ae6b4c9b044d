/** The word for an error: the `error.type` of its span, and of what is measured. */

import { TimeoutError } from '../errors.ts'
import { ModelError } from '../model-errors.ts'
import { ToolInputError, ToolTimeoutError, UnknownToolError } from '../tool-errors.ts'
import { isOnPurpose } from './outcome.ts'
import { OTHER } from './semconv.ts'
import { textOf } from './thrown.ts'

/** The `error.type` of what was thrown, if that is an error: what was done on purpose is none, as an abort or a discard. */
export function failureOf(error: unknown, type: (error: unknown) => string = classOf): string | undefined {
  return error === undefined || isOnPurpose(error) ? undefined : type(error)
}

/** Of a model attempt or a tool: a word of the conventions, or a class. Few distinct values, no content. */
export function typeOf(error: unknown): string {
  if (error instanceof ModelError) {
    if (error.status !== undefined) return String(error.status)
    return error.code === 'unknown' ? classOf(error.cause ?? error) : error.code
  }
  if (error instanceof ToolInputError) return 'invalid_input'
  if (error instanceof UnknownToolError) return 'unknown_tool'
  return error instanceof TimeoutError || error instanceof ToolTimeoutError ? 'timeout' : classOf(error)
}

/** Of a run or a middleware. */
export function classOf(error: unknown): string {
  const name = error instanceof Error ? textOf(error, 'name') : ''
  // Whoever throws may name it as they like; a class has a name of this kind.
  return /^[A-Za-z_$][\w$.]{0,63}$/.test(name) ? name : OTHER
}
