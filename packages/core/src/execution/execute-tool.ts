/** Executes a tool once, in its slot and its span. The innermost `wrapToolCall` calls this. */

import type { Context } from '@opentelemetry/api'
import { cancelable, type Flow } from '../flow/flow.ts'
import { follow, throwIfAborted, wrapLeft } from '../flow/follow.ts'
import { timer } from '../flow/grace.ts'
import { hasAbandoned, isEntered, nextInvocation } from '../machine/call.ts'
import { attemptCounted, executionWanted, movedTo, recalled } from '../machine/decide-call.ts'
import { savedFor } from '../machine/invocation.ts'
import type { CallEntry } from '../state/call-entry.ts'
import type { Execution } from '../state/call-outcomes.ts'
import type { RunState } from '../state/run.ts'
import { executionSpan } from '../telemetry/around.ts'
import { canonical } from '../vocabulary/canonical.ts'
import { AgentError, messageOf, RunStop } from '../vocabulary/errors.ts'
import { copyOfJson } from '../vocabulary/frozen.ts'
import { freeze } from '../vocabulary/history.ts'
import type { ToolCall, ToolMessage } from '../vocabulary/message.ts'
import type { Outcome } from '../vocabulary/saved-run.ts'
import { OutcomeUnknownError, ToolTimeoutError } from '../vocabulary/tool-errors.ts'
import type { Progress } from '../vocabulary/tool-status.ts'
import type { NoRun } from './tool-context.ts'
import { type InSlot, runFunction } from './tool-function.ts'

/**
 * Executes a tool once. If a wrap closes the flow before its end, only this execution is aborted, with the reason that `why` returns; the call is
 * not. If the function is still running after the grace time, it is abandoned and its slot becomes free, so that the next execution need not wait for
 * it.
 */
export function executeTool(
  by: RunState | NoRun,
  entry: CallEntry,
  call: ToolCall,
  parent: Context,
  why: () => unknown = wrapLeft,
): Flow<Progress, ToolMessage> {
  const own = new AbortController()
  const { signal } = own
  const run = 'calls' in by ? by : undefined
  // An inner call is part of work that has already started, so a halt does not stop it.
  const halted = run && !entry.maker ? [run.halt.halted] : []
  const unstarted = [entry.signal, signal, ...halted]
  const invocation = nextInvocation(entry.state, inputOf(entry, call))
  entry.decide(executionWanted(entry.state, invocation))
  // Background work may begin in a later step than its call.
  const messages = run ? (run.steps.asked ?? run.history.messages) : Object.freeze([])
  const flow = takeSlot({ by, run, messages, entry, call, invocation, parent, own, signal, unstarted })
  return cancelable(flow, () => own.abort(why()))
}

type Wanted = Omit<InSlot, 'slot' | 'requestedAt' | 'early' | 'queued'>

async function* takeSlot(wanted: Wanted): Flow<Progress, ToolMessage> {
  const { by, entry, invocation, own, signal, unstarted } = wanted
  const known = recall(wanted)
  if (known) return again(known, entry.call.name)
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
    for (const child of madeIn(place)?.children ?? []) child.abort(signal.reason, by.config.grace)
    late = timer(by.config.grace, () => {
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
    noteOutcome(place, error, error ? undefined : result)
    return result
  } catch (thrown) {
    const error = timedOut(place) ?? thrown
    if (!answersAbort(error, signal.aborted)) noteOutcome(place, error)
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

/** The outcome of the execution in an earlier process, if it is known. It is not repeated. */
function recall({ entry, invocation }: Wanted): Outcome | undefined {
  const known = entry.outcomes.before(savedFor(invocation, entry.state.knownOutcomes))
  if (known && entry.decide(recalled(entry.state, invocation))) entry.outcomes.add(invocation, known)
  return known
}

function again(known: Outcome, tool: string): ToolMessage {
  if ('message' in known) return freeze({ ...known.message, name: tool })
  throw known.timeout === undefined ? new Error(known.error) : new ToolTimeoutError(tool, known.timeout)
}

/** Records the outcome, unless it is an error that ends the run. */
function noteOutcome({ run, entry, invocation }: InSlot, error: unknown, message?: ToolMessage): void {
  if (error instanceof AgentError) return
  if (error instanceof OutcomeUnknownError) run?.mayHaveHappened(entry.id)
  if (entry.decide(movedTo(entry.state, invocation, 'ended')))
    entry.outcomes.add(invocation, message ? { message } : thrown(error, entry.call.name))
}

function thrown(error: unknown, tool: string): Outcome {
  const isLimit = error instanceof ToolTimeoutError && error.tool === tool
  return { error: messageOf(error), ...(isLimit && { timeout: error.timeout }) }
}

/** The execution in the call's entry, until its span ends. */
function madeIn({ entry, invocation }: InSlot): Execution | undefined {
  return entry.executions.find((one) => one.invocation === invocation)
}

/** Called when the function has ended, or when nothing waits for it any more. */
function ended(place: InSlot, thrown?: unknown): void {
  const execution = madeIn(place)
  if (!execution) return
  execution.ended = performance.now()
  const error = timedOut(place) ?? thrown
  execution.answersAbort = answersAbort(error, place.signal.aborted)
  if (error !== undefined) execution.error = error
}

/** Called when nothing waits for the function any more. If its wrap ended before it had an outcome, it may have happened. */
function noteCutOff(place: InSlot): void {
  const { entry, invocation, signal } = place
  if (signal.aborted && !entry.signal.aborted && isEntered(entry.state, invocation))
    noteOutcome(place, timedOut(place) ?? new Error(CUT_OFF))
}

const CUT_OFF = 'The call was cut off before its result was known: its effect may have happened.'

/** Returns the error of the time limit that stopped only this execution, if there is one. It is the outcome, even if the function ends later. */
function timedOut({ entry, invocation, signal }: InSlot): ToolTimeoutError | undefined {
  const reason: unknown = signal.reason
  const isOwn = reason instanceof ToolTimeoutError && reason !== entry.signal.reason
  return isOwn && isEntered(entry.state, invocation) ? reason : undefined
}

/** Whether an error results from the abort. Every error after the abort does, except that of the execution's own time limit. */
function answersAbort(error: unknown, aborted: boolean): boolean {
  return aborted && !(error instanceof ToolTimeoutError)
}

/** Runs the function in its span. The span ends when the call is committed or discarded, with the time at which the function settled. */
function inSpan(place: InSlot): Flow<Progress, ToolMessage> {
  const { by, entry, call, parent, invocation, signal, early, queued } = place
  return by.telemetry.aroundFlow(executionSpan, parent, {
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
