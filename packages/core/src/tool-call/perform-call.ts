/** Performs a call: `prepareInput`, then every `wrapToolCall`, with the execution innermost. A throw becomes an error result. */

import { startWork, workOf } from '../background/background.ts'
import { executeTool } from '../execution/execute-tool.ts'
import { drive } from '../flow/flow.ts'
import { wasEntered } from '../machine/call.ts'
import { compose, type WrapKind } from '../middleware/compose.ts'
import { CUSTOM_EVENT, checkedCall, type EventShapes } from '../middleware/hook-problems.ts'
import { WrapThrows } from '../middleware/wrap-throws.ts'
import type { CallEntry } from '../state/call-entry.ts'
import type { Result } from '../state/call-outcomes.ts'
import type { RunState } from '../state/run.ts'
import type { AgentConfig } from '../vocabulary/agent-config.ts'
import { boundedCall, boundedResult } from '../vocabulary/call-limits.ts'
import { checkedOf, withChecked } from '../vocabulary/checked-input.ts'
import { AgentError, messageOf, RunStop } from '../vocabulary/errors.ts'
import { copyOfJson, freezePlain } from '../vocabulary/frozen.ts'
import { freeze, isMessage } from '../vocabulary/history.ts'
import { isRecord } from '../vocabulary/json.ts'
import type { ToolCall, ToolMessage } from '../vocabulary/message.ts'
import { hasParts } from '../vocabulary/message-shape.ts'
import type { ToolEvent } from '../vocabulary/middleware.ts'
import type { InputLimits } from '../vocabulary/model.ts'
import { isNumber, isText, optional } from '../vocabulary/shape.ts'
import { cutOffResult } from './history-results.ts'
import { errorMessage, otherInput, withInput } from './no-result-message.ts'

/** Returns the result of a call. Anything thrown on the way becomes an error result, except an `AgentError`, which ends the run. */
export async function performCall(run: RunState, entry: CallEntry): Promise<Result> {
  const throws = new WrapThrows()
  const { inputLimits, outputLimits, prepareInput } = run.config
  const inputs: string[] = []
  const hasRun = () => wasEntered(entry.state) || workOf(run, entry) !== undefined
  const told = (message: ToolMessage) => {
    const isOfOne = new Set(inputs).size === 1 || entry.outcomes.save().filter((one) => 'message' in one).length === 1
    // If wraps make one result from several, only they know what it is for. A direct result is the answer for the user.
    const input = isOfOne && hasRun() ? inputs.at(-1) : undefined
    const isDirect = entry.tool?.returnDirect !== undefined && entry.tool.returnDirect !== false && !message.isError
    return !input || isDirect ? message : withInput(message, input)
  }
  try {
    // It may have waited for its turn of the event loop.
    entry.signal.throwIfAborted()
    // The result does not state what this function changes: it is how the agent reads inputs, as a schema is.
    const call = prepareInput
      ? boundedCall(await run.telemetry.inside(entry.parent, () => prepared(entry.call, prepareInput)), inputLimits)
      : entry.call
    const onion = compose(run, wrapToolCall(entry, inputLimits, throws), (handed, parent, why) => {
      inputs.push(otherInput(handed, call))
      return entry.tool?.background
        ? startWork(run, entry, entry.tool, handed)
        : executeTool(run, entry, handed, parent, why)
    })
    const message = await drive(onion(call, entry.parent), (event) => run.calls.events.yielded(entry, event))
    return { message: freeze(told(boundedResult(message, outputLimits))) }
  } catch (error) {
    // A cancelled call no longer asks a question or stops the run.
    const isOver = error instanceof RunStop && entry.cancelled
    if (error instanceof AgentError && !isOver) throw error
    if (entry.signal.aborted) return cutOffResult(run, entry)
    const by = throws.whose(error)
    if (by !== undefined) wrapThrew(run, entry, by, error)
    const message = errorMessage(entry.call, error, by !== undefined && hasRun())
    return { message: told(boundedResult(message, outputLimits)), error }
  }
}

/** Warns that a wrap threw. The model only reads that the call failed, and whether its tool ran. */
function wrapThrew(run: RunState, entry: CallEntry, middleware: string, error: unknown): void {
  const { id, name } = entry.call
  const place = `middleware ${middleware} threw in wrapToolCall`
  const message = `${place}, so call ${id} of ${name} failed: ${messageOf(error).slice(0, 500)}`
  run.calls.events.warn(entry, { code: 'wrap-threw', message, source: 'core' })
}

async function prepared(call: ToolCall, prepareInput: NonNullable<AgentConfig['prepareInput']>): Promise<ToolCall> {
  const given = prepareInput(call.input, call)
  // Copied before the next `await`, because the caller may change the object later.
  const input = isRecord(given) && 'then' in given ? await Promise.resolve<unknown>(given) : given
  return Object.freeze({ ...call, input: input === call.input ? input : freezePlain(copyOfJson(input)) })
}

/** The events that a wrap of a call may yield. Progress has no type. */
const TOOL_EVENTS: EventShapes = { ...CUSTOM_EVENT, '': { progress: optional(isNumber), message: optional(isText) } }

function wrapToolCall(
  entry: CallEntry,
  limits: InputLimits,
  throws: WrapThrows,
): WrapKind<ToolCall, ToolEvent, ToolMessage> {
  return {
    hook: 'wrapToolCall',
    of: (middleware) => middleware.wrapToolCall?.bind(middleware),
    handed(call, given) {
      const own = checkedCall(call, given)
      const bounded = own.input === given.input ? own : boundedCall(own, limits)
      return withChecked(bounded, checkedOf(call) ?? (otherInput(bounded, given) ? undefined : checkedOf(given)))
    },
    events: TOOL_EVENTS,
    isResult: (value) => isMessage(value) && value.role === 'tool' && hasParts(value),
    call: entry,
    throws,
  }
}
