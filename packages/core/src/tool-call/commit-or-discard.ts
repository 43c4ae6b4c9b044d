/** Commits, discards, stops and closes calls: the machine decides for all of them first, then events, spans and waits follow. */

import { questionsOf } from '../checkpoint/take.ts'
import { within } from '../flow/grace.ts'
import { undoOf } from '../machine/call.ts'
import { kept, undoing } from '../machine/decide-call.ts'
import { callCommitted, callDiscarded, responseEnded, restDiscarded, runStopped } from '../machine/decide-calls.ts'
import type { CallEntry } from '../state/call-entry.ts'
import type { RunState } from '../state/run.ts'
import { CheckpointConflictError, CheckpointError } from '../vocabulary/checkpoint-errors.ts'
import { messageOf, RunStop } from '../vocabulary/errors.ts'
import type { DiscardCause } from '../vocabulary/events.ts'
import { Interrupt } from '../vocabulary/interrupt.ts'
import { ToolDiscardedError } from '../vocabulary/tool-errors.ts'

/** Commits a call. `id`: its id in the accepted attempt, which may differ from the last attempt that joined. */
export function commit(run: RunState, entry: CallEntry, id: string, modelEnded: number | undefined): void {
  const { calls } = run
  if (entry.reused) calls.counts.reused++
  // Calls that are committed or made later come after it in call order.
  const committed = new Set(callCommitted(calls.state, entry.number, performance.now(), modelEnded))
  if (committed.size === 0) {
    // The call comes from a checkpoint: its result was saved, but the reader has not seen it.
    if (entry.message && entry.state.told === 'open' && !entry.discarded) closeCall(run, entry)
    return
  }
  for (const number of committed) calls.of(number)?.decided.resolve()
  rename(run, entry, id)
  tellCommitted(run, entry, committed)
}

function tellCommitted(run: RunState, entry: CallEntry, committed: ReadonlySet<number>): void {
  const { calls, telemetry } = run
  // A call of a checkpoint that was not made again since the resume is not counted, and has no event.
  if (entry.state.course !== 'asleep') {
    if (!entry.maker) calls.counts.committed++
    calls.events.committed(entry)
  }
  for (const child of entry.children) if (committed.has(child.number)) tellCommitted(run, child, committed)
  if (entry.reused) telemetry.reused(entry)
  if (entry.settled) closeCall(run, entry)
}

/** Stops the calls whose fate is undecided. `stop`: a resume continues the run. `isUndone`: no resume does, so this run undoes what is discarded. */
export function stopUndecided(run: RunState, stop: RunStop | undefined, isUndone: boolean): void {
  const how = stop && (stop instanceof Interrupt ? 'interrupted' : 'cancelled')
  const keepsResults = stop !== undefined && !run.signal.aborted
  tellAll(run, runStopped(run.calls.state, how, keepsResults, isUndone), 'run_aborted')
  if (isUndone) undoKept(run)
}

/** Called when an abort follows a cancel that had kept these calls: no resume will decide about them. */
function undoKept(run: RunState): void {
  const { calls } = run
  for (const entry of calls.entries()) {
    if (!entry.decide(kept(entry.state, undefined))) continue
    if (!entry.maker && entry.state.course !== 'asleep') calls.counts.discarded++
    undoWhenOver(run, entry)
  }
}

/** Discards all provisional calls except these. */
export function discardAll(run: RunState, cause: DiscardCause, except: Iterable<CallEntry> = []): void {
  const numbers = new Set([...except].map(({ number }) => number))
  const discarded = restDiscarded(run.calls.state, cause, ({ number }) => numbers.has(number))
  tellAll(run, discarded, cause)
}

/** Discards a provisional call and its inner calls. Only these are aborted, and nothing reads their results. */
export function discard(run: RunState, entry: CallEntry, cause: DiscardCause): void {
  tellAll(run, callDiscarded(run.calls.state, entry.number, cause), cause)
}

function tellAll(run: RunState, discarded: readonly number[], cause: DiscardCause): void {
  const entries = run.calls.allOf(discarded)
  for (const entry of entries) entry.decided.resolve()
  // The others come from a checkpoint and have not been requested since, so the reader sees no event for them.
  const made = entries.filter(({ state }) => state.course !== 'asleep')
  for (const entry of entries) if (!made.includes(entry)) undoWhenOver(run, entry)
  for (const entry of made) run.calls.events.discarded(entry)
  for (const entry of made) stopDiscarded(run, entry, cause)
}

function stopDiscarded(run: RunState, entry: CallEntry, cause: DiscardCause): void {
  const { calls, telemetry, config } = run
  if (!entry.state.kept) {
    if (!entry.maker) calls.counts.discarded++
    if (entry.reused) telemetry.reused(entry)
  }
  const reason = new ToolDiscardedError(entry.call.id, cause)
  entry.abort(reason, config.grace)
  entry.warmUp?.abort(reason)
  calls.track(over(entry).then(async () => telemetry.ended(entry, await compensate(run, entry))))
}

