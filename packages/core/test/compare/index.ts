/** `npm run compare-cores`: plays the same seeds with this core and with that of another checkout, and compares what can be observed. */

import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { type Comparison, compared, tracesOf, WorkerError } from './compared.ts'
import type { PlayName, Seeds } from './worker.ts'

const HELP = `npm run compare-cores -- --against FOLDER [OPTIONS]

Runs the same random programs (seeds) with the core of FOLDER (another checkout, with its packages installed) and with this one, each in its
own process. Compares results, checkpoints, executions and events. Ends with exit code 1 if they differ.

  --seeds N      how many seeds of each play (default 2000)
  --from N       the first seed (default 0)
  --part N/M     only the N-th of M parts of the seeds
  --play NAME    only this play: reentrancy, interleavings or equivalence
  --show N       how many differences are shown in full (default 5)
  --seed N       shows the results of one seed of the play with both cores
  --help         shows this text`

const PLAYS: readonly PlayName[] = ['reentrancy', 'interleavings', 'equivalence']

const { values } = parseArgs({
  options: {
    against: { type: 'string' },
    seeds: { type: 'string', default: '2000' },
    from: { type: 'string', default: '0' },
    part: { type: 'string', default: '1/1' },
    play: { type: 'string' },
    show: { type: 'string', default: '5' },
    seed: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})

if (values.help) console.log(HELP)
else process.exitCode = await main().catch(failed)

/** One line names the process that failed, and the seed. */
function failed(error: unknown): number {
  if (!(error instanceof WorkerError)) throw error
  console.error(`error: ${error.message}`)
  return 1
}

async function main(): Promise<number> {
  const plays = PLAYS.filter((name) => name === (values.play ?? name))
  const [number = 0, parts = 0] = values.part.split('/').map(Number)
  const [count, from, show] = [values.seeds, values.from, values.show].map(Number) as [number, number, number]
  const folder = resolve(values.against ?? '')
  const wrong = [
    values.against === undefined && '--against names the checkout with the other core',
    !existsSync(`${folder}/packages/core/src/index.ts`) && `there is no core in ${folder}`,
    plays.length === 0 && `there is no play ${values.play}`,
    !(number >= 1 && number <= parts) && `${values.part} is not a part: 1/4 is the first of four`,
    !(count > 0 && from >= 0 && show >= 0) && '--seeds, --from and --show are numbers',
    values.seed !== undefined && plays.length > 1 && '--seed is one of a play: name it with --play',
  ].find((problem) => problem !== false)
  if (wrong !== undefined) {
    console.error(`error: ${wrong} (see --help)`)
    return 2
  }
  const seeds: Seeds = { from: from + number - 1, to: from + count, every: parts }
  if (values.seed !== undefined) return await showSeed(plays[0] as PlayName, folder, Number(values.seed))
  let differ = 0
  for (const play of plays) differ += told(play, await compared(play, folder, seeds, shown(show)))
  return differ > 0 ? 1 : 0
}

/** Prints this many differences at most. */
function shown(most: number): (seed: number, text: string) => void {
  let count = 0
  return (seed, text) => {
    if (count++ < most) console.log(`DIFFERS  seed ${seed}, ${text}\n`)
  }
}

/** Prints the result of a comparison. Returns how many seeds differ. */
function told(play: PlayName, { seeds, moved, differences, runs, ends, events, executions, ms }: Comparison): number {
  const differ = [...differences.values()].reduce((all, count) => all + count, 0)
  const by = [...differences].map(([what, count]) => `${what} ${count}`).join(', ')
  const ended = [...ends].map(([end, count]) => `${end} ${count}`).join(', ')
  console.log(
    `${play}: ${seeds} seeds, ${moved} with events in another order that is as good, ${differ} differ${by && ` (${by})`}\n` +
      `  ${runs} runs (${ended}), ${events} events, ${executions} things done by tools, ${(ms / 1000).toFixed(0)} s`,
  )
  return differ
}

async function showSeed(play: PlayName, folder: string, seed: number): Promise<number> {
  const seeds = { from: seed, to: seed + 1, every: 1 }
  for (const core of [folder, undefined]) {
    for await (const { trace } of tracesOf({ play, seeds, ...(core !== undefined && { folder: core }) })) {
      console.log(`${core ?? 'this core'}\n${JSON.stringify(JSON.parse(trace), undefined, 1)}`)
    }
  }
  return 0
}
