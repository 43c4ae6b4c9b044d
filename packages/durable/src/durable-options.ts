/** The options of durable runs, and their checks. */

import { type Agent, type CheckpointStore, ConfigError, checkOptions } from '@meanwhile/core'
import type { PostgresPool } from './database.ts'
import type { Engine } from './engine.ts'
import { checkMilliseconds, checkTimer } from './given.ts'
import type { ContextRequest } from './run-context.ts'

/** The options of `durableRuns`. */
export interface DurableOptions<Agents extends readonly Agent[] = readonly Agent[]> {
  /** The agents, each with a unique name: `start` and all workers identify an agent by its name. */
  readonly agents: Agents
  /** Stores the checkpoints of all runs. All processes need the same store, such as `postgresStore`. */
  readonly store: CheckpointStore
  /** A `Pool` of `pg` with at least three connections: one of them listens for changes. You close it; durable runs never do. */
  readonly pool: PostgresPool
  /**
   * The pool of the listening connection, if `pool` goes through a pooler that gives each transaction another connection, such as
   * PgBouncer: a `Pool` that connects to PostgreSQL directly. Default: `pool`. If no notification arrives, readers and workers poll every second.
   */
  readonly listen?: PostgresPool
  /** Decides which worker advances a run, and when: `pgBossEngine` or `dbosEngine`. */
  readonly engine: Engine
  /** The schema of the tables that `setUpDurable` makes. Default `meanwhile`. */
  readonly schema?: string
  /** Makes the context of a run in the process that advances it. If it throws, the run fails with a `ContextError`. */
  readonly context?: (run: ContextRequest) => unknown
  /**
   * `every`: events are written in batches, after this many milliseconds; default 25. `keepFor`: a worker deletes the events of runs that
   * ended more than this many milliseconds ago, and checks at most once a minute; readers then get the run's messages. Default: events are
   * deleted with their run. `false`: no events are stored.
   */
  readonly events?: false | { readonly every?: number; readonly keepFor?: number }
  /** This many workers may take a run before it stops. Then it fails. Default 20. */
  readonly maxAttempts?: number
  /**
   * Decides whether the run is tried again after an error that would end it. Default: no. After a conflict, a failure of the store, or a
   * checkpoint or agent that this worker does not know, the run is always tried again.
   */
  readonly shouldRetry?: (error: unknown, attempt: number) => boolean
}

/** @throws {ConfigError} An option cannot work. */
export function checkedOptions<Options extends DurableOptions>(options: Options): Options {
  checkOptions<DurableOptions>('durableRuns', options, {
    agents: 'agent',
    store: 'checkpoints checkpointer',
    pool: 'client database',
    listen: 'listener',
    engine: 'queue',
    schema: '',
    context: '',
    events: '',
    maxAttempts: 'retryLimit',
    shouldRetry: 'retry again',
  })
  if (options === undefined) throw new ConfigError('options', 'must be an object')
  const { agents, store, listen, engine, context, events, maxAttempts = 1, shouldRetry } = options
  if (!Array.isArray(agents) || agents.length === 0) throw new ConfigError('agents', 'must be an array of agents')
  if (agents.some((agent) => typeof agent?.begin !== 'function'))
    throw new ConfigError('agents', 'must be agents, as createAgent returns them')
  const names = agents.map((agent) => agent.name)
  if (names.some((name) => !name)) throw new ConfigError('agents', 'each agent must have a name')
  const double = names.find((name, index) => names.indexOf(name) !== index)
  if (double) throw new ConfigError('agents', `two agents have the name ${JSON.stringify(double)}`)
  if (typeof store?.load !== 'function' || typeof store.save !== 'function')
    throw new ConfigError('store', 'must be a checkpoint store, such as postgresStore returns')
  if (listen !== undefined && typeof listen?.connect !== 'function')
    throw new ConfigError('listen', 'must have connect, like a Pool of pg')
  if (typeof engine?.wake !== 'function' || typeof engine.work !== 'function')
    throw new ConfigError('engine', 'must be an engine, such as pgBossEngine returns')
  if (!Number.isInteger(maxAttempts) || maxAttempts < 1)
    throw new ConfigError('maxAttempts', 'must be a positive integer')
  for (const [name, value] of Object.entries({ context, shouldRetry }))
    if (value !== undefined && typeof value !== 'function') throw new ConfigError(name, 'must be a function')
  if (events !== false && events !== undefined) {
    checkOptions<Exclude<DurableOptions['events'], false | undefined>>(
      'durableRuns',
      events,
      { every: '', keepFor: '' },
      'events.',
    )
    checkTimer('events.every', events.every)
    checkMilliseconds('events.keepFor', events.keepFor)
  }
  return options
}
