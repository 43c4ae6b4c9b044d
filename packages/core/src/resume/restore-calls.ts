/** Turns the calls of a checkpoint into calls of the run that continues from it. */

import { unheard } from '../flow/unheard.ts'
import { marked } from '../machine/decide-call.ts'
import { goesOn } from '../machine/saved-state.ts'
import { addressOf, askerOf, isInside } from '../state/address.ts'
import { CallEntry } from '../state/call-entry.ts'
import type { RunState } from '../state/run.ts'
import { settleAs } from '../tool-call/history-results.ts'
import { mayHaveHappenedText, textMessage } from '../tool-call/no-result-message.ts'
import { findTool, resolveAliases } from '../vocabulary/aliases.ts'
import { freeze } from '../vocabulary/history.ts'
import { type Address, Interrupt, type PendingInterrupt } from '../vocabulary/interrupt.ts'
import type { Resumed, SavedCall } from '../vocabulary/saved-run.ts'

/** Adds the calls of a checkpoint to the table, in their order. This starts none of them. */
export function restoreCalls(run: RunState, calls: readonly SavedCall[]): readonly CallEntry[] {
  const { table } = run.calls
  const unoffered = run.steps.state.current?.unoffered ?? []
  const entries: CallEntry[] = []
  const byKey = new Map<string, CallEntry>()
  for (const saved of calls) {
    const { id, key, message } = saved
    const call = freeze(resolveAliases(saved.call, run.setup.tools))
    run.history.takenIds.add(id).add(call.id)
    const entry = new CallEntry(table, {
      key,
      call,
      tool: !saved.maker && unoffered.includes(id) ? undefined : findTool(run.setup.tools, call.name),
      step: saved.step,
      parent: run.context,
      maker: byKey.get(saved.maker ?? ''),
      caller: run.caller,
      saved,
    })
    entries.push(entry)
    if (!saved.isWork) {
      byKey.set(key, entry)
      table.add(entry)
    }
    if (message) settleAs(entry, { ...message, name: call.name })
  }
  return entries
}

/** Restores a call without a result: it runs again when requested, or stays open for an answer, or counts as one that may have happened. */
export function resumeCall(run: RunState, entry: CallEntry, { checkpoint, answers }: Resumed): void {
  const address = addressOf(run, entry)
  const pending = checkpoint.interrupts.filter((one) => isInside(one.address, address))
  const first = pending.some(({ id }) => id in answers) ? undefined : pending[0]
  switch (goesOn(entry.state, first !== undefined, run.rerun)) {
    case 'open':
      if (first) stayOpen(entry, first, first.address.slice(address.length))
      break
    case 'again':
      entry.decide(marked(entry.state, 'isRerun'))
      break
    case 'unknown': {
      const text = mayHaveHappenedText(checkpoint.status === 'cancelled')
      if (!entry.discarded) settleAs(entry, textMessage({ ...entry.call, id: entry.id }, text, true))
      entry.decide(marked(entry.state, 'isUnknown'))
      run.mayHaveHappened(entry.id)
    }
  }
}

/** Keeps a call open whose question has no answer yet. `asker`: the path from the call to the tool or middleware that asks. */
function stayOpen(entry: CallEntry, { payload, answerSchema }: PendingInterrupt, asker: Address): void {
  const stopped = new Interrupt(payload, answerSchema)
  if (asker.every((part) => 'middleware' in part)) entry.ask(stopped, askerOf(asker).by)
  else entry.relay(stopped)
  entry.settle({ stopped })
  entry.promise = unheard(Promise.reject(stopped))
}
