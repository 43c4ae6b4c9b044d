/** Runs the work of one background call: the work itself, and what the model and the caller receive. */

import { executeTool } from '../execution/execute-tool.ts'
import { drive } from '../flow/flow.ts'
import type { CallEntry } from '../state/call-entry.ts'
import type { Result } from '../state/call-outcomes.ts'
import type { RunState } from '../state/run.ts'
import { callEnded } from '../tool-call/commit-or-discard.ts'
import { cutOffResult } from '../tool-call/history-results.ts'
import { errorMessage, NO_ANSWER, textMessage } from '../tool-call/no-result-message.ts'
import { RunHost } from '../tool-call/run-host.ts'
import type { CheckpointError } from '../vocabulary/checkpoint-errors.ts'
import { RunStop } from '../vocabulary/errors.ts'
import { freeze } from '../vocabulary/history.ts'
import { Interrupt } from '../vocabulary/interrupt.ts'
import type { ToolCall, ToolMessage } from '../vocabulary/message.ts'
import { boundedResult } from '../vocabulary/output-limits.ts'
import type { BackgroundHandle } from '../vocabulary/result.ts'

/**
 * Runs the work of a background call after its input was checked and its wraps have returned. The outcome is a message.
 *
 * @throws {RunStop} The agent that it runs asks a question or has stopped: the work stays open for a resume.
 * @throws {CheckpointError} The beginning of the work could not be stored: the run fails.
 */
export async function makeWork(run: RunState, entry: CallEntry): Promise<ToolMessage> {
  try {
    const result = await execute(run, entry)
    const message = freeze(boundedResult(result.message, run.config.outputLimits))
    entry.settle({ ...result, message })
    callEnded(run, entry, !message.isError)
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
  }
}

async function execute(run: RunState, entry: CallEntry): Promise<Result> {
  const flow = executeTool(new RunHost(run, entry), entry, entry.call, entry.parent)
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

/** The result, unless it only states that the end of the run cut the work off. In that case a resume continues the work. */
export function resultOf({ state, message }: CallEntry): ToolMessage | undefined {
  return state.course === 'cut off' ? undefined : message
}

/** Whether the run was stopped before the work began. If the run does stop, a resume begins the work. */
export function awaitsResume({ state }: CallEntry): boolean {
  return state.course === 'cut off' && !state.aborted
}

/** The handle of background work. Its JSON does not contain the promise. */
export function handleOf({ id, call, promise, stopped }: CallEntry): BackgroundHandle {
  const handle = { callId: id, name: call.name }
  // The work has asked a question between the last safe point and the hand-over.
  const result = stopped ? Promise.resolve(unanswered(call)) : promise
  return Object.defineProperty({ ...handle, result }, 'toJSON', { value: () => handle })
}

function unanswered(call: ToolCall): ToolMessage {
  return freeze(textMessage(call, NO_ANSWER, true))
}
