/** Makes the measured runs: scenarios on our own endpoints, or prompts on a real one. */

import { ourselves } from './agents.ts'
import { cellsOf } from './cells.ts'
import type { BenchOptions, LiveOptions } from './cli.ts'
import { measureDropIns } from './drop-ins/measure-drop-ins.ts'
import { announcement, liveOf } from './live/live.ts'
import { measure } from './measure.ts'
import { startPeers } from './peers/peers.ts'
import { shownRuns } from './progress.ts'
import type { Results } from './results.ts'
import { planOf } from './run-plan.ts'
import { type Sources, sourcesOf } from './sources.ts'
import { startTraces } from './traces.ts'
import { openTransport } from './transport.ts'
import { transportLag } from './transport-lag.ts'
import { UsageError } from './usage-error.ts'

export interface Timed extends Pick<Results, 'transportLagMs' | 'cells' | 'remarks' | 'peers' | 'dropIns'> {
  /** As OTLP/JSON, if a file of spans was requested. */
  readonly spans?: string
}

const NOTHING: Timed = { transportLagMs: null, cells: [] }

/** Throws a `UsageError` if a file or a key is not valid: before any run. */
export async function timedRuns(options: BenchOptions, signal: AbortSignal): Promise<Timed> {
  if (options.live) return await traced(options, liveRuns(options.live, options, signal))
  if (options.dropIns) return { transportLagMs: null, ...(await measureDropIns(options, signal)) }
  const sources = await sourcesOf(options)
  if (sources.scenarios.length === 0) return NOTHING
  checkWires(sources, options)
  return await traced(options, scriptedRuns(sources, options, signal))
}

/** Work that has not begun. */
type Runs = () => Promise<Timed>

function liveRuns(live: LiveOptions, options: BenchOptions, signal: AbortSignal): Runs {
  const { plan, warmUp, measure, remarks } = liveOf(live, options)
  return async () => {
    console.error(announcement(plan.length + warmUp.length, live))
    const made = await shownRuns(plan, { measure, warmUp, signal })
    return { transportLagMs: null, cells: cellsOf(made), remarks: remarks() }
  }
}

function scriptedRuns({ scenarios, remarks }: Sources, options: BenchOptions, signal: AbortSignal): Runs {
  return async () => {
    await using peers = options.peers === undefined ? undefined : await startPeers(options.peers, signal)
    await using transport = await openTransport(options.transport, signal)
    const ways = [...options.modes, ...(peers?.running.keys() ?? [])]
    const plan = planOf({ ...options, scenarios, ways, ...(peers && { can: peers.can }) })
    const made = await shownRuns(plan, {
      measure: (subject, stop) => measure(subject, peers?.running.get(subject.mode)?.run ?? ourselves, transport, stop),
      signal,
    })
    const cells = cellsOf(made)
    return {
      transportLagMs: await transportLag(transport, signal),
      cells,
      remarks,
      ...(peers && { peers: peers.states }),
    }
  }
}

function checkWires({ scenarios }: Sources, { wires }: BenchOptions): void {
  for (const { id, wires: spoken } of scenarios) {
    if (spoken && !spoken.some((wire) => wires.includes(wire))) {
      throw new UsageError(`--wire: ${id} was recorded on ${spoken.join(', ')}, and can only be played there`)
    }
  }
}

/** With spans, if they were requested. */
async function traced({ otlp, traces: file, devtools }: BenchOptions, runs: Runs): Promise<Timed> {
  const keep = file !== undefined || devtools === true
  const traces = otlp !== undefined || keep ? await startTraces({ otlp, keep, say: console.error }) : undefined
  let timed: Timed
  try {
    timed = await runs()
  } finally {
    await traces?.stop()
  }
  return { ...timed, ...(traces && keep && { spans: traces.kept() }) }
}
