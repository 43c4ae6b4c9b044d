/** A warning about a call: only if it is committed, as the run that is not eager makes no other (H16). */

import type { RunState } from '../run/run.ts'
import type { CallEntry } from './call-entry.ts'

export function warnOf({ fate }: CallEntry, run: RunState, code: string, message: string): void {
  void fate.decided.then(() => {
    if (fate.isCommitted) run.events.warn({ code, message, source: 'core' })
  })
}
