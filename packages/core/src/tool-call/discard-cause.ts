/** Why calls are let go of when their model call failed. */

import { AgentError } from '../vocabulary/errors.ts'
import type { DiscardCause } from '../vocabulary/events.ts'
import { ModelError } from '../vocabulary/model-errors.ts'

/** Its last failure says it, also behind the error of a wrap that gave up. */
export function causeOf(error: unknown): DiscardCause {
  if (error instanceof ModelError) return error.code === 'stream_truncated' ? 'stream_truncated' : 'stream_error'
  return error instanceof AgentError ? causeOf(error.cause) : 'stream_error'
}
