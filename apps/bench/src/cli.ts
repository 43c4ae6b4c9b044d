/** The command line: what is measured, how, and where the results go. */

import { WIRE_NAMES, type WireName } from '@meanwhile/harness/server'
import type { OutputConfiguration } from 'commander'
import { commandOf, contradictionIn, DEFAULT_COLLECTOR, FILES, type Given, RECORDING } from './cli/command.ts'
import { MODES, type Mode } from './modes.ts'
import type { ToolFacts } from './replay/tool-facts.ts'
import { DEFAULT_RUNS, DURABLE_RUNS, FULL_RUNS, mayShare, runsOf, THREAD_RUNS } from './run-plan.ts'
import { ALL_SCENARIOS, DEFAULT_SCENARIOS, DROP_IN_SCENARIOS, SCENARIOS, type ScenarioId } from './scenarios.ts'
import type { TransportName } from './transport.ts'

export interface BenchOptions {
  /** Of ours. */
  readonly scenarios: readonly ScenarioId[]
  /** Files of users. */
  readonly workloads: readonly string[]
  /** A recording, and what is to be known of its tools. */
  readonly replay?: { readonly file: string; readonly tools: readonly (readonly [name: string, ToolFacts])[] }
  readonly wires: readonly WireName[]
  readonly modes: readonly Mode[]
  readonly runs: Readonly<Record<Mode, number>>
  readonly transport: TransportName
  /** Whether the fault matrix is run. */
  readonly faults: boolean
  /** Where the libraries of others are looked for; absent: they are not measured. */
  readonly peers?: string
  /** Loops of other libraries are measured with and without their drop-ins, and nothing else. */
  readonly dropIns?: true
  /** What a thread costs is measured, in so many runs of each, and nothing else. */
  readonly threads?: { readonly runs: number }
  /** What durability costs a run is measured, with this many runs of each set-up one at a time, and nothing else. */
  readonly durable?: { readonly runs: number }
  /** A real endpoint is measured, and nothing else. */
  readonly live?: LiveOptions
  /** Files that are written. Absent, unless they are named, if the fault matrix is run alone: it leaves those of a measured run. */
  readonly json?: string
  readonly report?: string
  /** The table of docs/drop-ins.md. */
  readonly markdown?: string
  /** Where the spans of the measured runs go; absent: nowhere. */
  readonly otlp?: string
  /** The file for them; absent: none. */
  readonly traces?: string
  /** What core itself costs is measured, and nothing else. */
  readonly overhead?: true
  /** Where an older core is that it is compared with, instead. */
  readonly against?: string
  /** A real endpoint is recorded, and nothing measured. */
  readonly record?: { readonly upstream: string; readonly file: string }
}

export interface LiveOptions {
  readonly url: string
  readonly model: string
  /** The environment variable with the key. Absent: none is sent. */
  readonly keyEnv?: string
}

/**
 * The options of a command line, without `node` and the script. Throws a `CommanderError` after it has written help or what is
 * wrong: its `exitCode` is 0 for help.
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
    ...(given.peers && { peers: given.peers === true ? '.' : given.peers }),
    ...(given.dropIns && { dropIns: true as const }),
    ...(given.threads && { threads: { runs: given.runs ?? THREAD_RUNS } }),
    ...(given.durable && { durable: { runs: given.runs ?? DURABLE_RUNS } }),
    ...liveOf(given),
    ...(measures && FILES),
    ...(given.json !== undefined && { json: given.json }),
    ...(given.report !== undefined && { report: given.report }),
    ...(given.markdown !== undefined && { markdown: given.markdown }),
    ...(given.otlp && { otlp: given.otlp === true ? DEFAULT_COLLECTOR : given.otlp }),
    ...(given.traces !== undefined && { traces: given.traces }),
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

/** The bare loop is there for its CPU time first of all: where that does not count, only who asks for it waits for it. */
function modesFor(scenarios: readonly ScenarioId[]): readonly Mode[] {
  const cpuCounts = scenarios.some((id) => !mayShare(SCENARIOS[id]))
  return MODES.filter((mode) => mode !== 'floor' || cpuCounts)
}
