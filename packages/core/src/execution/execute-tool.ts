/** Executes a tool once, in its slot and its span. The innermost `wrapToolCall` calls this. */

import type { Context } from '@opentelemetry/api'
import { cancelable, type Flow } from '../flow/flow.ts'
import { follow, throwIfAborted, wrapLeft } from '../flow/follow.ts'
import { timer } from '../flow/grace.ts'
import { hasAbandoned, isEntered, nextInvocation } from '../machine/call.ts'
import { attemptCounted, executionWanted, movedTo } from '../machine/decide-call.ts'
import type { CallEntry } from '../state/call-entry.ts'
import type { Execution } from '../state/call-outcomes.ts'
import { canonical } from '../vocabulary/canonical.ts'
import { AgentError, RunStop } from '../vocabulary/errors.ts'
import { copyOfJson } from '../vocabulary/frozen.ts'
import type { ToolCall } from '../vocabulary/message.ts'
import { ToolTimeoutError } from '../vocabulary/tool-errors.ts'
import type { Progress } from '../vocabulary/tool-status.ts'
import { type InSlot, runFunction } from './tool-function.ts'
import type { Host } from './tool-host.ts'

/**
 * Executes a tool once. If a wrap closes the flow before its end, only this execution is aborted, with the reason that `why` returns; the call is
 * not. If the function is still running after the grace time, it is abandoned and its slot becomes free, so that the next execution need not wait for
 * it.
 */
export function executeTool<Result>(
  host: Host<Result>,
  entry: CallEntry,
  call: ToolCall,
  parent: Context,
  why: () => unknown = wrapLeft,
): Flow<Progress, Result> {
  const own = new AbortController()
  const { signal } = own
  const unstarted = [entry.signal, signal, ...(host.halted ? [host.halted] : [])]
  const invocation = nextInvocation(entry.state, inputOf(entry, call))
  entry.decide(executionWanted(entry.state, invocation))
  const flow = takeSlot({ host, entry, call, invocation, parent, own, signal, unstarted })
  return cancelable(flow, () => own.abort(why()))
}

type Wanted<Result> = Omit<InSlot<Result>, 'slot' | 'requestedAt' | 'early' | 'queued'>

async function* takeSlot<Result>(wanted: Wanted<Result>): Flow<Progress, Result> {
  const { host, entry, invocation, own, signal, unstarted } = wanted
  const known = host.known?.(invocation)
  if (known) return known()
  const { provisional: early } = entry
  const { slots } = entry.table
  const { requestedAt } = entry.state
  const wantedSince = performance.now()
  const slot = await slots.take(entry, invocation, unstarted)
  const queued = (performance.now() - wantedSince) / 1000
  const place = { ...wanted, slot, requestedAt, early, queued }
  let late: ReturnType<typeof timer>
  // The time limit has passed, or the wrap has ended: the inner calls of this execution are cut off with it.
  const left = () => {
    if (entry.signal.aborted) return
    for (const child of madeIn(place)?.children ?? []) child.abort(signal.reason, host.grace)
    late = timer(host.grace, () => {
      ended(place)
      noteCutOff(place)
      entry.decide(movedTo(entry.state, invocation, 'abandoned'))
      slots.free(slot)
    })
  }
  // Not `AbortSignal.any`, which adds work for the garbage collector with each execution.
  const abort = () => own.abort(entry.signal.reason)
  signal.addEventListener('abort', left, { once: true })
  const unfollow = follow(entry.signal, abort)
  if (entry.signal.aborted) abort()
  try {
    throwIfAborted(unstarted)
    const result = yield* inSpan(place)
    const error = timedOut(place)
    host.came?.(invocation, error ? { error } : { result })
    return result
  } catch (thrown) {
    const error = timedOut(place) ?? thrown
    if (!answersAbort(error, signal.aborted)) host.came?.(invocation, { error })
    if (thrown instanceof AgentError && !(thrown instanceof RunStop)) slots.threw(slot)
    throw thrown
  } finally {
    unfollow()
    signal.removeEventListener('abort', left)
    clearTimeout(late)
    noteCutOff(place)
    slots.free(slot)
  }
}

/** The execution in the call's entry, until its span ends. */
function madeIn<Result>({ entry, invocation }: InSlot<Result>): Execution | undefined {
  return entry.executions.find((one) => one.invocation === invocation)
}

/** Called when the function has ended, or when nothing waits for it any more. */
function ended<Result>(place: InSlot<Result>, thrown?: unknown): void {
  const execution = madeIn(place)
  if (!execution) return
  execution.ended = performance.now()
  const error = timedOut(place) ?? thrown
  execution.answersAbort = answersAbort(error, place.signal.aborted)
  if (error !== undefined) execution.error = error
}

/** Called when nothing waits for the function any more. If its wrap ended before it had an outcome, it may have happened. */
function noteCutOff<Result>(place: InSlot<Result>): void {
  const { host, entry, invocation, signal } = place
  if (signal.aborted && !entry.signal.aborted && isEntered(entry.state, invocation))
    host.came?.(invocation, { error: timedOut(place) ?? new Error(CUT_OFF) })
}

const CUT_OFF = 'The call was cut off before its result was known: its effect may have happened.'

/** Returns the error of the time limit that stopped only this execution, if there is one. It is the outcome, even if the function ends later. */
function timedOut<Result>({ entry, invocation, signal }: InSlot<Result>): ToolTimeoutError | undefined {
  const reason: unknown = signal.reason
  const isOwn = reason instanceof ToolTimeoutError && reason !== entry.signal.reason
  return isOwn && isEntered(entry.state, invocation) ? reason : undefined
}

/** Whether an error results from the abort. Every error after the abort does, except that of the execution's own time limit. */
function answersAbort(error: unknown, aborted: boolean): boolean {
  return aborted && !(error instanceof ToolTimeoutError)
}

/** Runs the function in its span. The span ends when the call is committed or discarded, with the time at which the function settled. */
function inSpan<Result>(place: InSlot<Result>): Flow<Progress, Result> {
  const { host, entry, call, parent, invocation, signal, early, queued } = place
  return host.telemetry.aroundFlow<'execution', Progress, Result>('execution', parent, {
    begin: () => {
      entry.decide(attemptCounted(entry.state, invocation, 1))
      return { call: entry, input: call.input, attempt: entry.state.attempts, early }
    },
    make: (open) => {
      const { attempts: attempt } = entry.state
      const execution = { open, early, attempt, invocation, signal, started: open.started, queued, children: [] }
      entry.executions.push(execution)
      return runFunction(place, execution)
    },
    done: (result) => result,
    failed: (error) => error,
    came: ({ returned, error }) => {
      if (hasAbandoned(entry.state, invocation)) return {}
      ended(place, error)
      return {
        settled: madeIn(place),
        ...(entry.rest && { input: () => entry.call.input }),
        ...(returned && { output: () => copyOfJson(entry.done?.output) }),
      }
    },
  })
}

/** Identifies the input of an execution: `undefined` if it is the input of the call itself. */
function inputOf({ call, rest }: CallEntry, made: ToolCall): string | undefined {
  if (made.input === call.input || made.input === rest?.started.input) return undefined
  const text = textOf(made)
  return text === canonical(call.input) ? undefined : text
}

/** Returns the canonical text of a call's input; the empty text if it is not JSON, which a wrap may pass on. Such inputs are distinguished only by their order. */
function textOf(call: ToolCall): string {
  try {
    return canonical(call.input)
  } catch {
    return ''
  }
}
