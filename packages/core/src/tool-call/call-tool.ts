/** `run.callTool`: finds a call that already exists, by id or as an equal call of an earlier attempt; otherwise makes it. */

import { rejectInTurn } from '../flow/event-loop.ts'
import { unheard } from '../flow/unheard.ts'
import { mayStartFor } from '../machine/calls.ts'
import { callAsked } from '../machine/decide-calls.ts'
import { endsAfter } from '../machine/due.ts'
import { isEnding } from '../machine/halt.ts'
import { type Actor, checkNotLeft } from '../state/actor.ts'
import type { CallEntry } from '../state/call-entry.ts'
import type { RunState } from '../state/run.ts'
import { findTool, resolveAliases } from '../vocabulary/aliases.ts'
import { boundedCall } from '../vocabulary/call-limits.ts'
import type { CallOptions } from '../vocabulary/call-options.ts'
import { canonical, sameCall } from '../vocabulary/canonical.ts'
import { RunStop } from '../vocabulary/errors.ts'
import { freeze } from '../vocabulary/history.ts'
import type { ToolCall, ToolMessage } from '../vocabulary/message.ts'
import { isCall } from '../vocabulary/shape.ts'
import { ToolCircleError, ToolDiscardedError } from '../vocabulary/tool-errors.ts'
import { restOf } from './call-rest.ts'
import { findMade } from './find-made.ts'
import { beginCall, startCall } from './start-call.ts'

/**
 * Returns the result of a call that the current response requests, or of one that a tool or wrap makes itself. The call is made at most
 * once. Errors arrive as a rejection, never as a synchronous throw, and a rejection that is not handled is ignored.
 */
export function callTool(
  run: RunState,
  written: ToolCall,
  actor: Actor,
  options: CallOptions = {},
): Promise<ToolMessage> {
  const result = resultOf(run, written, actor, options)
  const { call } = actor
  const { halt, config } = run
  const graceAt = (stop: RunStop) => (stop === halt.halted.reason ? config.grace : undefined)
  // Must happen before the caller receives the error.
  if (call) result.catch((error) => error instanceof RunStop && call.meet(error, graceAt(error)))
  return result
}

function resultOf(run: RunState, written: ToolCall, actor: Actor, options: CallOptions): Promise<ToolMessage> {
  try {
    checkCall(written)
    const call = resolveAliases(ownOf(run, written), run.setup.tools)
    checkOpen(run, actor)
    const { rest, ...others } = options
    return rest ? onNeeds(run, call, rest, actor, others) : called(run, call, actor, options)
  } catch (error) {
    return rejectInTurn(error)
  }
}

/** Throws unless the call has a usable id: two calls without an id would be the same call. */
function checkCall(call: ToolCall): void {
  if (isCall(call) && call.id !== '') return
  throw new TypeError(
    "callTool takes { type: 'tool-call', id, name, input }, with an id that its caller uses for no other call",
  )
}

/** Returns the call itself if it is frozen, as calls of a response are; otherwise a copy, because the caller may change its object. */
function ownOf({ calls, config }: RunState, call: ToolCall): ToolCall {
  const bounded = boundedCall(call, config.inputLimits)
  if (calls.attemptOf(call.id) !== undefined && Object.isFrozen(bounded)) return bounded
  const own = freeze(structuredClone(bounded))
  // Throws here if the call is not JSON, while its caller can still receive the error.
  canonical(own.input)
  return own
}

function checkOpen({ signal, halt }: RunState, actor: Actor): void {
  const { execution, call } = actor
  signal.throwIfAborted()
  checkNotLeft(actor, 'callTool')
  if (isEnding(halt.state)) throw new TypeError('the run has ended')
  const stop = execution?.signal ?? call?.signal
  stop?.throwIfAborted()
  // A call that had settled was not aborted.
  if (call?.discarded) throw new ToolDiscardedError(call.id, call.discarded)
}

function called(run: RunState, call: ToolCall, actor: Actor, options: CallOptions): Promise<ToolMessage> {
  const { calls, halt, history } = run
  const { call: maker } = actor
  const past = (maker && calls.past(call.id, maker)) ?? calls.past(call.id)
  if (past?.promise && sameCall(past.call, call)) return past.promise
  const attempt = maker && calls.get(call.id) ? undefined : calls.attemptOf(call.id)
  const found = maker ? madeFor(run, maker, call) : findMade(run, call)
  if (maker && found && found.maker !== maker) {
    if (endsAfter(calls.state, found.number, maker.number)) throw new ToolCircleError(call.name, found.id)
    callAsked(calls.state, maker.number, found.number)
  }
  calls.slots.advance()
  // If the maker has settled, nothing can wait for the calls that it makes now.
  if ((!found || found.state.course === 'asleep') && !(maker && !maker.settled)) halt.halted.throwIfAborted()
  if (found) return beginCall(run, found, actor, options).promise
  const isFree = maker ? !calls.past(call.id, maker) : !history.takenIds.has(call.id)
  const mayStart = attempt === undefined ? isFree : mayStartFor(calls.state, attempt) && !calls.isUnoffered(call)
  // After the response has ended, only the loop starts its calls. So either the loop has made this call, or it must not be made.
  if (!mayStart) throw new ToolDiscardedError(call.id, 'call_withdrawn')
  return startCall(run, call, { actor, attempt, options }).promise
}

/** The call that a maker requests, if it already exists: an inner call of the maker, or an equal call of the response. */
function madeFor({ calls }: RunState, maker: CallEntry, call: ToolCall): CallEntry | undefined {
  const made = calls.get(call.id, maker) ?? calls.get(call.id)
  const isSame = made && sameCall(made.call, call)
  if (isSame ? made.discarded : made?.maker === maker) throw new ToolDiscardedError(call.id, 'call_withdrawn')
  return isSame ? made : undefined
}

/** Makes a call when the needed members of its input are complete, if it may start then; otherwise when the whole input is. */
function onNeeds(
  run: RunState,
  call: ToolCall,
  whole: Promise<ToolCall>,
  actor: Actor,
  options: CallOptions,
): Promise<ToolMessage> {
  const { calls, setup } = run
  const attempt = calls.attemptOf(call.id)
  const tool = findTool(setup.tools, call.name)
  const isOffered = tool && attempt !== undefined && !calls.isUnoffered(call)
  const mayStart = isOffered && mayStartFor(calls.state, attempt) && !actor.call
  const rest = mayStart ? restOf(run, call, tool, attempt) : undefined
  if (rest) rest.follow(startCall(run, call, { actor, attempt, options, rest }), whole)
  return unheard((rest?.whole ?? whole).then((whole) => callTool(run, whole, actor, options)))
}
