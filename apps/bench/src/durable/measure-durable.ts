/** Measures what durability costs a run. Each set-up has its own process. They take turns on one PostgreSQL server. */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createDatabase } from '@meanwhile/postgres-cluster'
import { type AskedProcess, startProcess } from '../asked-process.ts'
import { rotated } from '../rotated.ts'
import { diskSyncs } from './disk-sync.ts'
import type { Answer, Request, Took } from './process.ts'
import { type Server, startServer } from './server.ts'
import { isOnPostgres, SETUP_NAMES, SETUPS, type SetUpName } from './setups.ts'

export interface DurableCost {
  /** The version of the PostgreSQL server. */
  readonly version: string
  readonly setUps: readonly SetUpCost[]
  /** How long each sync of the disk took, in milliseconds. */
  readonly syncMs: readonly number[]
}

export interface SetUpCost {
  readonly name: SetUpName
  /** CPU time for each run, with several runs at once: milliseconds, one figure for each round. */
  readonly cpuMs: readonly number[]
  /** From the start to the result, one run at a time: milliseconds, one figure for each run. */
  readonly wallMs: readonly number[]
  /** The same while `synchronous_commit` is off; empty without PostgreSQL. */
  readonly unsyncedWallMs: readonly number[]
  /** Saves for each run. */
  readonly saves: number
  /** For each run: transactions that wrote or notified. */
  readonly commits: number
}

export interface DurableCostOptions {
  /** How many runs are made one at a time, with each set-up and each setting of the server. */
  readonly runs: number
  readonly signal: AbortSignal
  readonly plan?: Plan
  /** Called before each turn of a set-up. */
  onTurn?(title: string): void
}

/** What each set-up does. */
export interface Plan {
  /** The limit: there are never more rounds than runs. */
  readonly rounds: number
  /** How many runs go on at once where CPU time is measured. */
  readonly atOnce: number
  /** How many such runs a round has. */
  readonly crowd: number
  /** Runs before the first round. */
  readonly warmUp: number
}

export const PLAN: Plan = { rounds: 5, atOnce: 16, crowd: 96, warmUp: 150 }

/** How often the disk is synced before each round. */
const SYNCS = 40

const PROGRAM = fileURLToPath(new URL('./process.ts', import.meta.url))

/** How many turns there are. */
export function turnsIn(runs: number): number {
  return SETUP_NAMES.length * (1 + Math.min(PLAN.rounds, runs))
}

/** @throws {NoPostgresError} PostgreSQL is not installed. */
export async function measureDurable({ runs, signal, plan = PLAN, onTurn }: DurableCostOptions): Promise<DurableCost> {
  await using server = await startServer()
  const folder = await mkdtemp(join(tmpdir(), 'meanwhile-bench-'))
  try {
    await using processes = new AsyncDisposableStack()
    const all: Measured[] = []
    for (const name of SETUP_NAMES) {
      signal.throwIfAborted()
      const url = isOnPostgres(name) ? await createDatabase(server.url) : ''
      const child = processes.use(
        startProcess<Request, Answer>(PROGRAM, [name, folder, url], { signal, execArgv: EXEC_ARGV }),
      )
      all.push({ name, turns: [], ask: (request) => asked(name, child, request) })
    }
    for (const { name, ask } of all) {
      onTurn?.(SETUPS[name].title)
      await ask({ runs: 1, atOnce: plan.atOnce, warmUp: plan.warmUp })
    }
    const rounds = Math.min(plan.rounds, runs)
    const syncMs: number[] = []
    for (let round = 0; round < rounds; round++) {
      syncMs.push(...(await diskSyncs(folder, SYNCS)))
      for (const one of rotated(all, round)) {
        onTurn?.(SETUPS[one.name].title)
        one.turns.push(await turn(one, server, { ...plan, alone: Math.ceil(runs / rounds) }))
      }
    }
    return { version: server.version, syncMs, setUps: all.map(({ name, turns }) => costOf(name, turns)) }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

const EXEC_ARGV = ['--conditions=@meanwhile/source', '--no-warnings']

interface Measured {
  readonly name: SetUpName
  readonly turns: Turn[]
  ask(request: Request): Promise<Took>
}

interface Turn {
  readonly crowd: Took
  readonly alone: Took
  /** Only with PostgreSQL. */
  readonly unsynced?: Took
}

async function asked(name: SetUpName, child: AskedProcess<Request, Answer>, request: Request): Promise<Took> {
  const answer = await child.ask(request)
  if ('problem' in answer) throw new Error(`${SETUPS[name].title}: ${answer.problem}`)
  return answer
}

async function turn(
  { name, ask }: Measured,
  server: Server,
  { crowd: many, atOnce, alone: few }: Plan & { readonly alone: number },
): Promise<Turn> {
  const crowd = await ask({ runs: many, atOnce, warmUp: atOnce })
  const oneByOne = { runs: few, atOnce: 1, warmUp: 1 }
  const alone = await ask(oneByOne)
  if (!isOnPostgres(name)) return { crowd, alone }
  await server.setSynchronousCommit('off')
  const unsynced = await ask(oneByOne)
  await server.setSynchronousCommit('on')
  return { crowd, alone, unsynced }
}

function costOf(name: SetUpName, turns: readonly Turn[]): SetUpCost {
  const crowds = turns.map(({ crowd }) => crowd)
  const runs = crowds.reduce((sum, { wallMs }) => sum + wallMs.length, 0)
  const perRun = (of: (took: Took) => number) => crowds.reduce((sum, took) => sum + of(took), 0) / runs
  return {
    name,
    cpuMs: crowds.map(({ cpuMs, wallMs }) => cpuMs / wallMs.length),
    wallMs: turns.flatMap(({ alone }) => alone.wallMs),
    unsyncedWallMs: turns.flatMap(({ unsynced }) => unsynced?.wallMs ?? []),
    saves: perRun(({ saves }) => saves),
    commits: perRun(({ commits }) => commits),
  }
}
