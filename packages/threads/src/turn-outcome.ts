/** Returns the outcome of a turn, from the result or the error of its run. */

import { type AgentResult, CheckpointMissingError, type Json, type Message, messageOf } from '@meanwhile/core'
import type { Outcome } from './owner-decisions.ts'
import type { ErrorInfo } from './thread-events.ts'
import type { StoppedThreadRun } from './thread-runs.ts'

/** Returns the outcome of a turn whose run has ended in this process. */
export function outcomeOf(result: AgentResult): Outcome {
  const { status, usage, checkpointError } = result
  if (status === 'interrupted') {
    if (checkpointError) return { ...failed(checkpointError), usage }
    return { status: 'waiting', interrupts: result.interrupts, settled: result.settled }
  }
  if (status === 'cancelled') return { status: 'stopped', usage }
  const { text, output } = result
  return { status: 'completed', text, usage, ...(output !== undefined && { output: output as Json }) }
}

export interface StoppedRunOutcome {
  readonly outcome: Outcome
  /** The history of the run. Absent if its checkpoint is lost. */
  readonly messages?: readonly Message[] | undefined
}

/**
 * Returns the outcome of a turn whose durable run has stopped. If the checkpoint of the run is lost, the turn has failed.
 *
 * @param reason The result of the open calls, if the run is closed.
 */
export async function outcomeOfStopped(run: StoppedThreadRun, reason: string | undefined): Promise<StoppedRunOutcome> {
  try {
    const { messages, usage, text, output, interrupts = [], settled = [] } = await run.outcome(reason)
    if (run.status === 'interrupted') return { messages, outcome: { status: 'waiting', interrupts, settled } }
    const { error = { name: 'Error', message: '' } } = run
    const outcome: Outcome = {
      status: run.status === 'cancelled' ? 'stopped' : run.status,
      ...(usage && { usage }),
      ...(run.status === 'failed' && { error }),
      ...(run.status === 'completed' && text !== undefined && { text }),
      ...(output !== undefined && { output: output as Json }),
    }
    return { messages, outcome }
  } catch (error) {
    if (error instanceof CheckpointMissingError) return { outcome: failed(error) }
    throw error
  }
}

/** Returns the outcome of a turn that failed with this error. */
export function failed(error: unknown): { readonly status: 'failed'; readonly error: ErrorInfo } {
  const name = error instanceof Error ? error.name : 'Error'
  return { status: 'failed', error: { name, message: messageOf(error) } }
}
