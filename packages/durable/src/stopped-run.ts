/** A run that has stopped, for those who keep what it has come to. */

import {
  CheckpointMissingError,
  type CheckpointStore,
  type CompletedResult,
  type Json,
  type Message,
  type PendingInterrupt,
  type ToolMessage,
  type Usage,
} from '@meanwhile/core'
import type { RunStatus } from './durable-run.ts'
import { type ErrorInfo, RunFailedError } from './errors.ts'
import type { KnownRun } from './runs-table.ts'
import { agentOf, storedCheckpoint, type Workshop } from './workshop.ts'

export interface StoppedRun {
  readonly id: string
  /** The agent's name. */
  readonly agent: string
  readonly conversationId?: string
  /** What `start` was given. */
  readonly data?: Json
  readonly status: Exclude<RunStatus, 'running'>
  /** What ended the run, or why its last answer was refused. */
  readonly error?: ErrorInfo
  /** How often a worker has taken it: greater at each stop, except that a run which waits for an answer may be cancelled. */
  readonly attempts: number
  /**
   * What the run has come to. `reason`: what calls without a result are answered with, if the run has failed or was cancelled.
   * @throws {CheckpointMissingError} It has completed, or waits, and its checkpoint is lost.
   */
  outcome(reason?: string): Promise<RunOutcome>
}

export interface RunOutcome {
  /** The whole history. Only that of an interrupted run has calls without a result. Undefined if the run has failed or was cancelled, and its checkpoint is lost. */
  readonly messages?: readonly Message[] | undefined
  readonly usage?: Usage | undefined
  /** The text of the answer. */
  readonly text?: string
  readonly output?: unknown
  /** What waits for an answer. */
  readonly interrupts?: readonly PendingInterrupt[] | undefined
  /** Results of calls beside those that ask. */
  readonly settled?: readonly ToolMessage[] | undefined
}

export type OnStopped = (run: StoppedRun) => Promise<void>

/** What the process knows in which the run has stopped. */
export type KnownOutcome = RunOutcome & { readonly status: StoppedRun['status'] }

/** Tells those who listen, unless the run goes on by now: then whoever has it tells of its next stop. */
export async function tellStop(
  shop: Workshop,
  id: string,
  known: (KnownOutcome & { readonly attempts: number }) | undefined,
): Promise<void> {
  if (shop.listeners.size === 0) return
  const run = await shop.runs.find(id)
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
    outcome: async (reason) => (isKnown ? known : await storedOutcome(shop, run, reason)),
  }
  for (const listener of shop.listeners) await listener(stopped)
}

/** What the run has come to, from its checkpoint. */
async function storedOutcome(shop: Workshop, run: KnownRun, reason: string | undefined): Promise<RunOutcome> {
  if (run.status === 'completed') return await resultOf(shop, run)
  if (run.status === 'interrupted') return await storedQuestions(shop, run)
  try {
    const checkpoint = await storedCheckpoint(shop.store, run.id)
    return await agentOf(shop, run).close(checkpoint, { checkpoints: NOWHERE, ...(reason !== undefined && { reason }) })
  } catch (error) {
    if (error instanceof CheckpointMissingError) return {}
    throw error
  }
}

async function storedQuestions({ store }: Workshop, { id }: KnownRun): Promise<RunOutcome> {
  const { messages, interrupts, usage, calls } = await storedCheckpoint(store, id)
  const answered = new Set(messages.flatMap((message) => (message.role === 'tool' ? [message.callId] : [])))
  const requested = messages.flatMap((message) =>
    message.role === 'assistant' ? message.content.flatMap((part) => (part.type === 'tool-call' ? [part.id] : [])) : [],
  )
  const open = requested.filter((call) => !answered.has(call))
  const results = new Map(calls.map((call) => [call.id, call.message]))
  return { messages, interrupts, usage, settled: open.flatMap((call) => results.get(call) ?? []) }
}

/** The result of a run that has completed. */
export async function resultOf(shop: Workshop, run: KnownRun, signal?: AbortSignal): Promise<CompletedResult> {
  const context = await shop.contextOf(run)
  const checkpoint = await storedCheckpoint(shop.store, run.id)
  const options = { checkpoints: shop.store, ...(signal && { signal }), ...(context !== undefined && { context }) }
  const result = await agentOf(shop, run).resume(checkpoint, {}, options).result
  if (result.status !== 'completed')
    throw new RunFailedError(run.id, { name: 'Error', message: `it is ${result.status}` })
  return result
}

/** A run that may be retried is closed for those who read it only. */
const NOWHERE: CheckpointStore = {
  load: async () => undefined,
  save: async () => undefined,
  delete: async () => undefined,
  prune: async () => 0,
}
