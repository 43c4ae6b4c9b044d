/** What is measured of the servers. */

import { SETUP_NAMES, type SetUpName } from './setups.ts'

export interface Plan {
  /** The servers that are measured. */
  readonly servers: readonly SetUpName[]
  /** How often each load is measured. */
  readonly rounds: number
  /** How many turns are sent at once. */
  readonly loads: readonly number[]
  /** How many messages a thread has before the turn that is measured. */
  readonly lengths: readonly number[]
  /** How many threads of each length have a turn at once. */
  readonly threads: number
  /** How many pages join one turn. */
  readonly readers: readonly number[]
  /** How many processes work on durable runs. */
  readonly workers: readonly number[]
  /** How many durable runs are made with each number of workers. */
  readonly runs: number
  /** How many turns, or runs, come first and do not count. */
  readonly warmUp: number
  readonly speech: Speech
}

/** How the model of the measurement speaks. */
export interface Speech {
  readonly wordsPerSecond: number
  /** How many words its second answer has. */
  readonly words: number
}

export const PLAN: Plan = {
  servers: SETUP_NAMES,
  rounds: 3,
  loads: [10, 50, 200, 500],
  lengths: [0, 100, 1_000],
  threads: 10,
  readers: [1, 10, 100],
  workers: [1, 4],
  runs: 300,
  warmUp: 40,
  speech: { wordsPerSecond: 50, words: 150 },
}

/** For checks: a few seconds, and its figures mean nothing. */
export const SHORT_PLAN: Plan = {
  servers: SETUP_NAMES,
  rounds: 1,
  loads: [2],
  lengths: [0, 4],
  threads: 1,
  readers: [2],
  workers: [1],
  runs: 4,
  warmUp: 1,
  speech: { wordsPerSecond: 500, words: 20 },
}

/** The rows that somebody asks for. */
export type Rows = Partial<Pick<Plan, 'servers' | 'loads' | 'lengths' | 'readers' | 'workers'>>

/** The plan with only these rows. Without rows of any table, it has all rows of these servers. */
export function planOf(plan: Plan, { servers = plan.servers, ...rows }: Rows): Plan {
  if (Object.keys(rows).length === 0) return { ...plan, servers }
  const { loads = [], lengths = [], readers = [], workers = [] } = rows
  const isServed = loads.length + lengths.length + readers.length > 0
  return { ...plan, servers: isServed ? servers : [], loads, lengths, readers, workers }
}
