/** Background tools: a call of such a tool has a result immediately, and its work, a separate call with the same id, continues in parallel with the run. */

import { executeTool } from '../execution/execute-tool.ts'
import { textMessage } from '../execution/result-message.ts'
import { untilCallersCommitted, untilCommitted } from '../execution/wait-for-commit.ts'
import { drive } from '../flow/flow.ts'
import { unheard } from '../flow/unheard.ts'
import {
  ownWorks,
  resultRead,
  stoppedWork,
  unreadWorks,
  type Work,
  workBeforeAnswer,
  worksHandedOver,
} from '../machine/background.ts'
import { begun } from '../machine/decide-call.ts'
import { atEndOf } from '../state/call-effect.ts'
import { CallEntry } from '../state/call-entry.ts'
import type { Result } from '../state/call-outcomes.ts'
import type { RunState } from '../state/run.ts'
import { abortCalls, callEnded } from '../tool-call/commit-or-discard.ts'
import { cutOffResult } from '../tool-call/history-results.ts'
import { errorMessage, NO_ANSWER, resultNotice } from '../tool-call/no-result-message.ts'
import { boundedResult } from '../vocabulary/call-limits.ts'
import { checkedInput, checkedOf, withChecked } from '../vocabulary/checked-input.ts'
import type { CheckpointError } from '../vocabulary/checkpoint-errors.ts'
import { RunStop } from '../vocabulary/errors.ts'
import { freeze } from '../vocabulary/history.ts'
import { Interrupt } from '../vocabulary/interrupt.ts'
import type { ToolCall, ToolMessage, UserMessage } from '../vocabulary/message.ts'
import type { ToolFlow } from '../vocabulary/middleware.ts'
import type { BackgroundHandle } from '../vocabulary/result.ts'
import type { Tool } from '../vocabulary/tool.ts'

/** The innermost `wrapToolCall`: it begins the work, and its result explains how to get the result of the work. */
export async function* startWork(run: RunState, entry: CallEntry, tool: Tool, call: ToolCall): ToolFlow {
  await checkedInput(tool, call)
  if (entry.provisional) await untilCommitted(run, entry, { call: entry })
  const above = untilCallersCommitted(run, [entry.signal, run.halt.halted])
  if (above) await above
  entry.signal.throwIfAborted()
  run.halt.halted.throwIfAborted()
  begin(run, entry, call)
  const handle = { callId: entry.id, state: 'running' }
  return freeze({ ...textMessage(call, JSON.stringify(handle), false), output: handle })
}

/** Returns the work of a call with this id; the latest if there are several. */
export function latestWork({ calls }: RunState, callId: string): CallEntry | undefined {
  return calls.works().findLast(({ id }) => id === callId)
}

/** The work of this call. */
export function workOf({ calls }: RunState, { key }: CallEntry): CallEntry | undefined {
  return calls.works().find((work) => work.key === key)
}

/**
 * Returns the result of work, if it has one. It then counts as read by the model. A message that the end of the run cut the work off does not count:
 * a resume continues the work.
 */
export function readResult({ calls }: RunState, { state, message, number }: CallEntry): ToolMessage | undefined {
  if (!message || state.course === 'cut off') return undefined
  resultRead(calls.state, number)
  return message
}

/** The results that the model has not read, as separate messages, because their calls were answered when they began. */
export function deliverResults(run: RunState): UserMessage[] {
  const { state } = run.calls
  const unread = unreadWorks(state)
  for (const { number } of unread) resultRead(state, number)
  return entriesOf(run, unread).flatMap(({ message }) => (message ? [resultNotice(message)] : []))
}

/** Throws to stop the run if an agent that works in the background asks a question. The run stops at its next safe point. */
export function stopIfAsked(run: RunState): void {
  throwStop(run, stoppedWork(run.calls.state))
}

/** Called when an answer may be final. Resolves when no work is running that must end first. Throws if the run has to stop before. */
export async function untilAnswerMayBeAccepted(run: RunState): Promise<void> {
  const { halt, signal, calls } = run
  const { state } = calls
  const cancelled = halt.untilCancelled()
  let due = workBeforeAnswer(state, halt.state)
  for (; due.is === 'wait'; due = workBeforeAnswer(state, halt.state))
    await Promise.race([cancelled, ...entriesOf(run, due.for).map(({ promise }) => promise)])
  signal.throwIfAborted()
  if (due.is === 'judge') return
  throwStop(run, due.by)
  // The answer was not accepted yet. The run stops while the work is running, and a resume checks the answer again.
  throw halt.halted.reason ?? halt.error
}

/** Called when the run has its answer: detached work continues, and the caller gets it and all results that the model has not read. */
export function handOver(run: RunState): BackgroundHandle[] {
  const handed = entriesOf(run, worksHandedOver(run.calls.state))
  for (const entry of own(run)) if (awaitsResume(entry)) run.calls.events.workEnded(entry)
  return handed.map(handleOf)
}

