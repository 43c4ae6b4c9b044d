/** One call from its input to its message: `prepareInput`, all `wrapToolCall`s, the execution at their core. */

import type { CallEntry } from './call-entry.ts'
import type { CallEvents } from './call-events.ts'
import { compose, type WrapKind } from './compose.ts'
import { AgentError } from './errors.ts'
import { executeTool } from './execute-tool.ts'
import type { Flow } from './flow.ts'
import { freeze, isMessage } from './history.ts'
import type { ToolCall, ToolMessage } from './message.ts'
import type { ToolFlow } from './middleware.ts'
import type { RunState } from './run.ts'
import { CUT_OFF, errorMessage, NOT_STARTED, textMessage } from './tool-message.ts'

/** Whatever is thrown on the way is the call's error result, but for an `AgentError`, which ends the run (A11, A12, C18). */
export async function makeCall(run: RunState, entry: CallEntry, events: CallEvents): Promise<ToolMessage> {
  const onion = compose(run, wrapToolCall(entry), (call, parent) => executeTool(run, entry, call, parent))
  try {
    const flow = onion(await prepared(run, entry.call), entry.parent)
    for (;;) {
      const step = await flow.next()
      if (step.done) return freeze(step.value)
      try {
        entry.signal.throwIfAborted()
        tell(events, entry, step.value)
      } catch (error) {
        // It would go on all the same: closed here, it comes to its `finally` blocks (I14).
        await flow.return(undefined as never)
        throw error
      }
    }
  } catch (error) {
    if (error instanceof AgentError) throw error
    if (entry.signal.aborted) return textMessage(entry.call, entry.entered ? CUT_OFF : NOT_STARTED, true)
    return errorMessage(entry.call, error)
  }
}

async function prepared(run: RunState, call: ToolCall): Promise<ToolCall> {
  const { prepareInput } = run.config
  return prepareInput ? { ...call, input: await prepareInput(call.input, call) } : call
}

function tell(events: CallEvents, entry: CallEntry, event: ToolEvent): void {
  if (event.type === 'custom') events.custom(entry, { source: entry.call.name, ...event })
  else events.progress(entry, event)
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

type ToolEvent = ToolFlow extends Flow<infer Event, ToolMessage> ? Event : never
