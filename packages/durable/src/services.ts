/** What all code of one `durableRuns` shares in a process. */

import type { Agent, CheckpointStore } from '@meanwhile/core'
import type { Changes } from './changes.ts'
import type { Database } from './database.ts'
import type { Engine } from './engine.ts'
import { UnknownAgentError } from './errors.ts'
import type { Inboxes } from './inbox.ts'
import type { NewRun, RunsTable } from './runs-table.ts'
import type { OnStopped } from './stopped-run.ts'

export interface Services {
  readonly database: Database
  readonly runs: RunsTable
  readonly store: CheckpointStore
  readonly engine: Engine
  readonly changes: Changes
  readonly inboxes: Inboxes
  readonly agents: ReadonlyMap<string, Agent>
  readonly listeners: Set<OnStopped>
  /** Milliseconds that an event may wait for others; undefined: no events are written. */
  readonly eventsEvery: number | undefined
  readonly maxAttempts: number
  createContext(run: NewRun): Promise<unknown>
  shouldRetry(error: unknown, attempt: number): boolean
}

/** @throws {UnknownAgentError} This process does not have the agent. */
export function agentOf({ agents }: Services, { id, agent: name }: Pick<NewRun, 'id' | 'agent'>): Agent {
  const agent = agents.get(name)
  if (!agent) throw new UnknownAgentError(id, name, [...agents.keys()])
  return agent
}
