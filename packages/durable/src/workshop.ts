/** The state that all code of durable runs in a process shares. */

import {
  type Agent,
  type Checkpoint,
  CheckpointConflictError,
  CheckpointError,
  CheckpointMismatchError,
  CheckpointMissingError,
  type CheckpointStore,
  CheckpointStoreError,
  CheckpointVersionError,
  ContextError,
  type Json,
  messageOf,
} from '@meanwhile/core'
import type { Changes } from './changes.ts'
import type { Database } from './database.ts'
import { DurableSetUpError, DurableStoreError, UnknownAgentError } from './errors.ts'
import type { Inboxes } from './live-run.ts'
import type { NewRun, RunsTable } from './runs-table.ts'
import type { OnStopped } from './stopped-run.ts'

export interface Workshop {
  readonly database: Database
  readonly runs: RunsTable
  readonly store: CheckpointStore
  readonly changes: Changes
  readonly inboxes: Inboxes
  readonly agents: ReadonlyMap<string, Agent>
  readonly listeners: Set<OnStopped>
  /** Milliseconds that an event may wait for others; undefined: no events are written. */
  readonly eventsEvery: number | undefined
  readonly maxAttempts: number
  contextOf(run: NewRun): Promise<unknown>
  isAgain(error: unknown, attempt: number): boolean
}

/** @throws {UnknownAgentError} This process does not have the agent. */
export function agentOf({ agents }: Workshop, { id, agent: name }: Pick<NewRun, 'id' | 'agent'>): Agent {
  const agent = agents.get(name)
  if (!agent) throw new UnknownAgentError(id, name, [...agents.keys()])
  return agent
}

/** The checkpoint as it is stored; the agent validates it. @throws {CheckpointMissingError} There is no checkpoint. */
export async function storedCheckpoint(store: CheckpointStore, id: string): Promise<Checkpoint> {
  const checkpoint = await loaded(store, id)
  if (!isCheckpoint(checkpoint)) throw new CheckpointMissingError(id)
  return checkpoint
}

/** The stored value. @throws {CheckpointStoreError} The store has failed. */
export async function loaded(store: CheckpointStore, id: string): Promise<unknown> {
  try {
    return await store.load(id)
  } catch (cause) {
    if (cause instanceof CheckpointError) throw cause
    throw new CheckpointStoreError('load', id, 'it could not be loaded', { cause })
  }
}

export function isCheckpoint(value: unknown): value is Checkpoint {
  return typeof value === 'object' && value !== null && 'interrupts' in value && Array.isArray(value.interrupts)
}

/** Whether another worker has the run, or may succeed where this one cannot, or the database has failed: the run itself has not failed. */
export function isForAnother(error: unknown): boolean {
  return (
    error instanceof DurableStoreError ||
    error instanceof DurableSetUpError ||
    error instanceof CheckpointConflictError ||
    error instanceof CheckpointStoreError ||
    error instanceof CheckpointMismatchError ||
    error instanceof CheckpointVersionError ||
    error instanceof UnknownAgentError
  )
}

/** @throws {ContextError} The context cannot be made. */
export async function madeContext(
  make: ((run: ContextRequest) => unknown) | undefined,
  { id, agent, conversationId, data }: NewRun,
): Promise<unknown> {
  try {
    return await make?.({
      id,
      agent,
      ...(conversationId !== undefined && { conversationId }),
      ...(data !== undefined && { data }),
    })
  } catch (cause) {
    throw new ContextError([{ path: '', message: messageOf(cause) }], { cause })
  }
}

/** The input from which a context is made. */
export interface ContextRequest {
  readonly id: string
  /** The agent's name. */
  readonly agent: string
  readonly conversationId?: string
  /** The `data` that was passed to `start`. */
  readonly data?: Json
}
