/** Measures loops of other libraries with and without their drop-ins, for `--drop-ins`. */

import { messageOf } from '@meanwhile/core'
import type { WireName } from '@meanwhile/harness/server'
import type { Cell } from '../cell.ts'
import { cellsOf } from '../cells.ts'
import type { BenchOptions } from '../cli.ts'
import { measure } from '../measure.ts'
import { shownParts, shownRuns } from '../progress.ts'
import { type Job, planOf } from '../run-plan.ts'
import { SCENARIOS, WARM_UP } from '../scenarios.ts'
import { openTransport, type Transport } from '../transport.ts'
import { CPU_ROUNDS, cpuOf, type LoopCpu } from './cpu.ts'
import { type LibraryState, startLibraries } from './libraries.ts'
import { ALL_LOOPS, type Loop, waysOf } from './loops.ts'
import { type DropInRow, type OwnTime, ownTimesOf, rowsOf } from './rows.ts'
import { OWN_TIME } from './scenarios.ts'

/** How much time drop-ins save, and what they cost. */
export interface DropIns {
  readonly libraries: readonly LibraryState[]
  readonly rows: readonly DropInRow[]
  readonly ownTimes: readonly OwnTime[]
  /** Empty if too few runs were requested. */
  readonly cpu: readonly LoopCpu[]
  /** Why the CPU time of a loop was not measured. */
  readonly cpuFailed: readonly string[]
}

export async function measureDropIns(
  options: BenchOptions,
  signal: AbortSignal,
): Promise<{ readonly cells: readonly Cell[]; readonly dropIns: DropIns }> {
  await using libraries = await startLibraries(signal)
  await using transport = await openTransport('server', signal)
  const loops = ALL_LOOPS.filter(({ library }) => libraries.running.has(library))
  const plan = planOfLoops(loops, options)
  const made = await shownRuns(plan, {
    measure: (subject, stop) => measure(subject, libraries.peerOf(subject).run, transport, stop),
    warmUp: warmUpOf(plan),
    signal,
  })
  const cells = cellsOf(made)
  const entries = cells.map(({ entry }) => entry)
  // A few runs are too few for CPU time, which differs from process to process.
  const compares = options.runs.parallel >= CPU_ROUNDS
  const cpu = compares ? await cpuOfLoops(loops, options.wires, transport, signal) : { cpu: [], cpuFailed: [] }
  return {
    cells,
    dropIns: { libraries: libraries.states, rows: rowsOf(entries), ownTimes: ownTimesOf(entries), ...cpu },
  }
}

/** Every scenario in every way; and the loops' own time, in the first way of each. */
export function planOfLoops(
  loops: readonly Loop[],
  { scenarios, wires, runs }: Pick<BenchOptions, 'scenarios' | 'wires' | 'runs'>,
): readonly Job[] {
  const ways = loops.flatMap(waysOf)
  const first = loops.flatMap((loop) => waysOf(loop)[0] ?? [])
  const all = [...scenarios.map((id) => SCENARIOS[id]), OWN_TIME]
  const can = new Map(loops.flatMap((loop) => waysOf(loop).map((way) => [way, loop.wires] as const)))
  return planOf({
    scenarios: all,
    wires,
    ways,
    runs,
    can: (way, wire) => [...can].some(([one, wires]) => one === way && wires.includes(wire)),
  }).filter(({ scenario, mode }) => scenario !== OWN_TIME || first.some((way) => way === mode))
}

/** Every way once on every wire: connections open, code compiled. */
function warmUpOf(plan: readonly Job[]): readonly Pick<Job, 'scenario' | 'wire' | 'mode'>[] {
  const subjects = plan.map(({ wire, mode }) => [`${wire} ${mode}`, { scenario: WARM_UP, wire, mode }] as const)
  return [...new Map(subjects).values()]
}

async function cpuOfLoops(
  loops: readonly Loop[],
  wires: readonly WireName[],
  transport: Transport,
  signal: AbortSignal,
): Promise<Pick<DropIns, 'cpu' | 'cpuFailed'>> {
  const pairs = loops
    .filter(({ streams }) => streams)
    .flatMap((loop) => loop.wires.filter((wire) => wires.includes(wire)).map((wire) => ({ loop, wire })))
  const cpu: LoopCpu[] = []
  const cpuFailed: string[] = []
  const parts = pairs.length * CPU_ROUNDS
  await shownParts('CPU time: {value} of {total} rounds · {what}', { parts }, async (onPart) => {
    for (const { loop, wire } of pairs) {
      const what = `${loop.name} ${wire}`
      try {
        cpu.push(await cpuOf(loop, wire, { transport, signal, onRound: () => onPart(what) }))
      } catch (error) {
        signal.throwIfAborted()
        cpuFailed.push(`${what}: ${messageOf(error)}`)
      }
    }
  })
  return { cpu, cpuFailed }
}