/** Aborts all calls of a run, and its background work. */
export function abortAll(run: RunState, reason: unknown): void {
  abortCalls(run, reason)
  for (const entry of own(run)) entry.abort(reason, run.config.grace)
}

/** Resolves when none of the work that belongs to the run is running. */
export async function workIdle(run: RunState): Promise<void> {
  await Promise.allSettled(own(run).map(({ promise }) => promise))
}

/** Continues the work of a checkpoint, unless it has ended since. */
export function resumeWork(run: RunState, entry: CallEntry): void {
  if (!entry.settled) {
    entry.decide(begun(entry.state))
    perform(run, entry)
  } else if (entry.message) run.calls.events.workEnded(entry)
}

function entriesOf({ calls }: RunState, works: readonly Work[]): CallEntry[] {
  return works.flatMap(({ number }) => calls.of(number) ?? [])
}

function own(run: RunState): CallEntry[] {
  return entriesOf(run, ownWorks(run.calls.state))
}

function throwStop({ calls }: RunState, work: Work | undefined): void {
  const stopped = work && calls.of(work.number)?.stopped
  if (stopped) throw stopped
}

/** Starts the work of a call whose input was checked. It starts once, even if its wraps or a resume request it again. */
function begin(run: RunState, entry: CallEntry, call: ToolCall): void {
  if (workOf(run, entry)) return
  const { key, id, tool, state, parent, requestedIn } = entry
  const work = new CallEntry(run.calls, {
    key,
    call: withChecked(freeze({ ...call, id }), checkedOf(call)),
    tool,
    step: state.step,
    parent,
    requestedIn,
    caller: run.caller,
    work: { atEnd: atEndOf(tool) },
  })
  perform(run, work)
}

function perform(run: RunState, entry: CallEntry): void {
  entry.promise = unheard(makeWork(run, entry))
}

/**
 * Runs the work of a background call after its input was checked and its wraps have returned. The outcome is a message.
 *
 * @throws {RunStop} The agent that it runs asks a question or has stopped: the work stays open for a resume.
 * @throws {CheckpointError} The beginning of the work could not be stored: the run fails.
 */
async function makeWork(run: RunState, entry: CallEntry): Promise<ToolMessage> {
  try {
    const result = await execute(run, entry)
    const given = run.middleware.reduce((one, by) => by.onBackgroundResult?.(one) ?? one, result.message)
    const message = freeze(boundedResult(given, run.config.outputLimits))
    entry.settle({ ...result, message })
    callEnded(run, entry, !message.isError)
    if (!awaitsResume(entry)) run.calls.events.workEnded(entry)
    return message
  } catch (error) {
    if (error instanceof RunStop) entry.settle({ stopped: error })
    else if (isUnstored(run, entry, error)) {
      entry.settle({})
      run.halt.fail(error)
    }
    throw error
  } finally {
    run.telemetry.ended(entry)
    run.saver.soon()
  }
}

async function execute(run: RunState, entry: CallEntry): Promise<Result> {
  const flow = executeTool(run, entry, entry.call, entry.parent)
  const given = drive(flow, (event) => run.calls.events.yielded(entry, event))
  try {
    return { message: await Promise.race([given, entry.abandoned.promise]) }
  } catch (error) {
    // The run has stopped before the work began. It begins after a resume.
    if (entry.signal.aborted || error === run.halt.halted.reason) return cutOffResult(run, entry)
    if (isUnstored(run, entry, error)) throw error
    // A run that has handed over the work cannot ask its questions.
    if (error instanceof RunStop && entry.outcomes.hasRuns && !entry.state.work?.isHandedOver) throw error
    if (error instanceof Interrupt) return { message: unanswered(entry.call) }
    return { message: errorMessage(entry.call, error) }
  }
}

/** Whether this error means that the run could not be saved when the work began. An error of work that was handed over does not fail the run. */
function isUnstored({ saver }: RunState, { state }: CallEntry, error: unknown): error is CheckpointError {
  return saver.hasThrown(error) && !state.work?.isHandedOver
}

/** Whether the run was stopped before the work began. If the run does stop, a resume begins the work. */
function awaitsResume({ state }: CallEntry): boolean {
  return state.course === 'cut off' && !state.aborted
}

/** The handle of background work. Its JSON does not contain the promise. */
function handleOf({ id, call, promise, stopped }: CallEntry): BackgroundHandle {
  const handle = { callId: id, name: call.name }
  // The work has asked a question between the last safe point and the hand-over.
  const result = stopped ? Promise.resolve(unanswered(call)) : promise
  return Object.defineProperty({ ...handle, result }, 'toJSON', { value: () => handle })
}

function unanswered(call: ToolCall): ToolMessage {
  return freeze(textMessage(call, NO_ANSWER, true))
}
