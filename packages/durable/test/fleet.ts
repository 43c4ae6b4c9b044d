/** Workers in their own processes, which can be killed, and the process that starts runs and answers their questions. */

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { CompletedResult } from '@meanwhile/core'
import { createDatabase } from '@meanwhile/postgres-cluster'
import { postgresStore } from '@meanwhile/stores/postgres'
import { programAt } from '@meanwhile/tests/programs'
import { sized } from '@meanwhile/tests/size'
import { Pool } from 'pg'
import { type DurableRuns, durableRuns, setUpDurable } from '../src/index.ts'
import { isTransient } from '../src/retryable-errors.ts'
import { clerk, type Diary, diaryIn, guardedClerk, judge, type Line, type Verdict } from './clerk.ts'
import { testDatabase } from './database.ts'
import { type DriverName, death, openEngine } from './drivers.ts'

const PROGRAM = programAt(new URL('./worker-process.ts', import.meta.url))

export interface FleetOptions {
  readonly driver: DriverName
  readonly url: string
  /** The model makes the same calls in another order each time. */
  readonly isVaried?: boolean
  readonly maxAttempts?: number
}

/** What a worker receives when it is started. */
export interface WorkerOrder extends FleetOptions {
  readonly diary: string
  readonly name: string
  /** It stops itself once, as by SIGSTOP, after it has saved that a call is about to start, or is about to be undone. */
  readonly sleepsBefore?: 'start' | 'undo'
  /** Milliseconds between two heartbeats, on DBOS. */
  readonly heartbeat?: number
}

/** The end of a worker. */
export interface Death {
  /** How many milliseconds it took. */
  readonly ms: number
  /** The runs that the worker had claimed and not returned. Another worker takes them. */
  readonly held: readonly string[]
}

interface Worker {
  readonly process: ChildProcess
  readonly name: string
}

/** How many workers the tests kill on each engine. */
export const KILLS = sized({ small: 4, middle: 4, whole: 200 })

/** The time limit of a test that kills that many. */
export const patient = { timeout: 300_000 + KILLS * 10_000 }

export interface TestFleets {
  /** The URL of the server's empty database. */
  readonly url: string
  /** Opens a fleet in its own database, and closes it after `work`. */
  use(
    driver: DriverName,
    work: (fleet: Fleet) => Promise<void>,
    options?: Pick<FleetOptions, 'maxAttempts'>,
  ): Promise<void>
}

export function testFleets(): TestFleets {
  const database = testDatabase()
  return {
    get url() {
      return database.url
    },
    async use(driver, work, options = {}) {
      const fleet = await Fleet.open({ driver, url: await createDatabase(database.url), ...options })
      try {
        await work(fleet)
      } finally {
        await fleet.close()
      }
    },
  }
}

export class Fleet {
  readonly diary: Diary
  readonly runs: DurableRuns
  readonly pool: Pool
  readonly #options: FleetOptions
  readonly #folder: string
  readonly #close: () => Promise<void>
  readonly #workers = new Map<number, Worker>()
  /** Workers that are not ready yet. */
  readonly #starting = new Set<ChildProcess>()
  #count = 0
  /** When a worker has last started or ended. */
  #changedAt = 0

  private constructor(
    options: FleetOptions,
    folder: string,
    pool: Pool,
    runs: DurableRuns,
    close: () => Promise<void>,
  ) {
    this.#options = options
    this.#folder = folder
    this.#close = close
    this.diary = diaryIn(join(folder, 'diary'))
    this.pool = pool
    this.runs = runs
  }

  static async open(options: FleetOptions): Promise<Fleet> {
    const folder = await mkdtemp(join(tmpdir(), 'meanwhile-fleet-'))
    const pool = new Pool({ connectionString: options.url, max: 10 })
    pool.on('error', () => {})
    await setUpDurable({ pool })
    const { engine, close } = await openEngine(options.driver, options.url)
    const nobody = diaryIn(join(folder, 'nobody'))
    const agents = [clerk(nobody, false), guardedClerk(nobody)]
    const runs = durableRuns({ agents, store: postgresStore({ pool }), pool, engine })
    return new Fleet(options, folder, pool, runs, close)
  }

