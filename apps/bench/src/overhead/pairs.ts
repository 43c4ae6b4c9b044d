/** The same runs without an SDK and with one, by turns, each in a process of its own, as an application has one or has none. */

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { spreadOf } from './cpu.ts'
import type { PairAnswer, PairRequest } from './pair-process.ts'
import type { Spread } from './table.ts'

export interface Pairs {
  readonly spansPerRun: number
  /** Microseconds of CPU of a run without an SDK. */
  readonly without: Spread
  /** Microseconds of CPU that an SDK adds, of each span. */
  readonly perSpan: Spread
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

/** Many short rounds, each with both, and the first in one is the second in the next: a busy second of the machine hits them alike. */
export async function pairs({
  signal,
  execArgv,
  rounds = 80,
  runs = 40,
  warmUp = 5_000,
}: PairsOptions): Promise<Pairs> {
  await using traced = start('traced')
  await using untraced = start('untraced')
  const { spansPerRun } = await traced.ask({ runs: warmUp })
  await untraced.ask({ runs: warmUp })
  const without: number[] = []
  const perSpan: number[] = []
  for (let round = 0; round < rounds; round++) {
    const costs = { traced: 0, untraced: 0 }
    for (const one of round % 2 === 0 ? [traced, untraced] : [untraced, traced])
      costs[one.mode] = (await one.ask({ runs })).cpuUs / runs
    without.push(costs.untraced)
    perSpan.push((costs.traced - costs.untraced) / spansPerRun)
  }
  const { exported } = await traced.ask({ runs: 0, shutdown: true })
  const made = (warmUp + rounds * runs) * spansPerRun
  if (exported !== made) throw new Error(`${exported} of ${made} spans were exported`)
  return { spansPerRun, without: spreadOf(without), perSpan: spreadOf(perSpan) }

  function start(mode: 'traced' | 'untraced') {
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
