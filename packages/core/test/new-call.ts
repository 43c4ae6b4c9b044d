/** The state of a call that was made early, and to which nothing has happened yet. */

import type { CallState } from '../src/machine/call.ts'

export const NEW: CallState = {
  number: 1,
  id: 'call_1',
  children: [],
  step: 1,
  startedEarly: true,
  isRequested: true,
  requestedBy: [1],
  course: 'begun',
  fate: 'provisional',
  requestedAt: 0,
  executions: [],
  questions: [],
  attempts: 0,
  told: 'open',
}