  async close(): Promise<void> {
    const workers = [...this.#workers.values()].map((worker) => worker.process)
    await Promise.all([...workers, ...this.#starting].map((child) => this.#end(child, 'SIGKILL')))
    await this.#close()
    await this.pool.end()
    // A killed worker may still be writing in it for a moment.
    await rm(this.#folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 })
  }

  /** Starts a worker. Returns its process id. */
  async spawn(more: Pick<WorkerOrder, 'sleepsBefore' | 'heartbeat'> = {}): Promise<number> {
    const name = `worker-${process.pid}-${++this.#count}`
    const order: WorkerOrder = { ...this.#options, ...more, diary: join(this.#folder, 'diary'), name }
    const child = fork(PROGRAM, [JSON.stringify(order)], {
      execArgv: ['--no-warnings'],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    const ended = once(child, 'exit').then(() => {
      throw new Error('a worker ended before it was ready')
    })
    ended.catch(() => undefined)
    this.#starting.add(child)
    await Promise.race([once(child, 'message'), ended]).finally(() => this.#starting.delete(child))
    const pid = child.pid ?? 0
    this.#workers.set(pid, { process: child, name })
    this.#changedAt = Date.now()
    return pid
  }

  /** Ends a worker, and waits until it has ended. */
  async kill(pid: number, signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL'): Promise<Death> {
    const worker = this.#workers.get(pid)
    if (!worker) throw new Error(`no worker ${pid}`)
    const ms = await this.#end(worker.process, signal)
    // Not earlier, because until its end it may return a run, or claim one.
    const held = this.held(pid)
    if (signal === 'SIGKILL') await this.bury(worker.name, held)
    return { ms, held }
  }

  /** Pauses a worker until {@link wake}. The engine considers it dead. */
  async pause(pid: number): Promise<readonly string[]> {
    const held = this.held(pid)
    this.#workers.get(pid)?.process.kill('SIGSTOP')
    await this.mourn(pid, held)
    return held
  }

  /** Makes the engine consider a paused worker dead. */
  async mourn(pid: number, held = this.held(pid)): Promise<void> {
    await this.bury(this.#workers.get(pid)?.name ?? '', held)
  }

  wake(pid: number): void {
    this.#workers.get(pid)?.process.kill('SIGCONT')
  }

  /** The process ids of the workers that are alive. */
  pids(): readonly number[] {
    return [...this.#workers.keys()]
  }

  /** Resolves when the worker has written such a line. */
  async said(at: Line['at'], pid: number): Promise<void> {
    await until(
      `${at} of ${pid}`,
      () => this.diary.read().some((line) => line.at === at && line.pid === pid) || undefined,
    )
  }

  /** Delays each save of a checkpoint by 0.1 s, and on DBOS each wake, so that a worker can die in between. */
  async slow(): Promise<void> {
    const tables =
      this.#options.driver === 'dbos' ? ['meanwhile.checkpoints', 'dbos.workflow_status'] : ['meanwhile.checkpoints']
    await this.pool.query(
      `CREATE FUNCTION slowly() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.1); RETURN NEW; END $$`,
    )
    for (const table of tables)
      await this.pool.query(
        `CREATE TRIGGER slowly BEFORE ${table.startsWith('dbos') ? 'INSERT' : 'UPDATE'} ON ${table} FOR EACH ROW EXECUTE FUNCTION slowly()`,
      )
  }

  has(pid: number): boolean {
    return this.#workers.has(pid)
  }

  /** The runs that the worker has claimed. */
  held(pid: number): readonly string[] {
    const last = new Map<string, Line>()
    for (const line of this.diary.read()) if (line.at === 'claim' || line.at === 'return') last.set(line.run, line)
    return [...last.values()].flatMap((line) => (line.at === 'claim' && line.pid === pid ? [line.run] : []))
  }

  /** The process id of the worker that claimed the run last. */
  async workerOf(run: string, after = 0): Promise<number> {
    return await this.#until(`a worker takes ${run}`, () => this.livingWorkerOf(run, after))
  }

  /** Like {@link workerOf}; undefined if no worker has claimed it, or that worker has ended. */
  livingWorkerOf(run: string, after = 0): number | undefined {
    const claim = this.diary.read().findLast((line) => line.at === 'claim' && line.run === run && line.time >= after)
    return claim && this.#workers.has(claim.pid) ? claim.pid : undefined
  }

  /** Answers the questions of the run until it has ended. */
  async end(run: string): Promise<Verdict> {
    const result = await this.result(run)
    return judge(
      this.diary.read().filter((line) => line.run === run),
      result,
    )
  }

  async result(run: string): Promise<CompletedResult> {
    return await this.#until(`${run} ends`, () => this.#step(run), 50)
  }

  /** The minute begins again when a worker has started or ended: what the test does to its workers takes longer on a busy machine. */
  #until<Value>(what: string, look: Look<Value>, every?: number): Promise<Value> {
    return until(what, look, () => this.#changedAt, every)
  }

  /** Answers the questions of the run. Returns its result when it has ended. A failure of the database is ignored. */
  async #step(run: string): Promise<CompletedResult | undefined> {
    try {
      const known = await this.runs.get(run)
      if (known?.status === 'failed') throw new Error(`${run} failed: ${JSON.stringify(known.error)}`)
      for (const { id } of known?.interrupts ?? []) await this.runs.answer(run, { [id]: 'yes' })
      return known?.status === 'completed' ? await this.runs.result(run) : undefined
    } catch (error) {
      if (isTransient(error)) return undefined
      throw error
    }
  }

  async bury(name: string, held: readonly string[]): Promise<void> {
    await this.pool.query(death(this.#options.driver), [held, name])
  }

  async #end(child: ChildProcess, signal: NodeJS.Signals): Promise<number> {
    const begun = Date.now()
    if (child.pid !== undefined) this.#workers.delete(child.pid)
    const ended = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : Promise.resolve()
    child.kill(signal)
    await ended
    this.#changedAt = Date.now()
    return this.#changedAt - begun
  }
}

type Look<Value> = () => Promise<Value | undefined> | Value | undefined

/**
 * Resolves with the first value that `look` returns. Throws if there is none within three minutes after this call, and after the time `from`.
 * `every`: milliseconds between two looks; a look into the database takes a hundred times as long as one into the diary.
 */
export async function until<Value>(
  what: string,
  look: Look<Value>,
  from: () => number = () => 0,
  every = 10,
): Promise<Value> {
  for (const begun = Date.now(); ; await pause(every)) {
    const value = await look()
    if (value !== undefined) return value
    if (Date.now() > Math.max(begun, from()) + 180_000) throw new Error(`did not happen within three minutes: ${what}`)
  }
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

export interface Trial {
  readonly kills: number
  readonly runs: number
  readonly problems: readonly string[]
  readonly unknown: number
  readonly readsAgain: number
  /** Milliseconds from a kill to the next worker, the smallest first. */
  readonly takeovers: readonly number[]
}

/** Two workers, and in each round two runs. The worker of the first run is killed at a random moment, and in each third round its successor, too. */
export async function killAtRandom(options: FleetOptions, kills: number): Promise<Trial> {
  const fleet = await Fleet.open(options)
  const verdicts: Verdict[] = []
  const takeovers: Promise<number>[] = []
  let killed = 0
  try {
    await Promise.all([fleet.spawn(), fleet.spawn()])
    for (let round = 0; killed < kills; round++) {
      const [first = '', second = ''] = ['a', 'b'].map((one) => `round-${round}-${one}`)
      await Promise.all([first, second].map((id) => fleet.runs.start('clerk', 'Go', { id })))
      const ends = [first, second].map((id) => fleet.end(id))
      for (const one of ends) one.catch(() => undefined)
      const respawned: Promise<number>[] = []
      let after = 0
      for (let spot = 0; spot < (round % 3 === 2 ? 2 : 1); spot++) {
        const pid = await fleet.workerOf(first, after)
        await pause(Math.random() * 480)
        if (!fleet.has(pid)) break
        after = Date.now()
        const { held } = await fleet.kill(pid)
        killed++
        respawned.push(fleet.spawn())
        if (held.includes(first)) takeovers.push(fleet.workerOf(first, after).then(() => Date.now() - after))
        else break
      }
      verdicts.push(...(await Promise.all(ends)))
      await Promise.all(respawned)
    }
    return {
      kills: killed,
      runs: verdicts.length,
      problems: verdicts.flatMap(({ problems }) => problems),
      unknown: verdicts.reduce((sum, verdict) => sum + verdict.unknown, 0),
      readsAgain: verdicts.reduce((sum, verdict) => sum + verdict.readsAgain, 0),
      takeovers: (await Promise.all(takeovers)).sort((a, b) => a - b),
    }
  } finally {
    await fleet.close()
  }
}
