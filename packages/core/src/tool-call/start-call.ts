/** Starts a call, and settles it when its wraps have returned. */

import { turnIfDue } from '../flow/event-loop.ts'
import { follow, type LazyController } from '../flow/follow.ts'
import { wasEntered } from '../machine/call.ts'
import { begun, endOf } from '../machine/decide-call.ts'
import type { Actor } from '../state/actor.ts'
import { CallEntry } from '../state/call-entry.ts'
import type { Ending, Result } from '../state/call-outcomes.ts'
import type { Rest } from '../state/rest.ts'
import type { RunState } from '../state/run.ts'
import { findTool } from '../vocabulary/aliases.ts'
import type { CallOptions } from '../vocabulary/call-options.ts'
import { RunStop } from '../vocabulary/errors.ts'
import { freeze } from '../vocabulary/history.ts'
import type { ToolCall, ToolMessage } from '../vocabulary/message.ts'
import { ToolDiscardedError } from '../vocabulary/tool-errors.ts'
import { abortCalls, callEnded, closeCall } from './commit-or-discard.ts'
import { cutOffResult } from './history-results.ts'
import { performCall } from './perform-call.ts'

/** This many calls of a run begin at once. The others wait for a turn of the event loop if it is due, in their order. */
const AT_ONCE = 16

interface Start {
  /** The tool or wrap that makes the call, or starts it early. */
  readonly actor?: Actor
  /** The attempt that requests it, if there is one. */
  readonly attempt?: number | undefined
  readonly options?: CallOptions
  /** Present for a call that starts with only the members that its tool needs. */
  readonly rest?: Rest<CallEntry> | undefined
}

export function startCall(run: RunState, call: ToolCall, { actor, attempt, options = {}, rest }: Start): CallEntry {
  const { context, setup, steps, history, calls } = run
  const maker = actor?.call
  const isRequested = attempt !== undefined
  const requestedIn = isRequested && calls.contexts.get(attempt)
  const entry = new CallEntry(calls, {
    key: rest ? calls.keyOfStart(call) : calls.keyOf(call, steps.begun, isRequested, maker),
    call,
    tool: !maker && calls.isUnoffered(call) ? undefined : findTool(setup.tools, call.name),
    step: steps.begun,
    parent: actor && maker ? actor.context : context,
    attributes: options.attributes ?? {},
    attempt,
    ...(requestedIn && { requestedIn: [requestedIn] }),
    maker,
    caller: run.caller,
    provisional: maker ? maker.provisional : isRequested && calls.state.response.isOpen,
    most: limitsOf(maker, options),
    rest,
    warmUp: maker ? undefined : calls.warmUps.take(call.id),
  })
  calls.add(entry)
  history.takenIds.add(call.id)
  if (entry.provisional && !maker) calls.counts.early++
  actor?.execution?.children.push(entry)
  begin(run, entry)
  if (actor?.own && !isRequested) endWith(entry, actor.own, run.config.grace)
  const { status } = entry
  options.started?.(() => status.read())
  return entry
}

/**
 * Begins a call of a checkpoint when it is requested. If the call already has a result, its inner calls that never started begin instead,
 * because nothing requests those again. `options`: those of the early start.
 */
export function beginCall(run: RunState, entry: CallEntry, actor?: Actor, options: CallOptions = {}): CallEntry {
  const isAsleep = entry.state.course === 'asleep'
  if (entry.provisional && (isAsleep || entry.reused)) {
    // A checkpoint does not contain the limits.
    entry.most = limitsOf(entry.maker, options)
    entry.note({ ceiling: entry.most.ceiling })
  }
  if (entry.reused) for (const child of entry.children) if (!wasEntered(child.state)) beginCall(run, child)
  if (!isAsleep) return entry
  entry.parent = actor && entry.maker ? actor.context : run.context
  begin(run, entry)
  return entry
}

/** The limits of an early call. `allow` and `keys` of a call do not apply to the calls that it makes. */
function limitsOf(maker: CallEntry | undefined, options: CallOptions): CallEntry['most'] {
  return maker ? { ceiling: maker.most.ceiling } : options
}

function begin(run: RunState, entry: CallEntry): void {
  entry.decide(begun(entry.state))
  run.calls.events.started(entry)
  entry.promise = make(run, entry)
  run.calls.track(entry.promise)
}

/** Runs the call. Returns its result as a message; throws if the call ends the run or was discarded. */
async function make(run: RunState, entry: CallEntry): Promise<ToolMessage> {
  let end: Ending = {}
  try {
    if (entry.number > AT_ONCE) await turnIfDue()
    const made = await work(run, entry)
    const how = endOf(entry.state, made.isCutOff ? 'cut off' : 'result')
    if (how === 'none') throw new ToolDiscardedError(entry.call.id, entry.discarded ?? 'call_withdrawn')
    if (how === 'open') throw entry.parkedBy
    const { message, ...rest } = entry.cancelled ? cutOffResult(run, entry) : made
    const result = freeze({ ...message, callId: entry.id, name: entry.call.name })
    end = { message: result, ...rest }
    if (entry.provisional) run.calls.events.emit(entry, { type: 'tool-settled', message: result, provisional: true })
    return result
  } catch (thrown) {
    const error = entry.parkedBy ?? thrown
    // It stays open, and so do the calls that must not overtake it: they also start after the resume.
    if (error instanceof RunStop && endOf(entry.state, 'stop') === 'open') end = { stopped: error }
    // Calls that wait for its slot must no longer start.
    else if (run.calls.awaited.includes(entry)) abortCalls(run, error)
    throw error
  } finally {
    entry.settle(end)
    // Runs that its tool has left inside it, such as that of an agent next to the one that asks, start nothing more.
    if (end.stopped) for (const [inner, call] of run.innerRuns) if (call === entry) inner.halt.post({ is: 'pause' })
    callEnded(run, entry, end.message !== undefined && !end.message.isError)
    if (entry.state.fate === 'committed') closeCall(run, entry)
    if (!entry.signal.aborted) run.saver.soon()
  }
}

/** Returns the result of its wraps. Once the call is abandoned, nothing waits for that result. */
function work(run: RunState, entry: CallEntry): Promise<Result> {
  const made = performCall(run, entry)
  entry.work = made
  const abandoned = entry.abandoned.promise.catch((reason: Error) => {
    if (!entry.cancelled) throw reason
    return cutOffResult(run, entry)
  })
  return Promise.race([made, abandoned])
}

/** Called for a call that a wrap made: when the wrap is closed, the call is cut off. */
function endWith(entry: CallEntry, { signal }: LazyController, grace: number): void {
  const unfollow = follow(signal, () => entry.abort(signal.reason, grace))
  entry.promise.then(unfollow, unfollow)
}
