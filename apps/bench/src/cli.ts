/** The command line of the benchmark: what is measured, how, and where the results go. */

import { WIRE_NAMES, type WireName } from '@meanwhile/harness/server'
import type { OutputConfiguration } from 'commander'
import { commandOf, contradictionIn, DEFAULT_COLLECTOR, FILES, type Given, RECORDING } from './cli/command.ts'
import { MODES, type Mode } from './modes.ts'
import type { ToolFacts } from './replay/tool-facts.ts'
import {
  DEFAULT_RUNS,
  DURABLE_RUNS,
  FULL_RUNS,
  mayShare,
  PICTURES_RUNS,
  runsOf,
  SAVES_RUNS,
  THREAD_RUNS,
} from './run-plan.ts'
import { ALL_SCENARIOS, DEFAULT_SCENARIOS, DROP_IN_SCENARIOS, SCENARIOS, type ScenarioId } from './scenarios.ts'
import type { TransportName } from './transport.ts'

export interface BenchOptions {
  /** Our own scenarios. */
  readonly scenarios: readonly ScenarioId[]
  /** Workload files of users. */
  readonly workloads: readonly string[]
  /** A recording, and the durations and effects of its tools. */
  readonly replay?: { readonly file: string; readonly tools: readonly (readonly [name: string, ToolFacts])[] }
  readonly wires: readonly WireName[]
  readonly modes: readonly Mode[]
  readonly runs: Readonly<Record<Mode, number>>
  readonly transport: TransportName
  /** Whether the fault matrix runs. */
  readonly faults: boolean
  /** Whether it also cuts the responses of loops of other libraries. */
  readonly loops?: true
  /** The folder with the other libraries; absent: they are not measured. */
  readonly peers?: string
  /** Measures only loops of other libraries, with and without their drop-ins. */
  readonly dropIns?: true
  /** Measures only the cost of a thread, with this many runs of each. */
  readonly threads?: { readonly runs: number }
  /** Measures only the cost of durability, with this many runs of each set-up one at a time. */
  readonly durable?: { readonly runs: number }
  /** Counts only the saves of a step, with this many runs of each step. */
  readonly saves?: { readonly runs: number }
  /** Measures only what the pictures of README and home page show, and writes them into this folder. */
  readonly pictures?: { readonly folder: string; readonly runs: number }
  /** Measures only a real endpoint. */
  readonly live?: LiveOptions
  /** Files that are written. If only the fault matrix runs, the default is none: it must not overwrite the files of a measured run. */
  readonly json?: string
  readonly report?: string
  /** The file for the table of docs/drop-ins.md. */
  readonly markdown?: string
  /** The collector for the spans of the measured runs; absent: none. */
  readonly otlp?: string
  /** The file for them; absent: none. */
  readonly traces?: string
  /** Whether the measured runs are shown in the devtools at the end. */
  readonly devtools?: true
  /** Measures only the cost of core itself. */
  readonly overhead?: true
  /** The folder of an older core to compare with, instead. */
  readonly against?: string
  /** Records a real endpoint, and measures nothing. */
  readonly record?: { readonly upstream: string; readonly file: string }
}

export interface LiveOptions {
  readonly url: string
  readonly model: string
  /** The environment variable with the key. Absent: no key is sent. */
  readonly keyEnv?: string
}

/**
 * Parses a command line without `node` and the script. After printing help or an error it throws a `CommanderError`, whose
 * `exitCode` is 0 for help.
 */
export function parseOptions(args: readonly string[], output: OutputConfiguration = {}): BenchOptions {
  const command = commandOf(output)
  const given = command.parse(args, { from: 'user' }).opts<Given>()
  const wrong = contradictionIn(given)
  if (wrong !== undefined) command.error(`error: ${wrong}`)
  const ownFiles = given.workload !== undefined || given.replay !== undefined
  const elsewhere = ownFiles || given.baseUrl !== undefined || given.record !== undefined || given.dropIns === true
  const scenarios = given.scenario ?? usualScenarios(given, elsewhere)
  const measures = scenarios.length > 0 || ownFiles || given.baseUrl !== undefined
  return {
    scenarios,
    workloads: given.workload ?? [],
    ...(given.replay !== undefined && { replay: { file: given.replay, tools: given.tool ?? [] } }),
    wires: given.wire ?? WIRE_NAMES,
    modes: given.dropIns ? [] : (given.mode ?? modesFor(scenarios)),
    runs: runsFor(given),
    transport: given.transport,
    faults: given.faults ?? !(given.scenario || elsewhere || given.peers),
    ...(given.loops && { loops: true as const }),
    ...(given.peers && { peers: given.peers === true ? '.' : given.peers }),
    ...(given.dropIns && { dropIns: true as const }),
    ...(given.threads && { threads: { runs: given.runs ?? THREAD_RUNS } }),
    ...(given.durable && { durable: { runs: given.runs ?? DURABLE_RUNS } }),
    ...(given.saves && { saves: { runs: given.runs ?? SAVES_RUNS } }),
    ...(given.pictures !== undefined && {
      pictures: { folder: given.pictures, runs: given.runs ?? PICTURES_RUNS },
    }),
    ...liveOf(given),
    ...(measures && FILES),
    ...(given.json !== undefined && { json: given.json }),
    ...(given.report !== undefined && { report: given.report }),
    ...(given.markdown !== undefined && { markdown: given.markdown }),
    ...(given.otlp && { otlp: given.otlp === true ? DEFAULT_COLLECTOR : given.otlp }),
    ...(given.traces !== undefined && { traces: given.traces }),
    ...(given.devtools && { devtools: true as const }),
    ...(given.overhead && { overhead: true as const }),
    ...(given.against !== undefined && { against: given.against }),
    ...(given.record !== undefined && { record: { upstream: given.record, file: given.recording ?? RECORDING } }),
  }
}

function runsFor({ runs, full, dropIns }: Given): BenchOptions['runs'] {
  if (runs !== undefined) return runsOf(runs)
  return full || dropIns ? runsOf(FULL_RUNS) : DEFAULT_RUNS
}

function usualScenarios({ full, faults, peers, dropIns }: Given, elsewhere: boolean): readonly ScenarioId[] {
  if (full) return ALL_SCENARIOS
  if (dropIns) return DROP_IN_SCENARIOS
  return (faults && !peers) || elsewhere ? [] : DEFAULT_SCENARIOS
}

function liveOf({ baseUrl, model, keyEnv }: Given): Pick<BenchOptions, 'live'> {
  if (baseUrl === undefined || model === undefined) return {}
  return { live: { url: baseUrl, model, ...(keyEnv !== undefined && { keyEnv }) } }
}

/** The bare loop mainly serves for its CPU time: elsewhere it runs only on request. */
function modesFor(scenarios: readonly ScenarioId[]): readonly Mode[] {
  const cpuCounts = scenarios.some((id) => !mayShare(SCENARIOS[id]))
  return MODES.filter((mode) => mode !== 'floor' || cpuCounts)
}
