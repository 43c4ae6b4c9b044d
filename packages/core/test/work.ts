/** The work of a background call, in the form of the machine. */

import type { WorkState } from '../src/machine/call.ts'
import type { Calls } from '../src/machine/calls.ts'
import { callMade } from '../src/machine/decide-calls.ts'

/** Makes one in this table. Returns its number. */
export function workMade(calls: Calls, atEnd: WorkState['atEnd'] = 'wait'): number {
  return callMade(calls, {
    id: `work_${calls.made + 1}`,
    work: { atEnd },
    step: 1,
    startedEarly: false,
    isRequested: false,
    requestedBy: [],
    course: 'begun',
    fate: 'committed',
    requestedAt: 0,
    executions: [],
    questions: [],
    attempts: 0,
    told: 'open',
  })
}
