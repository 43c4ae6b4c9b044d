/** What the result of a run, or its error, makes of its turn. */

import { type AgentResult, type Json, messageOf } from '@meanwhile/core'
import type { Outcome } from './owner-decisions.ts'
import type { ErrorInfo } from './thread-events.ts'

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

export function failed(error: unknown): { readonly status: 'failed'; readonly error: ErrorInfo } {
  const name = error instanceof Error ? error.name : 'Error'
  return { status: 'failed', error: { name, message: messageOf(error) } }
}
