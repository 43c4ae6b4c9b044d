/** The set-ups that are compared: where checkpoints are stored, and what advances a run. */

import type { EngineName } from './engines.ts'

export interface SetUp {
  readonly title: string
  /** Default: none. */
  readonly store?: 'memory' | 'sqlite' | 'postgres'
  /** The run is a durable run on this engine. Default: `agent.run`. */
  readonly engine?: EngineName
  /** The events of the run are written. */
  readonly hasEventLog?: true
}

export const SETUPS = {
  none: { title: 'no store' },
  memory: { title: 'memoryStore', store: 'memory' },
  sqlite: { title: 'sqliteStore', store: 'sqlite' },
  postgres: { title: 'postgresStore', store: 'postgres' },
  durable: { title: 'durable run, engine in memory', store: 'postgres', engine: 'memory' },
  'durable-events': {
    title: 'durable run, engine in memory, event log',
    store: 'postgres',
    engine: 'memory',
    hasEventLog: true,
  },
  'pg-boss': { title: 'durable run on pg-boss', store: 'postgres', engine: 'pg-boss' },
  'pg-boss-events': {
    title: 'durable run on pg-boss, event log',
    store: 'postgres',
    engine: 'pg-boss',
    hasEventLog: true,
  },
  dbos: { title: 'durable run on DBOS', store: 'postgres', engine: 'dbos' },
  'dbos-events': { title: 'durable run on DBOS, event log', store: 'postgres', engine: 'dbos', hasEventLog: true },
} as const satisfies Readonly<Record<string, SetUp>>

export type SetUpName = keyof typeof SETUPS

export const SETUP_NAMES = Object.keys(SETUPS).filter(isSetUp)

export function isSetUp(name: string): name is SetUpName {
  return Object.hasOwn(SETUPS, name)
}

/** Whether the set-up uses PostgreSQL. */
export function isOnPostgres(name: SetUpName): boolean {
  const { store }: SetUp = SETUPS[name]
  return store === 'postgres'
}
