/** The end of a call's spans: late, when its fate is known, but with the time at which its function settled. */

import type { CallEntry } from './call-entry.ts'
import { RunStop } from './errors.ts'
import { COMPENSATED, DISCARD_REASON, HEAD_START, OUTCOME, OVERLAP, SETTLED } from './telemetry/semconv.ts'
import { type Outcome, outcomeOf, setError } from './telemetry/spans.ts'
import { ToolTimeoutError } from './tool-errors.ts'

/**
 * Ends the spans of a call that was committed, discarded or abandoned. `compensated`: whether its discard was undone, if
 * tried.
 */
export function endSpans(entry: CallEntry, compensated?: boolean): void {
  for (const { open, capture, signal, started, ended, error, abandoned } of entry.executions.splice(0)) {
    const { span } = open
    // What a tool throws once we have aborted it answers the abort.
    const aborted = signal.aborted && !(error instanceof ToolTimeoutError)
    const failed = error !== undefined && !aborted && !(error instanceof RunStop)
    if (failed) setError(span, error, capture)
    span.setAttribute(OUTCOME, outcome(entry, signal, ended !== undefined, failed))
    if (ended === undefined || abandoned) span.setAttribute(SETTLED, false)
    if (entry.discarded) span.setAttribute(DISCARD_REASON, entry.discarded)
    else if (entry.startedEarly && entry.modelEnded !== undefined) {
      span.setAttribute(HEAD_START, Math.max(0, entry.modelEnded - started) / 1000)
      span.setAttribute(OVERLAP, Math.max(0, Math.min(ended ?? entry.modelEnded, entry.modelEnded) - started) / 1000)
    }
    if (compensated !== undefined) span.setAttribute(COMPENSATED, compensated)
    span.end(ended ?? performance.now())
  }
}

function outcome(entry: CallEntry, signal: AbortSignal, settled: boolean, failed: boolean): Outcome {
  if (!settled) return 'abandoned'
  if (entry.discarded) return 'discarded'
  if (failed) return 'failed'
  if (entry.stopped) return outcomeOf(entry.stopped)
  return signal.aborted ? 'cancelled' : 'committed'
}
