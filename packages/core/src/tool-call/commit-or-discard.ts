/** Commits, discards, stops and closes calls: first the machine decides it for all that are concerned, then everyone is told. */

import { hasAbandoned } from '../machine/call.ts'
import { kept } from '../machine/decide-call.ts'
import { callCommitted, callDiscarded, responseEnded, restDiscarded, runStopped } from '../machine/decide-calls.ts'
import type { CallEntry } from '../state/call-entry.ts'
import { endState } from '../state/call-status.ts'
import type { RunState } from '../state/run.ts'
import { CheckpointConflictError } from '../vocabulary/checkpoint-errors.ts'
import { RunStop } from '../vocabulary/errors.ts'
import type { DiscardCause } from '../vocabulary/events.ts'
import { Interrupt } from '../vocabulary/interrupt.ts'
import { ToolDiscardedError } from '../vocabulary/tool-errors.ts'
import { compensate } from './compensate.ts'

/** `id`: of the attempt that stands, which need not be the last that joined. */
export function commit(run: RunState, entry: CallEntry, id: string, modelEnded: number | undefined): void {
  const { calls } = run
  const { table } = calls
  if (entry.reused) calls.counts.reused++
  // Calls committed or made after it stand behind it.
  const committed = callCommitted(table.state, entry.number, performance.now(), modelEnded)
  if (committed.size === 0) {
    // As a checkpoint has it: its result was kept, but nobody told of it.
    if (entry.message && entry.state.told === 'open' && !entry.discarded) closeCall(run, entry)
    return
  }
  for (const number of committed) table.of(number)?.decided.resolve()
  rename(run, entry, id)
  tellCommitted(run, entry, committed)
}

function tellCommitted(run: RunState, entry: CallEntry, committed: ReadonlySet<number>): void {
  const { calls, telemetry } = run
  // As a checkpoint has it: not made in this run, it is a call like any other.
  if (entry.state.course !== 'asleep') {
    if (!entry.maker) calls.counts.committed++
    calls.events.committed(entry)
  }
  for (const child of entry.children) if (committed.has(child.number)) tellCommitted(run, child, committed)
  if (entry.reused) telemetry.reused(entry)
  if (entry.settled) closeCall(run, entry)
}

/** The run stops, with `stop` if it goes on after a resume. `isUndone`: whether what is discarded is nobody else's. */
export function stopUndecided(run: RunState, stop: RunStop | undefined, isUndone: boolean): void {
  const how = stop && (stop instanceof Interrupt ? 'interrupted' : 'cancelled')
  const keepsResults = stop !== undefined && !run.signal.aborted
  tellAll(run, runStopped(run.calls.table.state, how, keepsResults, isUndone), 'run_aborted')
  if (isUndone) undoKept(run)
}

/** An abort has won over the cancel that kept them: no resume decides on them any more. */
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
  const discarded = restDiscarded(run.calls.table.state, cause, ({ number }) => numbers.has(number))
  tellAll(run, discarded, cause)
}

/** Discards a call, and those it made, while it is provisional: it alone is aborted, and nobody sees its result. */
export function discard(run: RunState, entry: CallEntry, cause: DiscardCause): void {
  tellAll(run, callDiscarded(run.calls.table.state, entry.number, cause), cause)
}

function tellAll(run: RunState, discarded: readonly number[], cause: DiscardCause): void {
  const entries = discarded.flatMap((number) => run.calls.table.of(number) ?? [])
  for (const entry of entries) entry.decided.resolve()
  // The others are as a checkpoint has them, and nobody has requested them since: the reader is told nothing of them.
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

/** Undoes a call, if that is due, when nothing of it is at work. */
export function undoWhenOver(run: RunState, entry: CallEntry): void {
  run.calls.track(over(entry).then(() => compensate(run, entry)))
}

/** The call goes on under this id: whoever lists it has its new one. */
export function rename(run: RunState, entry: CallEntry, id: string): void {
  const old = entry.id
  const isInside = (one: string) => one.startsWith(`${old}/`)
  const renamed = (one: string) => (one === old || isInside(one) ? id + one.slice(old.length) : one)
  run.unknown = run.unknown.map(renamed)
  entry.rename(id)
  run.calls.table.renamed(entry)
}

/** Resolves when nothing of it is at work, whatever it came to. */
async function over(entry: CallEntry): Promise<void> {
  // A wrap may stop the run in the very turn in which the call begins: it has no promise before that is through.
  await Promise.resolve()
  if (entry.state.course !== 'asleep') await entry.promise.catch(() => undefined)
}

/** How a call has ended is told from now on. */
export function callEnded(run: RunState, entry: CallEntry, ok: boolean): void {
  if (entry.state.isAbandoned || hasAbandoned(entry.state)) run.noLongerWaitedFor(entry.id)
  run.calls.end(entry, endState(entry, ok))
}

/** A call that was made is over, and the reader is told. */
export function closeCall(run: RunState, entry: CallEntry): void {
  run.calls.events.ended(entry)
  if (entry.stopped instanceof Interrupt && !run.checkpoint)
    run.tellQuestions(run.work.checkpoints.questionsOf(run, entry))
  run.telemetry.ended(entry)
  // Only `returnDirect` still needs it.
  if (!entry.tool?.returnDirect) entry.done = undefined
}

/**
 * The run is aborted or over: nothing more starts or commits, and what is at work is told to stop. What a stopped run has made
 * early stays as it is, for its resume.
 */
export function abortCalls(run: RunState, reason: unknown): void {
  const { calls, config } = run
  responseEnded(calls.table.state)
  calls.warmUps.drop('the run is over')
  const stop = stopFor(run, reason)
  // Whoever has saved this run since has its calls, and decides on them.
  stopUndecided(run, stop, !stop && !(reason instanceof CheckpointConflictError))
  calls.table.turns.advance()
  const entries = calls.entries()
  for (const { rest } of entries) rest?.fail(reason)
  calls.table.stop(entries, reason, config.grace)
}

/** Why the run stops, if it goes on after a resume: one inside of a run that is cancelled at once is aborted with its call. */
function stopFor(run: RunState, reason: unknown): RunStop | undefined {
  if (reason instanceof RunStop) return reason
  return run.isCancelledNow ? run.halt.error : undefined
}

/** Nothing more comes of what stayed open. */
export function callsOver({ calls, telemetry }: RunState): void {
  for (const entry of calls.entries()) telemetry.ended(entry)
}
