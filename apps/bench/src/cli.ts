/** The command line: what is measured, how, and where the results go. */

import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { WIRE_NAMES, type WireName } from '@meanwhile/harness/server'
import { Command, InvalidArgumentError, type OutputConfiguration } from 'commander'
import { MODES, type Mode } from './modes.ts'
import { DEFAULT_RUNS, FULL_RUNS, mayShare, runsOf } from './run-plan.ts'
import { ALL_SCENARIOS, DEFAULT_SCENARIOS, SCENARIOS, type ScenarioId } from './scenarios.ts'
import { otlpPathOf } from './trace-files.ts'
import { TRANSPORTS, type TransportName } from './transport.ts'

export interface BenchOptions {
  readonly scenarios: readonly ScenarioId[]
  readonly wires: readonly WireName[]
  readonly modes: readonly Mode[]
  readonly runs: Readonly<Record<Mode, number>>
  readonly transport: TransportName
  /** Whether the fault matrix is run. */
  readonly faults: boolean
  /** Files that are written. Absent, unless they are named, if the fault matrix is run alone: it leaves those of a measured run. */
  readonly json?: string
  readonly report?: string
  /** Where the spans of the measured runs go; absent: nowhere. */
  readonly otlp?: string
  /** The file for them; absent: none. */
  readonly traces?: string
  /** What core itself costs is measured, and nothing else. */
  readonly overhead?: true
}

export const DEFAULT_COLLECTOR = 'http://localhost:4318'

/**
 * The options of a command line, without `node` and the script. Throws a `CommanderError` after it has written help or what is
 * wrong: its `exitCode` is 0 for help.
 */
export function parseOptions(args: readonly string[], output: OutputConfiguration = {}): BenchOptions {
  const command = new Command('bench')
    .description('Measures how much time eager tools save: against tools one by one, and in parallel after the stream.')
    .option('--scenario <ids>', `which scenarios (default: ${DEFAULT_SCENARIOS.join(',')})`, scenarioIds)
    .option('--wire <names>', `which wire formats, of ${WIRE_NAMES.join(', ')} (default: all)`, listOf(WIRE_NAMES))
    .option(
      '--mode <names>',
      `how the tools run, of ${MODES.join(', ')} (default: all, floor with d and e)`,
      listOf(MODES),
    )
    .option('--runs <n>', `runs of each (default: ${runsByDefault()})`, positive)
    .option('--transport <name>', 'server: in a process of its own; msw: mocked in this one', transport, 'server')
    .option('--json <file>', `the results as data (default: ${FILES.json}; none of the fault matrix alone)`, writable)
    .option('--report <file>', `the results as one page (default: ${FILES.report}; none of it alone)`, writable)
    .option(
      '--otlp [url]',
      `send the spans of the measured runs to a collector, such as Jaeger (default URL: ${DEFAULT_COLLECTOR})`,
      collector,
    )
    .option(
      '--traces <file>',
      `the spans as a file that Jaeger's page opens, such as traces.json, and beside it as OTLP (${otlpPathOf('traces.json')})`,
      writable,
    )
    .option('--full', `every scenario, ${FULL_RUNS} runs of each mode: about nine minutes`)
    .option(
      '--faults',
      'the fault matrix, alone if no scenario is named: what our rule and those of others execute wrongly',
    )
    .option('--overhead', 'instead: what core itself and its spans cost in time, memory and size, beside what they may')
    .addHelpText('after', scenarioHelp())
    .allowExcessArguments(false)
    .showHelpAfterError('(--help says what there is)')
    .configureOutput(output)
    .exitOverride()

  const given = command.parse(args, { from: 'user' }).opts<Given>()
  const scenarios = given.scenario ?? (given.full ? ALL_SCENARIOS : given.faults ? [] : DEFAULT_SCENARIOS)
  if (scenarios.length === 0 && (given.otlp !== undefined || given.traces !== undefined)) {
    command.error('error: spans are those of measured runs, and the fault matrix alone has none: name a --scenario')
  }
  return {
    scenarios,
    wires: given.wire ?? WIRE_NAMES,
    modes: given.mode ?? modesFor(scenarios),
    runs: given.runs !== undefined ? runsOf(given.runs) : given.full ? runsOf(FULL_RUNS) : DEFAULT_RUNS,
    transport: given.transport,
    faults: given.faults ?? given.scenario === undefined,
    ...(scenarios.length > 0 && FILES),
    ...(given.json !== undefined && { json: given.json }),
    ...(given.report !== undefined && { report: given.report }),
    ...(given.otlp && { otlp: given.otlp === true ? DEFAULT_COLLECTOR : given.otlp }),
    ...(given.traces !== undefined && { traces: given.traces }),
    ...(given.overhead && { overhead: true as const }),
  }
}

