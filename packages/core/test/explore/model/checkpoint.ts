/** From a run to what a resume goes on from. */

import type { CallState } from '../../../src/machine/call.ts'
import { callOf } from '../../../src/machine/calls.ts'
import { callForgotten } from '../../../src/machine/decide-calls.ts'
import { AT_WORK, copyOf, type State } from './state.ts'

/** A copy to go on from: without what concerns this process only, what was discarded, unless its undo has begun, and what is over. */
export function checkpointOf(s: State): State {
  const copy = { ...copyOf(s), aside: null, halt: AT_WORK, ending: null, saving: null }
  const stays = ({ undo, maker, fate, isRequested, step }: CallState): boolean => {
    if (undo === 'begun') return true
    if (maker !== undefined) return stays(callOf(s.calls, maker))
    return fate !== 'discarded' && (!isRequested || step === s.steps.current?.number)
  }
  const gone = [...s.calls.all.values()].filter((call) => !stays(call)).map(({ number }) => number)
  for (const number of gone) {
    callForgotten(copy.calls, number)
    copy.about.delete(number)
  }
  return copy
}
