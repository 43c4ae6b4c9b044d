/** The end of a call's spans: late, when its fate is known, but with the time at which its function settled. */

import { RunStop } from '../errors.ts'
import type { DiscardCause } from '../events.ts'
import { answersAbort } from '../execution/execute-tool.ts'
import type { Execution } from '../execution/execution.ts'
import { executionOf } from '../machine/call.ts'
import { set } from '../telemetry/attributes.ts'
import { failureOf, typeOf } from '../telemetry/error-type.ts'
import { setError, setFailed } from '../telemetry/exception.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { type Outcome, outcomeOf } from '../telemetry/outcome.ts'
import { endSpan } from '../telemetry/spans.ts'
import type { CallEntry } from './call-entry.ts'

/**
 * Ends the spans of a call that was committed, discarded or abandoned, and counts it. `compensated`: whether its discard was
 * undone, if tried.
 */
export function endSpans(entry: CallEntry, metrics: Metrics | undefined, compensated?: boolean): void {
  const answers = entry.answers.splice(0)
  const executions = entry.executions.splice(0)
  if (answers.length + executions.length === 0) return
  const fates = executions.map((execution) => endExecution(entry, execution, metrics, compensated))
  const fate = fates.at(-1) ?? fateOf(entry, entry.message?.isError)
  for (const { open, ended } of answers) {
    set(open.span, () => ({ 'meanwhile.outcome': fate, 'meanwhile.discard.reason': reasonOf(entry) }))
    endSpan(open, ended)
  }
  const early = executions.length > 0 ? executions.some((execution) => execution.early) : entry.startedEarly
  metrics?.call(entry.tool?.name, entry.step > 0 ? (early ? 'early' : 'after_model') : undefined, fate)
}

/** Counts a call whose result is that of a checkpoint: it has no span in this run, and its fate was not known in that one. */
export function countReused(entry: CallEntry, metrics: Metrics | undefined): void {
  metrics?.call(entry.tool?.name, 'early', fateOf(entry, entry.message?.isError))
}

function endExecution(
  entry: CallEntry,
  execution: Execution,
  metrics: Metrics | undefined,
  compensated: boolean | undefined,
): Outcome {
  const { open, early, attempt, queued, lag, capture, error, invocation } = execution
  const { stage, does } = executionOf(entry.state, invocation) ?? {}
  const { span, started } = open
  const ended = execution.ended ?? performance.now()
  const failure = failureIn(execution)
  const undone = error === undefined ? compensated : undefined
  const stays = undone === false ? 'compensation_failed' : undefined
  const isLost = execution.ended === undefined || stage === 'abandoned'
  const outcome = isLost && failure === undefined ? 'abandoned' : fateOf(entry, failure !== undefined, execution)
  const headStart = aheadOf(entry, execution)
  set(span, () => ({
    'meanwhile.dispatch.queued': queued,
    'meanwhile.tool.effect': does?.effect,
    'meanwhile.dispatch.lag': lag,
    'meanwhile.outcome': outcome,
    'meanwhile.settled': isLost ? false : undefined,
    'meanwhile.discard.reason': reasonOf(entry),
    'meanwhile.head_start': headStart,
    'meanwhile.overlap': headStart && Math.min(headStart, (ended - execution.started) / 1000),
    'meanwhile.compensated': undone,
  }))
  if (failure) setError(open, error, capture, failure, ended)
  if (stays) setFailed(span, stays)
  endSpan(open, ended)
  metrics?.execution({
    tool: entry.tool?.name,
    duration: (ended - started) / 1000,
    outcome,
    error: failure ?? stays,
    evidence: evidenceFor(entry, early),
    lag,
    headStart: attempt === 1 ? headStart : undefined,
  })
  return outcome
}

function failureIn({ error, aborted }: Execution): string | undefined {
  return answersAbort(error, aborted ?? false) ? undefined : failureOf(error, typeOf)
}

/** Seconds from the start of an early one to the end of the model's stream, if that stood with its call. */
function aheadOf({ state: { modelEnded } }: CallEntry, { early, started }: Execution): number | undefined {
  return early && modelEnded !== undefined ? Math.max(0, modelEnded - started) / 1000 : undefined
}

/** As it stands on the span; outside of a run there is none. */
function evidenceFor({ step, attributes }: CallEntry, early: boolean): string | undefined {
  const given = early ? attributes['meanwhile.dispatch.evidence'] : step > 0 && 'model_stood'
  return typeof given === 'string' ? given : undefined
}

/** The reader is told that a call is discarded though it is kept: a resume may yet commit it. */
function reasonOf({ state }: CallEntry): DiscardCause | undefined {
  return state.kept ? undefined : state.cause
}

/** What became of a call, as far as one of its executions shows it, or a wrap that answered in its place. */
function fateOf(entry: CallEntry, failed = false, execution?: Execution): Outcome {
  const { kept, fate } = entry.state
  if (kept) return kept
  if (fate === 'discarded') return fate
  if (failed) return 'failed'
  const stopped = entry.stopped ?? execution?.error
  if (stopped instanceof RunStop) return outcomeOf(stopped)
  return (execution ?? entry).signal.aborted ? 'cancelled' : 'committed'
}
