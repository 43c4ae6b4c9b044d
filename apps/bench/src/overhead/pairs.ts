/**
 * The same runs without an SDK and with one, by turns, each in a process of its own, as an application has one or has none; and in a
 * third process what the SDK does for such a run, after each, to tell its part from ours.
 */

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { rotated } from '../rotated.ts'
import { spreadOf } from './cpu.ts'
import type { PairAnswer, PairMode, PairRequest } from './pair-process.ts'
import type { Spread } from './table.ts'

export interface Pairs {
  readonly spansPerRun: number
  /** Microseconds of CPU of a run without an SDK. */
  readonly without: Spread
  /** Microseconds of CPU that an SDK adds, of each span. */
  readonly perSpan: Spread
  /** The same, of an SDK that is called as core calls it, by nobody but us. */
  readonly sdkAlone: Spread
}

interface PairsOptions {
  readonly signal: AbortSignal
  readonly execArgv: readonly string[]
  readonly rounds?: number
  readonly runs?: number
  /** Runs of each before the first that counts. */
  readonly warmUp?: number
}

const PROGRAM = fileURLToPath(new URL('./pair-process.ts', import.meta.url))

/** Many short rounds, each with all, in another order: a busy second of the machine hits them alike. */
export async function pairs({
  signal,
  execArgv,
  rounds = 80,
  runs = 40,
  warmUp = 5_000,
}: PairsOptions): Promise<Pairs> {
  await using untraced = start('untraced')
  await using traced = start('traced')
  await using repeated = start('repeated')
  const all = [untraced, traced, repeated]
  for (const one of all) await one.ask({ runs: warmUp })
  const { spansPerRun } = await untraced.ask({ runs: 0 })
  const costs: Record<PairMode, number>[] = []
  for (let round = 0; round < rounds; round++) {
    const cost = { untraced: 0, traced: 0, repeated: 0 }
    for (const one of rotated(all, round)) cost[one.mode] = (await one.ask({ runs })).cpuUs / runs
    costs.push(cost)
  }
  const made = (warmUp + rounds * runs) * spansPerRun
  for (const one of [traced, repeated]) {
    const { exported } = await one.ask({ runs: 0, shutdown: true })
    if (exported !== made) throw new Error(`${exported} of ${made} spans were exported`)
  }
  const perSpan = (mode: PairMode) => spreadOf(costs.map((cost) => (cost[mode] - cost.untraced) / spansPerRun))
  const without = spreadOf(costs.map(({ untraced }) => untraced))
  return { spansPerRun, without, perSpan: perSpan('traced'), sdkAlone: perSpan('repeated') }

  function start(mode: PairMode) {
    const child = fork(PROGRAM, [mode], { execArgv: [...execArgv], signal })
    const ended = once(child, 'exit')
    ended.catch(() => undefined)
    return {
      mode,
      ask: (request: PairRequest) => answerOf(child, request),
      async [Symbol.asyncDispose]() {
        child.kill()
        await ended.catch(() => undefined)
      },
    }
  }
}

function answerOf(child: ChildProcess, request: PairRequest): Promise<PairAnswer> {
  return new Promise((resolve, reject) => {
    const failed = (cause: unknown) => reject(new Error('a process that makes runs has ended', { cause }))
    child.once('exit', failed)
    child.once('error', failed)
    child.once('message', (answer) => {
      child.off('exit', failed)
      child.off('error', failed)
      resolve(answer as PairAnswer)
    })
    child.send(request)
  })
}
