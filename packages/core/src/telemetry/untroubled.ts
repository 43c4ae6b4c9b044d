/** Keeps errors of telemetry out of a run: they go to OpenTelemetry's own log. */

import { diag } from '@opentelemetry/api'
import { messageOf } from '../vocabulary/errors.ts'

/** Returns what `record` returns; `undefined` if it throws. */
export function untroubled<Made>(record: () => Made): Made | undefined {
  try {
    return record()
  } catch (error) {
    logged('telemetry threw', error)
    return undefined
  }
}

/** Errors of the log itself are dropped. */
export function logged(what: string, error: unknown): void {
  try {
    diag.error(`meanwhile: ${what}`, messageOf(error))
  } catch {}
}
