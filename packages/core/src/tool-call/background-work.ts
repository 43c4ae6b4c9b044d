/** One background call: it is answered at once, and its work goes on beside the run (I15). */

import { checkedInput } from '../execution/checked-input.ts'
import { executeTool } from '../execution/execute-tool.ts'
import { endState } from '../execution/tool-status.ts'
import { drive } from '../flow/flow.ts'
import { Interrupt } from '../interrupt/interrupt.ts'
import type { ToolCall, ToolMessage } from '../message.ts'
import type { ToolFlow } from '../middleware.ts'
import { freeze } from '../run/history.ts'
import type { RunState } from '../run/run.ts'
import type { Tool } from '../tool.ts'
import type { CallEntry } from './call-entry.ts'
import { cutOff } from './call-results.ts'
import { endSpans } from './call-spans.ts'
import { hostOf } from './run-host.ts'
import { errorMessage, NO_ANSWER, textMessage } from './tool-message.ts'

/** The innermost of `wrapToolCall`: it answers with where to ask for the result. */
export async function* startWork(run: RunState, entry: CallEntry, tool: Tool, call: ToolCall): ToolFlow {
  await checkedInput(tool, call)
  entry.signal.throwIfAborted()
  if (entry.provisional) await entry.fate.stood(entry.signal)
  run.cancel.halted.throwIfAborted()
  run.background.start(entry, call)
  const handle = { callId: entry.id, state: 'running' }
  return { ...textMessage(call, JSON.stringify(handle), false), output: handle }
}

/** The work of a background call: its input was checked, its wraps are out, and whatever comes of it is a message. */
export async function makeWork(run: RunState, entry: CallEntry): Promise<ToolMessage> {
  const message = freeze(await workOf(run, entry))
  entry.settle({ message })
  entry.status.end(endState(entry, !message.isError))
  endSpans(entry, run.metrics)
  return message
}

async function workOf(run: RunState, entry: CallEntry): Promise<ToolMessage> {
  const flow = executeTool(hostOf(run, entry), entry, entry.call, entry.parent)
  const given = drive(flow, (event) => run.calls.events.yielded(entry, event))
  try {
    return await Promise.race([given, entry.abandoned.then(() => Promise.reject(entry.signal.reason as Error))])
  } catch (error) {
    if (error instanceof Interrupt) return textMessage(entry.call, NO_ANSWER, true)
    return entry.signal.aborted ? cutOff(entry).message : errorMessage(entry.call, error)
  }
}
