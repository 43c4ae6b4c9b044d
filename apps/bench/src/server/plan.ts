/** What is measured of the servers. */

export interface Plan {
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
