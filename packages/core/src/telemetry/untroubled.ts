/** Telemetry never throws into a run: what goes wrong in it is told to OpenTelemetry's own log. */

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

/** The log is somebody else's, too: what that throws is dropped. */
export function logged(what: string, error: unknown): void {
  try {
    diag.error(`meanwhile: ${what}`, messageOf(error))
  } catch {}
}
