/** Tells listeners that a run has stopped, and finds its outcome in its checkpoint. */

import {
  CheckpointMissingError,
  type CheckpointStore,
  type CompletedResult,
  hasFinalAnswer,
  storedResult,
} from '@meanwhile/core'
import { RunFailedError } from './errors.ts'
import type { StoredRun } from './runs-table.ts'
import { agentOf, type Services } from './services.ts'
import type { KnownOutcome, RunOutcome, StoppedRun } from './stopped-run.ts'
import { storedCheckpoint } from './stored-checkpoint.ts'

/** Calls the listeners for a stop. If the run is running again, the worker that has it reports the next stop instead. */
export async function reportStop(
  services: Services,
  id: string,
  known: (KnownOutcome & { readonly attempts: number }) | undefined,
): Promise<void> {
  if (services.listeners.size === 0) return
  const run = await services.runs.find(id)
  if (!run || run.status === 'running') return
  const { agent, conversationId, data, status, error, attempts } = run
  const isKnown = known?.messages !== undefined && known.attempts === attempts && known.status === status
  const stopped: StoppedRun = {
    id,
    agent,
    status,
    attempts,
    ...(conversationId !== undefined && { conversationId }),
    ...(data !== undefined && { data }),
    ...(error && { error }),
    outcome: async (reason) => (isKnown ? known : await storedOutcome(services, run, reason)),
  }
  for (const listener of services.listeners) await listener(stopped)
}

/** The outcome of the run, from its checkpoint. */
async function storedOutcome(services: Services, run: StoredRun, reason: string | undefined): Promise<RunOutcome> {
  if (run.status === 'completed') return await resultOf(services, run)
  if (run.status === 'interrupted') return await storedQuestions(services, run)
  try {
    const checkpoint = await storedCheckpoint(services.store, run.id)
    // No call is open. The worker that had the answer died before it stored the end of the run.
    if (hasFinalAnswer(checkpoint)) return { messages: checkpoint.messages, usage: checkpoint.usage }
    return await agentOf(services, run).close(checkpoint, {
      checkpoints: NOWHERE,
      ...(reason !== undefined && { reason }),
    })
  } catch (error) {
    if (error instanceof CheckpointMissingError) return {}
    throw error
  }
}

async function storedQuestions({ store }: Services, { id }: StoredRun): Promise<RunOutcome> {
  const { messages, interrupts, usage, calls } = await storedCheckpoint(store, id)
  const answered = new Set(messages.flatMap((message) => (message.role === 'tool' ? [message.callId] : [])))
  const requested = messages.flatMap((message) =>
    message.role === 'assistant' ? message.content.flatMap((part) => (part.type === 'tool-call' ? [part.id] : [])) : [],
  )
  const open = requested.filter((call) => !answered.has(call))
  const results = new Map(calls.map((call) => [call.id, call.message]))
  return { messages, interrupts, usage, settled: open.flatMap((call) => results.get(call) ?? []) }
}

/** The result of a completed run, from its checkpoint: nothing of the run happens again. */
export async function resultOf({ store }: Services, { id }: StoredRun): Promise<CompletedResult> {
  const checkpoint = await storedCheckpoint(store, id)
  const result = storedResult(checkpoint)
  if (!result) throw new RunFailedError(id, { name: 'Error', message: `it is ${checkpoint.status}` })
  return result
}

/** A store that saves nothing. A run that may be retried is closed only for its readers. */
const NOWHERE: CheckpointStore = {
  load: async () => undefined,
  save: async () => undefined,
  delete: async () => undefined,
  prune: async () => 0,
}
