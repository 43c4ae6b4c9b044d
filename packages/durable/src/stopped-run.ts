/** A stop of a run, as listeners of a worker receive it, and the outcome of the run. */

import {
  CheckpointMissingError,
  type CheckpointStore,
  type CompletedResult,
  hasFinalAnswer,
  type Json,
  type Message,
  type PendingInterrupt,
  storedResult,
  type ToolMessage,
  type Usage,
} from '@meanwhile/core'
import type { RunStatus } from './durable-run.ts'
import { type ErrorInfo, RunFailedError } from './errors.ts'
import type { StoredRun } from './runs-table.ts'
import { agentOf, type Services } from './services.ts'
import { storedCheckpoint } from './stored-checkpoint.ts'

/** A run that has stopped, as listeners receive it. */
export interface StoppedRun {
  /** The id of the run. */
  readonly id: string
  /** The agent's name. */
  readonly agent: string
  /** The `conversationId` that was passed to `start`. */
  readonly conversationId?: string
  /** The `data` that was passed to `start`. */
  readonly data?: Json
  /** How the run stopped. */
  readonly status: Exclude<RunStatus, 'running'>
  /** The error that ended the run, or the reason why its last answer was refused. */
  readonly error?: ErrorInfo
  /** How many times a worker has taken the run. It grows from stop to stop, except when a run is cancelled while it waits for an answer. */
  readonly attempts: number
  /**
   * Returns the outcome of the run. `reason`: the result of calls that have none, if the run failed or was cancelled.
   * @throws {CheckpointMissingError} The run has completed or is interrupted, and its checkpoint is lost.
   */
  outcome(reason?: string): Promise<RunOutcome>
}

/** What a run has produced until it stopped. */
export interface RunOutcome {
  /**
   * The whole history. Only an interrupted run has calls without a result. Undefined if the run failed or was cancelled, and its checkpoint is lost.
   */
  readonly messages?: readonly Message[] | undefined
  /** The tokens that the run has used. Undefined if the checkpoint is lost. */
  readonly usage?: Usage | undefined
  /** The text of the answer. */
  readonly text?: string
  /** The value of the agent's `output` schema. */
  readonly output?: unknown
  /** The questions that wait for an answer. */
  readonly interrupts?: readonly PendingInterrupt[] | undefined
  /** Results of calls in the interrupted step that do not wait for an answer. */
  readonly settled?: readonly ToolMessage[] | undefined
}

/** Called each time a run stops. */
export type OnStopped = (run: StoppedRun) => Promise<void>

/** The outcome, as the process in which the run stopped knows it. */
export type KnownOutcome = RunOutcome & { readonly status: StoppedRun['status'] }

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
