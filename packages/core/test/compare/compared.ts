/** Lets two processes play the same seeds, and reports what differs. */

import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { difference } from './difference.ts'
import type { Trace } from './trace.ts'
import type { PlayName, Seeds, Work } from './worker.ts'

export interface Comparison {
  readonly seeds: number
  /** The number of seeds that are equal except for the order of some events. */
  readonly moved: number
  /** The number of seeds that differ, by what differs first. */
  readonly differences: ReadonlyMap<string, number>
  /** The outcomes of all seeds with the present core. */
  readonly runs: number
  readonly ends: ReadonlyMap<string, number>
  readonly events: number
  readonly executions: number
  readonly ms: number
}

interface PlayedSeed {
  readonly seed: number
  readonly trace: string
}

/** A process did not finish its seeds. */
export class WorkerError extends Error {
  override readonly name = 'WorkerError'
}

/** The longest time for a seed, in milliseconds of the machine's clock. */
const LONGEST = 60_000

export async function compared(
  play: PlayName,
  folder: string,
  seeds: Seeds,
  onDifference: (seed: number, text: string) => void,
): Promise<Comparison> {
  const begun = performance.now()
  const differences = new Map<string, number>()
  const ends = new Map<string, number>()
  const sums = { seeds: 0, moved: 0, runs: 0, events: 0, executions: 0 }
  const olderTraces = tracesOf({ play, folder, seeds })
  try {
    for await (const { seed, trace } of tracesOf({ play, seeds })) {
      const next = await olderTraces.next()
      if (next.done) throw new WorkerError(`the older core gave nothing for seed ${seed}`)
      const present = JSON.parse(trace) as Trace
      count(present, sums, ends)
      if (next.value.trace === trace) continue
      const found = difference(JSON.parse(next.value.trace) as Trace, present)
      if (!found) sums.moved++
      else {
        differences.set(found.what, (differences.get(found.what) ?? 0) + 1)
        onDifference(seed, found.text)
      }
    }
  } finally {
    await olderTraces.return()
  }
  return { ...sums, differences, ends, ms: performance.now() - begun }
}

type Sums = { -readonly [Name in 'seeds' | 'runs' | 'events' | 'executions']: number }

function count({ lives, deeds, left }: Trace, sums: Sums, ends: Map<string, number>): void {
  sums.seeds++
  sums.runs += lives.length
  sums.executions += deeds.length
  for (const { events, end } of lives) {
    sums.events += events.length
    const { status, error } = end as { readonly status?: string; readonly error?: { readonly name: string } }
    const kind = status ?? error?.name ?? 'no end'
    ends.set(kind, (ends.get(kind) ?? 0) + 1)
  }
  if (left !== undefined) ends.set(left, (ends.get(left) ?? 0) + 1)
}

/**
 * Plays each seed, in order, in a separate process.
 *
 * @throws {WorkerError} The process fails, or takes too long for a seed.
 */
export async function* tracesOf(work: Work): AsyncGenerator<PlayedSeed, void> {
  const worker = fileURLToPath(new URL('worker.ts', import.meta.url))
  const arguments_ = ['--conditions=@meanwhile/source', worker, JSON.stringify(work)]
  const child = spawn(process.execPath, arguments_, { stdio: ['ignore', 'pipe', 'inherit'] })
  const closed = new Promise<number | null>((resolve) => child.once('close', (code) => resolve(code)))
  const who = work.folder === undefined ? 'this core' : `the core of ${work.folder}`
  let last: number | undefined
  let isLate = false
  const late = setTimeout(() => {
    isLate = true
    child.kill('SIGKILL')
  }, LONGEST)
  try {
    for await (const line of createInterface({ input: child.stdout })) {
      const tab = line.indexOf('\t')
      last = Number(line.slice(0, tab))
      yield { seed: last, trace: line.slice(tab + 1) }
      late.refresh()
    }
    if ((await closed) === 0) return
    const why = isLate ? `takes more than ${LONGEST / 1000} s for a seed` : 'fails'
    throw new WorkerError(`${who} ${why}: ${last === undefined ? 'for the first' : `for the one after seed ${last}`}`)
  } finally {
    clearTimeout(late)
    child.kill('SIGKILL')
    await closed
  }
}
