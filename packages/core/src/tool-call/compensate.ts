/** Undoes a discarded call with its tool's `compensate`. */

import { within } from '../flow/grace.ts'
import { undoOf } from '../machine/call.ts'
import { undoing } from '../machine/decide-call.ts'
import type { CallEntry } from '../state/call-entry.ts'
import type { RunState } from '../state/run.ts'
import { CheckpointError } from '../vocabulary/checkpoint-errors.ts'
import { messageOf } from '../vocabulary/errors.ts'

/**
 * Undoes a discarded call if it had succeeded, and waits at most the grace time. Returns whether the undo succeeded, or nothing if there
 * was nothing to undo. A failure produces a warning and changes nothing else.
 */
export async function compensate(run: RunState, entry: CallEntry): Promise<boolean | undefined> {
  const { tool } = entry
  const place = entry.executions.at(-1)?.open.context ?? entry.parent
  let isLate = false
  const undo = async () => {
    const { done } = entry
    if (!done || !entry.decide(undoing(entry.state, 'begun'))) return
    const compensated = () => {
      if (isLate) throw new Error('it is not undone: the checkpoint could not be saved within the grace time')
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
  if (is === 'lost') return failed('it is not undone: it is still running')
  if (is === 'late') {
    entry.work?.then(undo).catch(() => undefined)
    return failed('it is undone later')
  }
  if (is !== 'due') return undefined
  if (entry.done && !('input' in entry.done))
    return failed('it is not undone: the checkpoint lacks its input or output, which is not JSON')
  try {
    return (await within(run.config.grace, undo())) || failed('it did not end within the grace time')
  } catch (error) {
    const isUnstored = error instanceof CheckpointError
    return failed(
      isUnstored ? `it is not undone: the checkpoint could not be saved: ${error.message}` : messageOf(error),
    )
  } finally {
    isLate = true
  }
}
