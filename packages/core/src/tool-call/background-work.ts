/** One background call: it is answered at once, and its work goes on beside the run (I15). */

import { RunStop } from '../errors.ts'
import { checkedInput } from '../execution/checked-input.ts'
import { executeTool } from '../execution/execute-tool.ts'
import { drive } from '../flow/flow.ts'
import { Interrupt } from '../interrupt/interrupt.ts'
import type { ToolCall, ToolMessage } from '../message.ts'
import type { ToolFlow } from '../middleware.ts'
import { freeze } from '../run/history.ts'
import type { RunState } from '../run/run.ts'
import type { Tool } from '../tool.ts'
import type { CallEntry } from './call-entry.ts'
import type { Result } from './call-outcomes.ts'
import { cutOff } from './call-results.ts'
import { boundedResult } from './output-limits.ts'
import { hostOf } from './run-host.ts'
import { stood, stoodAbove } from './stood.ts'
import { errorMessage, NO_ANSWER, textMessage } from './tool-message.ts'

/** The innermost of `wrapToolCall`: it answers with where to ask for the result. */
export async function* startWork(run: RunState, entry: CallEntry, tool: Tool, call: ToolCall): ToolFlow {
  await checkedInput(tool, call)
  if (entry.provisional) await stood(run, entry, { call: entry })
  const above = stoodAbove(run, [entry.signal, run.halt.halted])
  if (above) await above
  entry.signal.throwIfAborted()
  run.halt.halted.throwIfAborted()
  run.background.start(entry, call)
  const handle = { callId: entry.id, state: 'running' }
  return freeze({ ...textMessage(call, JSON.stringify(handle), false), output: handle })
}

/**
 * The work of a background call: its input was checked, its wraps are out, and what comes of it is a message.
 *
 * @throws {RunStop} The agent that it runs asks, or has stopped: the work stays open for a resume.
 */
export async function makeWork(run: RunState, entry: CallEntry): Promise<ToolMessage> {
  try {
    const result = await workOf(run, entry)
    const message = freeze(boundedResult(result.message, run.config.outputLimits))
    entry.settle({ ...result, message })
    run.calls.ended(entry, !message.isError)
    return message
  } catch (error) {
    if (error instanceof RunStop) entry.settle({ stopped: error })
    throw error
  } finally {
    run.telemetry.ended(entry)
  }
}

async function workOf(run: RunState, entry: CallEntry): Promise<Result> {
  const flow = executeTool(hostOf(run, entry), entry, entry.call, entry.parent)
  const given = drive(flow, (event) => run.calls.events.yielded(entry, event))
  try {
    return { message: await Promise.race([given, entry.abandoned.promise]) }
  } catch (error) {
    // Its run has stopped before its turn came: it stays to be begun after a resume.
    if (entry.signal.aborted || error === run.halt.halted.reason) return cutOff(entry)
    // Nobody hears what work asks that its run no longer waits for.
    if (error instanceof RunStop && entry.outcomes.hasRuns && !run.background.hasHandedOver(entry)) throw error
    if (error instanceof Interrupt) return { message: textMessage(entry.call, NO_ANSWER, true) }
    return { message: errorMessage(entry.call, error) }
  }
}
