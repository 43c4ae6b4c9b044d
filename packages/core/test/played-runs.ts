/** Runs that reach their end on the fake clock. */

import { collect } from '@meanwhile/assemble/testing'
import { vi } from 'vitest'
import type { AgentRun } from '../src/index.ts'

/** Waits for the end of a run. Returns its events with its result or error. */
export async function settled(run: AgentRun) {
  const reading = collect(run)
  await vi.runAllTimersAsync()
  return await reading
}

/** The same for a run that must have a result. */
export async function played(run: AgentRun) {
  const { events, result, error } = await settled(run)
  if (!result) throw error
  return { events, result, checkpoint: result.checkpoint }
}
