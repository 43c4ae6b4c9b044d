/** Measures what a durable run costs, next to a bare job of pg-boss that does the same. */

import { fileURLToPath } from 'node:url'
import { createDatabase } from '@meanwhile/postgres-cluster'
import { startProcess } from '../asked-process.ts'
import type { Server } from '../durable/server.ts'
import type { Answer, Kind, Request, Took } from './durable-process.ts'
import type { Plan } from './plan.ts'

/** The costs of one run: of all processes together. */
export interface DurableCost {
  readonly kind: Kind
  readonly workers: number
  readonly runsPerSecond: number
  readonly statements: number
  /** Of the workers and of the process that starts the runs. */
  readonly cpuMs: number
  readonly postgresMs?: number | undefined
}

interface DurableOptions {
  readonly plan: Plan
  readonly signal: AbortSignal
  readonly server: Server
  onPart(title: string): void
}

const KINDS: readonly Kind[] = ['job', 'runs']

const PROGRAM = fileURLToPath(new URL('./durable-process.ts', import.meta.url))
const EXEC_ARGV = ['--conditions=@meanwhile/source', '--no-warnings']

export const KIND_TITLES: Readonly<Record<Kind, string>> = { job: 'a bare job of pg-boss', runs: 'a durable run' }

/** The number of parts. */
export function durableParts({ workers }: Plan): number {
  return KINDS.length * workers.length
}

export async function measureDurableRuns(options: DurableOptions): Promise<readonly DurableCost[]> {
  const costs: DurableCost[] = []
  for (const workers of options.plan.workers)
    for (const kind of KINDS) {
      options.onPart(`${KIND_TITLES[kind]}, ${workers === 1 ? '1 worker' : `${workers} workers`}`)
      costs.push(await costOf(kind, workers, options))
    }
  return costs
}

async function costOf(kind: Kind, workers: number, { plan, signal, server }: DurableOptions): Promise<DurableCost> {
  const url = await createDatabase(server.url)
  await using processes = new AsyncDisposableStack()
  const start = async (role: 'starter' | 'worker') => {
    const child = startProcess<Request, Answer>(PROGRAM, [role, kind, url], { signal, execArgv: EXEC_ARGV })
    processes.use(child)
    const ask = async (request: Request): Promise<Took> => {
      const answer = await child.ask(request)
      if ('problem' in answer) throw new Error(`${KIND_TITLES[kind]}: ${answer.problem}`)
      return answer
    }
    await ask({})
    return ask
  }
  const starter = await start('starter')
  const all = [starter]
  for (let n = 0; n < workers; n++) all.push(await start('worker'))
  await starter({ runs: plan.warmUp })
  for (const ask of all) await ask({})
  const made = await starter({ runs: plan.runs })
  const took = [made, ...(await Promise.all(all.slice(1).map((ask) => ask({}))))]
  const perRun = (of: (one: Took) => number) => took.reduce((sum, one) => sum + of(one), 0) / plan.runs
  return {
    kind,
    workers,
    runsPerSecond: (plan.runs / made.wallMs) * 1_000,
    statements: perRun(({ statements }) => statements),
    cpuMs: perRun(({ cpuMs }) => cpuMs),
    postgresMs: made.postgresMs === undefined ? undefined : made.postgresMs / plan.runs,
  }
}
