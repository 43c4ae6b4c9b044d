/** Telemetry never throws into a run: what goes wrong in it is told to OpenTelemetry's own log. */

import { diag } from '@opentelemetry/api'
import { messageOf } from '../errors.ts'

export function untroubled(record: () => void): void {
  try {
    record()
  } catch (error) {
    logged('telemetry threw', error)
  }
}

/** The log is somebody else's, too: what that throws is dropped. */
export function logged(what: string, error: unknown): void {
  try {
    diag.error(`meanwhile: ${what}`, messageOf(error))
  } catch {}
}
