/** What the effect of a call means for a limit: whether it may run again, and whether it may have changed something. */

import type { Effect, Run, ToolCall } from '@meanwhile/core'
import { findTool, judgeCall } from '@meanwhile/core/calls'

/** Whether an early call that is discarded may leave something changed. */
export function mayHaveHappened(early: ToolCall, run: Run): boolean {
  const { startedAt, startedBefore } = run.toolStatus(early.id) ?? {}
  const effect = effectOf(early, run)
  return (startedAt !== undefined || startedBefore === true) && (effect === 'idempotent' || effect === 'external')
}

/** Whether a call may run again after an early execution, because it changes nothing itself. */
export function isRepeatable(call: ToolCall, run: Run): boolean {
  const effect = effectOf(call, run)
  return effect === 'read' || effect === 'calls'
}

function effectOf({ name, input }: ToolCall, run: Run): Effect {
  const tool = findTool(run.setup.tools, name)
  return tool ? judgeCall(tool, input).effect : 'external'
}
