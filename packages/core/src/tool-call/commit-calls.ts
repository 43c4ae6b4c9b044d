/** Commits or makes all calls of an accepted response, and waits for their results. */

import { within } from '../flow/grace.ts'
import { unheard } from '../flow/unheard.ts'
import { putAtEnd, responseEnded } from '../machine/decide-calls.ts'
import { given } from '../middleware/compose.ts'
import type { CallEntry } from '../state/call-entry.ts'
import type { RunState } from '../state/run.ts'
import { resolveAliases } from '../vocabulary/aliases.ts'
import { RunStop } from '../vocabulary/errors.ts'
import type { ToolCall, ToolMessage } from '../vocabulary/message.ts'
import type { Middleware } from '../vocabulary/middleware.ts'
import { abortCalls, commit, discardAll } from './commit-or-discard.ts'
import { findAllMade } from './find-made.ts'
import { inWordsOf } from './history-results.ts'
import { beginCall, startCall } from './start-call.ts'

/**
 * Commits the given calls that were already made, makes the others, and discards all other early calls. Returns the messages in call order,
 * under the tool names that the model wrote. If a tool ends the run, the other calls are aborted and awaited first. If a call asks a
 * question, or no longer starts, it stays open and the others finish.
 */
export async function commitCalls(
  run: RunState,
  written: readonly ToolCall[],
  attempt: number | undefined,
): Promise<ToolMessage[]> {
  const { calls } = run
  const { response } = calls.state
  const requested = written.map((call) => resolveAliases(call, run.setup.tools))
  run.signal.throwIfAborted()
  const modelEnded = attempt === undefined ? undefined : response.attempts.get(attempt)?.ended
  const made = keptOf(run, await madeOf(run, requested))
  responseEnded(calls.state)
  discardAll(run, 'call_withdrawn', made.values())
  const failed = requested.findIndex((call) => hasEndedRun(made.get(call)))
  // If no call had started early, this many calls would have been entered before the failing call ends the run.
  const most = failed < 0 ? requested.length : Math.max(run.setup.toolConcurrency, failed + 1)
  calls.awaited = requested.flatMap((call, index) => {
    // A wrap of the call before it may have stopped the run.
    run.signal.throwIfAborted()
    const entry = made.get(call)
    if (!entry) return index < most ? startCall(run, call, { attempt: response.announcedBy.get(call.id) }) : []
    commit(run, entry, call.id, modelEnded)
    return beginCall(run, entry)
  })
  calls.slots.advance()
  calls.warmUps.drop('the model did not request this call')
  const messages = await messagesOf(run, calls.awaited, failed >= 0 && made.size < requested.length)
  return messages.map((message, index) => inWordsOf(written[index], message))
}

/** Returns the calls that already exist. Waits until the complete inputs of those that started early are checked. */
async function madeOf(run: RunState, calls: readonly ToolCall[]): Promise<ReadonlyMap<ToolCall, CallEntry>> {
  const made = findAllMade(run, calls)
  const checks = [...made.values()].flatMap(({ rest }) => rest?.checked ?? [])
  if (checks.length === 0) return made
  await Promise.all(checks)
  run.signal.throwIfAborted()
  return findAllMade(run, calls)
}

/** Without the early calls that a middleware does not keep: those are discarded, and their calls are made now. */
function keptOf(run: RunState, made: ReadonlyMap<ToolCall, CallEntry>): ReadonlyMap<ToolCall, CallEntry> {
  const isKept = (call: ToolCall, entry: CallEntry) => run.middleware.every((one) => keeps(run, one, call, entry.call))
  return new Map([...made].filter(([call, entry]) => !entry.provisional || isKept(call, entry)))
}

function keeps(run: RunState, one: Middleware, call: ToolCall, early: ToolCall): boolean {
  if (!one.keepsEarly) return true
  const view = run.work.view(run, { context: run.context, source: one.name })
  return given(one.name, 'keepsEarly', () => {
    const answer: unknown = unheard(one.keepsEarly?.(call, early, view))
    if (typeof answer !== 'boolean') throw new TypeError('did not return true or false')
    return answer
  })
}

async function messagesOf(run: RunState, entries: readonly CallEntry[], isEnded: boolean): Promise<ToolMessage[]> {
  const { calls } = run
  try {
    if (isEnded) await enterAll(run, entries)
    await Promise.all(entries.map((entry) => entry.promise.catch((error: unknown) => unlessStop(error))))
    const messages = await Promise.all(entries.map((entry) => entry.promise))
    // A call that had settled before it was joined enters the history with its newest id.
    return messages.map((message, index) => entries[index]?.message ?? message)
  } catch (error) {
    if (error instanceof RunStop) throw error
    abortCalls(run, error)
    for (const entry of entries) if (entry.settled) calls.slots.close(entry)
    await calls.idle()
    throw error
  }
}

/** Called if an early call ends the run: first enters the other calls that were made, except those that wait for each other's keys. */
async function enterAll({ calls }: RunState, entries: readonly CallEntry[]): Promise<void> {
  for (const entry of entries) putAtEnd(calls.state, entry.number)
  await within(0, calls.idle())
}

function unlessStop(error: unknown): void {
  if (!(error instanceof RunStop)) throw error
}

/** Whether the call threw an `AgentError` that ends the run before its model call succeeded. */
function hasEndedRun(entry: CallEntry | undefined): boolean {
  return entry?.settled === true && entry.message === undefined && entry.stopped === undefined
}
