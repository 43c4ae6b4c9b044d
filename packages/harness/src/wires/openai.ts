/** Helpers for both OpenAI wires. */

import type { Failure } from './wire.ts'

/** A fixed creation time (seconds), so that the same script gives the same bytes. */
export const CREATED = 1_770_000_000

/** The error object of the OpenAI API, the same in a body and in a stream. */
export function openaiError({ status, code, message }: Failure): object {
  return { message, type: errorType(status, code), param: null, code }
}

function errorType(status: number, code: string): string {
  if (status === 429) return code === 'insufficient_quota' ? 'insufficient_quota' : 'requests'
  return status >= 500 ? 'server_error' : 'invalid_request_error'
}
