/** One background call: it is answered at once, and its work goes on beside the run (I15). */

import { RunStop } from '../errors.ts'
import { checkedInput } from '../execution/checked-input.ts'
import { executeTool } from '../execution/execute-tool.ts'
import { drive } from '../flow/flow.ts'
import { unheard } from '../flow/unheard.ts'
import { Interrupt } from '../interrupt/interrupt.ts'
import type { ToolCall, ToolMessage } from '../message.ts'
import type { ToolFlow } from '../middleware.ts'
import type { BackgroundHandle } from '../result.ts'
import { freeze } from '../run/history.ts'
import type { RunState } from '../run/run.ts'
import type { Tool } from '../tool.ts'
import { atEndOf, handleOf, isKept, isNews, stopIfAsked, type Work } from './background.ts'
import { type Beginning, CallEntry } from './call-entry.ts'
import type { Result } from './call-outcomes.ts'
import { cutOff } from './call-results.ts'
import { callEnded } from './fates.ts'
import { boundedResult } from './output-limits.ts'
import { hostOf } from './run-host.ts'
import { stood, stoodAbove } from './stood.ts'
import { errorMessage, NO_ANSWER, textMessage } from './tool-message.ts'

/** The innermost of `wrapToolCall`: it answers with where to ask for the result. */
export async function* startWork(run: RunState, entry: CallEntry, tool: Tool, call: ToolCall): ToolFlow {
  await checkedInput(tool, call)
  if (entry.provisional) await stood(run, entry, { call: entry })
  const above = stoodAbove(run, [entry.signal, run.halt.halted])
  if (above) await above
  entry.signal.throwIfAborted()
  run.halt.halted.throwIfAborted()
  beginWork(run, entry, call)
  const handle = { callId: entry.id, state: 'running' }
  return freeze({ ...textMessage(call, JSON.stringify(handle), false), output: handle })
}

/**
 * The work of a background call: its input was checked, its wraps are out, and what comes of it is a message.
 *
 * @throws {RunStop} The agent that it runs asks, or has stopped: the work stays open for a resume.
 */
export async function makeWork(run: RunState, entry: CallEntry): Promise<ToolMessage> {
  try {
    const result = await workOf(run, entry)
    const message = freeze(boundedResult(result.message, run.config.outputLimits))
    entry.settle({ ...result, message })
    callEnded(run, entry, !message.isError)
    return message
  } catch (error) {
    if (error instanceof RunStop) entry.settle({ stopped: error })
    throw error
  } finally {
    run.telemetry.ended(entry)
  }
}

async function workOf(run: RunState, entry: CallEntry): Promise<Result> {
  const flow = executeTool(hostOf(run, entry), entry, entry.call, entry.parent)
  const given = drive(flow, (event) => run.calls.events.yielded(entry, event))
  try {
    return { message: await Promise.race([given, entry.abandoned.promise]) }
  } catch (error) {
    // Its run has stopped before its turn came: it stays to be begun after a resume.
    if (entry.signal.aborted || error === run.halt.halted.reason) return cutOff(entry)
    // Nobody hears what work asks that its run no longer waits for.
    if (error instanceof RunStop && entry.outcomes.hasRuns && !run.background.hasHandedOver(entry)) throw error
    if (error instanceof Interrupt) return { message: textMessage(entry.call, NO_ANSWER, true) }
    return { message: errorMessage(entry.call, error) }
  }
}

/** Starts the work of a call whose input was checked; once, however often its wraps ask for it, before a resume, too (H26). */
export function beginWork(run: RunState, { key, id, tool, state, parent, askedIn }: CallEntry, call: ToolCall): void {
  if (run.background.has(key)) return
  const work = addWork(run, freeze({ ...call, id }), { key, tool, step: state.step, parent, askedIn })
  performWork(run, work)
}

/** An answer is offered: resolves when nothing it has to wait for is at work. Throws if the run is to stop before that. */
export async function beforeEnd(run: RunState): Promise<void> {
  const { halt, signal, background } = run
  const awaited = () => background.open().filter(({ entry }) => atEndOf(entry.tool) === 'wait')
  const woken = background.untilWoken()
  while (awaited().length > 0 && !halt.state.mode && !signal.aborted) {
    await Promise.race([woken, ...awaited().map(({ entry }) => entry.promise)])
  }
  signal.throwIfAborted()
  stopIfAsked(background.open().filter(({ entry }) => atEndOf(entry.tool) !== 'cancel'))
  // Nobody has accepted the answer: the run stops with the work at work, and its resume offers it again.
  if (awaited().length > 0) halt.stopAt('after-tools')
}

/** The run has its answer: open work that its tool detaches goes on, and what the model has not read is the caller's. */
export function handOver({ background, calls }: RunState): BackgroundHandle[] {
  for (const work of background.open()) {
    if (atEndOf(work.entry.tool) === 'detach') work.handedOver = true
    else if (isKept(work)) calls.events.workEnded(work.entry)
  }
  const kept = background.all().filter((work) => work.handedOver || isNews(work))
  return kept.map(({ entry }) => handleOf(entry.id, entry.call.name, entry.promise))
}

/** The work behind a call has a place among that of its run. */
export function addWork(
  run: RunState,
  call: ToolCall,
  of: Pick<Beginning, 'key' | 'tool' | 'step' | 'parent' | 'executed' | 'askedIn'>,
): Work {
  const { calls, caller, background } = run
  const entry = new CallEntry(calls.table, { ...of, call, caller, isWork: true })
  const work: Work = { entry, delivered: false, handedOver: false }
  background.add(work)
  return work
}

export function performWork(run: RunState, work: Work): void {
  const { entry } = work
  const made = makeWork(run, entry).then((message) => {
    if (!isKept(work)) run.calls.events.workEnded(entry)
    return message
  })
  entry.promise = unheard(made.finally(() => run.saver.soon()))
}