/** Of a run that measures. */
const FILES = { json: 'results.json', report: 'report.html' } as const

/** What commander makes of the options above. */
interface Given {
  readonly scenario?: readonly ScenarioId[]
  readonly wire?: readonly WireName[]
  readonly mode?: readonly Mode[]
  readonly runs?: number
  readonly transport: TransportName
  readonly json?: string
  readonly report?: string
  readonly otlp?: string | true
  readonly traces?: string
  readonly full?: true
  readonly faults?: true
  readonly overhead?: true
}

/** The bare loop is there for its CPU time first of all: where that does not count, only who asks for it waits for it. */
function modesFor(scenarios: readonly ScenarioId[]): readonly Mode[] {
  const cpuCounts = scenarios.some((id) => !mayShare(SCENARIOS[id]))
  return MODES.filter((mode) => mode !== 'floor' || cpuCounts)
}

/** A file in a folder that is there: found out before the run, not after it. */
function writable(file: string): string {
  if (!existsSync(dirname(file))) throw new InvalidArgumentError(`There is no folder ${dirname(file)}.`)
  return file
}

/** `d` means all of d50, d100 and d200. */
function scenarioIds(text: string): readonly ScenarioId[] {
  const all = ALL_SCENARIOS.filter((id) => id.startsWith('d'))
  return listOf(ALL_SCENARIOS)(text.replace(/(^|,)\s*d\s*(?=,|$)/g, `$1${all.join(',')}`))
}

/** A reader of comma-separated names, which come out in the order of the known ones, each once. */
function listOf<Name extends string>(known: readonly Name[]): (text: string) => readonly Name[] {
  return (text) => {
    const names = text.split(',').map((name) => name.trim())
    const unknown = names.filter((name) => !known.some((one) => one === name))
    if (unknown.length > 0) {
      throw new InvalidArgumentError(`Unknown: ${unknown.join(', ')}. There are ${known.join(', ')}.`)
    }
    return known.filter((name) => names.includes(name))
  }
}

function transport(text: string): TransportName {
  const found = TRANSPORTS.find((name) => name === text)
  if (!found) throw new InvalidArgumentError(`Unknown: ${text}. There are ${TRANSPORTS.join(', ')}.`)
  return found
}

function collector(text: string): string {
  if (!/^https?:/.test(text) || !URL.canParse(text)) {
    throw new InvalidArgumentError(`It takes an URL such as ${DEFAULT_COLLECTOR}.`)
  }
  return text
}

function positive(text: string): number {
  const count = Number(text)
  if (!Number.isInteger(count) || count < 1) throw new InvalidArgumentError('It takes a whole number from 1.')
  return count
}

function runsByDefault(): string {
  return MODES.map((mode) => `${mode} ${DEFAULT_RUNS[mode]}`).join(', ')
}

function scenarioHelp(): string {
  const lines = ALL_SCENARIOS.map((id) => `  ${id.padEnd(5)} ${SCENARIOS[id].title}: ${SCENARIOS[id].shape}`)
  return `
Scenarios (d: all three of them)
${lines.join('\n')}

Examples
  npm run bench
  npm run bench -- --scenario f --wire anthropic --runs 5
  npm run bench -- --full --json full.json --report full.html
  npm run bench -- --scenario b,f --otlp
  npm run bench -- --scenario b,f --traces traces.json
  npm run bench -- --faults
  npm run bench -- --overhead`
}
