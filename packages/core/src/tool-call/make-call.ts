/** One call from its input to its message: `prepareInput`, all `wrapToolCall`s, the execution at their core. */

import { context } from '@opentelemetry/api'
import type { AgentConfig } from '../config.ts'
import { AgentError, RunStop } from '../errors.ts'
import { executeTool } from '../execution/execute-tool.ts'
import { drive } from '../flow/flow.ts'
import { compose, type WrapKind } from '../hooks/compose.ts'
import type { ToolCall, ToolMessage } from '../message.ts'
import type { ToolEvent } from '../middleware.ts'
import { freeze, isMessage } from '../run/history.ts'
import type { RunState } from '../run/run.ts'
import { startWork } from './background-work.ts'
import type { CallEntry } from './call-entry.ts'
import { cutOff } from './call-results.ts'
import type { Result } from './call-state.ts'
import { hostOf } from './run-host.ts'
import { errorMessage } from './tool-message.ts'

/** Whatever is thrown on the way is the call's error result, but for an `AgentError`, which ends the run (A11, A12, C18). */
export async function makeCall(run: RunState, entry: CallEntry): Promise<Result> {
  const onion = compose(run, wrapToolCall(entry), (call, parent, why) =>
    entry.tool?.background
      ? startWork(run, entry, entry.tool, call)
      : executeTool(hostOf(run, entry), entry, call, parent, why),
  )
  try {
    const { prepareInput } = run.config
    const call = prepareInput ? await context.with(entry.parent, () => prepared(entry.call, prepareInput)) : entry.call
    const message = await drive(onion(call, entry.parent), (event) => run.calls.events.yielded(entry, event))
    return { message: freeze(message) }
  } catch (error) {
    // A call that was cancelled asks nothing any more, and stops no run (I4).
    const isOver = error instanceof RunStop && entry.cancelled
    if (error instanceof AgentError && !isOver) throw error
    return entry.signal.aborted ? cutOff(entry) : { message: errorMessage(entry.call, error), error }
  }
}

async function prepared(call: ToolCall, prepareInput: NonNullable<AgentConfig['prepareInput']>): Promise<ToolCall> {
  return { ...call, input: await prepareInput(call.input, call) }
}

function wrapToolCall(entry: CallEntry): WrapKind<ToolCall, ToolEvent, ToolMessage> {
  return {
    hook: 'wrapToolCall',
    of: (middleware) => middleware.wrapToolCall?.bind(middleware),
    isResult: (value) => isMessage(value) && value.role === 'tool',
    ownsThrows: false,
    call: entry,
  }
}
