/** Executes a tool once, in its slot and its span. This is what the innermost `wrapToolCall` calls. */

import type { Context } from '@opentelemetry/api'
import { cancelable, type Flow } from '../flow/flow.ts'
import { follow, throwIfAborted, wrapLeft } from '../flow/follow.ts'
import { timer } from '../flow/grace.ts'
import { hasAbandoned, isEntered, nextInvocation } from '../machine/call.ts'
import { attemptCounted, executionWanted, movedTo } from '../machine/decide-call.ts'
import type { CallEntry } from '../state/call-entry.ts'
import type { Execution } from '../state/execution.ts'
import { canonical, inputHash } from '../vocabulary/canonical.ts'
import { AgentError, RunStop } from '../vocabulary/errors.ts'
import { copyOfJson } from '../vocabulary/frozen.ts'
import { hash } from '../vocabulary/hash.ts'
import type { ToolCall } from '../vocabulary/message.ts'
import { ToolTimeoutError } from '../vocabulary/tool-errors.ts'
import type { Progress } from '../vocabulary/tool-status.ts'
import { type InSlot, runFunction } from './tool-function.ts'
import type { Host } from './tool-host.ts'

/**
 * Closed before its end, by a wrap that leaves, it is aborted: it alone, not its call; `why` gives the reason. One that goes on all the
 * same is abandoned when the grace time is over, and gives its slot back, so that a further execution need not wait for it.
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
  const { turns } = entry.table
  const { requestedAt } = entry.state
  const wantedSince = performance.now()
  const slot = await turns.take(entry, invocation, unstarted)
  const queued = (performance.now() - wantedSince) / 1000
  const place = { ...wanted, slot, requestedAt, early, queued }
  let late: ReturnType<typeof timer>
  // Its time is over, or the wrap that wanted it has left it: what it has called is cut off with it.
  const left = () => {
    if (entry.signal.aborted) return
    for (const child of madeIn(place)?.children ?? []) child.abort(signal.reason, host.grace)
    late = timer(host.grace, () => {
      ended(place)
      noteCutOff(place)
      entry.decide(movedTo(entry.state, invocation, 'abandoned'))
      turns.free(slot)
    })
  }
  // `AbortSignal.any` would leave a finalizer for each execution to the garbage collector.
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
    if (thrown instanceof AgentError && !(thrown instanceof RunStop)) turns.threw(slot)
    throw thrown
  } finally {
    unfollow()
    signal.removeEventListener('abort', left)
    clearTimeout(late)
    noteCutOff(place)
    turns.free(slot)
  }
}

/** What is known of it until its span ends. */
function madeIn<Result>({ entry, invocation }: InSlot<Result>): Execution | undefined {
  return entry.executions.find((one) => one.invocation === invocation)
}

/** Its function is out, or nobody waits for it any more. */
function ended<Result>(place: InSlot<Result>, thrown?: unknown): void {
  const execution = madeIn(place)
  if (!execution) return
  execution.ended = performance.now()
  const error = timedOut(place) ?? thrown
  execution.answersAbort = answersAbort(error, place.signal.aborted)
  if (error !== undefined) execution.error = error
}

/** Nobody waits for it any more. If it has not come to anything by then, and its wrap has left it, it may have happened. */
function noteCutOff<Result>(place: InSlot<Result>): void {
  const { host, entry, invocation, signal } = place
  if (signal.aborted && !entry.signal.aborted && isEntered(entry.state, invocation))
    host.came?.(invocation, { error: timedOut(place) ?? new Error(CUT_OFF) })
}

const CUT_OFF = 'The call was cut off before its result was known: its effect may have happened.'

/** What has stopped it alone, if that is a time limit, whoever set it: then that is its outcome, whatever comes later. */
function timedOut<Result>({ entry, invocation, signal }: InSlot<Result>): ToolTimeoutError | undefined {
  const reason: unknown = signal.reason
  const isOwn = reason instanceof ToolTimeoutError && reason !== entry.signal.reason
  return isOwn && isEntered(entry.state, invocation) ? reason : undefined
}

/** Whether what an execution threw answers its abort: all does, once its signal has aborted, but the error of its own time limit. */
function answersAbort(error: unknown, aborted: boolean): boolean {
  return aborted && !(error instanceof ToolTimeoutError)
}

/** Its span ends later, when the call is committed or discarded, but with the time at which the function settled. */
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
        ...(entry.rest && { input: () => entry.call.input }),
        ...(returned && { output: () => copyOfJson(entry.done?.output) }),
      }
    },
  })
}

/** What tells the input of an execution from others; nothing for the call's own. */
function inputOf({ call, rest }: CallEntry, { input }: ToolCall): string | undefined {
  if (input === call.input || input === rest?.started.input) return undefined
  const hashed = hashOf(input)
  return hashed === inputHash(call) ? undefined : hashed
}

/** A wrap may hand on what JSON cannot hold: that is told apart by its place only. */
function hashOf(input: unknown): string {
  try {
    return hash(canonical(input))
  } catch {
    return ''
  }
}