/** Undoes a call, if an undo is due, when nothing of it is running any more. */
export function undoWhenOver(run: RunState, entry: CallEntry): void {
  run.calls.track(over(entry).then(() => compensate(run, entry)))
}

/** Gives a call a new id, also in every list that contains the old one. */
export function rename(run: RunState, entry: CallEntry, id: string): void {
  const old = entry.id
  const isInside = (one: string) => one.startsWith(`${old}/`)
  const renamed = (one: string) => (one === old || isInside(one) ? id + one.slice(old.length) : one)
  run.unknown = run.unknown.map(renamed)
  entry.rename(id)
  run.calls.renamed(entry)
}

/** Resolves when nothing of the call is running, with any outcome. */
async function over(entry: CallEntry): Promise<void> {
  // A wrap may stop the run in the same turn in which the call begins, and the call has no promise until that turn is over.
  await Promise.resolve()
  if (entry.state.course !== 'asleep') await entry.promise.catch(() => undefined)
}

/** Records how a call has ended. */
export function callEnded(run: RunState, entry: CallEntry, ok: boolean): void {
  if (entry.isAbandoned) run.noLongerWaitedFor(entry.id)
  run.calls.end(entry, entry.endState(ok))
}

/** Emits the last events of a call that is over, and ends its span. */
export function closeCall(run: RunState, entry: CallEntry): void {
  run.calls.events.ended(entry)
  if (entry.stopped instanceof Interrupt && !run.checkpoint) run.showQuestions(questionsOf(run, entry))
  run.telemetry.ended(entry)
  // Only `returnDirect` still needs it.
  if (!entry.tool?.returnDirect) entry.done = undefined
}

/**
 * Called when the run is aborted or over: nothing more starts or commits, and everything that is running is stopped. Early calls of a stopped run
 * keep their state for its resume.
 */
export function abortCalls(run: RunState, reason: unknown): void {
  const { calls, config } = run
  responseEnded(calls.state)
  calls.warmUps.drop('the run has ended')
  // A resume continues the run after a stop. A cancel `now` of an outer run aborts this run, and counts as its stop.
  const stop = reason instanceof RunStop ? reason : run.isCancelledNow ? run.halt.error : undefined
  // After a conflict, another process has these calls in its checkpoint and decides about them.
  stopUndecided(run, stop, !stop && !(reason instanceof CheckpointConflictError))
  calls.slots.advance()
  const entries = calls.entries()
  for (const { rest } of entries) rest?.fail(reason)
  calls.stop(entries, reason, config.grace)
}

/**
 * Undoes a discarded call if it had succeeded, and waits at most the grace time. Returns whether the undo succeeded, or nothing if there
 * was nothing to undo. A failure produces a warning and changes nothing else.
 */
async function compensate(run: RunState, entry: CallEntry): Promise<boolean | undefined> {
  const { tool } = entry
  const place = entry.executions.at(-1)?.open.context ?? entry.parent
  let isLate = false
  const undo = async () => {
    const { done } = entry
    if (!done || !entry.decide(undoing(entry.state, 'begun'))) return
    const compensated = () => {
      if (isLate) throw new Error('it is not undone, because the checkpoint could not be saved within the grace time')
      return run.telemetry.inside(place, () => tool?.compensate?.(done.input, done.output))
    }
    await run.saver.undos
      .during(entry, run.outerId(entry.id), compensated)
      .finally(() => entry.decide(undoing(entry.state, 'ended')))
  }
  const failed = (message: string) => {
    run.events.warn({ code: 'compensation-failed', message: `${tool?.name}: ${message}`, source: 'core' })
    return false
  }
  const is = undoOf(entry.state)
  // The call was made before the resume, and its output is not in the checkpoint.
  if (is === 'unknown')
    return failed('the call may have happened before the run was resumed; its output is unknown, so it is not undone')
  if (is === 'abandoned') return failed('the call is still running, and is not undone if it succeeds')
  if (is === 'late') {
    entry.work?.then(undo).catch(() => undefined)
    return failed('the call is still running, and will be undone if it succeeds')
  }
  if (is !== 'due') return undefined
  if (entry.done && !('input' in entry.done))
    return failed('it is not undone, because the checkpoint lacks its input or output, which is not JSON')
  try {
    return (await within(run.config.grace, undo())) || failed('it did not end within the grace time')
  } catch (error) {
    const what = error instanceof CheckpointError ? 'it is not undone, because the checkpoint could not be saved: ' : ''
    return failed(what + messageOf(error))
  } finally {
    isLate = true
  }
}
