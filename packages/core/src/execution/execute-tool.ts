/** One execution of a tool, in its slot and its span. The innermost of `wrapToolCall`. */

import type { Context } from '@opentelemetry/api'
import { AgentError, RunStop } from '../errors.ts'
import { cancelable, type Flow } from '../flow/flow.ts'
import { follow } from '../flow/follow.ts'
import { timer } from '../flow/grace.ts'
import { throwIfAborted } from '../flow/throw-if-aborted.ts'
import { wrapLeft } from '../flow/wrap-left.ts'
import type { ToolCall } from '../message.ts'
import { copyOfJson } from '../run/frozen.ts'
import { record } from '../telemetry/content.ts'
import { type OpenSpan, startToolSpan } from '../telemetry/spans.ts'
import { traced } from '../telemetry/traced.ts'
import type { Progress } from '../tool.ts'
import type { CallEntry } from '../tool-call/call-entry.ts'
import type { Execution } from './execution.ts'
import { ExecutionOutcome } from './execution-outcome.ts'
import { type InSlot, runFunction } from './tool-function.ts'
import type { Host } from './tool-host.ts'

/**
 * Closed before its end, by a wrap that leaves, it is aborted: it alone, not its call; `why` gives the reason. One that goes on all the
 * same is abandoned when the grace time is over, and gives its slot back, so that a further execution need not wait for it (I9).
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
  const flow = takeSlot({ host, entry, call, invocation: host.invocation(call), parent, own, signal, unstarted })
  return cancelable(flow, () => own.abort(why()))
}

type Asked<Result> = Omit<InSlot<Result>, 'slot' | 'askedAt' | 'early' | 'queued'>

async function* takeSlot<Result>(asked: Asked<Result>): Flow<Progress, Result> {
  const { host, entry, invocation, own, signal, unstarted } = asked
  const known = host.known(invocation)
  if (known) return known()
  const { slots, askedAt, provisional: early } = entry
  const asksSince = performance.now()
  const slot = await slots.take(entry, unstarted)
  const queued = (performance.now() - asksSince) / 1000
  const outcome = new ExecutionOutcome(host, invocation, entry.signal, signal)
  let late: ReturnType<typeof timer>
  // Its time is over, or the wrap that asked has left: what it has called is cut off with it.
  const left = () => {
    if (entry.signal.aborted) return
    for (const child of outcome.execution?.children ?? []) child.abort(signal.reason, host.grace)
    late = timer(host.grace, () => {
      outcome.abandon()
      slots.free(slot)
    })
  }
  // `AbortSignal.any` would leave a finalizer for each execution to the garbage collector.
  const abort = () => own.abort(entry.signal.reason)
  signal.addEventListener('abort', left, { once: true })
  const unfollow = follow(entry.signal, abort)
  if (entry.signal.aborted) abort()
  try {
    throwIfAborted(unstarted)
    const result = yield* inSpan({ ...asked, slot, askedAt, early, queued }, outcome)
    outcome.gave(result)
    return result
  } catch (error) {
    outcome.threw(error)
    if (error instanceof AgentError && !(error instanceof RunStop)) slots.keep(slot)
    throw error
  } finally {
    unfollow()
    signal.removeEventListener('abort', left)
    clearTimeout(late)
    outcome.over()
    slots.free(slot)
  }
}

/** The span ends later, when the call is committed or discarded, but with the time at which the function settled. */
function inSpan<Result>(place: InSlot<Result>, outcome: ExecutionOutcome<Result>): Flow<Progress, Result> {
  const { host, entry, invocation, signal, early, queued } = place
  const { capture } = host
  let execution: Execution
  return traced({
    open: () => {
      const attempt = ++entry.record.attempts
      const open = startSpan(place, attempt)
      execution = { open, early, capture, attempt, invocation, signal, started: open.started, queued, children: [] }
      entry.executions.push(execution)
      outcome.execution = execution
      return open
    },
    make: () => runFunction(place, execution),
    done: ({ span }, result) => {
      if (!execution.abandoned)
        record(span, capture, () => ({ 'gen_ai.tool.call.result': () => copyOfJson(entry.record.done?.output) }))
      return result
    },
    failed: (error) => error,
    ended: ({ span }, error) => {
      if (execution.abandoned) return
      if (entry.rest) record(span, capture, () => ({ 'gen_ai.tool.call.arguments': () => entry.call.input }))
      outcome.ended(error)
    },
  })
}

function startSpan<Result>(place: InSlot<Result>, attempt: number): OpenSpan {
  const { host, entry, call, parent, early } = place
  const open = startToolSpan(host.tracing, parent, () => ({
    tool: entry.tool?.name,
    callId: entry.id,
    agent: host.agent,
    step: entry.step,
    attempt,
    early,
    asked: entry.askers.flatMap(({ span }) => span?.spanContext() ?? []),
    attributes: { ...host.attributes(), ...entry.attributes },
  }))
  record(open.span, host.capture, () => ({ 'gen_ai.tool.call.arguments': () => call.input }))
  return open
}
