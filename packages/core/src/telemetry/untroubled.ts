/** Telemetry never throws into a run: what goes wrong in it is told to OpenTelemetry's own log. */

import { diag } from '@opentelemetry/api'
import { messageOf } from '../errors.ts'

export function untroubled(record: () => void): void {
  try {
    record()
  } catch (error) {
    diag.error('meanwhile: telemetry threw', messageOf(error))
  }
}
