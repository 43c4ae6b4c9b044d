/** Counts the saves of a step with many calls, on four stores, and measures the CPU time of its run. */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { type CheckpointStore, createAgent, type Effect, memoryStore, tool } from '@meanwhile/core'
import { NoPostgresError } from '@meanwhile/postgres-cluster'
import { fileStore } from '@meanwhile/stores/file'
import { postgresStore, setUpPostgres } from '@meanwhile/stores/postgres'
import { sqliteStore } from '@meanwhile/stores/sqlite'
import { Pool } from 'pg'
import { z } from 'zod'
import { countedStore } from '../counted-store.ts'
import { startServer } from '../durable/server.ts'
import { median } from '../stats.ts'

export const STORES = ['memory', 'file', 'SQLite', 'PostgreSQL'] as const
export type StoreName = (typeof STORES)[number]

export const EFFECTS = ['read', 'external'] as const satisfies readonly Effect[]

export const COUNTS = [10, 100, 1_000] as const

/** One step with this many calls. */
export interface StepCost {
  readonly store: StoreName
  readonly effect: (typeof EFFECTS)[number]
  readonly calls: number
  /** The saves of its run: the maximum. */
  readonly saves: number
  /** CPU time of its run in this process, in milliseconds: the median. */
  readonly cpuMs: number
}

export interface SavesOptions {
  readonly signal: AbortSignal
  /** Runs of each step. */
  readonly runs: number
  readonly counts?: readonly number[]
  /** Called before each step is measured. */
  onStep?(): void
}

export const STEPS: number = STORES.length * EFFECTS.length * COUNTS.length

/** Without PostgreSQL the rows of the other stores are returned. */
export async function measureSaves({
  signal,
  runs,
  counts = COUNTS,
  onStep,
}: SavesOptions): Promise<readonly StepCost[]> {
  const folder = await mkdtemp(join(tmpdir(), 'meanwhile-bench-'))
  await using opened = new AsyncDisposableStack()
  opened.defer(() => rm(folder, { recursive: true, force: true }))
  const costs: StepCost[] = []
  for (const store of STORES) {
    const checkpoints = await open(store, folder, opened)
    if (!checkpoints) continue
    // Without a first run that is not measured, the fewest calls would pay for the compilation.
    await step(checkpoints, 'external', Math.max(...counts), signal)
    for (const effect of EFFECTS) {
      for (const calls of counts) {
        onStep?.()
        const made: { readonly saves: number; readonly cpuMs: number }[] = []
        for (let run = 0; run < runs; run++) {
          signal.throwIfAborted()
          made.push(await step(checkpoints, effect, calls, signal))
        }
        const saves = Math.max(...made.map((one) => one.saves))
        costs.push({ store, effect, calls, saves, cpuMs: median(made.map(({ cpuMs }) => cpuMs)) ?? Number.NaN })
      }
    }
  }
  return costs
}

async function open(
  name: StoreName,
  folder: string,
  opened: AsyncDisposableStack,
): Promise<CheckpointStore | undefined> {
  if (name === 'memory') return memoryStore()
  if (name === 'file') return fileStore(join(folder, 'files'))
  if (name === 'SQLite') return opened.adopt(sqliteStore(join(folder, 'runs.db')), (store) => store.close())
  try {
    const { url } = opened.use(await startServer())
    const pool = opened.adopt(new Pool({ connectionString: url }), (pool) => pool.end())
    pool.on('error', () => {})
    await setUpPostgres({ pool })
    return postgresStore({ pool })
  } catch (error) {
    if (error instanceof NoPostgresError) return undefined
    throw error
  }
}

async function step(store: CheckpointStore, effect: Effect, calls: number, signal: AbortSignal) {
  let saves = 0
  const note = tool({
    name: 'note',
    description: 'Notes a number.',
    input: z.object({ n: z.number() }),
    effect,
    execute: async ({ n }) => `noted ${n}`,
  })
  const requested = Array.from({ length: calls }, (_, n) => call('note', { n }))
  const model = scriptedModel([respond(...requested), respond(say('Done.'))])
  const checkpoints = countedStore(store, () => saves++)
  const agent = createAgent({ name: 'bench-saves', model, tools: [note], checkpoints })
  const before = process.cpuUsage()
  await agent.run('Note all numbers.', { signal })
  const { user, system } = process.cpuUsage(before)
  return { saves, cpuMs: (user + system) / 1000 }
}
