/** The calls of a checkpoint in the run that goes on from it. */

import { unheard } from '../flow/unheard.ts'
import { effectOf } from '../machine/call.ts'
import { marked } from '../machine/decide-call.ts'
import { addressOf, askerOf, isInside, isNested } from '../state/address.ts'
import { CallEntry } from '../state/call-entry.ts'
import type { RunState } from '../state/run.ts'
import { discard } from '../tool-call/commit-or-discard.ts'
import { settleAs } from '../tool-call/history-results.ts'
import { mayHaveHappenedText, textMessage } from '../tool-call/no-result-message.ts'
import { findTool } from '../vocabulary/aliases.ts'
import { freeze } from '../vocabulary/history.ts'
import { type Answers, Interrupt } from '../vocabulary/interrupt.ts'
import type { Json } from '../vocabulary/message.ts'
import type { Resumed, SavedCall } from '../vocabulary/saved-run.ts'

/** As they are there: none is made. */
export function restoreCalls(run: RunState, saved: readonly SavedCall[]): readonly CallEntry[] {
  const byKey = new Map<string, CallEntry>()
  for (const one of saved) {
    run.history.takenIds.add(one.id).add(one.call.id)
    const entry = new CallEntry(run.calls.table, {
      key: one.key,
      call: freeze(one.call),
      tool: findTool(run.setup.tools, one.call.name),
      step: one.step,
      parent: run.context,
      maker: byKey.get(one.maker ?? ''),
      caller: run.caller,
      provisional: one.provisional,
      saved: one,
    })
    byKey.set(one.key, entry)
    run.calls.table.add(entry)
    if (one.message) settleAs(entry, one.message)
    if (one.message && [...run.unknown, ...run.calls.abandoned].includes(one.id))
      entry.decide(marked(entry.state, 'isUnknown'))
  }
  return [...byKey.values()]
}

/**
 * One that had not settled is made when it is asked for, stays open for an answer, or may have happened. One whose undo had begun is
 * discarded, so that nobody joins it, and so is the call that made it: what that gave stands on this one.
 */
export function resumeCalls(run: RunState, resumed: Resumed): readonly CallEntry[] {
  const entries = restoreCalls(run, resumed.checkpoint.calls)
  for (const entry of entries) if (!entry.settled) resumeCall(run, entry, resumed)
  for (const entry of entries) if (entry.state.undo === 'before') discard(run, outermost(entry), 'run_aborted')
  return entries
}

function outermost(entry: CallEntry): CallEntry {
  return entry.maker ? outermost(entry.maker) : entry
}

/** The same for one of them, or for the work behind one. */
function resumeCall(run: RunState, entry: CallEntry, { checkpoint, answers }: Resumed): void {
  const effect = effectOf(entry.state)
  const address = addressOf(run, entry)
  const pending = checkpoint.interrupts.filter((one) => isInside(one.address, address))
  const answered = pending.filter(({ id }) => id in answers)
  const [first] = pending
  if (first && answered.length === 0) {
    const interrupt = new Interrupt(first.payload)
    const rest = first.address.slice(address.length)
    if (rest.every((part) => 'middleware' in part)) entry.ask(interrupt, askerOf(rest).by)
    stayOpen(entry, interrupt)
  } else if (entry.outcomes.hasRuns) {
    const given = answered.filter((one) => isNested(one.address)).map(({ id }) => [id, answers[id] as Json])
    entry.outcomes.answer(Object.fromEntries(given) as Answers)
  } else if (effect && (effect === 'calls' || run.rerun.includes(effect))) {
    // One that only makes calls finds those it had made: each of them is judged here by its own effect.
    entry.decide(marked(entry.state, 'isRerun'))
  } else if (effect) {
    const text = mayHaveHappenedText(checkpoint.status === 'cancelled')
    settleAs(entry, textMessage({ ...entry.call, id: entry.id }, text, true))
    entry.decide(marked(entry.state, 'isUnknown'))
    run.mayHaveHappened(entry.id)
  }
}

/** It stays open, as a checkpoint says: its question has no answer yet. */
function stayOpen(entry: CallEntry, stopped: Interrupt): void {
  entry.settle({ stopped })
  entry.promise = unheard(Promise.reject(stopped))
}

/**
 * Work that was cut off is begun again, or may have happened, like any call (L20, L21). That of an agent goes on from the agent's
 * checkpoint, or stays open as long as its questions have no answer. Gives the work that was not over.
 */
export function restoreWork(run: RunState, resumed: Resumed): readonly CallEntry[] {
  const open = run.background.restore(resumed.checkpoint.background ?? [])
  for (const entry of open) {
    resumeCall(run, entry, resumed)
    run.background.goOn(entry)
  }
  return open
}
