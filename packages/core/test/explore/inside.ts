/** All that the explorer reads inside core: whether two states of a run are equal. Promises are judged by what a caller sees. */

import type * as Core from '../../src/index.ts'
import { type CallState, undoOf } from '../../src/machine/call.ts'
import type { WaitingExecution } from '../../src/machine/calls.ts'
import { mustLook } from '../../src/machine/due.ts'
import type { stateOf } from '../../src/run/run-view.ts'
import type { RunState } from '../../src/state/run.ts'

/** A core: the one of this checkout, or a mutant of it. */
export interface LoadedCore {
  readonly core: typeof Core
  readonly stateOf: typeof stateOf
}

/** Loads core from its source. A mutant has another `query`. */
export async function loadCore(query = ''): Promise<LoadedCore> {
  const core = (await import(`../../src/index.ts${query}`)) as typeof Core
  const { stateOf } = (await import(`../../src/run/run-view.ts${query}`)) as Pick<LoadedCore, 'stateOf'>
  return { core, stateOf }
}

/** Equal for two states of a run with the same future, if also the world around them is equal. */
export function insideOf(run: RunState): unknown {
  const { calls, steps, halt, history, innerRuns, inbox, questions, saver } = run
  const { state } = calls
  const callOf = (call: CallState) => ({ ...call, requestedAt: 0, modelEnded: 0, undo: undoOf(call) })
  const waits = (one: WaitingExecution) => ({ ...one, lookedAtIn: mustLook(state, one) })
  return [
    [...state.all.values()].map(callOf),
    [...state.all.values()].map(({ metStop }) => metStop?.message),
    [state.order, [...state.inner], [...state.asked], state.slotsTaken, [...state.innerSlotsTaken]],
    [...state.waiting].map(waits),
    [state.response.isOpen, [...state.response.attempts].map(([, { hasFailed, ended }]) => [hasFailed, !ended])],
    [...state.response.announcedBy, ...state.response.unoffered],
    calls.entries().map(({ signal, settled, message }) => [signal.aborted, settled, message?.content]),
    [steps.state, halt.state, halt.halted.aborted, halt.paused.aborted],
    [history.messages.length, inbox.messages.length, Object.keys(questions.save()), saver.revision],
    [...innerRuns.keys()].map(insideOf),
  ]
}
